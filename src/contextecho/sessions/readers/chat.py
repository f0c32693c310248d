"""Reads plain chat messages: a JSON array, an object with `messages`, or JSON lines.

The one thing to know: each element is a message with a `role`; a file of JSON
lines holds one message a line, or one conversation a line (then the first
conversation is read and the others are counted as left out). The format does
not tell human text from a client's: every user message counts as a prompt.
The file is read whole, since a JSON document has no lines to go by; the index
keeps no text, like every reader's.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from contextecho.errors import SessionError
from contextecho.sessions.jsontext import BROKEN, decode_json, elements, members
from contextecho.sessions.model import Content, Kind, Session, Span, Speaker, Turn
from contextecho.sessions.stamp import Stamp, Stamped
from contextecho.sessions.tally import Tally
from contextecho.untrusted import make_visible

NAME: Final = "chat"
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_INSTRUCTIONS: Final = frozenset({"system", "developer"})
_RESULTS: Final = frozenset({"tool", "function"})
_SPOKEN: Final = frozenset({"text", "input_text", "output_text", "refusal"})


class _Piece(Struct, gc=False):
    """One piece of a message."""

    kind: Kind
    speaker: Speaker
    text: str
    tool: str | None = None
    call_id: str | None = None
    images: int = 0


class _Found(Struct, gc=False):
    """A message and where it lies."""

    line: int
    span: Span
    message: dict[str, Any]


def sniff(head: bytes) -> bool:
    """Whether the file begins with a message that has a role and content."""
    text = head.decode("utf-8", "surrogateescape")
    first = next((line for line in head.split(b"\n") if line.strip()), b"")
    value = decode_json(first)
    if _is_message(value):
        return True
    start = _messages_at(text)
    return start is not None and any(_is_message(m) for _, _, m in elements(text, start))


def read(path: Path) -> Session:
    """Index the file. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        data = file.read()
    tally = Tally()
    found = list(_messages(data, tally))
    index = _Index()
    for message in found:
        index.add(message)
    if not index.turns or not index.turns[-1].step:
        raise SessionError("holds no conversation: no message of a model", where=str(path))
    return Session(
        id=make_visible(path.stem),
        path=path,
        format=NAME,
        bytes=len(data),
        turns=tuple(index.turns),
        compactions=(),
        row_turn_lines=index.row_turn_lines,
        skipped=tally.skipped(),
        sidechains=(),
        models=tuple(index.models),
        versions=(),
        source=ChatSource(path, stamp, found),
        system="\n\n".join(index.system) or None,
    )


class ChatSource(Stamped):
    """Loads messages again by their place in the file."""

    def __init__(self, path: Path, stamp: Stamp, found: Sequence[_Found]) -> None:
        super().__init__(path, stamp)
        self._lines = array("I", (message.line for message in found))
        self._offsets = array("Q", (message.span.offset for message in found))
        self._lengths = array("Q", (message.span.length for message in found))

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        with self.open() as file:
            for turn in turns:
                file.seek(turn.span.offset)
                message = decode_json(file.read(turn.span.length))
                yield _content(_pieces(message)[turn.span.part])

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, message) for each message from the first to the last line."""
        with self.open() as file:
            for line, offset, length in zip(self._lines, self._offsets, self._lengths, strict=True):
                if first_line <= line <= last_line:
                    file.seek(offset)
                    yield line, decode_json(file.read(length))


class _Index:
    """Counts and places turns, message by message."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.row_turn_lines = array("I")
        self.models: dict[str, None] = {}
        self.system: list[str] = []
        self._tool_of: dict[str, str | None] = {}
        self._message = self._step = self._prompt = 0

    def add(self, found: _Found) -> None:
        """Take in one message."""
        message = found.message
        role = message["role"]
        pieces = _pieces(message)
        if role in _INSTRUCTIONS and not self.turns:
            self.system += [piece.text for piece in pieces]
            return
        if role == "assistant" or (role == "user" and pieces):
            self.row_turn_lines.append(found.line)
        self._step += role == "assistant" and bool(pieces)
        self._prompt += role == "user" and bool(pieces)
        calls = any(piece.kind is Kind.TOOL_CALL for piece in pieces)
        model = message.get("model") if isinstance(message.get("model"), str) else None
        if role == "assistant" and pieces and model is not None:
            self.models[model] = None
        for number, piece in enumerate(pieces):
            self._append(found, piece, number, model if role == "assistant" else None, calls)
        self._message += 1

    def _append(
        self, found: _Found, piece: _Piece, number: int, model: str | None, calls: bool
    ) -> None:
        if piece.kind is Kind.TOOL_CALL and piece.call_id is not None:
            self._tool_of[piece.call_id] = piece.tool
        tool = piece.tool
        if piece.kind is Kind.TOOL_RESULT and tool is None:
            tool = self._tool_of.get(piece.call_id or "")
        self.turns.append(
            Turn(
                kind=piece.kind,
                speaker=piece.speaker,
                line=found.line,
                row_turn=len(self.row_turn_lines),
                step=self._step,
                prompt=self._prompt,
                message=self._message,
                segment=0,
                span=Span(found.span.offset, found.span.length, number),
                chars=len(piece.text),
                model=model,
                tool=tool,
                call_id=piece.call_id,
                final=piece.kind is Kind.ASSISTANT and not calls,
            )
        )


