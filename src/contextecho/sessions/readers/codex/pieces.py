"""What one line says, piece by piece: the one place that turns lines into content.

The one thing to know: indexing and loading both call `pieces_of`, which looks at one line
and nothing else. Whether a text with the role `user` is the human's, or said twice, takes
more than its line to know: `assembly` decides it, and never changes a piece's number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import list_in, object_in
from contextecho.sessions.building.jsontext import compact_json, decode_json
from contextecho.sessions.model import (
    ANSWER,
    CALL,
    HARNESS,
    HUMAN,
    MODEL,
    RESULT,
    THOUGHT,
    TOOL,
    USER,
    Kind,
    Speaker,
)
from contextecho.sessions.readers.codex.fragments import is_picture_label, split, split_typed
from contextecho.sessions.readers.codex.records import Block, Payload, Record

WEB_SEARCH: Final = "web_search"
ASKING: Final = "request_user_input"
"""The tool by which the model asks the human."""

_FINAL: Final = {"commentary": False, "final_answer": True}
_TEXTS: Final = frozenset({"", "text", "input_text", "output_text", "summary_text", "Text"})
_THOUGHTS: Final = frozenset({"summary_text", "reasoning_text", "text"})
_PICTURES: Final = frozenset({"input_image", "image", "local_image", "localImage", "input_file"})
_CLIENTS_KINDS: Final = ("environment_context", "user_instructions")  # events of first clients
_KNOWN: Final = _TEXTS | _THOUGHTS | _PICTURES | {"encrypted_content", "input_audio"}
_EXIT = re.compile(
    r"(?:Chunk ID:[^\n]*\n)?(?:Wall time:[^\n]*\n)?"
    r"(?:Process exited with code|Exit code:) (-?\d{1,9})\b"
)
_ANSWERS: Final = '{"answers":{'
_NOTE: Final = "user_note: "  # before what was typed beside an option
_OLD_EXIT: Final = '"metadata":{"exit_code":'
_OLD_EXIT_CODE = re.compile(re.escape(_OLD_EXIT) + r"(-?\d{1,9}),[^{}]*\}\}\s*\Z")


def pieces_of(record: Record) -> list[Piece]:
    """The pieces of a line, in the order in which they were produced."""
    payload = record.payload
    if payload is None:
        return []
    if record.type == "response_item":
        make = _ITEMS.get(payload.type)
        return make(payload) if make else []
    if record.type == "event_msg":
        return _of_event(payload)
    if record.type == "compacted" and payload.message:
        return [Piece(Kind.SUMMARY, Speaker.SUMMARISER, payload.message)]
    if record.type == "inter_agent_communication":
        return _of_agent(payload)
    return []


def typed_text(payload: Payload) -> str | None:
    """What a human typed, as an event says it: what it is, whole; `None` for other events."""
    if payload.type == "user_message":
        return payload.message or ""
    item = payload.item
    if payload.type == "item_completed" and item is not None and item.type == "UserMessage":
        return "\n".join(_texts(item.content or []))
    return None


def _of_event(payload: Payload) -> list[Piece]:
    text = typed_text(payload)
    if text is not None:
        content = payload.item.content if payload.item else None
        images = _pictures(content or []) if payload.type == "item_completed" else 0
        images += len(payload.images or ()) + len(payload.local_images or ())
        parts = split(text) if payload.kind in _CLIENTS_KINDS else split_typed(text)
        return _typed(list(parts), images)
    if payload.type == "web_search_end" and payload.results:
        return [Piece(RESULT, TOOL, _written(payload.results), WEB_SEARCH, payload.call_id)]
    return []


def _typed(parts: list[tuple[str, bool]], images: int) -> list[Piece]:
    """The client's parts and the human's; pictures go with the human's words."""
    pieces = [Piece(USER, HARNESS if injected else HUMAN, text) for text, injected in parts]
    if images:
        if all(injected for _, injected in parts):
            pieces.append(Piece(USER, HUMAN))
        next(piece for piece in reversed(pieces) if piece.speaker is HUMAN).images = images
    return pieces


def _of_message(payload: Payload) -> list[Piece]:
    blocks = _blocks(payload.content)
    images = _pictures(blocks)
    if payload.role == "assistant":
        text = "\n".join(_texts(blocks))
        final = _FINAL.get(payload.phase or "")
        said = images or text.strip()
        return [Piece(ANSWER, MODEL, text, images=images, final=final)] if said else []
    if payload.role == "user":
        texts = [text for text in _texts(blocks) if not (images and is_picture_label(text))]
        return _typed([part for text in texts for part in split(text)], images)
    return [Piece(USER, HARNESS, text) for text in _texts(blocks) if text.strip()]


