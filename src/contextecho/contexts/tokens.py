"""Counting tokens: what a counter is, an offline estimate, and what a whole context holds.

The one thing to know: no tokenizer is shipped. `EstimateCounter` cuts text into
the pieces that byte-pair tokenizers of the GPT and Llama families cut it into
before merging, and adds up what such a piece costs on average by its shape and
length (`data/token_costs.yaml`, fitted by `benchmarks/token_estimate.py`).
Within one text family it is off by a few per cent, the same way in both arms.
Whoever has the target's own tokenizer passes that instead: anything with a
`name` and a `count` will do.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import groupby
from typing import Protocol

import msgspec

from contextecho.contexts.data import read_data
from contextecho.contexts.model import Context, Message, ToolCall, canonical_json
from contextecho.errors import UsageError

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
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


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


class CalibratedCounter(msgspec.Struct, frozen=True, kw_only=True):
    """A counter scaled to what a provider billed."""

    inner: TokenCounter
    factor: float

    @property
    def name(self) -> str:
        """The inner counter's name and the factor."""
        return f"{self.inner.name} x {self.factor:.3f}"

    def count(self, text: str) -> int:
        """Tokens in `text`: the inner count times the factor."""
        return round(self.inner.count(text) * self.factor)


def calibrate(counter: TokenCounter, context: Context, billed_tokens: int) -> CalibratedCounter:
    """Scale `counter` by the first usage seen: billed over counted, over the whole context.

    One bill fixes one number, so the factor is global: it corrects a tokenizer
    that is finer or coarser throughout, not one that differs on code alone.
    Raises UsageError when there is nothing to compare.
    """
    counted = context_tokens(context, counter)
    if counted <= 0 or billed_tokens <= 0:
        raise UsageError(
            f"cannot calibrate on {billed_tokens} billed and {counted} counted tokens",
            todo="use the usage of a reply on a context with text",
        )
    return CalibratedCounter(inner=counter, factor=billed_tokens / counted)


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


def piece_kind(piece: str) -> str:
    """The row of the cost table that a piece belongs to; "" for a run of non-ASCII characters."""
    if piece[0] > "\x7f":
        return ""
    word = piece if piece[0].isalpha() else piece[1:]
    if word[:1].isalpha():
        lead = "bare" if word is piece else "spaced" if piece[0] == " " else "joined"
        case = "lower" if word.islower() else "upper" if word.isupper() else "mixed"
        return f"{lead} {case}"
    if piece[0].isdigit():
        return "digits"
    return "blank" if piece.isspace() else "symbols"


@lru_cache(maxsize=1 << 16)
def _piece_cost(piece: str) -> float:
    """Mean tokens of a piece of this shape and length."""
    kind = piece_kind(piece)
    if not kind:
        return sum(_foreign_cost(char, len(list(run))) for char, run in groupby(piece))
    costs = _costs()
    row = costs.ascii[kind]
    if len(piece) <= len(row):
        return row[len(piece) - 1]
    return row[-1] + (len(piece) - len(row)) * costs.beyond.get(kind, costs.beyond["words"])


def _foreign_cost(char: str, length: int) -> float:
    """Mean tokens of a run of one non-ASCII character."""
    costs = _costs()
    if _CJK.match(char):
        return costs.cjk * length
    if char.isalpha():
        return costs.letter * length
    return costs.symbol + costs.repeated * (length - 1)


class TokenCosts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Mean tokens by shape; `ascii[kind][n - 1]` for a piece of n characters."""

    id: str
    version: str
    licence: str
    source: str
    ascii: dict[str, tuple[float, ...]]
    beyond: dict[str, float]  # by kind, per character past the end of its row
    cjk: float  # per character
    letter: float  # per character of other alphabets
    symbol: float  # a non-ASCII symbol
    repeated: float  # each repetition of it


@cache
def _costs() -> TokenCosts:
    return read_data("token_costs.yaml", TokenCosts)[0]
