"""A lock: its hashes by `hashlib` alone, what a changed byte does, and the chain of amendments."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from contextecho.errors import DataError
from contextecho.stimuli import Battery, Stimulus, StimulusKind
from contextecho.studies import (
    Amends,
    Lock,
    Parts,
    changed_parts,
    differences,
    freeze,
    lock,
    parts_of,
    read_chain,
    registered,
    write_lock,
)
from store.plans import make_plan

FIRST, SECOND = "2026-01-01T00:00:00.000000+00:00", "2026-01-02T00:00:00.000000+00:00"


def parts(*, rules: dict[str, Any] | None = None, **axes: Any) -> Parts:
    return parts_of([freeze(make_plan(**axes))], rules=rules or {}, judges={}, code={"p": "1"})


def sha256(value: object) -> str:
    """Of canonical JSON, by the standard library."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def keep(path: Path, kept: Lock) -> Path:
    path.write_bytes(write_lock(kept))
    return path


def test_the_hashes_are_those_of_the_canonical_json(tmp_path: Path) -> None:
    path = keep(tmp_path / "lock.json", lock(parts(), FIRST))
    document = json.loads(path.read_bytes())
    whole = document.pop("sha256")
    assert whole == sha256(document)
    assert document["part_sha256"] == {n: sha256(part) for n, part in document["parts"].items()}
    assert document["locked_at"] == FIRST


def test_a_battery_is_frozen_by_its_hash_and_a_session_by_its() -> None:
    probe = Stimulus(id="A", category="c", kind=StimulusKind.PROBE, wordings=("who?",))
    asked = Battery(
        id="b", version="1", licence="CC0-1.0", source="t", sha256="a" * 64, stimuli=(probe,)
    )
    found = parts(batteries=[asked])
    (stimuli,) = found["stimuli"].values()
    assert stimuli["b"] == "a" * 64
    assert found["sessions"] == {"s1": "5" * 64}


def test_every_changed_byte_is_found(tmp_path: Path) -> None:
    path = keep(tmp_path / "lock.json", lock(parts(), FIRST))
    whole = path.read_bytes()
    places = range(0, len(whole), 7)
    assert len(places) > 100
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(DataError):
            read_chain(path)


def test_the_part_that_was_changed_is_named(tmp_path: Path) -> None:
    path = keep(tmp_path / "lock.json", lock(parts(positions=2), FIRST))
    path.write_bytes(path.read_bytes().replace(b"even:2", b"even:9"))
    with pytest.raises(DataError, match="changed after it was locked: study"):
        read_chain(path)


def test_a_moment_that_is_not_in_utc_is_none(tmp_path: Path) -> None:
    path = keep(tmp_path / "lock.json", lock(parts(), "2026-01-01T00:00:00+02:00"))
    with pytest.raises(DataError, match="no moment in UTC"):
        read_chain(path)


def test_a_part_that_differs_is_named_with_its_entry() -> None:
    locked = lock(parts(rules={"primary": "register"}), FIRST)
    assert differences(locked, parts(rules={"primary": "register"})) == ()
    assert differences(locked, parts(rules={"primary": "length"})) == ("analysis: primary",)
    assert "targets: simulated/other" in differences(
        locked, parts(rules={"primary": "register"}, targets=["simulated/other"])
    )


def test_a_lock_may_hold_more_than_is_asked_and_not_less() -> None:
    both, one = parts(targets=["simulated/a", "simulated/b"]), parts(targets=["simulated/a"])
    assert differences(lock(both, FIRST), one) == ()
    assert differences(lock(one, FIRST), both) == ("targets: simulated/b",)


def chain(folder: Path, *, former: str | None = None, at: str = SECOND) -> Path:
    """An amendment that takes a second target in."""
    first = lock(parts(), FIRST)
    keep(folder / "first.json", first)
    amends = Amends(file="first.json", sha256=former or first.sha256, why="one is too few")
    amended = parts(targets=["simulated", "simulated/b"])
    return keep(folder / "second.json", lock(amended, at, amends))


def test_a_chain_is_read_from_its_first_lock(tmp_path: Path) -> None:
    first, second = read_chain(chain(tmp_path))
    assert (first.locked_at, second.locked_at) == (FIRST, SECOND)
    assert second.amends is not None
    assert second.amends.sha256 == first.sha256
    assert changed_parts(first, second.parts)[0] == "targets"
    kept = registered([first, second])
    assert (kept.lock, kept.first, kept.amendments) == (second.sha256, first.sha256, 1)


def test_a_broken_chain_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the chain is broken"):
        read_chain(chain(tmp_path, former="0" * 64))
    with pytest.raises(DataError, match="no later than what it amends"):
        read_chain(chain(tmp_path, at=FIRST))
    path = chain(tmp_path)
    (tmp_path / "first.json").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        read_chain(path)


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = lock(parts(), FIRST)
    (found,) = read_chain(keep(tmp_path / "lock.json", written))
    assert write_lock(found) == write_lock(written)
