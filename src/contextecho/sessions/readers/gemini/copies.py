"""Telling a message that the client wrote down again from one that was said.

The one thing to know: when the client changes what the model is shown (a compression,
masked results, a resumed checkpoint), it writes what remains as new messages with new
ids, sometimes several neighbours as one. A copy is known by what it says and calls, and
only among messages that the same change takes away: a human may type a thing twice.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.model import Span, Speaker
from contextecho.sessions.readers.gemini.parts import (
    call_ids,
    masked_ids,
    part_list,
    text_of,
)
from contextecho.sessions.readers.gemini.speakers import CANNED, is_summary, speak

_UNSEEN = re.compile("[\u200b-\u200f\ufeff]")
_UNSEEN_OR_COMMENT = re.compile("[\u200b-\u200f\ufeff]|<!--.*?-->", re.DOTALL)
_END_OF_COMMENT: Final = "-->"
_LED = ("<session_context>", "<hook_context>")


class Entry(Struct, eq=False):
    """One message: where it entered, where its content lies, and what of it is compared."""

    line: int
    span: Span
    type: str
    whole: int  # what it says and calls, as one; 0 where that is nothing
    atoms: tuple[int, ...]  # the same in pieces, without the client's texts
    led: bool  # the client's text stands first: the client itself leaves it out when it resumes
    named: bool  # an answer that names its model, which no copy does
    summary: bool
    canned: bool  # the client's answer in the model's name
    masked: tuple[str, ...]  # calls whose results it shows masked
    abandoned: bool = False
    copy_of: tuple[Entry, ...] | None = None  # none of which is a copy

    @property
    def originals(self) -> tuple[Entry, ...]:
        """The messages that were said, of which this is one or the copy."""
        return (self,) if self.copy_of is None else self.copy_of

    def abandon(self) -> None:
        """Leave the message behind, and what it is the copy of."""
        self.abandoned = True
        for entry in self.originals:
            entry.abandoned = True


class Pool:
    """Messages that a change takes away, of which others may be the copies."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._whole: dict[int, deque[Entry]] = defaultdict(deque)
        self._atoms: dict[int, deque[Entry]] = defaultdict(deque)
        self._any = False
        for entry in entries:
            self._any = True
            self._whole[entry.whole].append(entry)
            for atom in entry.atoms:
                self._atoms[atom].append(entry)

    def sources_of(self, entry: Entry) -> tuple[Entry, ...] | None:
        """The messages here that this says again, each taken once; None if it does not."""
        alike = self._whole.get(entry.whole) if entry.whole else None
        if alike:
            return (alike.popleft(),)
        if not all(self._atoms.get(atom) for atom in entry.atoms) or not self._any:
            return None
        return tuple(dict.fromkeys(self._take(atom) for atom in entry.atoms))

    def _take(self, atom: int) -> Entry:
        found = self._atoms[atom]
        return found.popleft() if len(found) > 1 else found[0]


def entry_of(message: dict[str, Any], line: int, span: Span) -> Entry:
    """A message as it is compared."""
    parts = part_list(message.get("content"))
    texts = [_cleaned(text_of([part])) for part in parts]
    said, calls = _cleaned(text_of(parts)), tuple(sorted(set(call_ids(message))))
    user = message["type"] != "gemini"
    own = [text for text in texts if text and not (user and _is_clients(text))]
    return Entry(
        line=line,
        span=span,
        type=message["type"],
        whole=hash((user, said, calls)) if said or calls else 0,
        atoms=tuple(hash((user, text)) for text in own) + tuple(hash(name) for name in calls),
        led=user and said.startswith(_LED),
        named=isinstance(message.get("model"), str),
        summary=user and is_summary(text_of(parts)),
        canned=not user and said in CANNED,
        masked=tuple(masked_ids(message)),
    )


def _cleaned(text: str) -> str:
    """A text without what the client takes out of some of its records and not of others."""
    # Behind the last end no comment is looked for: many beginnings would each look in vain.
    head, end, rest = text.rpartition(_END_OF_COMMENT)
    return (_UNSEEN_OR_COMMENT.sub("", head + end) + _UNSEEN.sub("", rest)).strip()


def _is_clients(text: str) -> bool:
    return all(
        piece.speaker is Speaker.HARNESS for piece in speak(text, None, beside_results=False)
    )
