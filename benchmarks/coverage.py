"""Do the intervals of `contextecho.stats` keep their promise? Simulated studies with a planted gap.

A study asks 5 fixed stimuli at some positions of one session under two arms.
Scores are 0..3: Binomial(3, mu / 3), whose mean is exactly mu, so the planted
gap is the true one. Positions vary (a sample of the session), stimuli vary
(fixed, unless the process says otherwise). For each method the table gives bias
of the estimate, the share of 95% intervals that hold the planted gap, the share
of studies without an interval, and the mean width; at gap 0, 1 - coverage is
the size of the test, and the last column is the share of sign-flip p at most
0.05. For one position the truth is that position's own gap, for its interval
claims no more.

    python benchmarks/coverage.py [--studies 1000] [--process even] > table.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from contextecho.stats import Interval, Method, Pairs, drift_gap, sign_flip_p

Floats = NDArray[np.float64]
Kind = Method | Literal["two-stage"]
STIMULI = 5
CLUSTERS = (1, 2, 3, 5, 8, 12, 24)
GAPS = (0.0, 0.3, 0.8)
SEED = 42


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """How scores come about. `draw_means(gap, shape, rng)` gives the mean scores of both arms."""

    name: str
    says: str
    draw_means: Callable[[float, tuple[int, int, int], np.random.Generator], tuple[Floats, Floats]]
    paraphrases: int = 1


def _spread(width: float) -> Floats:
    """Fixed effects of the five stimuli, averaging to 0, shaped to broadcast."""
    return np.linspace(-width, width, STIMULI)[None, None, :]


def _even(
    gap: float, shape: tuple[int, int, int], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    studies, clusters, _ = shape
    control = 1.9 + _spread(0.2) + rng.uniform(-0.1, 0.1, (studies, clusters, 1))
    session = (
        control - gap - rng.uniform(-0.55, 0.55, (studies, clusters, 1)) - _spread(0.2)[..., ::-1]
    )
    return control, session


def _onset(
    gap: float, shape: tuple[int, int, int], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    studies, clusters, _ = shape
    control = np.broadcast_to(2.3 + _spread(0.2), shape)
    drifted = rng.random((studies, clusters, 1)) < gap / 1.5
    return control, control - 1.5 * drifted


def _ceiling(
    gap: float, shape: tuple[int, int, int], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    studies, clusters, _ = shape
    control = np.full(shape, 2.85)
    share = rng.uniform(0.2, 1.8, (studies, clusters, 1)) * (1.0 + _spread(0.6))
    return control, control - gap * share


def _sampled(
    gap: float, shape: tuple[int, int, int], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    studies, clusters, stimuli = shape
    control = np.full(shape, 1.9)
    moved = rng.uniform(-0.5, 0.5, (studies, clusters, 1))
    return control, control - gap - moved - rng.uniform(-0.5, 0.5, (studies, 1, stimuli))


PROCESSES = (
    Process(name="even", says="gaps differ between positions, symmetrically", draw_means=_even),
    Process(name="even-10", says="the same, 10 paraphrases", draw_means=_even, paraphrases=10),
    Process(
        name="onset",
        says="a position has drifted by 1.5 or not at all (skewed)",
        draw_means=_onset,
        paraphrases=10,
    ),
    Process(name="ceiling", says="the control arm is nearly all threes", draw_means=_ceiling),
    Process(
        name="sampled",
        says="the stimuli too are a sample, and the gap is that of all stimuli",
        draw_means=_sampled,
        paraphrases=10,
    ),
)


def simulate(
    process: Process, gap: float, clusters: int, studies: int, rng: np.random.Generator
) -> Iterator[tuple[Pairs, float]]:
    """Studies with a planted gap: the pairs that `pair_cells` would make, and the true gap."""
    shape = (studies, clusters, STIMULI)
    means = process.draw_means(gap, shape, rng)
    control, session = (
        rng.binomial(3, arm[..., None] / 3, (*shape, process.paraphrases)) for arm in means
    )
    where, what, _ = np.indices((clusters, STIMULI, process.paraphrases)).reshape(3, -1)
    own = (means[0] - means[1]).mean(axis=(1, 2))
    for study, (a, b) in enumerate(zip(control, session, strict=True)):
        pairs = Pairs(
            a=a.ravel().astype(np.float64),
            b=b.ravel().astype(np.float64),
            clusters=where,
            stimuli=what,
            cluster_names=tuple(range(clusters)),
            stimulus_names=tuple(range(STIMULI)),
            planned=a.size,
        )
        yield pairs, float(own[study]) if clusters == 1 else gap


def two_stage(pairs: Pairs, resamples: int, seed: int) -> Interval:
    """The reference's resampling (positions, then cells in them), put on the gap itself."""
    k = len(pairs.cluster_names)
    cells = pairs.differences.reshape(k, -1)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, k, size=(resamples, k, 1))
    inside = rng.integers(0, cells.shape[1], size=(resamples, k, cells.shape[1]))
    low, high = np.quantile(cells[drawn, inside].mean(axis=(1, 2)), [0.025, 0.975])
    return Interval(low=float(low), high=float(high), level=0.95, method="two-stage")


