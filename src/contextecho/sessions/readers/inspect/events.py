"""What the events of a sample add to its messages: times, compactions, calls made elsewhere.

The one thing to know: the messages are the conversation as it ended; the events say
when each was said, where the context was compacted, and what the model was shown next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from contextecho.sessions.building.fields import instant
from contextecho.sessions.model import CompactionKind
from contextecho.sessions.readers.inspect.pieces import is_summary
from contextecho.untrusted import make_visible

T = TypeVar("T")


class _Named(Struct):
    id: Any = None


class _Choice(Struct):
    message: _Named | None = None


class _Output(Struct):
    choices: list[_Choice] = []


class Known(Struct):
    """Messages that the events refer to by number."""

    messages: list[_Named] = []


class Event(Struct):
    """The fields of an event that are read; of most kinds of event, none but its name."""

    event: Any = None
    timestamp: Any = None
    completed: Any = None
    message_id: Any = None  # of a tool event: the message that its result became
    type: Any = None
    tokens_before: Any = None
    tokens_after: Any = None
    metadata: Any = None
    input: Raw = Raw(b"null")
    input_refs: Any = None
    output: Raw = Raw(b"null")
    kept: tuple[str, ...] = ()  # of a compaction: the messages that the model was shown next


class History(Struct, frozen=True):
    """What the events say, by the messages that they are about."""

    time_of: dict[str, float]  # seconds since 1970, by message id
    elsewhere: tuple[int, ...]  # numbers of the model calls whose answer is in no message
    compactions: dict[int, list[Event]]  # by the index of the message that each stands before

    @classmethod
    def of(cls, messages: Sequence[Any], events: Sequence[Event], known: Known | None) -> History:
        """The history of these messages."""
        index_of = {
            message["id"]: index
            for index, message in enumerate(messages)
            if isinstance(message, dict) and isinstance(message.get("id"), str)
        }
        summaries = [i for i, message in enumerate(messages) if is_summary(message)]
        time_of, elsewhere, compactions = dict[str, float](), [], dict[int, list[Event]]()
        seen = -1
        for number, event in enumerate(events, 1):
            if event.event == "compaction":
                event.kept = _shown_next(events[number:], known)
                has_own = event.type == "summary" and summaries and summaries[0] > seen
                place = summaries.pop(0) if has_own else seen + 1
                compactions.setdefault(min(place, len(messages) - 1), []).append(event)
                seen = max(seen, place if has_own else seen)
                continue
            for id in _results(event):
                if id in index_of:
                    seen = max(seen, index_of[id])
                    _note(time_of, id, event)
                elif event.event == "model":
                    elsewhere.append(number)
        return cls(time_of, tuple(elsewhere), compactions)

    def compactions_before(self, index: int) -> Sequence[Event]:
        """The compactions that happened just before a message."""
        return self.compactions.get(index, ())

    def announces(self, index: int) -> bool:
        """Whether a compaction is known to which the summary at `index` belongs."""
        return any(event.type == "summary" for event in self.compactions_before(index))


def compaction_facts(event: Event) -> dict[str, Any]:
    """The fields of a `Compaction` that an event tells."""
    trigger = event.metadata.get("trigger") if isinstance(event.metadata, dict) else None
    return {
        "kind": CompactionKind.MICRO if event.type == "edit" else CompactionKind.FULL,
        "trigger": make_visible(trigger) if isinstance(trigger, str) else None,
        "tokens_before": _count(event.tokens_before),
        "tokens_after": _count(event.tokens_after),
    }


def _results(event: Event) -> Iterator[str]:
    """The ids of the messages that came of an event."""
    if event.event == "tool" and isinstance(event.message_id, str):
        yield event.message_id
    elif event.event == "model":
        output = _as(_Output, event.output)
        for choice in output.choices[:1] if output else ():
            if choice.message is not None and isinstance(choice.message.id, str):
                yield choice.message.id


def _shown_next(events: Sequence[Event], known: Known | None) -> tuple[str, ...]:
    """The messages of the first model call among the events."""
    call = next((event for event in events if event.event == "model"), None)
    if call is None:
        return ()
    named = list(_as(list[_Named], call.input) or [])
    ranges = call.input_refs if isinstance(call.input_refs, list) else []
    for pair in ranges:
        if known and isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair)):
            named += known.messages[pair[0] : pair[1]]
    return tuple(name.id for name in named if isinstance(name.id, str))


def _note(time_of: dict[str, float], id: str, event: Event) -> None:
    """When a message was complete: the end of the event, or its beginning if that is all."""
    for written in (event.completed, event.timestamp):
        if (time := instant(written)) is not None:
            time_of[id] = time
            return


def _as(type: type[T], raw: Raw) -> T | None:
    try:
        return msgspec.json.decode(raw, type=type)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _count(value: Any) -> int | None:
    return value if _is_count(value) else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
