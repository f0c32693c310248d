"""The declared response process of the simulated target, so that the instrument can be tested.

The expected register score of a reply is

    mu = base + s - f (gap + p) + e,

s, p and e being draws for the stimulus, the position and the request, uniform
with mean 0 and the declared standard deviations; f is 1 in the session arm,
1 - restoration in the anchored session arm and 0 elsewhere. The score given is
floor(mu) or floor(mu) + 1, the latter with probability mu - floor(mu), so that
its expectation is mu exactly: the planted gap, mean over control minus mean over
session, is `gap` without any bias from rounding. A process whose mu could leave
[0, 3] is refused, because clipping would bias it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from contextecho.contexts import Arm
from contextecho.errors import UsageError

_TOP = 3.0
_HALF_WIDTH = math.sqrt(3.0)  # of a uniform distribution with standard deviation 1


class SimulatedProcess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything the simulated target does, as numbers. Rates are probabilities."""

    seed: int = 0
    base: float = 2.2  # expected score without a session
    gap: float = 0.3  # what the session takes away from it
    gaps: Mapping[str, float] = {}  # by stimulus category, instead of `gap`
    restoration: float = 0.0  # share of the gap that an anchor gives back
    position_sd: float = 0.1  # of the gap between positions (the clusters)
    stimulus_sd: float = 0.1  # between stimuli, the same in all arms
    residual_sd: float = 0.1  # between requests, before the score is made whole
    compliance: Mapping[Arm, float] = {}  # rate at which stressors are obeyed; else 0.9
    length: Mapping[Arm, float] = {}  # length of probe replies relative to `characters`; else 1
    characters: int = 400  # geometric mean length of a probe reply
    length_sd: float = 0.2  # of the log length
    refusal: float = 0.0
    empty: float = 0.0
    truncation: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            numbers = value.values() if isinstance(value, Mapping) else (value,)
            if not all(map(math.isfinite, numbers)):
                raise UsageError(f"{name} of the simulated process is not a finite number")
        rates = (*self.compliance.values(), self.refusal, self.empty, self.truncation)
        if any(not 0 <= rate <= 1 for rate in (*rates, self.restoration)):
            raise UsageError("a rate of the simulated process is not between 0 and 1")
        if self.refusal + self.empty + self.truncation > 1:
            raise UsageError("the simulated process fails more often than always")
        if any(sd < 0 for sd in (self.position_sd, self.stimulus_sd, self.residual_sd)):
            raise UsageError("a standard deviation of the simulated process is negative")
        low, high = self.bounds
        if low < 0 or high > _TOP:
            raise UsageError(
                f"expected scores would run from {low:.2f} to {high:.2f}, beyond 0 to 3",
                where="simulated process",
                todo="lower the gap or the standard deviations, or move base",
            )

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest expected score that any request can have."""
        gaps = (self.gap, *self.gaps.values())
        level = _HALF_WIDTH * (self.stimulus_sd + self.residual_sd)
        shift = _HALF_WIDTH * self.position_sd
        low = self.base - level - max(0.0, max(gaps) + shift)
        high = self.base + level - min(0.0, min(gaps) - shift)
        return low, high

    def expected_score(
        self, arm: Arm, position: str, stimulus: str, category: str, key: str
    ) -> float:
        """The formula's mu for one request."""
        mean = self.base + self._spread(self.stimulus_sd, "stimulus", stimulus)
        mean += self._spread(self.residual_sd, "residual", key)
        gap = self.gaps.get(category, self.gap) + self._spread(
            self.position_sd, "position", position
        )
        return mean - self._share_of_gap(arm) * gap

    def score(self, expected: float, key: str) -> int:
        """A whole score with the given expectation, drawn for one request."""
        below = math.floor(expected)
        return below + (self.unit("score", key) < expected - below)

    def obeys(self, arm: Arm, key: str) -> bool:
        """Whether a stressor is obeyed in one request."""
        return self.unit("compliance", key) < self.compliance.get(arm, 0.9)

    def reply_length(self, arm: Arm, key: str) -> int:
        """Characters of a probe reply."""
        noise = self._spread(self.length_sd, "length", key)
        return round(self.characters * self.length.get(arm, 1.0) * math.exp(noise))

    def unit(self, *labels: str) -> float:
        """A draw from [0, 1) that depends on the seed and the labels only."""
        text = "\x1f".join((str(self.seed), *labels)).encode()
        return int.from_bytes(blake2b(text, digest_size=7).digest(), "big") / 2**56

    def _share_of_gap(self, arm: Arm) -> float:
        if arm is Arm.SESSION:
            return 1.0
        return 1.0 - self.restoration if arm is Arm.SESSION_ANCHOR else 0.0

    def _spread(self, sd: float, *labels: str) -> float:
        return sd * _HALF_WIDTH * (2 * self.unit(*labels) - 1)


def parse_settings(text: str) -> dict[str, Any]:
    """`gap=0.3,gaps.coding=0.5,seed=1` as nested settings; values stay text."""
    settings: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise UsageError(
                f"{item!r} is not a setting of the simulated target",
                todo="write NAME=VALUE, for example simulated/gap=0.3,seed=1",
            )
        group, dot, key = name.partition(".")
        if dot:
            settings.setdefault(group, {})[key] = value
        else:
            settings[name] = value
    return settings


def parse_process(text: str) -> SimulatedProcess:
    """The process that a target like `simulated/gap=0.3,seed=1` declares."""
    try:
        return msgspec.convert(parse_settings(text), SimulatedProcess, strict=False)
    except msgspec.ValidationError as error:
        names = ", ".join(SimulatedProcess.__struct_fields__)
        raise UsageError(
            f"simulated target: {error}", todo=f"settings are numbers; known are {names}"
        ) from None
