"""The immutable prefix of a session at a position, under a protocol.

The one thing to know: under `strict` the budget (tokens) covers system prompt,
compaction summary and conversation together; under `published` it is the first
paper's 30,000 characters of transcript, and the summary is what goes first.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec

from contextecho.contexts.budget import cut_to_budget, fit_text
from contextecho.contexts.model import Context, Message, Position, Snapshot
from contextecho.contexts.protocol import History, Protocol, Rendering, Unit
from contextecho.contexts.published import published_prefix
from contextecho.contexts.rendering import render
from contextecho.contexts.replay import (
    Block,
    cleared_results,
    last_compaction,
    replay,
    summary_turn,
    turns_in_view,
)
from contextecho.contexts.tokens import (
    CountedOnce,
    TokenCounter,
    context_tokens,
    message_tokens,
)
from contextecho.errors import UsageError
from contextecho.sessions import Kind, Session, Turn

_CHARS_PER_TOKEN = 12
"""No more text than this is loaded for each token of the budget; coding sessions hold 3 to 4."""


class _Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """A context, and what of the session did not get into it."""

    context: Context
    summary_kept: bool | None
    dropped_turns: int


def take_snapshot(
    session: Session,
    position: Position,
    protocol: Protocol,
    *,
    counter: TokenCounter,
    budget: int | None = None,
    rendering: Rendering | None = None,
    system: str | None = None,
    history: History = History.SEGMENT,
) -> Snapshot:
    """What the model has before it at `position`.

    `budget` (in the protocol's unit), `rendering` and `system` (the deployer's
    own system prompt, see `system_prompt`) replace the protocol's; `history` says how much of it
    a compaction leaves in view. Raises UsageError for a budget below 1 and for what the
    protocol does not have, SessionError when the file changed.
    """
    limit = protocol.budget if budget is None else budget
    if limit < 1:
        raise UsageError(
            f"a prefix budget of {limit} {protocol.budget_unit} holds nothing", todo="use 1 or more"
        )
    counter = CountedOnce(counter)
    chosen = rendering or protocol.rendering
    prompt = system_prompt(session, protocol, system)
    if protocol.budget_unit is Unit.CHARACTERS:
        if chosen is not Rendering.QUOTED:
            raise UsageError(
                f"protocol {protocol.id} quotes the session; it has no rendering {chosen}",
                todo="use --protocol strict",
            )
        if history is not History.SEGMENT:
            raise UsageError(
                f"protocol {protocol.id} cuts by length alone; it has no history {history}",
                todo="use --protocol strict",
            )
        prefix = _quote_published(session, position, protocol, limit, prompt)
    else:
        prefix = _replay_strict(
            session, position, protocol, limit, chosen, prompt, counter, history
        )
    return Snapshot(
        session_id=session.id,
        position=position,
        protocol=protocol.id,
        rendering=chosen,
        context=prefix.context,
        chars=prefix.context.chars,
        tokens=context_tokens(prefix.context, counter),
        counter=counter.name,
        summary_kept=prefix.summary_kept,
        dropped_turns=prefix.dropped_turns,
    )


def system_prompt(session: Session, protocol: Protocol, given: str | None = None) -> str:
    """The system prompt of all arms: the one given, the session's own, the protocol's.

    The session's own is for `strict`, where its format keeps one; `published` has its own.
    """
    if given is not None:
        return given
    kept = session.system if protocol.budget_unit is Unit.TOKENS else None
    return kept or protocol.system


def _replay_strict(
    session: Session,
    position: Position,
    protocol: Protocol,
    budget: int,
    rendering: Rendering,
    system: str,
    counter: TokenCounter,
    history: History,
) -> _Prefix:
    """Summary and as many of the last blocks as the budget holds, marks and tools included.

    The last block always, and the summary's borders: where these alone are more
    than the budget, they are the shortest prefix that there is.
    """
    room = budget - context_tokens(Context(system=system), counter)
    if room < 1:
        raise UsageError(
            f"a prefix budget of {budget} tokens is used up by the system prompt",
            todo=f"use more than {budget - room}",
        )
    summary = summary_turn(session, position) if history is History.SEGMENT else None
    summary_text = session.text(summary) if summary else ""
    turns = turns_in_view(session, position, history)
    cleared = cleared_results(session, position)
    first = _first_loaded(turns, room * _CHARS_PER_TOKEN, cleared)
    contents = session.contents(turns[first:])
    blocks = replay(turns[first:], contents, first=first, cleared=cleared)

    def fill(opening: str) -> tuple[Context, list[Block]]:
        """The context that begins with `opening`, and its blocks; too long only if it must be."""
        head = (Message(role="user", text=opening),) if opening.strip() else ()
        left = room - sum(message_tokens(message, counter) for message in head)
        while True:
            kept = cut_to_budget(blocks, max(1, left), counter)
            messages = [*head, *(message for block in kept for message in block.messages)]
            context = render(
                messages, rendering, system=system, acknowledgement=protocol.acknowledgement
            )
            excess = context_tokens(context, counter) - budget
            if excess <= 0 or left <= 1:
                return context, kept
            left -= excess

    opening = fit_text(summary_text, room * 3 // 4, counter)
    context, kept = fill(opening)
    if opening and context_tokens(context, counter) > budget:
        opening = fit_text(summary_text, 1, counter)
        context, kept = fill(opening)
    cut = first > 0 or len(kept) < len(blocks)
    whole = bool(opening.strip()) and opening == summary_text
    return _Prefix(
        context=context,
        summary_kept=None if history is History.WHOLE else _kept(session, position, whole),
        dropped_turns=kept[0].first if cut and kept else first,
    )


def _first_loaded(turns: Sequence[Turn], chars: int, cleared: Set[str | None]) -> int:
    """Index of the first of the last turns that together hold `chars` characters.

    Results that were `cleared` hold none. It goes on back to the beginning of a message,
    so that no result loses its call.
    """
    index = len(turns)
    while index > 0 and chars > 0:
        index -= 1
        is_cleared = turns[index].kind is Kind.TOOL_RESULT and turns[index].call_id in cleared
        chars -= 0 if is_cleared else turns[index].chars
    while index > 0 and (
        turns[index].kind is Kind.TOOL_RESULT or turns[index].message == turns[index - 1].message
    ):
        index -= 1
    return index


def _quote_published(
    session: Session, position: Position, protocol: Protocol, chars: int, system: str
) -> _Prefix:
    """The published prefix and the acknowledgement; without a prefix, or a blank one, nothing."""
    prefix = published_prefix(session, position.row_turn, chars=chars)
    messages = (
        Message(role="user", text=prefix.text),
        Message(role="assistant", text=protocol.acknowledgement),
    )
    return _Prefix(
        context=Context(system=system, messages=messages if prefix.text.strip() else ()),
        summary_kept=_kept(session, position, prefix.summary_kept),
        dropped_turns=sum(t.line < prefix.first_line for t in turns_in_view(session, position)),
    )


def _kept(session: Session, position: Position, whole: bool) -> bool | None:
    """`whole`, or None where no compaction came before."""
    return whole if last_compaction(session, position) else None
