"""What an event of Copilot CLI's log says, by itself.

The one thing to know: `content` of a user's message is what was typed;
`transformedContent` is what was sent, with the client's blocks around it. A message
without content, and without an attachment, is one that the client sent to keep the
model going; so is one that names a source other than the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import filled, list_in, objects_in, text_in
from contextecho.sessions.building.jsontext import json_text
from contextecho.sessions.model import Kind, Speaker
from contextecho.sessions.readers.copilot.vocabulary import KNOWN

_BLOCK = re.compile(
    r"<(current_datetime|reminder|system_reminder|skill-context|system_notification)\b[^<>]{0,200}>"
)
_TYPED: Final = frozenset({"", "user", "human", "cli"})
_FROM_ANOTHER_SESSION: Final = "<cross_session_message>"


def is_event(value: Any) -> bool:
    """Whether this is an event of the log: a dotted type and its data."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and isinstance(value.get("data"), dict)
        and not value.keys().isdisjoint({"parentId", "timestamp"})
        and (value["type"] in KNOWN or ("." in value["type"] and "parentId" in value))
    )


def pieces(event: Mapping[str, Any]) -> list[Piece]:
    """The pieces of one event; none for an event that says nothing."""
    data = event.get("data")
    say = _SAYS.get(event["type"])
    return say(data) if say is not None and isinstance(data, dict) else []


def typed(text: str) -> str:
    """The words in a text without the blocks that the client puts around them."""
    kept, position, unclosed = [], 0, set[str]()
    for found in _BLOCK.finditer(text):
        name = found.group(1)
        if found.start() < position or name in unclosed:
            continue
        end = text.find(f"</{name}>", found.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept.append(text[position : found.start()])
        position = end + len(name) + len("</>")
    kept.append(text[position:])
    return "\n".join(filter(None, (part.strip() for part in kept)))


def _user(data: dict[str, Any]) -> list[Piece]:
    content, source = text_in(data, "content"), text_in(data, "source")
    images = len(list_in(data, "attachments"))
    words = typed(content)
    sent = text_in(data, "transformedContent")
    if (
        source not in _TYPED
        or data.get("isAutopilotContinuation") is True
        or data.get("agentMode") == "shell"
        or isinstance(data.get("crossSession"), dict)
        or typed(sent).startswith(_FROM_ANOTHER_SESSION)
        or not (words or images)
    ):
        text = content if content.strip() else sent
        return [Piece(Kind.USER, Speaker.HARNESS, text, images=images)] if text.strip() else []
    return [Piece(Kind.USER, Speaker.HUMAN, words, images=images)]


def _assistant(data: dict[str, Any]) -> list[Piece]:
    found = []
    thought, text = filled(data, "reasoningText"), text_in(data, "content")
    if thought and thought.strip():
        found.append(Piece(Kind.THINKING, Speaker.MODEL, thought))
    if text.strip():
        found.append(Piece(Kind.ASSISTANT, Speaker.MODEL, text))
    for call in objects_in(data, "toolRequests"):
        name, call_id = filled(call, "name"), filled(call, "toolCallId")
        arguments = _arguments(call.get("arguments"))
        found.append(Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, name, call_id))
    return found


def _reasoning(data: dict[str, Any]) -> list[Piece]:
    thought = text_in(data, "content")
    return [Piece(Kind.THINKING, Speaker.MODEL, thought)] if thought.strip() else []


def _outcome(data: dict[str, Any]) -> list[Piece]:
    given = filled(data, "result", "content") or filled(data, "result")
    text = given or text_in(data, "error", "message")
    images = len(list_in(data, "result", "binaryResultsForLlm"))
    if data.get("isUserRequested") is True:
        return [Piece(Kind.USER, Speaker.HARNESS, text, images=images)]
    failed = data.get("success") is False
    call_id, name = filled(data, "toolCallId"), filled(data, "toolName")
    return [Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, name, call_id, images, failed)]


def _client(key: str) -> Callable[[dict[str, Any]], list[Piece]]:
    def say(data: dict[str, Any]) -> list[Piece]:
        text = text_in(data, key)
        return [Piece(Kind.USER, Speaker.HARNESS, text)] if text.strip() else []

    return say


def _summary(data: dict[str, Any]) -> list[Piece]:
    text = text_in(data, "summaryContent")
    return [Piece(Kind.SUMMARY, Speaker.SUMMARISER, text)] if text.strip() else []


def _arguments(given: Any) -> str:
    """The arguments of a call as JSON; those of a custom tool are plain text."""
    return given if isinstance(given, str) else json_text(given or {})


_SAYS: Final[Mapping[str, Callable[[dict[str, Any]], list[Piece]]]] = {
    "user.message": _user,
    "assistant.message": _assistant,
    "assistant.reasoning": _reasoning,
    "tool.execution_complete": _outcome,
    "system.notification": _client("content"),
    "session.context_cleared": _client("initialMessage"),
    "session.compaction_complete": _summary,
}
