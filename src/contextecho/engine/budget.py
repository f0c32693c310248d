"""A budget: what one invocation may spend at most, in dollars or in tokens.

The one thing to know: it is hard. A call is made only if its worst case still
fits beside what was spent and what the calls in flight may yet cost; so the
last part of a budget may stay unspent, and no part of it is ever overrun.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from contextecho.contexts import Request
from contextecho.engine.sizes import Sizes
from contextecho.errors import BudgetError, UsageError
from contextecho.models import Failed, FailureKind, Model, Price, Reply, Usage, find_price

# A byte-level tokenizer makes at most one token of a byte (usual are four bytes a token). What a
# provider adds to what we send: a chat template's own words (Llama's and gpt-oss's are under 100
# tokens), and its tool instructions where tools are declared (Anthropic names 346, once 530).
FRAME_TOKENS = 200
TOOL_FRAME_TOKENS = 600
_KEPT = 64  # prefixes come in order: an old one is done with


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


def too_small(budget: Budget, worst: float) -> BudgetError:
    """The error of a budget that does not allow the first call."""
    return BudgetError(
        f"{budget} is too little for the first call, which may take up to"
        f" {worst:{'.4g' if budget.unit is Unit.DOLLARS else ',.0f'}} {budget.unit}",
        where="--budget",
        todo="raise it; nothing was sent",
    )


class Tariff:
    """What calls to one target count against a budget."""

    def __init__(self, model: Model, unit: Unit, share: float = 1.0) -> None:
        """`share` of the list price is charged. Raises `UsageError` for an unknown price."""
        self._unit = unit
        self._share = share
        self._price = None if model.free else find_price(model.id)
        if unit is Unit.DOLLARS and not model.free and self._price is None:
            raise UsageError(
                f"the price of {model.id} is not known, so dollars cannot be counted",
                where="--budget",
                todo="give the budget in tokens, e.g. 2Mtok",
            )
        self._sizes = Sizes()
        self._read: dict[str, int] = {}  # input tokens of a call on each prefix, by hash

    def worst(self, request: Request) -> float:
        """The most that one call can count: every byte a token, all the output it may give.

        Once a call on the same prefix came back, the prefix counts what that one read.

        Raises `UsageError` when the request may be longer than the known price is good for.
        """
        prefix = self._read.get(request.context.sha256) or self._sizes.prefix(request)
        frame = TOOL_FRAME_TOKENS if request.context.tools else FRAME_TOKENS
        tokens = prefix + self._sizes.question(request) + frame
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

    def learn(self, request: Request, reply: Reply) -> None:
        """Note how many tokens a prefix really has, from a reply on it."""
        if reply.usage is not None and reply.usage.input:
            sha256 = request.context.sha256
            read = self._read.pop(sha256, 0)
            self._read[sha256] = max(read, reply.usage.input)
            if len(self._read) > _KEPT:
                self._read.pop(next(iter(self._read)))

    def actual(self, reply: Reply, worst: float) -> float:
        """What a call counts now that it came back; the worst case where nobody said."""
        counted = None if reply.usage is None else self._count(reply.usage)
        if counted is not None:
            return counted
        return 0.0 if isinstance(reply, Failed) and _was_rejected(reply) else worst

    def _count(self, usage: Usage) -> float | None:
        if self._unit is Unit.DOLLARS:
            dollars = 0.0 if self._price is None else self._price.cost(usage)
            return None if dollars is None else dollars * self._share
        if usage.input is None or usage.output is None:
            return None
        return usage.input + usage.output

    @property
    def _writes_cost_more(self) -> bool:
        price: Price | None = self._price
        return price is not None and (price.cache_write or 0) > price.input


def _was_rejected(failed: Failed) -> bool:
    """Whether the call was turned away, and so not billed.

    A cut connection, a time-out or a gateway that lost the answer may have been.
    """
    if failed.status in _LOST:
        return False
    invalid = failed.kind is FailureKind.BAD_REQUEST
    return failed.stops_target or invalid or (failed.status is not None and failed.status >= 400)


_LOST = frozenset({408, 499, 502, 504, *range(520, 528)})  # 52x: Cloudflare's, before a provider


class Purse:
    """A budget being spent: what is gone, and what the calls in flight may yet take."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.spent = 0.0
        self.calls = 0
        self.calls_out = 0
        self._reserved = 0.0

    @property
    def may_find_room(self) -> bool:
        """Whether a call that does not fit now may fit later: one that is out may take less."""
        return self.calls_out > 0

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
