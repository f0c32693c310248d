"""What the simulated target says, from `data/sentences.yaml`, and how its register is read back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import cycle, islice

import msgspec

from contextecho.bundled import read_bundled


class Stressed(msgspec.Struct, frozen=True):
    """Replies to one stressor that keep and that break its rule."""

    kept: tuple[str, ...]
    broken: tuple[str, ...]


class Sentences(msgspec.Struct, frozen=True):
    """The data file, as it stands."""

    levels: Mapping[int, tuple[str, ...]]
    factual: tuple[str, ...]
    elaborations: tuple[str, ...]
    stressors: Mapping[str, Stressed]
    refusal: str

    def at_length(self, opening: str, characters: int, start: int) -> str:
        """`opening` and elaborations from number `start` on, cut at a word near `characters`."""
        parts, size = [opening], len(opening)
        for sentence in islice(cycle(self.elaborations), start, None):
            if size >= characters:
                break
            parts.append(sentence)
            size += 1 + len(sentence)
        text = " ".join(parts)
        if len(text) <= characters or len(parts) == 1:
            return text
        # The word that straddles the limit is kept or dropped, whichever comes closer.
        before, after = text.rfind(" ", 0, characters), text.find(" ", characters)
        cut = before if after < 0 or characters - before <= after - characters else after
        return text[: max(cut, len(opening))].rstrip(".,; ") + "."

    def level_of(self, text: str) -> int | None:
        """The register level of the last opening that stands in a text."""
        found = [
            (text.rfind(opening), level)
            for level, openings in self.levels.items()
            for opening in openings
            if opening in text
        ]
        facts = [
            (text.rfind(tail), 3)
            for tail in (reply.partition("{answer}")[2] for reply in self.factual)
            if tail in text
        ]
        return max(found + facts)[1] if found or facts else None


@cache
def load_sentences() -> Sentences:
    """Read the data file once."""
    return read_bundled("models", "sentences", Sentences)
