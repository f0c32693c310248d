"""What is left of a budget after one pass of judging, for the next one."""

from __future__ import annotations

import msgspec

from contextecho.engine import Budget
from contextecho.models import Model, Usage, find_price
from contextecho.store import Spend


def left_of(budget: Budget | None, judge: Model, before: Spend, after: Spend) -> Budget | None:
    """`budget` less what the calls to `judge` used between two readings of the ledger.

    None without a budget, and when nothing is left or nobody can say what was used.
    """
    if budget is None:
        return None
    used = _used(judge.id, before, after)
    spent = _dollars(judge, used) if budget.unit == "usd" else _tokens(used)
    if spent is None or spent >= budget.limit:
        return None
    return msgspec.structs.replace(budget, limit=budget.limit - spent)


def _used(judge: str, before: Spend, after: Spend) -> Usage:
    def difference(name: str) -> int:
        old, new = before.by_target.get(judge), after.by_target.get(judge)
        return (getattr(new, name) if new else 0) - (getattr(old, name) if old else 0)

    return Usage(
        **{name: difference(name) for name in ("input", "cached", "cache_write", "output")}
    )


def _tokens(used: Usage) -> int:
    return (used.input or 0) + (used.output or 0)


def _dollars(judge: Model, used: Usage) -> float | None:
    if judge.free:
        return 0.0
    price = find_price(judge.id)
    return price.cost(used) if price else None
