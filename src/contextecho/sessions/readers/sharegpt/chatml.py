"""ChatML: text in which `<|im_start|>role` begins a message and `<|im_end|>` ends it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import content_of
from contextecho.sessions.building.stamp import Stamp, Stamped
from contextecho.sessions.model import Content, Span, Turn
from contextecho.sessions.readers.sharegpt.roles import pieces_of

_MARK: Final = re.compile(r"<\|im_(start|end)\|>")
_BLANK: Final = "\ufeff \t\r\n"


class Said(Struct):
    """One message in the text: `span` is of its characters without the blanks around them."""

    number: int
    role: str
    span: Span
    whole: bool  # its end is marked

    def of(self, text: str) -> str:
        """The words."""
        return text[self.span.offset : self.span.offset + self.span.length]


def messages(text: str) -> Iterator[Said]:
    """The messages in the text; what stands between them has an empty role."""
    number, place, inside = 0, 0, False
    for mark in _MARK.finditer(text):
        if inside:
            number += 1
            yield _said(text, number, place, mark.start(), whole=mark[1] == "end")
        elif text[place : mark.start()].strip(_BLANK):
            yield Said(number, "", Span(place, mark.start() - place), True)
        place, inside = mark.end(), mark[1] == "start"
    if inside:
        yield _said(text, number + 1, place, len(text), whole=False)
    elif text[place:].strip(_BLANK):
        yield Said(number, "", Span(place, len(text) - place), True)


def _said(text: str, number: int, start: int, end: int, *, whole: bool) -> Said:
    """A message whose first line is its role, perhaps with a name behind it."""
    newline = text.find("\n", start, end)
    head_end = end if newline < 0 else newline
    role = (text[start:head_end].split() or ["?"])[0].lower()
    words = text[head_end:end]
    begin = head_end + len(words) - len(words.lstrip())
    return Said(number, role, Span(begin, len(words.strip())), whole)


class ChatmlSource(Stamped):
    """Loads messages from the text again."""

    def __init__(self, path: Path, stamp: Stamp, place: Span, *, in_record: bool) -> None:
        """`place` is of the text's bytes, or of the record that holds it under `text`."""
        super().__init__(path, stamp)
        self._place = place
        self._in_record = in_record

    def text(self) -> str:
        """The text. Raises `SessionError` when the file is not the same."""
        with self.open() as file:
            file.seek(self._place.offset)
            data = file.read(self._place.length)
        if not self._in_record:
            return data.decode("utf-8", "replace")
        record = decode_json(data)
        text = record.get("text") if isinstance(record, dict) else ""
        return text if isinstance(text, str) else ""

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        text = self.text()
        said = {message.number: message for message in messages(text) if message.role}
        for turn in turns:
            message = said[turn.line]
            yield content_of(pieces_of(message.role, message.of(text))[turn.span.part])

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(number, message) for each from the first to the last number."""
        text = self.text()
        for message in messages(text):
            if message.role and first_line <= message.number <= last_line:
                yield message.number, {"role": message.role, "content": message.of(text)}