class Tally(msgspec.Struct, kw_only=True):
    """What one method did over all studies of one setting."""

    studies: int = 0
    intervals: int = 0
    held: int = 0
    width: float = 0.0  # summed

    def add(self, interval: Interval | None, truth: float) -> None:
        """Count one study."""
        self.studies += 1
        if interval is not None:
            self.intervals += 1
            self.held += interval.low <= truth <= interval.high
            self.width += interval.high - interval.low

    @property
    def coverage(self) -> float | None:
        """The share of the intervals that hold the truth; None without intervals."""
        return self.held / self.intervals if self.intervals else None

    @property
    def missing(self) -> float:
        """The share of studies without an interval."""
        return 1 - self.intervals / self.studies

    def __str__(self) -> str:
        if self.coverage is None:
            return "none"
        return f"{self.coverage:.1%} ({self.width / self.intervals:.2f})"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: a process, a planted gap and a number of clusters."""

    bias: float
    rejected: float  # share of studies whose sign-flip p is at most 0.05
    tallies: dict[Kind, Tally]


def measure(
    process: Process,
    gap: float,
    clusters: int,
    *,
    methods: tuple[Kind, ...],
    studies: int,
    resamples: int = 1_000,
) -> Outcome:
    """Simulate the studies of one setting and estimate each by every method."""
    tallies = {method: Tally() for method in methods}
    errors, rejected = [], 0
    rng = np.random.default_rng([SEED, clusters, round(gap * 10)])
    for seed, (pairs, truth) in enumerate(simulate(process, gap, clusters, studies, rng)):
        for method, tally in tallies.items():
            tally.add(_interval(pairs, method, resamples, seed), truth)
        units = drift_gap(pairs).unit_gaps
        errors.append(units.mean() - truth)
        p = sign_flip_p(units, resamples=resamples, seed=seed).p
        rejected += p is not None and p <= 0.05
    return Outcome(bias=float(np.mean(errors)), rejected=rejected / studies, tallies=tallies)


def _interval(pairs: Pairs, method: Kind, resamples: int, seed: int) -> Interval | None:
    if method == "two-stage":
        return two_stage(pairs, resamples, seed)
    return drift_gap(pairs, method=method, resamples=resamples, seed=seed).interval


METHODS: tuple[Kind, ...] = ("two-stage", "percentile", "bootstrap-t", "wild", "cluster-t")


def main() -> None:
    names = [process.name for process in PROCESSES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--process", choices=names, action="append")
    options = parser.parse_args()
    for process in PROCESSES:
        if options.process and process.name not in options.process:
            continue
        print(f"\n### {process.name}: {process.says}\n")
        head = ("clusters", "gap", "bias", *METHODS, "no interval", "sign flip")
        print(f"| {' | '.join(head)} |\n|{'---:|' * len(head)}")
        for clusters in CLUSTERS:
            for gap in GAPS:
                found = measure(process, gap, clusters, methods=METHODS, studies=options.studies)
                cells = " | ".join(str(found.tallies[method]) for method in METHODS)
                missing = found.tallies["cluster-t"].missing
                print(
                    f"| {clusters} | {gap} | {found.bias:+.3f} | {cells} "
                    f"| {missing:.1%} | {found.rejected:.1%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
