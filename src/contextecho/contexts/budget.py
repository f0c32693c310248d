"""Cutting a replayed history to a token budget, at message boundaries, from the front.

The one thing to know: whole blocks are dropped. Only a block that is too long
on its own is shortened, in the middle of its longest texts, with a mark that
says how much is missing; the same is done to a compaction summary that would
leave the conversation less than a quarter of the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from contextecho.contexts.model import Message, ToolCall
from contextecho.contexts.replay import Block
from contextecho.contexts.tokens import TokenCounter, message_tokens
from contextecho.contexts.wording import wording

_SHORTEST = 200
"""Characters up to which a text is not worth shortening: the mark itself takes about 40."""

_LEAST_SHARE = 0.001
"""Share of a text below which nothing is gained by cutting on."""


def cut_to_budget(blocks: Sequence[Block], budget: int, counter: TokenCounter) -> list[Block]:
    """The last blocks that fit into `budget` tokens; the very last always, shortened if need be."""
    kept: list[Block] = []
    left = budget
    for block in reversed(blocks):
        tokens = _tokens(block.messages, counter)
        if tokens > left:
            break
        kept.append(block)
        left -= tokens
    if blocks and not kept:
        kept.append(_shorten(blocks[-1], budget, counter))
    return kept[::-1]


def fit_text(text: str, budget: int, counter: TokenCounter) -> str:
    """`text`, or as much of its beginning and end as fits into `budget` tokens."""
    tokens = counter.count(text)
    share = 1.0
    fitted = text
    while tokens > budget and share > _LEAST_SHARE:
        share *= min(0.95, budget / tokens)
        fitted = _cut_middle(text, share)
        tokens = counter.count(fitted)
    return fitted


def _tokens(messages: Sequence[Message], counter: TokenCounter) -> int:
    return sum(message_tokens(message, counter) for message in messages)


def _shorten(block: Block, budget: int, counter: TokenCounter) -> Block:
    """Cut the block's longest messages to a common length at which the whole fits."""
    sizes = sorted(message_tokens(message, counter) for message in block.messages)
    cap = _common_cap(sizes, budget)
    messages = tuple(_fit_message(message, cap, counter) for message in block.messages)
    return Block(block.first, messages)


def _common_cap(sizes: Sequence[int], budget: int) -> int:
    """The cap c at which sum(min(size, c)) is the budget; `sizes` ascending."""
    left = budget
    for index, size in enumerate(sizes):
        cap = left // (len(sizes) - index)
        if size > cap:
            return cap
        left -= size
    return budget


def _fit_message(message: Message, cap: int, counter: TokenCounter) -> Message:
    """The message with its text and its calls' longest strings cut until it holds `cap` tokens."""
    share = 1.0
    fitted = message
    tokens = message_tokens(message, counter)
    while tokens > cap and share > _LEAST_SHARE:
        share *= min(0.95, cap / tokens)
        fitted = msgspec.structs.replace(
            message,
            text=_cut_middle(message.text, share),
            tool_calls=tuple(_shorten_call(call, share) for call in message.tool_calls),
        )
        tokens = message_tokens(fitted, counter)
    return fitted


def _shorten_call(call: ToolCall, share: float) -> ToolCall:
    arguments = {key: _shorten_value(value, share) for key, value in call.arguments.items()}
    return msgspec.structs.replace(call, arguments=arguments)


def _shorten_value(value: Any, share: float) -> Any:
    if isinstance(value, str):
        return _cut_middle(value, share)
    if isinstance(value, list):
        return [_shorten_value(item, share) for item in value]
    if isinstance(value, dict):
        return {key: _shorten_value(item, share) for key, item in value.items()}
    return value


def _cut_middle(text: str, share: float) -> str:
    """The first and last characters of `text`, `share` of it in all, around a mark."""
    if len(text) <= _SHORTEST or share >= 1:
        return text
    keep = max(_SHORTEST // 2, int(len(text) * share)) // 2
    mark = wording().cut.format(chars=len(text) - 2 * keep)
    return f"{text[:keep]}\n{mark}\n{text[-keep:]}"
