"""What one record says, part by part: the one place that turns records into content.

The one thing to know: indexing and loading both call `parts_of`, so the n-th part
counted while indexing is the n-th part shown later, and `Span.part` is that n.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from contextecho.sessions.jsontext import decode_json
from contextecho.sessions.model import Kind, Speaker
from contextecho.sessions.readers.claude_code.records import NOTHING, Block, Message, Record
from contextecho.sessions.readers.claude_code.speakers import speak, words_in_result

_PICTURES: Final = frozenset({"image", "document"})
_SILENT: Final = frozenset({"tool_reference", "fallback"})  # known, and no part of what is said


class Part(Struct, gc=False):
    """One piece of a record."""

    kind: Kind
    speaker: Speaker
    text: str = ""
    arguments: Raw = NOTHING  # of a tool call, as written in the file
    tool: str | None = None
    call_id: str | None = None
    is_error: bool = False
    images: int = 0
    quoted: bool = False  # human words that the result before already carries

    @property
    def chars(self) -> int:
        """Characters of the text, or of the arguments as written."""
        if self.kind is Kind.TOOL_CALL:
            return len(str(memoryview(self.arguments), "utf-8", "replace"))
        return len(self.text)


def parts_of(record: Record, unknown: list[str] | None = None) -> list[Part]:
    """The parts of a user, assistant or queue record, in the file's order.

    Types of blocks that this reader does not know are appended to `unknown`.
    """
    notes = unknown if unknown is not None else []
    if record.type == "queue-operation":
        return [*_said_text(record, _queued_text(record))]
    if record.type == "attachment":
        return [*_attached_parts(record)]
    if record.message is None or record.message.content is None:
        return []
    if record.type == "assistant":
        return [*_assistant_parts(record.message, notes)]
    return [*_user_parts(record, notes)]


def _assistant_parts(message: Message, unknown: list[str]) -> Iterator[Part]:
    for block in _blocks(message.content):
        match block.type:
            case "text":
                if block.text and not block.text.isspace():
                    yield Part(Kind.ASSISTANT, Speaker.MODEL, block.text)
            case "thinking" | "redacted_thinking":
                # No text means "not recorded", not "did not think": the part stays.
                yield Part(Kind.THINKING, Speaker.MODEL, block.thinking or "")
            case "tool_use":
                yield Part(
                    Kind.TOOL_CALL,
                    Speaker.MODEL,
                    arguments=block.input,
                    tool=block.name,
                    call_id=block.id,
                )
            case other if other not in _SILENT:
                unknown.append(other)


def _user_parts(record: Record, unknown: list[str]) -> Iterator[Part]:
    """Results first come, first served; pictures go with the first words of the human."""
    assert record.message is not None
    blocks = _blocks(record.message.content)
    pictures = sum(block.type in _PICTURES for block in blocks)
    for block in blocks:
        match block.type:
            case "text":
                for part in _said_text(record, block.text or ""):
                    if part.speaker is Speaker.HUMAN:
                        part.images, pictures = pictures, 0
                    yield part
            case "tool_result":
                yield from _result_parts(record, block)
            case other if other not in _PICTURES and other not in _SILENT:
                unknown.append(other)
    if pictures and not record.is_meta:
        yield Part(Kind.USER, Speaker.HUMAN, images=pictures)


def _said_text(record: Record, text: str) -> Iterator[Part]:
    if not text or text.isspace():
        return
    speaker, words = speak(record, text)
    kind = Kind.SUMMARY if speaker is Speaker.SUMMARISER else Kind.USER
    yield Part(kind, speaker, words)


def _result_parts(record: Record, block: Block) -> Iterator[Part]:
    inner = _blocks(block.content)
    text = "\n".join(b.text for b in inner if b.text)
    yield Part(
        Kind.TOOL_RESULT,
        Speaker.TOOL,
        text,
        call_id=block.tool_use_id,
        is_error=bool(block.is_error),
        images=sum(b.type in _PICTURES for b in inner),
    )
    if words := words_in_result(record, text):
        yield Part(Kind.USER, Speaker.HUMAN, words, quoted=True)


def _blocks(content: str | list[Block] | None) -> list[Block]:
    """Content as blocks; a bare string is one text."""
    if isinstance(content, str):
        return [Block(type="text", text=content)]
    return content or []


def _attached_parts(record: Record) -> Iterator[Part]:
    """A queued message that the client attached to the conversation."""
    attachment = record.attachment
    if attachment is None or attachment.type != "queued_command" or attachment.is_meta:
        return
    if attachment.command_mode not in (None, "prompt"):
        return
    text = "\n".join(block.text for block in _blocks(attachment.prompt) if block.text)
    yield from _said_text(replace(record, origin=attachment.origin), text)


def _queued_text(record: Record) -> str:
    """What a queue operation holds: a string, or a list of blocks in IDE clients."""
    value = decode_json(record.content)
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = (item.get("text") for item in value if isinstance(item, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
