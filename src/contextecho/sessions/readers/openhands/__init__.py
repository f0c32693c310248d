"""Reads OpenHands: event lists and evaluations of V0, conversations of the V1 SDK.

The one thing to know: both are streams of events, some of which say something. V0 tells
them by `action` and `observation`, V1 by `kind`. A conversation of V1 is a folder:
reading its `base_state.json` reads the events beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from contextecho.sessions.building.conversation import Conversation, Piece
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import Placed, PlacedSource
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Session
from contextecho.sessions.readers.openhands import layout, v0, v1
from contextecho.sessions.readers.openhands.actions import Actions
from contextecho.sessions.readers.openhands.branches import PARENT, left_behind
from contextecho.sessions.readers.openhands.delegates import DELEGATE, Delegates
from contextecho.sessions.readers.openhands.folder import FolderSource, read_events
from contextecho.sessions.readers.openhands.kinds import Kinds, learn_state
from contextecho.sessions.readers.openhands.thread import Facts, Thread
from contextecho.untrusted import make_visible

NAME: Final = "openhands"
_MARKS: Final = (PARENT, DELEGATE)
_SIGNS: Final = (b'"observation"', b'"action"', b'"kind"')

Events = Callable[[Tally], Iterator[Placed]]


def sniff(head: bytes) -> bool:
    """Whether the file holds events, instances with events, or a conversation's state."""
    if not any(sign in head for sign in _SIGNS):
        return False
    line, end, _ = head.lstrip().partition(b"\n")
    first = decode_json(line)
    if layout.is_event(first):
        return bool(end)  # without a line's end it is one event of a folder, in a file of its own
    if layout.is_instance(first) or layout.is_base_state(first):
        return True
    return layout.has_events(head) or layout.is_base_state(decode_json(head))


def members(path: Path) -> list[str]:
    """The instances of an evaluation; one name for a file that is one conversation."""
    return list(layout.instances(path).places) or ["1"]


def read_member(path: Path, member: str) -> Session:
    """Index one conversation. Raises `SessionError` if no model speaks in it."""
    reading = _Reading(path)
    tally = reading.conversation.tally
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        first = decode_json(layout.first_line(file))
        if layout.is_event(first):
            events: Events = partial(layout.event_lines, file, stamp.size)
            marks = {mark for line in file for mark in _MARKS if mark in line}
        elif layout.is_instance(first):
            data, offset = _instance(file, layout.instances(path), member, tally)
            layout.learn_instance(reading.facts, decode_json(data))
            events = partial(layout.events_in, data, offset)
            marks = {mark for mark in _MARKS if mark in data}
        else:
            data = file.read(stamp.size)
            if layout.is_base_state(decode_json(data)):
                return reading.folder()
            events = partial(layout.events_in, data, 0)
            marks = {mark for mark in _MARKS if mark in data}
        if PARENT in marks:
            reading.learn_tree(placed.value for placed in events(Tally()))
        if DELEGATE in marks:
            reading.delegates.learn(layout.first_of_each(events(Tally()), Tally()))
        source = PlacedSource(path, stamp, _pieces)
        for placed in layout.first_of_each(events(tally), tally):
            if isinstance(placed.value, dict):
                source.place(placed)
            reading.take(placed)
    return reading.session(source, stamp.size)


def _instance(
    file: BinaryIO, found: layout.Instances, member: str, tally: Tally
) -> tuple[bytes, int]:
    """The line of an instance and where it begins; lines without any are counted."""
    for line in found.others:
        tally.add("line without an instance", line)
    place = found.places.get(member)
    if place is None:  # the file has changed since its instances were named
        return b"", 0
    file.seek(place.span.offset)
    return file.read(place.span.length), place.span.offset


class _Reading:
    """What is known of one conversation while its events come in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.conversation = Conversation()
        self.facts = Facts()
        self._thread = Thread(self.conversation, self.facts)
        self.delegates = Delegates(self._thread)
        self._actions = Actions(self._thread, self.delegates)
        self._kinds = Kinds(self._thread)

    def learn_tree(self, events: Iterable[Any]) -> None:
        """Find out, before any is taken in, which events a rewind left behind."""
        self._thread.abandoned = left_behind(events, self.facts.leaf)

    def take(self, placed: Placed) -> None:
        """Take in one event; what is none is counted."""
        if v1.is_event(placed.value):
            self._kinds.take(placed)
        elif v0.is_event(placed.value):
            self._actions.take(placed)
        else:
            self.conversation.tally.add("not an event", placed.line)

    def folder(self) -> Session:
        """The session whose events are in a folder beside the state that `path` names."""
        source = FolderSource(_pieces)
        learn_state(self.facts, source.read(self._path, 0).value)
        found = list(read_events(self._path, source, self.conversation.tally))
        self.learn_tree(placed.value for placed in found)
        for placed in layout.first_of_each(found, self.conversation.tally):
            self.take(placed)
        return self.session(source, source.size)

    def session(self, source: PlacedSource | FolderSource, size: int) -> Session:
        """The session, when all events have been taken in."""
        self.delegates.give_up()
        return self.conversation.session(
            self._path,
            format=NAME,
            bytes=size,
            source=source,
            sidechains=tuple(self.delegates.sidechains(self._path)),
            cwd=self.facts.cwd,
            **({"id": make_visible(self.facts.id)} if self.facts.id else {}),
        )


def _pieces(event: dict[str, Any]) -> list[Piece]:
    return v1.pieces_of(event) if v1.is_event(event) else v0.pieces_of(event)
