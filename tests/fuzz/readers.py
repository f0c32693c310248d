"""A coverage-guided search for bytes that a reader cannot cope with: `make fuzz`.

    python tests/fuzz/readers.py FOLDER... [--only=NAME,...] [--go-on] [options of libFuzzer]

The folders hold sessions, real ones and those that the tests build; pieces of each are the
seeds (`seeds.py`). They are kept in a temporary folder and never in the project. What is
tried is made of them by `mutations.py`, or of their bytes. What is found is written by
libFuzzer as `crash-*`, `timeout-*` or `oom-*` into the working folder, and ends the search;
with `--go-on` it is written as `found-*`, once for each place in the code, and the search
goes on. A file moved into `findings/` is read by `test_findings.py` ever after. With
`--only`, seeds and readers are those of the formats named. `reached.json` counts the inputs
and the sessions that were read of each format.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import traceback
from collections import Counter
from hashlib import sha256
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
with atheris.instrument_imports(include=["contextecho.sessions"]):
    from contextecho.sessions.language import language_of
    from contextecho.sessions.registry import readers
    from sessions.any_bytes import check, check_converted

    NAMES = [reader.NAME for reader in readers()]  # imports them all, instrumented

from fuzz import mutations
from fuzz.seeds import seeds

MOST_MEMBERS = 5  # of a file: what is wrong with one is mostly wrong with all
LIMITS = ["-timeout=60", "-rss_limit_mb=3000", "-max_len=65536"]
SECONDS, SECONDS_A_KB = 2.0, 0.2  # of this process, which measures itself as it goes
MORE_KB, MORE_KB_A_KB = 100_000, 2000  # of memory, above the most that was ever held


class Search:
    """One input after the other, and what came of them."""

    def __init__(self, room: Path, only: list[str], *, go_on: bool) -> None:
        self._room = room
        self._named = only or NAMES
        self._go_on = go_on
        self._reached = Counter[str]()
        self._places: set[str] = set()

    def once(self, data: bytes) -> None:
        """Try this input."""
        self._reached["inputs"] += 1
        try:
            self._check(data)
        except Exception as error:
            if not self._go_on:
                raise
            self._keep(data, error)
        if self._reached["inputs"] % 500 == 0:
            Path("reached.json").write_text(json.dumps(self._reached, indent=1) + "\n")

    def _check(self, data: bytes) -> None:
        """By its content, as a user's file is; every other time by a reader not its own."""
        named = self._named[len(data) // 2 % len(self._named)] if len(data) % 2 else None
        began, held = process_time(), _most_held()
        read = check(self._room / "session", data, format=named, most=MOST_MEMBERS)
        self._reached[f"asked {named}"] += 1
        for session in read:
            self._reached[session.format] += 1
            check_converted(session, self._room / "converted")
        size = len(data) / 1000
        took, more = process_time() - began, _most_held() - held
        assert took < SECONDS + SECONDS_A_KB * size, f"{took:.1f} seconds"
        assert more < MORE_KB + MORE_KB_A_KB * size, f"{more:,} kB"

    def _keep(self, data: bytes, error: Exception) -> None:
        """Write down an input, the first that fails at its place in the code."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}"
        if len(frames) > 1:
            ours = [f for f in frames if "contextecho" in f.filename] or frames
            place += f" {ours[-1].filename}:{ours[-1].lineno}"
        if place not in self._places:
            self._places.add(place)
            name = f"found-{sha256(data).hexdigest()[:12]}"
            Path(name).write_bytes(data)
            Path(f"{name}.txt").write_text("".join(traceback.format_exception(error))[-6000:])
            print(f"{name}: {place}: {str(error)[:200]!r}", file=sys.stderr)


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """One mutation: of what the file says, or of its bytes."""
    other = mutations.mutate(data, random.Random(seed))
    if other is None or len(other) > max_size:
        return bytes(atheris.Mutate(data, max_size))
    return other


def _most_held() -> int:
    """The most kB of memory that this process ever held."""
    return getrusage(RUSAGE_SELF).ru_maxrss


def main() -> None:
    ours = [word for word in sys.argv[1:] if not word.startswith("-") or word.startswith("--")]
    language_of("Which language is this? It loads the models that tell.")
    folders = [Path(word) for word in ours if not word.startswith("--")]
    only = [n for w in ours if w.startswith("--only=") for n in w[7:].split(",")]
    with tempfile.TemporaryDirectory() as room:
        corpus = Path(room) / "corpus"
        corpus.mkdir()
        for number, data in enumerate(seeds(folders, only)):
            (corpus / f"{number:04}").write_bytes(data)
        search = Search(Path(room), only, go_on="--go-on" in ours)
        theirs = [word for word in sys.argv[1:] if word not in ours]
        atheris.Setup(
            [sys.argv[0], *LIMITS, *theirs, str(corpus)], search.once, custom_mutator=mutate
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
