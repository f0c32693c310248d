"""A pre-registration: what a study will ask and how it is read, frozen before it is asked.

A `Lock` is one readable file: its parts, a SHA-256 of each and one of the whole, which
covers the time and, in an amendment, the hash of the lock before it. The one thing to
know: a run keeps to a lock when everything that it holds stands in the lock as it
stands in the run; a lock may hold more (other sessions, levels, targets, judges).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from contextecho.contexts import Decoding, Position, Protocol, canonical_json
from contextecho.errors import DataError
from contextecho.own_files import read_data_file
from contextecho.stimuli import Battery
from contextecho.studies.model import Plan, Registered, Study

FORMAT = "contextecho.prereg/1"

Part = Mapping[str, Any]
Parts = Mapping[str, Part]

_READ = ("contrasts", "estimand", "negative_controls")  # of a study: how it is read


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """What of a plan enters a lock, also of one that a store holds."""

    study: Study
    protocol: Protocol
    session: str
    session_sha256: str
    targets: tuple[str, ...]
    positions: tuple[Position, ...]
    batteries: Mapping[str, Battery]
    contexts: tuple[str, ...]  # hashes
    decoding: Decoding
    serving: Mapping[str, str]

    @property
    def at(self) -> str:
        """The study, and its level if it has one."""
        level = self.study.level
        return f"{self.study.id}/{level.id}" if level else self.study.id


class Amends(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lock that stood before, in the same folder, and why it stands no more."""

    file: str
    sha256: str  # of that lock
    why: str


class Lock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pre-registration as its file holds it."""

    format: str
    locked_at: str  # ISO-8601, UTC, by the clock of the machine
    amends: Amends | None
    parts: Parts
    part_sha256: Mapping[str, str]  # of each part's canonical JSON
    sha256: str  # of the canonical JSON of all that stands above


def freeze(plan: Plan) -> Frozen:
    """What of a plan enters a lock."""
    fields = {name: getattr(plan, name) for name in Frozen.__struct_fields__}
    return Frozen(**{**fields, "contexts": tuple(sorted(plan.contexts))})


def parts_of(frozen: Iterable[Frozen], *, rules: Part, judges: Part, code: Part) -> Parts:
    """The parts of a lock.

    `rules` say how replies are scored and estimated, `judges` by which version each
    reads, `code` which versions compute.
    """
    parts: dict[str, dict[str, Any]] = {
        "study": {},
        "stimuli": {},
        "protocol": {},
        "targets": {},
        "positions": {},
        "analysis": dict(rules),
        "sessions": {},
        "judges": dict(judges),
        "code": dict(code),
    }
    for plan in frozen:
        study: dict[str, Any] = msgspec.to_builtins(plan.study)
        protocol: dict[str, Any] = msgspec.to_builtins(plan.protocol)
        del protocol["system"]  # may be the session's own; the prefixes' hash covers it
        read = {name: study.pop(name, None) for name in _READ}
        parts["study"][plan.at] = study
        parts["stimuli"][plan.at] = {name: b.sha256 for name, b in plan.batteries.items()}
        parts["protocol"][plan.at] = protocol | {"decoding": msgspec.to_builtins(plan.decoding)}
        parts["targets"] |= {target: plan.serving.get(target, "") for target in plan.targets}
        parts["positions"][f"{plan.at} on {plan.session}"] = {
            "row_turns": {position.label: position.row_turn for position in plan.positions},
            "prefixes_sha256": _sha256(sorted(plan.contexts)),
        }
        parts["analysis"][plan.at] = read | {"family": plan.study.family}
        parts["sessions"][plan.session] = plan.session_sha256
    return parts


def lock(parts: Parts, locked_at: str, amends: Amends | None = None) -> Lock:
    """Freeze parts at a moment (ISO-8601, UTC)."""
    unsigned = Lock(
        format=FORMAT,
        locked_at=locked_at,
        amends=amends,
        parts=parts,
        part_sha256={name: _sha256(part) for name, part in parts.items()},
        sha256="",
    )
    return msgspec.structs.replace(unsigned, sha256=_sha256_of(unsigned))


def differences(lock: Lock, parts: Parts) -> tuple[str, ...]:
    """What does not stand in a lock as it stands here: the part, then its entry."""
    return tuple(
        f"{name}: {entry}"
        for name, part in parts.items()
        for entry, value in part.items()
        if canonical_json(lock.parts.get(name, {}).get(entry, _ABSENT)) != canonical_json(value)
    )


def changed_parts(before: Lock, parts: Parts) -> tuple[str, ...]:
    """The names of the parts that are others than those of a lock."""
    return tuple(name for name in parts if before.part_sha256.get(name) != _sha256(parts[name]))


def write_lock(lock: Lock) -> bytes:
    """A lock as its file holds it: sorted keys, indented, one line feed at the end."""
    return msgspec.json.format(canonical_json(lock), indent=2) + b"\n"


def read_chain(path: Path) -> tuple[Lock, ...]:
    """A lock and all that it amends, the first one first.

    Raises `DataError` for a file that is missing or not as it was written, and for a
    chain whose hashes or times do not follow one another.
    """
    chain = [_read_lock(path)]
    while amends := chain[0].amends:
        former_path = path.parent / Path(amends.file).name
        former = _read_lock(former_path)
        if former.sha256 != amends.sha256:
            raise DataError(
                f"the chain is broken: the amendment is of a lock {amends.sha256[:12]}, "
                f"and this one is {former.sha256[:12]}",
                where=str(former_path),
                todo="put back the lock that was amended",
            )
        if _moment(former.locked_at) >= _moment(chain[0].locked_at):
            raise DataError(
                "the chain is broken: an amendment is no later than what it amends",
                where=str(path),
            )
        chain.insert(0, former)
    return tuple(chain)


def registered(chain: Sequence[Lock]) -> Registered:
    """What a run keeps of the last lock of a chain."""
    return Registered(
        lock=chain[-1].sha256,
        locked_at=chain[-1].locked_at,
        first=chain[0].sha256,
        amendments=len(chain) - 1,
    )


def _read_lock(path: Path) -> Lock:
    data = read_data_file(path)
    try:
        found = msgspec.json.decode(data, type=Lock)
        _moment(found.locked_at)
    except (msgspec.MsgspecError, ValueError) as error:
        raise DataError(f"not a pre-registration: {error}", where=str(path)) from error
    for problem in _faults(found, data):
        raise DataError(
            problem, where=str(path), todo="use the file as `contextecho prereg` wrote it"
        )
    return found


def _faults(found: Lock, data: bytes) -> Iterator[str]:
    if found.format != FORMAT:
        yield f"format {found.format!r} is not {FORMAT!r}"
    hashed = {name: _sha256(part) for name, part in found.parts.items()}
    names = sorted(hashed.keys() | found.part_sha256.keys())
    if altered := [name for name in names if hashed.get(name) != found.part_sha256.get(name)]:
        yield f"changed after it was locked: {', '.join(altered)}"
    if found.sha256 != _sha256_of(found):
        yield "changed after it was locked: the hash of the whole does not fit"
    if data != write_lock(found):
        yield "changed after it was locked: not in the form that it was written in"


def _moment(text: str) -> datetime:
    """Raises `ValueError` for what is no moment in UTC."""
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() != timedelta(0):
        raise ValueError(f"{text!r} is no moment in UTC")
    return moment


def _sha256_of(lock: Lock) -> str:
    values = msgspec.to_builtins(lock)
    del values["sha256"]
    return _sha256(values)


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


_ABSENT = {"": "no entry is called so"}
