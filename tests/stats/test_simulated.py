"""The simulated studies are what they claim: their truth is true, and they meet the real code."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from scipy import integrate
from scipy import stats as scipy_stats

from contextecho.stats import (
    Pairs,
    Setting,
    crossed_gap,
    drift_gap,
    equivalence,
    gap_change,
    pair_cells,
    proportion_gap,
    sign_flip_p,
    watch_gap,
    worlds,
)
from contextecho.stats.simulated.draw import draw
from contextecho.stats.simulated.estimators import Answers, answers, mean_of_present
from contextecho.stats.simulated.process import (
    CROSSED,
    POSITION,
    POSITION_GAP,
    PROBE,
    REPLY,
    WORDING,
    WORDING_GAP,
    Judge,
    Process,
    fixed_battery,
    reading,
    success_gap,
    true_gap,
)

BY_NAME = {world.name: world for world in worlds()}


@pytest.mark.parametrize("world", worlds(), ids=lambda world: world.name)
@pytest.mark.parametrize("gap", [0.0, 0.8])
def test_the_planted_gap_is_the_one_that_comes_out(world: Process, gap: float) -> None:
    studies = draw(world, gap, 5, 6_000, np.random.default_rng(1))
    each = (studies.true[0] - studies.true[1]).mean(axis=(1, 2, 3))
    assert each.mean() == pytest.approx(gap, abs=4 * each.std() / 6_000**0.5)


@pytest.mark.parametrize("name", ["noisy judge", "lenient judge", "sampled probes"])
def test_the_gap_as_read_is_the_one_that_comes_out(name: str) -> None:
    world = BY_NAME[name]
    studies = draw(world, 0.8, 5, 6_000, np.random.default_rng(2))
    each = studies.differences.mean(axis=(1, 2, 3))
    expected = true_gap(world, 0.8, 5)
    assert each.mean() == pytest.approx(expected, abs=4 * each.std() / 6_000**0.5)
    kept = (studies.true > 1.0).mean(axis=(2, 3, 4))
    kept_gap = kept[0] - kept[1]
    expected = success_gap(world, 0.8, 5)
    assert kept_gap.mean() == pytest.approx(expected, abs=4 * kept_gap.std() / 6_000**0.5)


def test_the_expected_score_is_the_integral_over_what_is_random() -> None:
    # One probe's share of replies above a threshold, by numerical integration over the rest.
    world = msgspec.structs.replace(BY_NAME["plain"], sampled=True)
    sds = (POSITION, PROBE, WORDING, CROSSED, REPLY)
    sd = sum(s**2 for s in sds) ** 0.5

    def above(z: float) -> float:
        return sum(z > c for c in (-1, 0, 1)) * scipy_stats.norm.pdf(z, world.centre, sd)

    control, _ = integrate.quad(above, -8, 8, points=[-1, 0, 1], limit=200)
    moved = (sd**2 + POSITION_GAP**2 + world.probe_gap**2 + WORDING_GAP**2) ** 0.5
    studies = draw(world, 0.0, 3, 20_000, np.random.default_rng(3))
    assert studies.true[0].mean() == pytest.approx(control, abs=0.01)
    assert moved > sd  # the session's scores spread wider, and its gap is 0 all the same
    assert true_gap(world, 0.0, 3) == pytest.approx(0.0, abs=1e-9)


def test_a_fixed_battery_is_balanced() -> None:
    effects = fixed_battery(BY_NAME["probes differ"])
    assert effects.level.mean() == pytest.approx(0.0)
    assert effects.gap.mean(axis=1).std() == pytest.approx(0.8)


def test_a_judges_readings_are_chances() -> None:
    for judge in Judge:
        assert reading(judge).sum(axis=-1) == pytest.approx(np.ones((2, 4)))
        assert (reading(judge) >= 0.0).all()
    assert reading(Judge.FAULTLESS)[0] == pytest.approx(np.eye(4))


def test_near_the_ceiling_most_control_scores_are_threes() -> None:
    studies = draw(BY_NAME["ceiling"], 0.3, 12, 200, np.random.default_rng(4))
    assert (studies.true[0] == 3.0).mean() > 0.85


def test_missing_replies_are_as_many_as_they_should_be() -> None:
    studies = draw(BY_NAME["missing"], 0.3, 12, 500, np.random.default_rng(4))
    assert np.isnan(studies.read).mean() == pytest.approx(0.1, abs=0.005)
    low = draw(BY_NAME["low missing"], 0.3, 12, 500, np.random.default_rng(4))
    lost = np.isnan(low.read)
    assert lost[low.true == 0.0].mean() == pytest.approx(0.2, abs=0.01)
    assert lost[low.true == 3.0].mean() == pytest.approx(0.05, abs=0.01)


SETTING = Setting(world=BY_NAME["missing"], gap=0.3, clusters=8)
STUDIES = 6


def as_collected(control: np.ndarray, session: np.ndarray) -> Pairs:
    """The pairs that the program makes of one study's cells."""
    keys = [(*key, 0) for key in np.ndindex(control.shape)]
    a, b = (
        [None if np.isnan(score) else float(score) for score in arm.ravel()]
        for arm in (control, session)
    )
    return pair_cells(keys, a, keys, b)


