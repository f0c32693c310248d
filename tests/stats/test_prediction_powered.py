from __future__ import annotations

import math

import numpy as np
import pytest

from contextecho.stats import Readings, cluster_mean_interval, prediction_powered_gap

HUMAN = [3, 2, 3, 1, 0, 2, 3, 3, 1, 2]
JUDGE = [3, 3, 3, 1, 1, 2, 2, 3, 2, 2]
UNLABELLED = [3, 3, 2, 3, 1, 0, 2, 3, 3, 3, 2, 2, 1, 3, 3, 2, 3, 1, 2, 3]
ZERO = Readings(judge=[0] * 30, human=[0] * 30, clusters=range(30), stimuli=[0] * 30)


def one_arm() -> Readings:
    """Ten labelled and twenty unlabelled replies, each its own cluster."""
    return Readings(
        judge=JUDGE + UNLABELLED,
        human=[*HUMAN, *[math.nan] * 20],
        clusters=range(30),
        stimuli=[0] * 30,
    )


def test_the_estimate_is_that_of_the_authors_own_package() -> None:
    # ppi_python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci(lam=0.5) of these numbers give
    # 2.025 and 1.5298 to 2.5202. Its lambda of 0.5 over the unlabelled is 0.75 over all.
    found = prediction_powered_gap(one_arm(), ZERO, trust=0.75)
    assert found.estimate == pytest.approx(2.025)
    assert found.interval is not None
    t, z = 2.04523, 1.95996  # t(29) and 30 / 29 here, normal there
    half = (found.interval.high - found.interval.low) / 2
    theirs = (2.52023039 - 1.52976961) / 2
    assert half / t * z * (29 / 30) ** 0.5 == pytest.approx(theirs, rel=1e-3)


def test_trust_is_the_covariance_of_the_labels_by_the_variance_of_all_readings() -> None:
    found = prediction_powered_gap(one_arm(), ZERO)
    covariance = np.cov(HUMAN, JUDGE, bias=True)[0, 1]
    assert found.trust is not None
    assert found.trust[0] == pytest.approx(covariance / np.var(JUDGE + UNLABELLED))
    assert found.labelled == (10, 30)


def test_without_trust_only_the_labels_count() -> None:
    found = prediction_powered_gap(one_arm(), ZERO, trust=0.0)
    assert found.estimate == pytest.approx(np.mean(HUMAN))


def test_a_judge_that_says_nothing_is_not_trusted() -> None:
    arm = Readings(
        judge=[2] * 30, human=[*HUMAN, *[math.nan] * 20], clusters=range(30), stimuli=[0] * 30
    )
    found = prediction_powered_gap(arm, ZERO)
    assert found.trust == (0.0, 0.0)
    assert found.estimate == pytest.approx(np.mean(HUMAN))


@pytest.mark.parametrize("trust", [None, 0.0, 1.0])
def test_labels_everywhere_leave_the_default_interval_on_them(trust: float | None) -> None:
    scores = np.random.default_rng(4).integers(0, 4, (4, 6, 5, 2)).reshape(4, -1)
    where, what, _ = np.indices((6, 5, 2)).reshape(3, -1)
    names = {"clusters": where, "stimuli": what}
    control = Readings(judge=scores[0], human=scores[1], **names)
    session = Readings(judge=scores[2], human=scores[3], **names)
    found = prediction_powered_gap(control, session, trust=trust)
    expected = cluster_mean_interval(scores[1] - scores[3], where, stimuli=what)
    assert found.estimate == pytest.approx(expected.mean)
    assert found.interval is not None
    assert expected.interval is not None
    assert found.interval.low == pytest.approx(expected.interval.low)
    assert found.interval.high == pytest.approx(expected.interval.high)


def test_positions_and_probes_weigh_equally_however_many_replies_they_have() -> None:
    # P1: C01 twice (3, 1) and C02 once (2) -> 2; P2: C01 once (0) -> 0.
    arm = Readings(
        judge=[3, 1, 2, 0],
        human=[3, 1, 2, 0],
        clusters=["P1", "P1", "P1", "P2"],
        stimuli=["C01", "C01", "C02", "C01"],
    )
    nothing = Readings(judge=[0, 0], human=[0, 0], clusters=["P1", "P2"], stimuli=["C01", "C01"])
    assert prediction_powered_gap(arm, nothing).estimate == pytest.approx(1.0)


def test_without_labels_there_is_no_estimate() -> None:
    arm = Readings(judge=[1, 2], human=[math.nan, math.nan], clusters=[0, 1], stimuli=[0, 0])
    found = prediction_powered_gap(arm, arm)
    assert (found.estimate, found.interval, found.labelled) == (None, None, (0, 0))
    assert found.note == "both arms need replies that a person scored"


def test_one_cluster_has_no_interval() -> None:
    arm = Readings(judge=[1, 2], human=[1, 3], clusters=[0, 0], stimuli=[0, 0])
    found = prediction_powered_gap(arm, arm)
    assert (found.estimate, found.interval) == (0.0, None)
    assert found.note is not None
    assert "no spread" in found.note


def test_nonsense_is_refused() -> None:
    arm = Readings(judge=[1, math.nan], human=[1, 3], clusters=[0, 1], stimuli=[0, 0])
    with pytest.raises(ValueError, match="finite"):
        prediction_powered_gap(arm, arm)
    with pytest.raises(ValueError, match="trust"):
        prediction_powered_gap(one_arm(), ZERO, trust=1.5)
