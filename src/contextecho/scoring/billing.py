"""What the providers' own accounts say about a run: who answered, and how long the arms were.

The one thing to know: a plan matches control to session by a counter that is seldom
the target's own. What the target billed is the last word on whether their lengths
match (design, section 3), so it stands in the report beside the plan's ratio.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from contextecho.contexts import CONTROL_TOLERANCE, Arm
from contextecho.scoring.model import Billing
from contextecho.store import StoredReply

_Question: TypeAlias = tuple[str, str, int, int]  # battery, stimulus, paraphrase, replicate
_Billed: TypeAlias = dict[tuple[str, Arm], dict[_Question, int]]
"""Prompt tokens by question, at each position in each arm."""


def billing_of(targets: Iterable[str], replies: Iterable[StoredReply]) -> tuple[Billing, ...]:
    """One account a target, from the usage that came with its replies."""
    served: dict[str, dict[str, None]] = {target: {} for target in targets}
    billed: dict[str, _Billed] = {target: {} for target in served}
    for stored in replies:
        cell, reply = stored.cell, stored.reply
        if reply is None:
            continue
        if reply.served_model:
            served[cell.target][reply.served_model] = None
        if reply.usage is not None and reply.usage.input:
            side = billed[cell.target].setdefault((cell.position, cell.arm), {})
            question = (cell.battery, cell.stimulus, cell.paraphrase, cell.replicate)
            side[question] = reply.usage.input
    return tuple(
        Billing(target=target, served=tuple(served[target]), control_ratio=_ratios(billed[target]))
        for target in served
    )


def _ratios(billed: _Billed) -> dict[str, float]:
    """Control over session at each position, on the questions that both were billed for."""
    ratios = {}
    for (position, arm), control in billed.items():
        session = billed.get((position, Arm.SESSION), {})
        both = control.keys() & session.keys()
        if arm is Arm.CONTROL and both:
            of_session = sum(session[question] for question in both)
            ratios[position] = sum(control[question] for question in both) / of_session
    return ratios


def mismatches(billing: Billing) -> Iterator[str]:
    """One sentence where a target read arms of unequal length."""
    off = {p: r for p, r in billing.control_ratio.items() if abs(r - 1) > CONTROL_TOLERANCE}
    if off:
        worst = max(off, key=lambda position: abs(off[position] - 1))
        yield (
            f"{billing.target} billed the control at {worst} for {off[worst]:.3f} times the "
            f"session's tokens, and {len(off)} of {len(billing.control_ratio)} positions are more "
            f"than {CONTROL_TOLERANCE:.0%} apart: part of a difference may be length"
        )