def _messages(data: bytes, tally: Tally) -> Iterator[_Found]:
    """The messages of the file's (first) conversation."""
    if _is_lines(data):
        yield from _from_lines(data, tally)
        return
    text = data.decode("utf-8", "surrogateescape")
    array_at = _messages_at(text)
    if array_at is None:
        return
    line = place = offset = 0
    end = array_at
    for start, end, value in elements(text, array_at):
        offset += len(text[place:start].encode("utf-8", "surrogateescape"))
        place = start
        line += 1
        if _is_message(value):
            length = len(text[start:end].encode("utf-8", "surrogateescape"))
            yield _Found(line, Span(offset, length), decode_json(data[offset : offset + length]))
        else:
            tally.add("not a message", line)
    if not text[end:].lstrip(", \t\r\n").startswith("]"):
        tally.add("cut document", line + 1)
    _count_further(data, tally)


def _count_further(data: bytes, tally: Tally) -> None:
    """Count the conversations after the first, where each has a line of its own."""
    lines = [(n, text) for n, text in enumerate(data.split(b"\n"), 1) if text.strip()]
    if len(lines) > 1 and decode_json(lines[0][1]) is not BROKEN:
        for number, _ in lines[1:]:
            tally.add("further conversation in the file", number)


def _from_lines(data: bytes, tally: Tally) -> Iterator[_Found]:
    """One message a line."""
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        value = decode_json(line)
        if _is_message(value):
            yield _Found(number, Span(offset, len(line)), value)
        elif line.strip():
            tally.add("broken line" if value is BROKEN else "not a message", number)
        offset += len(line) + 1


def _is_lines(data: bytes) -> bool:
    """Whether the first line that is not blank is a message by itself."""
    first = next((line for line in data.split(b"\n", 64) if line.strip()), b"")
    return _is_message(decode_json(first))


def _messages_at(text: str) -> int | None:
    """Where the array of messages begins: the document itself, or its `messages`."""
    body = text.lstrip(" \t\r\n\ufeff")
    start = len(text) - len(body)
    if body.startswith("["):
        return start
    if not body.startswith("{"):
        return None
    for key, position in members(text, start):
        if key == "messages" and text.startswith("[", position):
            return position
    return None


def _is_message(value: Any) -> bool:
    """Whether this is a chat message: a known role, and something said or called."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and value["role"] in _ROLES
        and not value.keys().isdisjoint({"content", "tool_calls", "function_call"})
    )


def _pieces(message: dict[str, Any]) -> list[_Piece]:
    """The pieces of a message, in the order in which they were produced."""
    role = message["role"]
    text, images = _text(message.get("content"))
    if role in _RESULTS:
        call_id, name = _string(message, "tool_call_id"), _string(message, "name")
        return [_Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, name, call_id, images)]
    if role != "assistant":
        speaker = Speaker.HARNESS if role in _INSTRUCTIONS else Speaker.HUMAN
        said = text.strip() or images
        return [_Piece(Kind.USER, speaker, text, images=images)] if said else []
    pieces = []
    thought = _string(message, "reasoning_content") or _string(message, "reasoning")
    if thought:
        pieces.append(_Piece(Kind.THINKING, Speaker.MODEL, thought))
    if text.strip():
        pieces.append(_Piece(Kind.ASSISTANT, Speaker.MODEL, text))
    return [*pieces, *_calls(message)]


def _calls(message: dict[str, Any]) -> Iterator[_Piece]:
    """Tool calls, in the present form and the old one."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            yield _call(call["function"], _string(call, "id"))
    if isinstance(message.get("function_call"), dict):
        yield _call(message["function_call"], None)


def _call(function: dict[str, Any], call_id: str | None) -> _Piece:
    arguments = _string(function, "arguments") or ""
    return _Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, _string(function, "name"), call_id)


def _text(content: Any) -> tuple[str, int]:
    """The text of a message's content, and how many pictures and files it leaves out."""
    if isinstance(content, str):
        return content, 0
    blocks = content if isinstance(content, list) else []
    texts = [block for block in blocks if isinstance(block, str)]
    images = 0
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if block.get("type") in _SPOKEN:
            texts.append(_string(block, "text") or _string(block, "refusal") or "")
        else:
            images += 1
    return "\n".join(texts), images


def _string(value: dict[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def _content(piece: _Piece) -> Content:
    if piece.kind is not Kind.TOOL_CALL:
        return Content(text=piece.text, images=piece.images)
    arguments = decode_json(piece.text.encode("utf-8", "replace"))
    return Content(text=piece.text, arguments=arguments if isinstance(arguments, dict) else {})
