"""A budget: what one invocation may spend at most, in dollars or in tokens.

The one thing to know: it is hard. A call is made only if its worst case still
fits beside what was spent and what the calls in flight may yet cost; so the
last part of a budget may stay unspent, and no part of it is ever overrun.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from contextecho.contexts import Request, canonical_json
from contextecho.errors import BudgetError, UsageError
from contextecho.models import Failed, FailureKind, Model, Price, Reply, Usage, find_price

# Byte-level tokenizers stay below this for prose, code and CJK text alike (three to four
# bytes a token are usual), so it is a worst case without needing the target's tokenizer.
WORST_TOKENS_PER_BYTE = 0.5


class Unit(StrEnum):
    """What a budget counts."""

    DOLLARS = "usd"
    TOKENS = "tokens"  # input and output together, cached ones included


_FORM = re.compile(r"(?P<sign>\$?)(?P<number>\d+(?:\.\d+)?|\.\d+)(?P<scale>[km]?)(?P<unit>[a-z]*)")
_SCALES = {"": 1, "k": 1_000, "m": 1_000_000}
_UNITS = {
    "usd": Unit.DOLLARS,
    "tok": Unit.TOKENS,
    "token": Unit.TOKENS,
    "tokens": Unit.TOKENS,
}


class Budget(msgspec.Struct, frozen=True):
    """An upper bound on what one invocation spends."""

    limit: float
    unit: Unit

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read "5usd", "$0.50", "2Mtok" or "300k tokens"; case and spaces do not matter.

        Raises `UsageError` when it is none of these, `BudgetError` when it is zero.
        """
        form = _FORM.fullmatch("".join(text.lower().split()))
        unit = _unit(form) if form else None
        if form is None or (unit is None and float(form["number"]) > 0):
            raise UsageError(
                f"not a budget: {text!r}", where="--budget", todo="write 5usd or 2Mtok"
            )
        limit = float(form["number"]) * _SCALES[form["scale"]]
        if limit == 0:
            raise BudgetError(
                "a budget of 0 allows no call", where="--budget", todo="`contextecho plan` is free"
            )
        return cls(limit, unit or Unit.TOKENS)

    def __str__(self) -> str:
        return f"{self.limit:g} {self.unit}"


def _unit(form: re.Match[str]) -> Unit | None:
    if form["sign"]:
        return Unit.DOLLARS if form["unit"] in ("", "usd") else None
    return _UNITS.get(form["unit"])


class Tariff:
    """What calls to one target count against a budget."""

    def __init__(self, model: Model, unit: Unit) -> None:
        """Raises `UsageError` when dollars are to be counted and the price is not known."""
        self._unit = unit
        self._price = None if model.free else find_price(model.id)
        if unit is Unit.DOLLARS and not model.free and self._price is None:
            raise UsageError(
                f"the price of {model.id} is not known, so dollars cannot be counted",
                where="--budget",
                todo="give the budget in tokens, e.g. 2Mtok",
            )
        self._bytes: dict[str, int] = {}  # of the contexts in use, by hash

    def worst(self, request: Request) -> float:
        """The most that one call can count.

        Raises `UsageError` when the request is longer than the known price is good for.
        """
        tokens = round(self._request_bytes(request) * WORST_TOKENS_PER_BYTE)
        usage = Usage(
            input=tokens,
            cache_write=tokens if self._writes_cost_more else 0,
            output=request.decoding.max_output_tokens,
        )
        counted = self._count(usage)
        if counted is None:
            raise UsageError(
                f"the price of {request.target} is not known for {tokens} input tokens",
                where="--budget",
                todo="give the budget in tokens, e.g. 2Mtok",
            )
        return counted

    def actual(self, reply: Reply, worst: float) -> float:
        """What a call counts now that it came back; the worst case where nobody said."""
        counted = None if reply.usage is None else self._count(reply.usage)
        if counted is not None:
            return counted
        return 0.0 if isinstance(reply, Failed) and _was_rejected(reply) else worst

    def _count(self, usage: Usage) -> float | None:
        if self._unit is Unit.DOLLARS:
            return 0.0 if self._price is None else self._price.cost(usage)
        if usage.input is None or usage.output is None:
            return None
        return usage.input + usage.output

    @property
    def _writes_cost_more(self) -> bool:
        price: Price | None = self._price
        return price is not None and (price.cache_write or 0) > price.input

    def _request_bytes(self, request: Request) -> int:
        prefix = request.context.sha256
        if prefix not in self._bytes:
            if len(self._bytes) >= 64:  # prefixes come in order: the oldest is done with
                self._bytes.pop(next(iter(self._bytes)))
            self._bytes[prefix] = len(canonical_json(request.context))
        return self._bytes[prefix] + len(canonical_json(request.ask))


def _was_rejected(failed: Failed) -> bool:
    """Whether the call was turned away, and so not billed; a cut connection may have been."""
    invalid = failed.kind is FailureKind.BAD_REQUEST
    return failed.stops_target or invalid or (failed.status is not None and failed.status >= 400)


class Purse:
    """A budget being spent: what is gone, and what the calls in flight may yet take."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.spent = 0.0
        self.calls = 0
        self.calls_out = 0
        self._reserved = 0.0

    def reserve(self, worst: float) -> bool:
        """Set the worst case of a call aside, if it fits."""
        if self.spent + self._reserved + worst > self.budget.limit:
            return False
        self._reserved += worst
        self.calls += 1
        self.calls_out += 1
        return True

    def settle(self, worst: float, actual: float) -> None:
        """Exchange what was set aside for a call by what it really took."""
        self.calls_out -= 1
        # Sums of floats do not cancel exactly; with no call out nothing is reserved.
        self._reserved = self._reserved - worst if self.calls_out else 0.0
        self.spent += actual
