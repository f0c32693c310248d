"""One file of the release into its cells, with everything that is to be said of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from contextecho.own_files import refuse_endless
from contextecho.release.cellfile import (
    CELL_DECODER,
    KEY_DECODER,
    KEYS,
    NOT_A_CELL,
    TWINS,
    CellFile,
    said,
)
from contextecho.release.continuations import read_continuation
from contextecho.release.contracts import published_compliance
from contextecho.release.flags import Flag
from contextecho.release.layout import Layout, Said, load_layout
from contextecho.release.walking import Found
from contextecho.store import Finding, ImportedCell, ImportedVerdict

MOST_BYTES = 8 << 20
"""A reply is thousands of characters; what is larger is not a cell."""
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
_DATE = re.compile(r"-20\d\d-?[01]\d-?[0-3]\d$")
RULE = "compliance/rule"
REGISTER, COMPLIANCE = "register", "compliance"


class FileRead(msgspec.Struct, frozen=True, gc=False):
    """What one file gave."""

    path: str  # from the folder that was imported
    sha256: str  # empty when it could not be read
    cells: tuple[ImportedCell, ...] = ()
    findings: tuple[Finding, ...] = ()


def read_file(found: Found) -> FileRead:
    """Read a file, whatever it is. Raises nothing for what is in it."""
    layout, path, below = load_layout(), found.path, found.below
    try:
        data, sha256 = _load(found.file)
    except OSError as error:
        return FileRead(path, "", (), (_finding(Flag.UNREADABLE, path, error.strerror or ""),))
    place = layout.read_path(below)
    if place is None:
        return FileRead(path, sha256, (), tuple(_stray(layout, path, below)))
    if data is None:
        problem = f"more than {MOST_BYTES >> 20} MB"
        return FileRead(path, sha256, (), (_finding(Flag.UNREADABLE, path, problem),))
    try:
        cells, findings = _read_cells(layout, place, data, path, sha256)
    except NOT_A_CELL as error:
        problem = str(error) or type(error).__name__
        return FileRead(path, sha256, (), (_finding(Flag.UNREADABLE, path, problem),))
    return FileRead(path, sha256, cells, findings)


def _load(file: str) -> tuple[bytes | None, str]:
    """The bytes and their SHA-256; of a file that is too large for a cell only the hash."""
    refuse_endless(Path(file))
    with open(file, "rb", buffering=0) as opened:  # noqa: PTH123
        if os.fstat(opened.fileno()).st_size > MOST_BYTES:
            return None, hashlib.file_digest(opened, "sha256").hexdigest()
        data = opened.readall()
    return data, hashlib.sha256(data).hexdigest()


def _stray(layout: Layout, path: str, below: str) -> Iterator[Finding]:
    """A file that is no cell: nothing is said of those that need not be one."""
    if layout.is_aside(below):
        return
    if layout.is_legacy(below):
        yield _finding(Flag.LEGACY, path, "")
    elif "/" not in below or layout.is_known_folder(below):
        yield _finding(Flag.UNKNOWN_FILE, path, "")
    else:
        yield _finding(Flag.UNKNOWN_FOLDER, path, below.partition("/")[0])


def _finding(flag: Flag, path: str, detail: str) -> Finding:
    return Finding(flag=flag.value, path=path, detail=detail)


def _read_cells(
    layout: Layout, place: Said, data: bytes, path: str, sha256: str
) -> tuple[tuple[ImportedCell, ...], tuple[Finding, ...]]:
    if place.place.kind == "continuation":
        cells, flags = read_continuation(layout, place, data, path, sha256)
    else:
        reader = _CellReader(layout, place, data)
        cells, flags = (reader.cell(path, sha256),), reader.flags
    return cells, tuple(_finding(flag, path, detail) for flag, detail in flags)


class _CellReader:
    """One file that holds one cell."""

    def __init__(self, layout: Layout, place: Said, data: bytes) -> None:
        """Decode it. Raises what msgspec raises for what is no cell."""
        self._layout = layout
        self._place = place
        self._file: CellFile = CELL_DECODER.decode(data)
        self.flags: list[tuple[Flag, str]] = []
        keys = KEY_DECODER.decode(data).keys()
        if strange := keys - KEYS:
            self._flag(Flag.UNKNOWN_KEY, ", ".join(sorted(strange)))
        in_path = self._file.session is UNSET or "session" not in place.place.of
        self._session = place.get("session") if in_path else said(self._file.session)
        if keys & TWINS.keys():
            self.flags += [(Flag.TWO_VOCABULARIES, what) for what in self._file.merge()]

    def cell(self, path: str, sha256: str) -> ImportedCell:
        """The cell, with all that is wrong with it in `flags`."""
        file, place = self._file, self._place
        self._look_at_path()
        self._look_at_keys()
        text = said(file.response_text)
        turn = self._turn()
        return ImportedCell(
            path=path,
            sha256=sha256,
            experiment=place.place.experiment,
            condition=place.get("condition"),
            target=place.get("target"),
            session=self._session,
            position=place.get("position"),
            turn=turn,
            arm=place.get("arm"),
            stimulus=place.get("stimulus"),
            paraphrase=place.number("wording") or 0,
            replicate=place.number("sample") or 0,
            text=text,
            length=said(file.response_len) if text is None else len(text),
            seconds=said(file.wall_clock_sec),
            input_tokens=said(file.input_tokens),
            output_tokens=said(file.output_tokens),
            provider=said(file.provider),
            model=said(file.model_id),
            collected_at=said(file.collected_at),
            verdicts=tuple(self._verdicts()),
        )

    # What the path says

    def _turn(self) -> int | None:
        """The turn, by the path, by the table of positions, or as the file says."""
        onset, position = self._place.number("onset"), self._place.get("position")
        if onset is not None:
            return onset
        session = self._layout.sessions.get(self._session or "")
        if session is None or position is None or _is_counted(position):
            return said(self._file.turn)
        turn = session.positions.get(position)
        if turn is None:
            self._flag(Flag.UNKNOWN_POSITION, position)
        elif turn > session.turns:
            self._flag(Flag.BEYOND_END, f"turn {turn} of {session.turns}")
        return turn

    def _look_at_path(self) -> None:
        place, file = self._place, self._file
        if place.place.dual:
            self._flag(Flag.DUAL_MEANING, place.place.dual)
        if place.arm_as_written in self._layout.arm_aliases:
            self._flag(Flag.ARM_ALIAS, f"{place.arm_as_written} is {place.get('arm')}")
        arm = said(file.arm) if place.arm_as_written else None
        position = said(file.position)
        pairs = (
            ("target", _target_of(said(file.target), place.get("target")), place.get("target")),
            ("position", position if isinstance(position, str) else None, place.get("position")),
            ("arm", self._layout.arms.get(arm or "", arm), place.get("arm")),
            ("stimulus", said(file.probe_id), place.get("stimulus")),
            ("stimulus", (said(file.stressor) or "")[:2] or None, place.get("stimulus")),
            ("turn", said(file.turn), place.number("onset")),
            ("paraphrase", said(file.paraphrase), place.number("wording")),
            ("replicate", said(file.rep), place.number("sample")),
            ("replicate", said(file.replicate), place.number("sample") or 0),
        )
        for what, its, of_path in pairs:
            if its is not None and of_path is not None and its != of_path:
                self._flag(Flag.PATH_MISMATCH, f"{what} {its!r}, by its path {of_path!r}")

    def _look_at_keys(self) -> None:
        file = self._file
        missing = [
            key for key in self._layout.kinds[self._place.place.kind] if getattr(file, key) is UNSET
        ]
        if missing:
            self._flag(Flag.MISSING_KEY, ", ".join(missing))
        text = said(file.response_text)
        length = said(file.response_len)
        if file.response_text is not UNSET and not (text or "").strip():
            self._flag(Flag.EMPTY_REPLY, said(file.error) or "")
        if text and length is not None and len(text) != length:
            self._flag(Flag.LENGTH_MISMATCH, f"{len(text)}, said to be {length}")
        if said(file.judge_parse_error):
            self._flag(Flag.JUDGE_FAILED, str(file.judge_parse_error))

    # What it scored

    def _verdicts(self) -> Iterator[ImportedVerdict]:
        file = self._file
        void = next((flag for flag, _ in self.flags if flag.voids), None)
        named = said(file.judge)
        for scorer, given, label, reason in (
            (f"{REGISTER}/{named}" if named else REGISTER, file.score, file.label, file.reason),
            (f"{REGISTER}/sonnet", file.sonnet_score, file.sonnet_label, None),
            (f"{REGISTER}/gpt5", file.gpt5_score, file.gpt5_label, file.gpt5_reason),
        ):
            if given is not UNSET:
                yield self._register(scorer, given, said(label), said(reason), void)
        yield from self._compliances(void)

    def _register(
        self, scorer: str, given: Any, label: str | None, reason: str | None, void: Flag | None
    ) -> ImportedVerdict:
        value, wrong = _whole(given, 0, 3), None
        if value is None:
            wrong = self._flag(Flag.INVALID_SCORE, f"{scorer} {_shown(given)}")
        elif label and self._layout.labels.get(label) != value:
            wrong = self._flag(Flag.LABEL_MISMATCH, f"{scorer} {_shown(given)} is {label!r}")
        return _verdict(scorer, value, wrong or void, label=label, reason=reason, given=given)

    def _compliances(self, void: Flag | None) -> Iterator[ImportedVerdict]:
        """As the rule says of the text, and as the file says."""
        given, text = self._file.compliance, said(self._file.response_text)
        ruled = None
        if text is not None:
            ruled = published_compliance(self._place.get("stimulus") or "", text)
        if ruled is not None:
            yield _verdict(RULE, float(ruled), void)
        if given is UNSET:
            return
        value, wrong = _whole(float(given) if isinstance(given, bool) else given, 0, 1), None
        if value is None:
            wrong = self._flag(Flag.INVALID_SCORE, f"{COMPLIANCE} {_shown(given)}")
        elif void is None and ruled is not None and ruled != bool(value):
            detail = f"{_shown(given)}, the rule {ruled:d}"
            wrong = self._flag(Flag.COMPLIANCE_MISMATCH, detail)
        yield _verdict(COMPLIANCE, value, wrong or void, given=given)

    def _flag(self, flag: Flag, detail: str) -> Flag:
        self.flags.append((flag, detail))
        return flag


def _verdict(
    scorer: str,
    value: float | None,
    invalid: Flag | None,
    *,
    label: str | None = None,
    reason: str | None = None,
    given: Any = UNSET,
) -> ImportedVerdict:
    """Without a value where it is invalid."""
    return ImportedVerdict(
        scorer=scorer,
        value=None if invalid else value,
        label=label or None,
        reason=reason,
        invalid=None if invalid is None else invalid.value,
        given=None if given is UNSET else _shown(given),
    )


def _whole(given: Any, low: int, high: int) -> float | None:
    """A whole number within bounds; of nothing else is one made."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return float(given) if low <= given <= high and given == int(given) else None


def _shown(given: Any) -> str:
    return json.dumps(given)  # msgspec writes no whole number above 2**64


def _is_counted(position: str) -> bool:
    """Positions that say their place themselves: P07, cut-812, cutpoint-03."""
    return re.fullmatch(r"P\d\d|cut(point)?-\d+", position) is not None


def _target_of(said_target: str | None, folder: str | None) -> str | None:
    """The folder's name where a file's target is the same model, with its provider or a date."""
    if said_target is None or folder is None:
        return said_target
    one, other = _dashed(said_target), _dashed(folder)
    same = one == other or one.endswith(f"-{other}") or other.endswith(f"-{one}")
    return folder if same else said_target


@lru_cache
def _dashed(name: str) -> str:
    return _DATE.sub("", _NOT_A_NAME.sub("-", name.lower()))
