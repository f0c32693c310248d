"""Damage to the bytes and the values of a file, and what must hold all the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import Session, read_session
from contextecho.sessions.reading import members_of

T = TypeVar("T")
QUIET = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SCRAPS = st.binary(max_size=4) | st.sampled_from(
    [b"\x00\x00", b"}{", b"\\ud83d", b'"', b"[" * 2000, b"1e999", b"\n", b"null", b"[]"]
)
ODD: list[Any] = [None, True, -1, 10**30, 1.5, "", "x", "\ud83d", [], [[]], [None], {}, {"a": {}}]


def damaged(data: Any, seed: bytes) -> bytes:
    """The seed with a few bytes dropped and others put in their place, and perhaps an end cut."""
    found = bytearray(seed)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(found)))
        found[at : at + data.draw(st.integers(0, 60))] = data.draw(SCRAPS)
    return bytes(
        found[: data.draw(st.integers(0, len(found)))] if data.draw(st.booleans()) else found
    )


def swapped(data: Any, value: Any) -> Any:
    """The same value with odd ones in a few places: JSON that parses, and of the wrong shape."""
    places = list(_places(value, ()))
    found = json.loads(json.dumps(value))
    for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=4)):
        inside = found
        try:
            for step in place[:-1]:
                inside = inside[step]
            inside[place[-1]] = deepcopy(data.draw(st.sampled_from(ODD)))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier swap took the place away
    return found


def _places(value: Any, above: tuple[Any, ...]) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inside in items:
        yield (*above, key)
        if isinstance(inside, dict | list):
            yield from _places(inside, (*above, key))


def survives(path: Path, data: bytes, format: str | None = None) -> None:
    """Every session in the file is read whole, or refused in one line."""
    path.write_bytes(data)
    for name in unless_refused(partial(members_of, path, format=format)) or ():
        one = path if name is None else f"{path}#{name}"
        session = unless_refused(partial(read_session, one, format=format))
        if session is not None:
            loads(session)


def unless_refused(attempt: Callable[[], T]) -> T | None:
    """What the attempt gives, or None for a refusal in one line; any other error is the test's."""
    try:
        return attempt()
    except SessionError as error:
        refusal = str(error)
    assert "\n" not in refusal
    return None


def loads(session: Session) -> None:
    """What the index says of each turn is what the file holds."""
    contents = list(session.contents(session.turns))
    assert [turn.chars for turn in session.turns] == [len(found.text) for found in contents]
    for content in contents:
        content.text.encode("utf-8")
    lines = [turn.line for turn in session.turns]
    assert lines == sorted(lines)
    assert session.steps > 0
    for compaction in session.compactions:
        assert all(0 <= index < len(session.turns) for index in compaction.kept)
    for _, record in session.source.records(1, max(lines)):
        json.dumps(record).encode("utf-8")