def _of_agent(payload: Payload) -> list[Piece]:
    """A message of another agent: to this one it is what the client gives it to read."""
    text = "\n".join(_texts(_blocks(payload.content)))
    return [Piece(USER, HARNESS, text)] if text.strip() else []


def _of_reasoning(payload: Payload) -> list[Piece]:
    """The raw thought where the file keeps it, else its summary; often neither."""
    for said in (payload.content, payload.summary):
        if said:
            thoughts = [block.text for block in _blocks(said) if block.type in _THOUGHTS]
            text = "\n\n".join(filter(None, thoughts))
            if text.strip():
                return [Piece(THOUGHT, MODEL, text)]
    return []


def _of_call(payload: Payload) -> list[Piece]:
    given = payload.arguments if payload.input is None else payload.input
    return [_call(given, payload.name, payload.call_id)]


def _of_shell_call(payload: Payload) -> list[Piece]:
    return [_call(payload.action, "local_shell", payload.call_id or payload.id)]


def _of_search_call(payload: Payload) -> list[Piece]:
    return [_call(payload.action, WEB_SEARCH, payload.id)]


def _of_tool_search(payload: Payload) -> list[Piece]:
    return [_call(payload.arguments, "tool_search", payload.call_id)]


def _of_found_tools(payload: Payload) -> list[Piece]:
    return [Piece(RESULT, TOOL, _written(payload.tools), "tool_search", payload.call_id)]


def _of_picture(payload: Payload) -> list[Piece]:
    """A picture that the model had made: the call, and its result where the file has it."""
    name = "image_generation"
    prompt = {} if payload.revised_prompt is None else {"prompt": payload.revised_prompt}
    pieces = [_call(prompt, name, payload.id)]
    if bytes(payload.result) not in (b"", b"null", b'""'):
        pieces.append(Piece(RESULT, TOOL, "", name, payload.id, images=1))
    return pieces


def _of_output(payload: Payload) -> list[Piece]:
    output, images, failed = payload.output, 0, False
    if isinstance(output, Block):
        failed = output.success is False
        output = [output] if output.content is None else output.content
    if isinstance(output, list):
        images = _pictures(output)
        output = "\n".join(_texts(output))
    text = output or ""
    if payload.call_id is None and payload.name:  # what the client gives as if a tool had
        return [Piece(USER, HARNESS, text)] if text.strip() else []
    failed = failed or _exit_code(text) not in (None, 0)
    result = Piece(RESULT, TOOL, text, None, payload.call_id, images, failed)
    words = _answers(text)
    return [result, Piece(USER, HUMAN, words, quoted=True)] if words else [result]


def _answers(output: str) -> str:
    """What a human answered, if this comes from the tool that asks, which is not known here."""
    if not output.startswith(_ANSWERS):
        return ""
    given = object_in(decode_json(output.encode("utf-8", "replace")), "answers")
    answers = (answer for each in given.values() for answer in list_in(each, "answers"))
    return "\n".join(text.removeprefix(_NOTE) for text in answers if isinstance(text, str))


_ITEMS: Final[dict[str, Callable[[Payload], list[Piece]]]] = {
    "message": _of_message,
    "reasoning": _of_reasoning,
    "function_call": _of_call,
    "custom_tool_call": _of_call,
    "function_call_output": _of_output,
    "custom_tool_call_output": _of_output,
    "local_shell_call": _of_shell_call,
    "web_search_call": _of_search_call,
    "tool_search_call": _of_tool_search,
    "tool_search_output": _of_found_tools,
    "image_generation_call": _of_picture,
    "agent_message": _of_agent,
}


def _call(given: Any, name: str | None, call_id: str | None) -> Piece:
    return Piece(CALL, MODEL, _written(given), name, call_id)


def _written(value: Any) -> str:
    """A string as it is, anything else as JSON, nothing as nothing."""
    if isinstance(value, str):
        return value
    return "" if value is None else compact_json(value)


def _exit_code(text: str) -> int | None:
    """The exit code that the client wrote around a command's output."""
    if text[:10] == '{"output":':
        found = _OLD_EXIT_CODE.match(text, max(text.rfind(_OLD_EXIT), 0))
    else:
        found = _EXIT.match(text)
    return int(found[1]) if found else None


def odd_blocks(payload: Payload) -> list[str]:
    """The types of blocks that are not known, and left out."""
    said = (payload.content, payload.output)
    lists = (each for each in said if isinstance(each, list))
    return [block.type for blocks in lists for block in blocks if block.type not in _KNOWN]


def _blocks(content: str | list[Block] | Block | None) -> list[Block]:
    if isinstance(content, str):
        return [Block("text", content)]
    return content if isinstance(content, list) else []


def _texts(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks if block.text is not None and block.type in _TEXTS]


def _pictures(blocks: list[Block]) -> int:
    return sum(block.type in _PICTURES for block in blocks)
