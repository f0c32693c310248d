"""Where the events are in a file: an array, lines, an evaluation's instances, or a folder.

The one thing to know: an evaluation writes a line for each instance, with the events
under `history`; it is a session of its own and is named by its `instance_id`, or by its
line where ids repeat. Old histories hold pairs, an action and its observation.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from contextecho.sessions.building.fields import list_in, string, under
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import Document, Placed, placed_lines
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Span
from contextecho.sessions.readers.openhands import v0, v1
from contextecho.sessions.readers.openhands.thread import Facts, id_of, text_of_id

HISTORY: Final = "history"
_ARRAYS: Final = ((), ("trajectory",), (HISTORY,), ("events",))
_OF_ONE: Final = ("timestamp", "action", "observation", "kind")
_STATE: Final = frozenset({"execution_status", "agent_status", "confirmation_policy"})


def is_event(value: Any) -> bool:
    """Whether this is an event of either kind."""
    return v1.is_event(value) or v0.is_event(value)


def is_base_state(value: Any) -> bool:
    """Whether this is the state of a conversation whose events are in a folder beside it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("agent"), dict)
        and isinstance(value.get("workspace"), dict)
        and not value.keys().isdisjoint(_STATE)
    )


def is_instance(value: Any) -> bool:
    """Whether this is an instance of an evaluation, with a history of events."""
    return any(map(_holds_event, list_in(value, HISTORY)))


def has_events(head: bytes) -> bool:
    """Whether a document that begins like this has an array of events, as far as it parses."""
    document = Document(head)
    return any(
        _holds_event(placed.value)
        for keys in _ARRAYS
        for placed in document.elements(*keys, tally=Tally())
    )


def first_line(file: BinaryIO) -> bytes:
    """The first line that is not blank; the file stands at its beginning again."""
    found = next((line for line in file if line.strip()), b"")
    file.seek(0)
    return found


class _Instance(Struct):
    """What tells an instance, without decoding its events."""

    instance_id: str | int | None = None
    history: msgspec.Raw = msgspec.Raw(b"")


_decode_instance = msgspec.json.Decoder(_Instance).decode


class Instances(Struct, frozen=True):
    """Where the instances of an evaluation lie, by name, and the lines that hold none."""

    places: dict[str, Placed]
    others: tuple[int, ...]


def instances(path: Path) -> Instances:
    """The instances in a file; none for a file of another layout. Raises `OSError`."""
    with path.open("rb") as file:
        return _instances(path, Stamp.of(file))


@lru_cache(maxsize=2)
def _instances(path: Path, stamp: Stamp) -> Instances:
    """Kept as long as the file is the same: each instance is read by itself."""
    found, others, offset = list[tuple[str, Placed]](), list[int](), 0
    with path.open("rb") as file:
        if not is_instance(decode_json(first_line(file))):
            return Instances({}, ())
        for number, line in enumerate(file, 1):
            value = _instance_in(line)
            if value is not None:
                name = "" if value.instance_id is None else str(value.instance_id)
                found.append((name, Placed(number, Span(offset, len(line)), None)))
            elif line.strip():
                others.append(number)
            offset += len(line)
    names = {name for name, _ in found}
    by_line = len(names) < len(found) or any("#" in n or not n.isprintable() for n in names)
    by_line |= "" in names
    places = {str(place.line) if by_line else name: place for name, place in found}
    return Instances(places, tuple(others))


def learn_instance(facts: Facts, value: Any) -> None:
    """Take from an instance what it says about the run."""
    models = (string(value, "metadata", key, "model") for key in ("llm_config", "llm"))
    facts.model = next((model for model in models if model), None)
    facts.agent = string(value, "metadata", "agent_class")
    facts.id = text_of_id(under(value, "instance_id"))


def events_in(data: bytes, offset: int, tally: Tally) -> Iterator[Placed]:
    """The events of a document; both halves of a pair have its number."""
    document = Document(data, offset)
    keys = next((keys for keys in _ARRAYS if document.has_array(*keys)), ())
    for placed in document.elements(*keys, tally=tally):
        if not isinstance(placed.value, list):
            yield placed
            continue
        begin = placed.span.offset - offset
        pair = Document(data[begin : begin + placed.span.length], placed.span.offset)
        for half in pair.elements(tally=tally):
            half.line = placed.line
            yield half


def event_lines(file: BinaryIO, end: int, tally: Tally) -> Iterator[Placed]:
    """The events of a file that has one a line."""
    file.seek(0)
    return placed_lines(file, end, tally, is_event, ("id", "kind", "timestamp", "source"))


def first_of_each(events: Iterable[Placed], tally: Tally) -> Iterator[Placed]:
    """The events, each once; one that is there again is counted.

    That is one of the same id, time and kind: a client may count anew, and an event that
    has no number is written as -1.
    """
    met = set[tuple[str | None, ...]]()
    for placed in events:
        if is_event(placed.value) and (id := id_of(placed.value)) is not None:
            same = (id, *(string(placed.value, key) for key in _OF_ONE))
            if same in met:
                tally.add("repeated event", placed.line)
                continue
            met.add(same)
        yield placed


def _holds_event(value: Any) -> bool:
    """Whether an element of a history is an event, or a pair with one."""
    return any(map(is_event, value)) if isinstance(value, list) else is_event(value)


def _instance_in(line: bytes) -> _Instance | None:
    try:
        found = _decode_instance(line.removeprefix(BOM_UTF8))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found if bytes(found.history).strip(b"[] \t\r\n{") else None
