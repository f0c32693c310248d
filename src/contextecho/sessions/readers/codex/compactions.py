"""What a rollout says of a compaction besides its summary: tokens, and what stayed.

The one thing to know: the line `compacted` names neither its trigger nor its tokens. The
tokens are those of the last `token_count` before it and of the first after it; what stayed
is its replacement history, whose messages are found among the turns by their text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from contextecho.sessions.readers.codex.records import Block, Payload, decode_history


class Texts:
    """Where texts with the role `user` or `developer` were said, by their hashes."""

    def __init__(self) -> None:
        self._places: defaultdict[int, list[range]] = defaultdict(list)

    def add(self, text: str, turns: range) -> None:
        """Remember that these turns together say this."""
        self._places[hash(text.strip())].append(turns)

    def kept(self, history: list[str]) -> Iterator[range | None]:
        """The turns that texts kept by a compaction repeat, from the last text to the first.

        `None` stands for a text that no turn says; each turn is given once.
        """
        taken: Counter[int] = Counter()
        for text in reversed(history):
            key = hash(text.strip())
            taken[key] += 1
            places = self._places.get(key, ())
            yield places[-taken[key]] if taken[key] <= len(places) else None


def kept_texts(compacted: Payload) -> list[str]:
    """The texts of the messages in a replacement history, without the summary itself."""
    summary = (compacted.message or "").strip()
    items = decode_history(compacted.replacement_history)
    texts = [text for item in items if item.type == "message" for text in texts_of(item)]
    return [text for text in texts if not (summary and summary in text)]


def texts_of(item: Payload) -> list[str]:
    """The texts of a message's blocks."""
    if isinstance(item.content, str):
        return [item.content]
    blocks: list[Block] = item.content or []
    return [block.text for block in blocks if block.text and block.text.strip()]


def tokens_in(payload: Payload) -> int | None:
    """The tokens in the context, as a `token_count` says; none where it gives none."""
    usage = payload.info and payload.info.last_token_usage
    return usage.total_tokens or None if usage else None
