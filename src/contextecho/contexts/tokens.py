"""Counting tokens: what a counter is, an offline estimate, and what a whole context holds.

The one thing to know: no tokenizer is shipped. `EstimateCounter` cuts text into
the pieces that byte-pair tokenizers of the GPT and Llama families cut it into
before merging, looks up which of them are single tokens (`vocabulary.py`), and
counts the others by their length (`data/token_costs.yaml`). Against o200k it is
off by less than 2% on blocks of 30,000 characters of sessions and prose
(`benchmarks/token_estimate.py`). Whoever has the target's own tokenizer passes
that instead: anything with a `name` and a `count` will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import groupby
from typing import Protocol

import msgspec

from contextecho.bundled import read_bundled
from contextecho.contexts.model import Context, Message, ToolCall, canonical_json
from contextecho.contexts.vocabulary import is_one_token

MESSAGE_OVERHEAD = 4
"""Tokens a chat template spends on one message's role and borders, about the same everywhere."""

PIECE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"  # control characters, one by one
    r"|[^\r\nA-Za-z0-9\x80-\U0010ffff]?(?:[A-Z]*[a-z]+|[A-Z]+)(?:'(?:s|t|re|ve|m|ll|d)\b)?"
    r"|[0-9]{1,3}"
    r"|[^\x00-\x7f]+"
    r"| ?[^\s\x00-\x1fA-Za-z0-9\x7f-\U0010ffff]+[\r\n/]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


_SHORT_RUN = 3
"""Repetitions of a sign up to which each counts; longer rules and bars are few tokens."""


class TokenCounter(Protocol):
    """Counts the tokens of a text, and says which tokenizer does."""

    @property
    def name(self) -> str:
        """What a plan and a report call this counter."""
        ...

    def count(self, text: str) -> int:
        """Tokens in `text`; 0 for the empty text."""
        ...


class EstimateCounter(msgspec.Struct, frozen=True):
    """The offline estimate, about 1.5 ms for 30,000 characters."""

    name: str = "estimate"

    def count(self, text: str) -> int:
        """Tokens in `text`, estimated; at least 1 for any text at all."""
        if not text:
            return 0
        return max(1, round(sum(map(_piece_cost, PIECE.findall(text)))))


class CountedOnce:
    """A counter that remembers: for one snapshot, which meets each of its texts several times."""

    def __init__(self, inner: TokenCounter) -> None:
        """`inner` does the counting."""
        self.name = inner.name
        self.count: Callable[[str], int] = cache(inner.count)


def message_tokens(message: Message, counter: TokenCounter) -> int:
    """Tokens of one message: its text, its calls' names and arguments, its overhead."""
    calls = sum(call_tokens(call, counter) for call in message.tool_calls)
    return MESSAGE_OVERHEAD + counter.count(message.text) + calls


def call_tokens(call: ToolCall, counter: TokenCounter) -> int:
    """Tokens of one call: its name and its arguments as JSON."""
    return counter.count(call.name) + counter.count(canonical_json(call.arguments).decode())


def context_tokens(context: Context, counter: TokenCounter) -> int:
    """Tokens of a whole context: system prompt, messages, declared tools."""
    system = counter.count(context.system) + MESSAGE_OVERHEAD if context.system else 0
    tools = counter.count(canonical_json(context.tools).decode()) if context.tools else 0
    return system + tools + sum(message_tokens(m, counter) for m in context.messages)


@lru_cache(maxsize=1 << 16)
def _piece_cost(piece: str) -> float:
    """Tokens of a piece: 1 where the vocabulary holds it, else estimated by its kind."""
    if (len(piece) == 1 and piece.isascii()) or piece[0].isdigit() or is_one_token(piece):
        return 1
    costs = _costs()
    kind = piece_kind(piece)
    if kind == "joined":
        return max(2, costs["lead"] + _piece_cost(piece[1:]))
    if kind in ("letters", "capitals", "blank"):
        return max(2, len(piece) * costs[kind])
    runs = sum(_run_cost(char, len(list(run)), costs) for char, run in groupby(piece))
    return max(2, runs) if kind == "symbols" else runs


def piece_kind(piece: str) -> str:
    """What a piece that is no single token is made of."""
    if not piece.isascii():
        return "foreign"
    if piece.isspace():
        return "blank"
    word = piece if piece[0].isalpha() else piece[1:]
    if not word[:1].isalpha():
        return "symbols"
    if word is not piece and piece[0] != " ":
        return "joined"
    return "capitals" if word.isupper() else "letters"


def _run_cost(char: str, length: int, costs: dict[str, float]) -> float:
    """Tokens of one character repeated, inside a run of symbols or of foreign text."""
    if char.isascii():
        first = costs["symbol"]
    elif char.isalpha():
        return length * costs["ideograph" if _IDEOGRAPH.match(char) else "foreign"]
    else:
        first = 1 if is_one_token(char) else costs["rare sign"]
    return first * (min(length, _SHORT_RUN) + costs["repeated"] * max(0, length - _SHORT_RUN))


class _TokenCosts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    version: str
    licence: str
    source: str
    tokens_per_character: dict[str, float]


@cache
def _costs() -> dict[str, float]:
    return read_bundled("contexts", "token_costs", _TokenCosts).tokens_per_character
