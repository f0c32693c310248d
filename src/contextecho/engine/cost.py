"""From a ledger to dollars."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from contextecho.models import Model, Price, Usage, answers_here, find_price, find_provider
from contextecho.store import Ledger, Spend


def price_spend(spend: Spend, models: Mapping[str, Model]) -> float | None:
    """What the calls of a run cost in US dollars.

    None as soon as one target's price is not known, or a reply came without usage: a sum
    that leaves something out would look like a total. Lost calls are counted in the
    ledger and cost nothing here, since nobody knows whether they were billed.
    """
    dollars = 0.0
    for target, ledger in spend.by_target.items():
        if answers_here(target) or (target in models and models[target].free):
            continue
        price = find_price(target)
        if price is None or ledger.unreported or _beyond(price, ledger.longest):
            return None
        # `up_to` bounds one call; the sum of many may be longer.
        price = msgspec.structs.replace(price, up_to=None)
        dollars += _cost(price, ledger)
        if target in spend.batched:
            share = batch_share(target)
            if share is None:
                return None
            dollars -= (1.0 - share) * _cost(price, spend.batched[target])
    return dollars


def batch_share(target: str) -> float | None:
    """What a token costs in a batch, as a share of its list price; None: it takes no batches."""
    terms = find_provider(target).batch
    return None if terms is None else terms.price


def _cost(price: Price, ledger: Ledger) -> float:
    usage = Usage(
        input=ledger.input,
        cached=ledger.cached,
        cache_write=ledger.cache_write,
        output=ledger.output,
    )
    return price.cost(usage) or 0.0


def _beyond(price: Price, tokens: int) -> bool:
    return price.up_to is not None and tokens > price.up_to
