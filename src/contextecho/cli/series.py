"""Several plans of one study: a line each, and what they come to together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from contextecho.counting import counted

if TYPE_CHECKING:
    from contextecho.engine import Estimate
    from contextecho.studies import Plan


def series_lines(plans: Sequence[Plan], estimates: Sequence[Estimate]) -> Iterator[str]:
    """What each plan of a series would ask, cost and detect, and the sums."""
    study, sessions = plans[0].study, {plan.session for plan in plans}
    levels = {plan.study.level.id for plan in plans if plan.study.level}
    what = [counted(len(levels), "level")] if levels else []
    what += [counted(len(sessions), "session")] if len(sessions) > 1 else []
    varied = f" ({study.varies})" if study.level and study.varies else ""
    yield f"the study has {' and '.join(what)}{varied}; above is the first plan, here all of them"
    width = max(len(_name(plan, len(sessions) > 1)) for plan in plans)
    yield f"  {'':<{width}}  positions   cells  requests  tokens in      cost  detects"
    for plan, estimate in zip(plans, estimates, strict=True):
        yield (
            f"  {_name(plan, len(sessions) > 1):<{width}}  {len(plan.positions):>9}"
            f" {estimate.cells:>7,} {_requests(estimate):>9,} {_tokens(estimate):>10,}"
            f" {_cost(estimate):>9}  {_gap(estimate)}"
        )
    cells, requests = sum(e.cells for e in estimates), sum(map(_requests, estimates))
    tokens = sum(map(_tokens, estimates))
    yield (
        f"  {'together':<{width}}  {'':>9} {cells:>7,} {requests:>9,} {tokens:>10,}"
        f" {_sum(estimates):>9}"
    )
    yield "  requests that several of them share are asked once"


def _name(plan: Plan, with_session: bool) -> str:
    parts = [plan.study.level.id] if plan.study.level else []
    return ", ".join([*parts, plan.session] if with_session else parts)


def _requests(estimate: Estimate) -> int:
    return sum(target.requests for target in estimate.targets)


def _tokens(estimate: Estimate) -> int:
    return sum(target.input_tokens for target in estimate.targets)


def _cost(estimate: Estimate) -> str:
    return "unknown" if estimate.dollars is None else f"${estimate.dollars.expected:.2f}"


def _sum(estimates: Sequence[Estimate]) -> str:
    known = [estimate.dollars.expected for estimate in estimates if estimate.dollars is not None]
    return f"${sum(known):.2f}" if len(known) == len(estimates) else "unknown"


def _gap(estimate: Estimate) -> str:
    return "nothing" if estimate.detectable_gap is None else f"{estimate.detectable_gap:.2f}"
