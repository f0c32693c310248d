"""The control arm's text: neutral prose in any length, and the published filler.

The one thing to know: `ProseReader` reads through the prose from one piece to
the next, so nothing is repeated until all of it is used up (62,000 characters
and more), and finds the length of a piece by measuring, not by a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import msgspec

from contextecho.bundled import read_bundled

_CHARS_PER_TOKEN = 4.6
"""Characters a token of English prose holds, for a first guess."""

_ROUNDS = 4
"""Measurements for one piece; the third is almost always exact to a word."""


class ControlText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The bundled control text."""

    id: str
    version: str
    licence: str
    source: str
    filler_unit: str  # protocol published: repeated and cut to the prefix's characters
    paragraphs: tuple[str, ...]  # protocol strict: cut to tokens, message by message

    def filler(self, chars: int) -> str:
        """Exactly `chars` characters of the repeated filler unit."""
        return (self.filler_unit * (chars // len(self.filler_unit) + 1))[:chars]


@cache
def load_control() -> ControlText:
    """The bundled control text, from `data/control.yaml`."""
    return read_bundled("contexts", "control", ControlText)


class ProseReader:
    """Takes pieces of a wanted size from the prose, one after the other."""

    def __init__(self) -> None:
        self._text = "\n\n".join(load_control().paragraphs) + "\n\n"
        self._at = 0

    def take(self, tokens: int, measure: Callable[[str], int]) -> str:
        """The next piece, whole words, which `measure` finds as near to `tokens` as words allow.

        `measure` counts the piece with whatever it is put into. At least one word.
        """
        best, best_miss = "", tokens
        chars = tokens * _CHARS_PER_TOKEN
        for _ in range(_ROUNDS):
            piece = self._piece(round(chars))
            counted = measure(piece.strip())
            miss = abs(counted - tokens)
            if not best or miss < best_miss:
                best, best_miss = piece, miss
            if not miss or not counted:
                break
            chars += (tokens - counted) * len(piece) / counted
        self._at = (self._at + len(best)) % len(self._text)
        return best.strip()

    def _piece(self, chars: int) -> str:
        """About `chars` characters from here, to the end of a word; at the end it starts anew."""
        begin, end = self._at, self._at + max(1, chars)
        text = self._text * (end // len(self._text) + 2)
        while not text[begin:end].strip() or not text[end].isspace():
            end += 1
        return text[begin:end]
