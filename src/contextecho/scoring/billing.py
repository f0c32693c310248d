"""What the providers' own accounts say about a run: who answered, and how long the arms were.

The one thing to know: a plan matches control to session by a counter that is seldom
the target's own. What the target billed is the last word on whether their lengths
match (design, section 3), so it stands in the report beside the plan's ratio.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from contextecho.contexts import CONTROL_TOLERANCE, Arm
from contextecho.scoring.model import Billing
from contextecho.store import StoredReply


class _Side(msgspec.Struct):
    """Prompt tokens of one arm at one position, by question."""

    tokens: dict[tuple[str, str, int, int], int]


def billing_of(targets: Iterable[str], replies: Iterable[StoredReply]) -> tuple[Billing, ...]:
    """One account a target, from the usage that came with its replies."""
    served: dict[str, dict[str, None]] = {target: {} for target in targets}
    sides: dict[str, dict[tuple[str, Arm], _Side]] = {target: {} for target in served}
    for stored in replies:
        cell, reply = stored.cell, stored.reply
        if reply is None:
            continue
        if reply.served_model:
            served[cell.target][reply.served_model] = None
        if reply.usage is not None and reply.usage.input:
            side = sides[cell.target].setdefault((cell.position, cell.arm), _Side({}))
            question = (cell.battery, cell.stimulus, cell.paraphrase, cell.replicate)
            side.tokens[question] = reply.usage.input
    return tuple(
        Billing(target=target, served=tuple(served[target]), control_ratio=_ratios(sides[target]))
        for target in served
    )


def _ratios(sides: Mapping[tuple[str, Arm], _Side]) -> dict[str, float]:
    """Control over session at each position, on the questions that both were billed for."""
    ratios = {}
    for (position, arm), control in sides.items():
        session = sides.get((position, Arm.SESSION))
        if arm is not Arm.CONTROL or session is None:
            continue
        both = control.tokens.keys() & session.tokens.keys()
        if both:
            billed = sum(session.tokens[question] for question in both)
            ratios[position] = sum(control.tokens[question] for question in both) / billed
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
