"""What one record says, part by part: the one place that turns records into content.

The one thing to know: indexing and loading both call `parts_of`, so the n-th part
counted while indexing is the n-th part shown later, and `Span.part` is that n.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.model import (
    ANSWER,
    CALL,
    HUMAN,
    MODEL,
    RESULT,
    THOUGHT,
    TOOL,
    USER,
    Kind,
    Speaker,
)
from contextecho.sessions.readers.claude_code.records import (
    Block,
    Record,
    decode_blocks,
)
from contextecho.sessions.readers.claude_code.speakers import (
    ASKING,
    may_hold_words,
    speak,
    was_refused,
    words_in_result,
)

NOTHING_SAID: Final = hash("")
"""`Part.said` of a part that says nothing: such parts are never taken for repeats."""

_HEAD: Final = 64  # bytes of a result that show whether it must be decoded
_PICTURES: Final = frozenset({"image", "document"})
_SILENT: Final = frozenset({"tool_reference"})  # known, and no part of what is said


class Part(Struct, array_like=True, gc=False):
    """One piece of a record; in the index without its content (`forget`).

    Where nearly every record passes, it is made by position: names cost more than the values.
    """

    kind: Kind
    speaker: Speaker
    text: str = ""
    written: memoryview | None = None  # in the file: a call's arguments, a result of one string
    tool: str | None = None  # of quoted words: the one whose call alone makes them the human's
    call_id: str | None = None
    is_error: bool = False
    chars: int = 0  # of the text; bytes of what is kept as written, a string's quotes left out
    said: int = NOTHING_SAID  # hash of the call's id, else of the text
    images: int = 0
    quoted: bool = False  # human words that the result before already carries
    model: str | None = None  # who said it, where the record's model is another

    def forget(self) -> None:
        """Drop the content; text in the user's name stays: the queue looks for it again."""
        self.written = None
        if self.kind is not USER:
            self.text = ""


def parts_of(record: Record, unknown: list[str] | None = None) -> list[Part]:
    """The parts of a user, assistant or queue record, in the file's order.

    Types of blocks that this reader does not know are appended to `unknown`.
    """
    notes = unknown if unknown is not None else []
    message = record.message
    if message is not None and message.content is not None:
        if record.type == "assistant":
            return _assistant_parts(message.content, notes)
        if record.type == "user":
            return _user_parts(record, message.content, notes)
    if record.type == "queue-operation":
        return _said_text(record, _queued_text(record))
    return _attached_parts(record) if record.type == "attachment" else []


def _assistant_parts(content: str | list[Block], unknown: list[str]) -> list[Part]:
    parts = []
    for block in _blocks(content):
        match block.type:
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                id, written = block.id, memoryview(block.input)
                said = hash(id or "")
                parts.append(
                    Part(CALL, MODEL, "", written, block.name, id, False, len(written), said)
                )
            case "text":
                text = block.text
                if text and not text.isspace():
                    parts.append(_text(ANSWER, MODEL, text))
            case "thinking" | "redacted_thinking":
                # No text means "not recorded", not "did not think": the part stays.
                parts.append(_text(THOUGHT, MODEL, block.thinking or ""))
            case "fallback":  # another model goes on; what was said so far was said by this one
                for part in parts:
                    part.model = part.model or (block.before.model if block.before else None)
            case _ if block.tool_use_id:  # the result of a tool that the provider ran
                result = _result(block)[0]
                result.said = hash((RESULT, block.tool_use_id))  # not what stands for its call
                parts.append(result)
            case other if other not in _SILENT:
                unknown.append(other)
    return parts


def _text(kind: Kind, speaker: Speaker, text: str) -> Part:
    return Part(kind, speaker, text, None, None, None, False, len(text), hash(text))


def _user_parts(record: Record, content: str | list[Block], unknown: list[str]) -> list[Part]:
    """Results and texts in the file's order; pictures go with the human's first words."""
    parts: list[Part] = []
    pictures = 0
    for block in _blocks(content):
        match block.type:
            case "tool_result":
                result, text = _result(block)
                parts.append(result)
                if text:
                    parts += _words(record, result, text)
            case "text":
                parts += _said_text(record, block.text or "")
            case other if other in _PICTURES:
                pictures += 1
            case other if other not in _SILENT:
                unknown.append(other)
    return _with_pictures(parts, pictures) if pictures and not record.is_meta else parts


def _with_pictures(parts: list[Part], pictures: int) -> list[Part]:
    """The parts, with pictures as the human's: counted with the first words, else by themselves."""
    words = next((part for part in parts if part.speaker is HUMAN and not part.tool), None)
    if words is None:
        words = Part(USER, HUMAN)
        parts.append(words)
    words.images = pictures
    return parts


def _said_text(record: Record, text: str) -> list[Part]:
    if not text or text.isspace():
        return []
    speaker, words = speak(record, text)
    kind = Kind.SUMMARY if speaker is Speaker.SUMMARISER else USER
    return [_text(kind, speaker, words)]


def _result(block: Block) -> tuple[Part, str]:
    """A tool's result, and its text if that may hold words of the human."""
    written, id, is_error = memoryview(block.content), block.tool_use_id, bool(block.is_error)
    head = bytes(written[:_HEAD])
    if head.startswith(b'"'):
        said = hash(id or "")
        part = Part(RESULT, TOOL, "", written, None, id, is_error, len(written) - 2, said)
        return part, written_text(written) if may_hold_words(head) else ""
    text, images = _joined(block.content)
    said = hash(id or text)
    return Part(RESULT, TOOL, text, None, None, id, is_error, len(text), said, images), text


def _words(record: Record, result: Part, text: str) -> list[Part]:
    """What the human said inside a tool's result, if anything."""
    result.is_error = result.is_error or was_refused(record, text)
    words, is_certain = words_in_result(record, text, is_error=result.is_error)
    if not words:
        return []
    part = _text(USER, HUMAN, words)
    part.quoted = True
    part.tool = None if is_certain else ASKING
    return [part]


def written_text(written: memoryview) -> str:
    """The text of a result that is one string."""
    text = decode_json(written)
    return text if isinstance(text, str) else ""


def _joined(content: Raw) -> tuple[str, int]:
    """The texts of a result that is a list of blocks, and how many pictures it holds."""
    blocks = decode_blocks(content)
    pictures = sum(block.type in _PICTURES for block in blocks)
    return "\n".join(block.text for block in blocks if block.text), pictures


def _blocks(content: str | list[Block]) -> list[Block]:
    """Content as blocks; a bare string is one text."""
    return [Block(type="text", text=content)] if isinstance(content, str) else content


def _attached_parts(record: Record) -> list[Part]:
    """A queued message that the client attached to the conversation."""
    attachment = record.attachment
    if attachment is None or attachment.type != "queued_command" or attachment.is_meta:
        return []
    if attachment.command_mode not in (None, "prompt"):
        return []
    blocks = _blocks(attachment.prompt or [])
    text = "\n".join(block.text for block in blocks if block.text)
    parts = _said_text(replace(record, origin=attachment.origin), text)
    pictures = sum(block.type in _PICTURES for block in blocks)
    return _with_pictures(parts, pictures) if pictures else parts


def _queued_text(record: Record) -> str:
    """What a queue operation holds: a string, or a list of blocks in IDE clients."""
    value = decode_json(record.content)
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = (item.get("text") for item in value if isinstance(item, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