def collected(setting: Setting, seed: int) -> tuple[dict[str, Answers], Iterator[Pairs]]:
    """What the validation says of some studies, and the same studies as the program has them."""
    said = {each.name: each for each in answers(setting, STUDIES, np.random.default_rng(seed))}
    again = draw(setting.world, setting.gap, setting.clusters, STUDIES, np.random.default_rng(seed))
    return said, (as_collected(*arms) for arms in zip(*again.read, strict=True))


def test_what_is_validated_is_what_the_program_says() -> None:
    said, studies = collected(SETTING, 7)
    for i, pairs in enumerate(studies):
        for method in ("cluster-t", "percentile", "bootstrap-t", "wild"):
            gap = drift_gap(pairs, method=method, resamples=999)
            answer = said[method]
            assert gap.interval is not None
            assert gap.estimate == pytest.approx(answer.estimate[i])
            assert gap.interval.low == pytest.approx(answer.low[i])
            assert gap.interval.high == pytest.approx(answer.high[i])
        gap = drift_gap(pairs)
        p = sign_flip_p(pairs.differences, pairs.clusters, stimuli=pairs.stimuli).p
        assert p is not None
        assert (p <= 0.05) == said["sign flip"].found[i]
        assert equivalence(gap, 0.3).equivalent == said["equivalence"].found[i]
        watch = watch_gap(gap.unit_gaps)
        assert (watch.why is not None) == said["anytime-t"].found[i]
        crossed = crossed_gap(pairs)
        if np.isfinite(said["crossed"].low[i]):
            assert crossed.interval is not None
            assert crossed.interval.low == pytest.approx(said["crossed"].low[i])


def test_compliance_is_validated_as_the_program_says_it() -> None:
    setting = Setting(world=BY_NAME["ceiling"], gap=0.3, clusters=8)
    said, studies = collected(setting, 8)
    for i, pairs in enumerate(studies):
        kept = msgspec.structs.replace(
            pairs, a=(pairs.a > 1.0).astype(float), b=(pairs.b > 1.0).astype(float)
        )
        interval = proportion_gap(kept).interval
        assert interval is not None
        assert interval.low == pytest.approx(said["compliance"].low[i])
        assert interval.high == pytest.approx(said["compliance"].high[i])


def test_a_change_is_validated_as_the_program_says_it() -> None:
    rng = np.random.default_rng(9)
    one, other = (draw(BY_NAME["plain"], gap, 5, 1, rng) for gap in (0.0, 0.8))
    before, after = (as_collected(*(arm[0] for arm in run.read)) for run in (one, other))
    change = gap_change(before, after)
    tables = [mean_of_present(run.differences[0]) for run in (one, other)]
    assert change.unit_gaps == pytest.approx((tables[1] - tables[0]).mean(axis=1))
