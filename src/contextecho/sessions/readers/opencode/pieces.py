"""What one message of OpenCode holds: from its `info` and `parts` to pieces.

The one thing to know: this is the same for an export, the tree of files and the
database, and depends on the message alone, so that a piece is found again by its
number. What a message is among the others (an answer to `/compact`, a shell line that
the human had run) is told in `thread`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import (
    filled,
    list_in,
    number_in,
    object_in,
    objects_in,
    text_in,
)
from contextecho.sessions.building.jsontext import json_text
from contextecho.sessions.model import Kind, Speaker

Values = Mapping[str, Any]

WORDLESS: Final = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent"})
"""Parts that hold no words: marks of a step, hashes of files, a mention that the text has too."""
SPOKEN: Final = frozenset({"text", "reasoning", "tool", "file", "subtask"})
PARTS: Final = WORDLESS | SPOKEN | {"compaction", "retry"}
_UNFOLDED: Final = frozenset({"text/plain", "application/x-directory"})
"""Types of files whose content the client puts into the message as text of its own."""
_CUT_SHORT: Final = frozenset({"length", "content-filter", "error"})
_FEEDBACK: Final = (
    "The user rejected permission to use this specific tool call with the following feedback: "
)


def is_message(value: Any) -> bool:
    """Whether this is a message: an `info` with a role, and `parts`."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("info"), dict)
        and value["info"].get("role") in ("user", "assistant")
        and isinstance(value.get("parts"), list)
    )


def parts_of(message: Values) -> list[dict[str, Any]]:
    """The parts of a message that are objects."""
    return objects_in(message, "parts")


def is_summary(info: Values) -> bool:
    """Whether a message of the model is the summary of a compaction."""
    return info.get("role") == "assistant" and (
        info.get("summary") is True or info.get("mode") == "compaction"
    )


def is_broken_off(info: Values) -> bool:
    """Whether a message of the model is a part of an answer: aborted, failed, cut or unfinished."""
    finish = info.get("finish")
    done = finish or number_in(info, "time", "completed") is not None
    return bool(info.get("error")) or not done or text_in(info, "finish") in _CUT_SHORT


def pieces_of(message: Values) -> list[Piece]:
    """The pieces of a message, in the order of its parts."""
    parts = parts_of(message)
    if message["info"]["role"] == "user":
        return _asked(parts)
    if is_summary(message["info"]):
        texts = (text_in(part, "text") for part in parts if _is_text(part))
        text = "\n\n".join(filter(str.strip, texts))
        return [Piece(Kind.SUMMARY, Speaker.SUMMARISER, text)] if text else []
    return [piece for part in parts for piece in _answered(part)]


def steps_of(message: Values) -> list[int]:
    """The number of the model's step in which each of the `pieces_of` its message was said."""
    step, found = 0, []
    for part in parts_of(message):
        step += part.get("type") == "step-start"
        found += [max(step, 1) for _ in _answered(part)]
    return found


def _asked(parts: Sequence[Values]) -> list[Piece]:
    """The pieces of a user message; its files belong to the first words of the human."""
    pieces = [piece for part in parts for piece in _said(part)]
    files = [part for part in parts if part.get("type") == "file"]
    if files:
        images = sum(text_in(part, "mime") not in _UNFOLDED for part in files)
        words = next((piece for piece in pieces if piece.speaker is Speaker.HUMAN), None)
        if words is None:
            words = Piece(Kind.USER, Speaker.HUMAN)
            pieces.insert(0, words)
        words.images = images
    return pieces


def _said(part: Values) -> Iterator[Piece]:
    """A text, or a task for a sub-agent: a command that the human gave, and what it stands for."""
    if _is_text(part) and not part.get("ignored") and text_in(part, "text").strip():
        by = Speaker.HARNESS if part.get("synthetic") else Speaker.HUMAN
        yield Piece(Kind.USER, by, text_in(part, "text"))
    elif part.get("type") == "subtask":
        command, prompt = text_in(part, "command"), text_in(part, "prompt")
        if command:
            yield Piece(Kind.USER, Speaker.HUMAN, f"/{command}")
        if prompt.strip():
            yield Piece(Kind.USER, Speaker.HARNESS if command else Speaker.HUMAN, prompt)


def _answered(part: Values) -> Iterator[Piece]:
    """A text, a thought, or a tool call with its result."""
    text = text_in(part, "text")
    if part.get("type") == "reasoning" and text.strip():
        yield Piece(Kind.THINKING, Speaker.MODEL, text)
    elif _is_text(part) and not part.get("synthetic") and text.strip():
        yield Piece(Kind.ASSISTANT, Speaker.MODEL, text)
    elif part.get("type") == "tool":
        name, call_id = filled(part, "tool"), filled(part, "callID")
        state = object_in(part, "state")
        arguments = _as_json(state.get("input"))
        yield Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, name, call_id)
        yield from _result(state, name, call_id)
        if words := _replied(name, state):
            yield Piece(Kind.USER, Speaker.HUMAN, words, quoted=True)


def _result(state: Values, name: str | None, call_id: str | None) -> Iterator[Piece]:
    """What a tool gave back, if it came to an end; of an interrupted one, what the model saw."""
    status = state.get("status")
    if status == "completed":
        images = len(list_in(state, "attachments"))
        text = text_in(state, "output")
        yield Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, name, call_id, images)
    elif status == "error":
        kept = object_in(state, "metadata")
        shown = text_in(kept, "output") if kept.get("interrupted") else ""
        text = shown or text_in(state, "error")
        yield Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, name, call_id, is_error=True)


def _replied(name: str | None, state: Values) -> str:
    """What the human said in a result: answers to questions, why a call was refused."""
    if name == "question" and state.get("status") == "completed":
        answers = list_in(state, "metadata", "answers")
        chosen = (", ".join(filter(_is_string, a)) for a in answers if isinstance(a, list))
        return "\n".join(filter(None, chosen))
    error = text_in(state, "error") if state.get("status") == "error" else ""
    return error.removeprefix(_FEEDBACK).strip() if error.startswith(_FEEDBACK) else ""


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_text(part: Values) -> bool:
    return part.get("type") == "text"


def _as_json(arguments: Any) -> str:
    """The arguments of a call as JSON; of ones nested too deeply to write, none."""
    return json_text(object_in(arguments)) or "{}"
