"""Requests and tokens a minute: what a provider lets through, learnt from what it says.

The one thing to know: both are token buckets. A call takes from them when it is sent, time
gives back, and every reply that tells what is left sets them right. Of a provider that tells
nothing nothing is known, and no call waits; then the pace alone adapts.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextecho.engine.sizes import Weight
from contextecho.models import Allowance, Usage

_MINUTE = 60.0  # seconds
_INSTANT = 1e-6  # seconds: sums of floats leave less than this over
_TOKENS_PER_BYTE = 0.25  # until a target's usage says better


class Bucket:
    """A quantity that calls take and time gives back, `limit` a minute; unknown at first."""

    def __init__(self) -> None:
        self._limit: float | None = None
        self._level = 0.0
        self._at = 0.0  # when the level was so
        self._taken = 0.0  # by all calls so far

    @property
    def known(self) -> bool:
        """Whether a reply has told the limit."""
        return self._limit is not None

    def wait(self, amount: float, now: float) -> float:
        """Seconds until a call may take `amount`; one above the limit waits for all of it."""
        if self._limit is None:
            return 0.0
        short = min(amount, self._limit) - self._level_at(now, self._limit)
        seconds = short * _MINUTE / self._limit
        return seconds if seconds > _INSTANT else 0.0

    def take(self, amount: float, now: float) -> float:
        """Let a call take `amount`. Returns the mark by which `learn` knows the calls after it."""
        if self._limit is not None:
            self._level, self._at = self._level_at(now, self._limit) - amount, now
        self._taken += amount
        return self._taken

    def correct(self, surplus: float) -> None:
        """A call took `surplus` less than it was thought to."""
        self._level += surplus

    def learn(
        self, limit: float | None, left: float | None, mark: float, sent_at: float, now: float
    ) -> None:
        """Take over what a reply told: `left` when its call was sent, less what went since."""
        if not limit or left is None:
            return
        self._limit = limit
        since = (now - sent_at) * limit / _MINUTE - (self._taken - mark)
        self._level, self._at = min(limit, left + since), now

    def _level_at(self, now: float, limit: float) -> float:
        return min(limit, self._level + (now - self._at) * limit / _MINUTE)


@dataclass(slots=True, frozen=True)
class Sent:
    """A call as the buckets saw it go."""

    at: float
    tokens: float  # that it was thought to count; 0: the limit was not known yet
    mark: tuple[float, float]


class Quota:
    """What one account may ask in a minute."""

    def __init__(self) -> None:
        self._requests = Bucket()
        self._tokens = Bucket()
        self._bytes = 0  # sums over the calls whose usage is known
        self._input = 0
        self._output = 0
        self._calls = 0

    def wait(self, weight: Weight, now: float) -> float:
        """Seconds until a request may be sent."""
        return max(self._requests.wait(1.0, now), self._tokens.wait(self._estimate(weight), now))

    def sent(self, weight: Weight, now: float) -> Sent:
        """Count a request that is being sent."""
        tokens = self._estimate(weight)
        return Sent(now, tokens, (self._requests.take(1.0, now), self._tokens.take(tokens, now)))

    def unsent(self, sent: Sent) -> None:
        """A request that was counted was not sent after all."""
        self._requests.correct(1.0)
        self._tokens.correct(sent.tokens)

    def came_back(
        self,
        weight: Weight,
        sent: Sent,
        usage: Usage | None,
        told: Allowance | None,
        now: float,
        *,
        cached_count: bool,
    ) -> None:
        """Learn from a reply; `cached_count`: what was read from a cache counts as well."""
        if sent.tokens and usage is not None and usage.input is not None:
            read = usage.input - (0 if cached_count else usage.cached or 0)
            self._average(weight, read, usage.output or 0)
            self._tokens.correct(sent.tokens - read - (usage.output or 0))
        if told is not None:
            requests, tokens = sent.mark
            self._requests.learn(told.requests_limit, told.requests_left, requests, sent.at, now)
            self._tokens.learn(told.tokens_limit, told.tokens_left, tokens, sent.at, now)

    def _average(self, weight: Weight, read: int, written: int) -> None:
        self._bytes += weight.size
        self._input += read
        self._output += written
        self._calls += 1

    def _estimate(self, weight: Weight) -> float:
        """The tokens that a request will count, by what the ones before it did."""
        if not self._tokens.known:
            return 0.0
        if not self._calls:
            return weight.size * _TOKENS_PER_BYTE + weight.output
        return weight.size * self._input / self._bytes + self._output / self._calls
