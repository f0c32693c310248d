"""Requests and responses of Anthropic's Messages API, wherever a log puts them.

The one thing to know: a record is a request body, alone or with its response; what says
that it is no other API's is a block, a `system` beside the messages, or a `stop_reason`.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.fields import objects_in, string, under
from contextecho.sessions.readers.anthropic.blocks import is_message, is_telling, pieces_of

_REQUESTS: Final = ((), ("request",), ("request", "body"), ("body",), ("params",))
_RESPONSES: Final = (("response",), ("response", "body"), ("result", "message"))


class Call(Struct, gc=False):
    """Where in a record the messages and the answer are."""

    messages: tuple[str, ...]  # keys that lead to the array
    answer: tuple[str, ...] | None
    body: dict[str, Any]

    @property
    def is_logged(self) -> bool:
        """Whether this is one request of a log, of which others may go on with it."""
        return len(self.messages) > 1 or self.answer is not None


def call_in(record: Any) -> Call | None:
    """The call that a record holds, if it is one."""
    if isinstance(record, list):
        return Call((), None, {"messages": record}) if any(map(is_message, record)) else None
    for keys in _REQUESTS:
        body = under(record, *keys)
        messages = body.get("messages") if isinstance(body, dict) else None
        if isinstance(messages, list) and isinstance(body, dict) and any(map(is_message, messages)):
            found = (path for path in _RESPONSES if is_message(under(record, *path)))
            return Call((*keys, "messages"), next(found, None), body)
    return None


def is_anthropic(record: Any) -> bool:
    """Whether a record, a message or a call, could be no other API's."""
    if is_message(record):
        return is_telling(record)
    call = call_in(record)
    if call is None:
        return False
    messages = [message for message in call.body["messages"] if is_message(message)]
    answer = under(record, *call.answer) if call.answer is not None else None
    if any(map(is_telling, messages)) or (answer is not None and is_telling(answer)):
        return True
    lists = any(isinstance(message["content"], list) for message in messages)
    return "anthropic_version" in call.body or (is_instruction(call.body.get("system")) and lists)


def is_instruction(system: Any) -> bool:
    """Whether this is a system prompt: words, or blocks of them."""
    return isinstance(system, str) or (isinstance(system, list) and bool(system))


def instructions_of(call: Call) -> str | None:
    """The system prompt of a call; None if it has none."""
    system = call.body.get("system")
    if isinstance(system, str):
        return system
    texts = (string(block, "text") for block in objects_in(system))
    return "\n\n".join(text for text in texts if text is not None) or None


def thread_of(call: Call) -> str:
    """What calls of one conversation share: the session that they name, or the first message."""
    user = string(call.body, "metadata", "user_id")
    if user is not None and "session" in user:
        return user
    first = next(message for message in call.body["messages"] if is_message(message))
    return repr([piece.text for piece in pieces_of(first)])
