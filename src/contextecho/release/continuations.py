"""The tool-call continuations: files that hold one cell for each of their arms.

The one thing to know: their keys are made of the arm's name (`M1_recent3K_match`), and a
similarity of arguments exists only where the tool was the right one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from contextecho.release.flags import Flag
from contextecho.release.layout import Layout, Said
from contextecho.store import ImportedCell, ImportedVerdict

TOOL_MATCH, ARGUMENTS = "tool-match", "argument-similarity"
_DECODER = msgspec.json.Decoder(dict[str, Any])
_MATCH = re.compile(r"M1_(.+)_match")


def read_continuation(
    layout: Layout, place: Said, data: bytes, path: str, sha256: str
) -> tuple[tuple[ImportedCell, ...], list[tuple[Flag, str]]]:
    """The cells of a file. Raises what msgspec raises for what is no JSON object."""
    keys = _DECODER.decode(data)
    flags: list[tuple[Flag, str]] = []
    missing = [key for key in layout.kinds[place.place.kind] if key not in keys]
    arms = [found[1] for key in keys if (found := _MATCH.fullmatch(key))]
    if not arms:
        missing.append("M1_<arm>_match")
    if missing:
        flags.append((Flag.MISSING_KEY, ", ".join(missing)))
    cells = []
    for arm in arms:
        if arm not in layout.arms:
            flags.append((Flag.UNKNOWN_KEY, f"M1_{arm}_match"))
            continue
        verdicts = tuple(_verdicts(keys, arm, flags))
        cells.append(
            ImportedCell(
                path=path,
                sha256=sha256,
                experiment=place.place.experiment,
                condition=arm,
                target=place.get("target"),
                session=place.get("session"),
                position=place.get("position"),
                turn=None,
                arm=layout.arms[arm],
                stimulus="next-action",
                paraphrase=0,
                replicate=0,
                text=None,
                length=None,
                seconds=None,
                input_tokens=None,
                output_tokens=None,
                provider=None,
                model=None,
                collected_at=None,
                verdicts=verdicts,
            )
        )
    return tuple(cells), flags


def _verdicts(
    keys: Mapping[str, Any], arm: str, flags: list[tuple[Flag, str]]
) -> Iterator[ImportedVerdict]:
    match, similarity = keys[f"M1_{arm}_match"], keys.get(f"M2_{arm}_arg_sim")
    matched = isinstance(match, bool | int) and match in (0, 1)
    yield _verdict(TOOL_MATCH, match, matched, f"M1_{arm}_match", flags)
    if similarity is None:
        if match:
            flags.append((Flag.MISSING_KEY, f"M2_{arm}_arg_sim"))
        invalid = Flag.MISSING_KEY.value if match else "tools differ"
        yield ImportedVerdict(scorer=ARGUMENTS, value=None, invalid=invalid, given="null")
        return
    is_share = isinstance(similarity, int | float) and not isinstance(similarity, bool)
    valid = is_share and 0 <= similarity <= 1
    yield _verdict(ARGUMENTS, similarity, valid, f"M2_{arm}_arg_sim", flags)


def _verdict(
    scorer: str, given: Any, valid: bool, key: str, flags: list[tuple[Flag, str]]
) -> ImportedVerdict:
    shown = json.dumps(given)
    if not valid:
        flags.append((Flag.INVALID_SCORE, f"{key} {shown}"))
    return ImportedVerdict(
        scorer=scorer,
        value=float(given) if valid else None,
        invalid=None if valid else Flag.INVALID_SCORE.value,
        given=shown,
    )
