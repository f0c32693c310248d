"""The processes, gaps and numbers of positions over which the estimators are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from contextecho.stats.simulated.process import Drift, Judge, Missing, Process

GAPS = (0.0, 0.3, 0.8)
CLUSTERS = (3, 5, 12, 24)

WORLDS = (
    Process(name="plain", says="control mean 2.2, three wordings, probes differ a little"),
    Process(name="ceiling", says="control mean 2.9: nearly all threes", centre=2.2),
    Process(name="one wording", says="one reply a probe and position", wordings=1),
    Process(name="ten wordings", says="ten replies a probe and position", wordings=10),
    Process(name="probes alike", says="no probe moves more than another", probe_gap=0.0),
    Process(name="probes differ", says="probes move very differently", probe_gap=0.8),
    Process(name="noisy judge", says="a quarter of the scores one off", judge=Judge.NOISY),
    Process(name="missing", says="one reply in ten has no score", missing=Missing.RANDOM),
    Process(name="low missing", says="low scores are missing more often", missing=Missing.LOW),
    Process(
        name="all at once",
        says="near the ceiling, one wording, probes differ, noisy judge, missing replies",
        centre=1.6,
        probe_gap=0.8,
        wordings=1,
        judge=Judge.NOISY,
        missing=Missing.RANDOM,
    ),
    Process(
        name="lenient judge",
        says="as noisy, and raises a quarter of the session's scores: it hides part of the gap",
        judge=Judge.LENIENT,
    ),
    Process(
        name="sampled probes",
        says="the battery is a sample too, and the true gap is that of all probes",
        sampled=True,
        probe_gap=0.5,
    ),
    Process(name="growing", says="no gap at first, twice the mean at last", drift=Drift.GROWING),
    Process(name="onset", says="two positions in five have drifted", drift=Drift.ONSET),
    Process(
        name="neighbours",
        says="positions are like their neighbours (0.6), and the true gap is that of all sessions",
        drift=Drift.NEIGHBOURS,
    ),
)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One process with one planted gap, at so many positions."""

    world: Process
    gap: float
    clusters: int


def worlds() -> tuple[Process, ...]:
    """All of them, those in which what the default interval takes for granted holds first."""
    return WORLDS


def settings(worlds: Iterable[Process]) -> Iterator[Setting]:
    """Every gap and number of positions in each of `worlds`."""
    for world in worlds:
        for clusters in CLUSTERS:
            for gap in GAPS:
                yield Setting(world=world, gap=gap, clusters=clusters)
