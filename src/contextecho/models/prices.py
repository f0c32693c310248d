"""What tokens cost, where we are sure; dated list prices from `data/prices.yaml`.

An unknown price is `None`, never zero: then only tokens are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache

import msgspec

from contextecho.bundled import read_bundled
from contextecho.models.model import Usage

_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars per million tokens. `None` for a cache rate: charged as plain input."""

    input: float
    output: float
    as_of: date
    source: str
    cached: float | None = None
    cache_write: float | None = None
    up_to: int | None = None  # input tokens of one request up to which this price holds

    def cost(self, usage: Usage) -> float | None:
        """US dollars for one call; `None` where the usage is unknown or the tariff another."""
        if usage.input is None or usage.output is None:
            return None
        if self.up_to is not None and usage.input > self.up_to:
            return None
        cached, written = usage.cached or 0, usage.cache_write or 0
        dollars = (
            (usage.input - cached - written) * self.input
            + cached * (self.input if self.cached is None else self.cached)
            + written * (self.input if self.cache_write is None else self.cache_write)
            + usage.output * self.output
        )
        return dollars / _MILLION


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    prices: Mapping[str, Price]


@cache
def _prices() -> Mapping[str, Price]:
    return read_bundled("models", "prices", _Table).prices


def find_price(target: str) -> Price | None:
    """The list price of a target, or `None` where it is not known for certain."""
    return _prices().get(target.removeprefix("inspect/"))
