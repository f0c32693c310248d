"""A coverage-guided search for bytes that a reader cannot cope with: `make fuzz`.

    python tests/fuzz/readers.py FOLDER [options of libFuzzer]

FOLDER holds real sessions; pieces of each are the seeds. They are kept in a temporary
folder and never in the project. Mutations work on JSON lines as well as on bytes: lines
are dropped, doubled, swapped, cut and glued, and values are put in place of others. What
is found is written by libFuzzer as `crash-*`, `timeout-*` or `oom-*` into the working
folder; a file moved into `findings/` is read by `test_findings.py` ever after.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
with atheris.instrument_imports(include=["contextecho.sessions"]):
    from contextecho.sessions.readers import readers
    from sessions.any_bytes import check

    NAMES = [None, *(reader.NAME for reader in readers())]  # imports them all, instrumented

SEED_BYTES = 24_000
MOST_MEMBERS = 5  # of a file: what is wrong with one is mostly wrong with all
LIMITS = ["-timeout=20", "-rss_limit_mb=3000", "-max_len=65536"]
ODD: list[Any] = [
    *(None, True, -1, 0, 2**70, 1e308, "", "\ud83d", "\u2028", "x" * 5000, [], {}, [[]]),
    *([None, 1, "a", {}], {"0": "a", "1": "b"}, {"type": "text"}, {"type": None}),
]


def seeds(folder: Path) -> Iterator[bytes]:
    """The beginning, the middle and the end of each file, cut at lines where there are any."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        yield data[:SEED_BYTES]
        if len(data) > 2 * SEED_BYTES:
            middle = data.find(b"\n", len(data) // 2) + 1
            yield data[:2000].rpartition(b"\n")[0] + b"\n" + data[middle : middle + SEED_BYTES]
            yield data[-SEED_BYTES:].partition(b"\n")[2]


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """One mutation: of lines, of a value inside a line, or of bytes."""
    chance = random.Random(seed)
    lines = data.split(b"\n")
    kind = chance.randrange(8)
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)] + lines[other]
    elif kind in (4, 5):
        lines[at] = with_other_value(lines[at], chance)
    else:
        return bytes(atheris.Mutate(data, max_size))
    return b"\n".join(lines)[:max_size]


def with_other_value(line: bytes, chance: random.Random) -> bytes:
    """The JSON value of a line with something odd somewhere in it."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line[: chance.randrange(len(line) + 1)]
    places = list(_places(value))
    if places:
        parent, key = chance.choice(places)
        parent[key] = chance.choice([*ODD, chance.choice(places)[0]])
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):  # the value now holds itself
        return line


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a value."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def main() -> None:
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as room:
        corpus, file = Path(room) / "corpus", Path(room) / "session"
        corpus.mkdir()
        for number, data in enumerate(seeds(folder)):
            (corpus / f"{number:04}").write_bytes(data)

        def once(data: bytes) -> None:
            # By its content, as a user's file is; every other time by a reader that is not its own.
            named = NAMES[len(data) // 2 % len(NAMES)] if len(data) % 2 else None
            check(file, data, format=named, most=MOST_MEMBERS)

        atheris.Setup(
            [sys.argv[0], *LIMITS, *sys.argv[2:], str(corpus)], once, custom_mutator=mutate
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
