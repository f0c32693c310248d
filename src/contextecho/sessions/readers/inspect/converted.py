"""A sample that `convert` wrote: its turns and compactions at their places in the session again.

The one thing to know: a log has no place for a compaction without a readable summary, nor
for what a rewind left behind, so that counting its messages anew gives other numbers. What
`convert` put beside them is believed as a whole or not at all; `line` alone is the log's.
The span of a turn that was left behind counts on after the messages.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.converting.inspect_log import OURS, SHARED, Place
from contextecho.sessions.converting.normalised import FORMAT, Header, Line, facts_of
from contextecho.sessions.model import Session, Skipped, Span, Turn
from contextecho.sessions.readers.normalised import (
    inherited_of,
    path_of,
    pieces_of,
    referring,
    turn_of,
)

_MOST_ROWS: Final = 1 << 22  # of a session: what a damaged log may make us count
_NEVER_BACKWARDS: Final = ("row_turn", "step", "prompt", "segment")
_ITS_OWN: Final = frozenset({"line"})

Found = tuple[Turn, tuple[Place | Line, ...]]
"""A turn of the log, and the places of the session's turns that it is."""


class _About(Struct):
    """What the metadata of a message says."""

    contextecho: Place


class _Aside(Struct):
    """What the metadata of the sample has besides the header."""

    abandoned: list[Line] = []


def is_converted(metadata: Any) -> bool:
    """Whether the metadata of a sample is that of a session that `convert` wrote."""
    about = metadata.get(OURS) if isinstance(metadata, dict) else None
    return isinstance(about, dict) and about.get("format") == FORMAT


def as_converted(session: Session, metadata: Any, messages: Sequence[Any]) -> Session:
    """The session with the places that it had; as it is, with a reason, where they do not fit."""
    try:
        header = msgspec.convert(metadata[OURS], Header, dec_hook=path_of)
        left = msgspec.convert(metadata[OURS], _Aside).abandoned
        cuts = sorted(compaction.line for compaction in header.compactions)
        went_on = list(_found(session.turns, messages))
        found = list(_with_left(went_on, _left(left, len(messages)), cuts, len(messages) + 1))
    except (msgspec.ValidationError, ValueError, KeyError, OverflowError):
        return _not_fitting(session)
    turns = list(_placed(found))
    rows = max(header.counts.row_turns, turns[-1].row_turn)
    if rows > _MOST_ROWS:
        return _not_fitting(session)
    index_of = {place.index: index for index, (_, places) in enumerate(found) for place in places}
    lines = [(_last_line(places), turn.line) for turn, places in found]
    facts = facts_of(header) | {
        "id": header.id,
        "system": session.system,
        "compactions": tuple(
            replace(
                referring(compaction, index_of),
                line=next(
                    (line for was, line in lines if was >= compaction.line), len(messages) + 1
                ),
            )
            for compaction in header.compactions
        ),
        "inherited": inherited_of(header, index_of),
        "row_turn_lines": _row_turn_lines(turns, rows),
        "skipped": (*header.skipped, *session.skipped),
    }
    return replace(session, turns=tuple(turns), **facts)


def _not_fitting(session: Session) -> Session:
    reason = "places of the converted session, which do not fit the messages"
    return replace(session, skipped=(*session.skipped, Skipped(reason=reason, count=1, lines=(1,))))


def _found(turns: Sequence[Turn], messages: Sequence[Any]) -> Iterator[Found]:
    """Each turn with its places. Raises `ValidationError` or `ValueError` where they do not fit."""
    places: dict[int, tuple[Place, ...]] = {}
    for turn in turns:
        number, part = turn.line, turn.span.part
        if number not in places:
            first = msgspec.convert(messages[number - 1].get("metadata"), _About).contextecho
            places[number] = (first, *first.more)
        if messages[number - 1]["role"] == "assistant":
            if part >= len(places[number]):
                raise ValueError("more pieces than places")
            yield turn, places[number][part : part + 1]
        else:  # what a human or the client said in several pieces is one text
            yield turn, places[number]


def _left(left: Sequence[Line], messages: int) -> list[tuple[Turn, Line]]:
    """The turns that a rewind left behind, in their order. Raises `ValueError` for what is none."""
    turns = []
    for number, line in enumerate(left, messages):
        if line.text is None and line.arguments is None:
            raise ValueError("a turn without content")
        turns.append((replace(turn_of(line, Span(number, 0)), abandoned=True), line))
    return sorted(turns, key=lambda each: each[1].index)


def _with_left(
    went_on: Sequence[Found], left: Sequence[tuple[Turn, Line]], cuts: Sequence[int], end: int
) -> Iterator[Found]:
    """All turns, those left behind before what the session has after them.

    Such a turn stands at the message before it, but behind a compaction at the next; `cuts`
    are the lines of the compactions in the file that was converted, `end` follows the last
    message. The messages that such turns were joined to are none of the log's.
    """
    joined = 1 + max(turn.message for turn, _ in went_on)
    rest = deque(went_on)
    was, at = 0, went_on[0][0].line
    for turn, line in left:
        while rest and rest[0][1][0].index < line.index:
            before, places = rest.popleft()
            was, at = _last_line(places), before.line
            yield before, places
        if bisect_right(cuts, was) < bisect_right(cuts, line.line):
            was, at = line.line, rest[0][0].line if rest else end
        yield replace(turn, line=at, message=joined + line.message), (line,)
    yield from rest


def _last_line(places: Sequence[Place | Line]) -> int:
    """Of the file that was converted."""
    return max(place.line for place in places)


def left_piece(metadata: Any, number: int) -> Piece:
    """What the turn of this number says, of those that a rewind left behind."""
    return pieces_of(metadata[OURS]["abandoned"][number])[0]


def _placed(found: Sequence[Found]) -> Iterator[Turn]:
    """The turns at their places.

    A result that its client wrote between two calls of one message stands after both here:
    its places are then those of the later call, since no count goes backwards.
    """
    before = dict.fromkeys(_NEVER_BACKWARDS, 0)
    for turn, places in found:
        facts = {name: getattr(places[0], name) for name in SHARED if name not in _ITS_OWN}
        before = {name: max(before[name], facts[name]) for name in _NEVER_BACKWARDS}
        yield replace(turn, **facts | before)


def _row_turn_lines(turns: Sequence[Turn], rows: int) -> array[int]:
    """The message of each row turn; of one that left no message, the next, else the last."""
    lines = array("I")
    for turn in turns:
        lines.extend([turn.line] * (min(turn.row_turn, rows) - len(lines)))
    lines.extend([turns[-1].line] * (rows - len(lines)))
    return lines
