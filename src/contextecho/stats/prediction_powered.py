"""A gap by human scores that only some replies have: prediction-powered inference.

A judge reads every reply, a person some of them, drawn at random. The judge's mean is
precise and may be wrong; the people's is right and imprecise. With f the judge's score,
y the person's, w the weights of Definition 1 (adding to 1 over all replies, w' over the
labelled ones), the mean of one arm is

    theta = lambda sum w f + sum w' (y - lambda f)

which is unbiased whatever the judge does (Angelopoulos et al. 2023, with lambda = 1).
lambda is the covariance of y and f over the labelled replies by the variance of f over
all, kept within 0 to 1: the tuning of PPI++ (Angelopoulos, Duchi and Zrnic 2023), whose
own lambda belongs to the mean over unlabelled replies and is N / (n + N) of this one. A
judge that says nothing gets 0, which leaves the people's mean.

The gap is the difference of the arms. Its variance is k / (k - 1) times the sum over
clusters of the squares of

    psi_t = sum_t lambda w (f - mean f) + sum_t w' (y - lambda f - mean(y - lambda f))

of the control less those of the session, with t(k - 1): cluster-t itself where all
replies are labelled.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import check_level, t_quantile
from contextecho.stats.units import FloatArray, IntArray, Labels, label_codes, nested_weights

_NO_SPREAD = 1e-24  # of scores, squared


class Readings(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The scores of one arm's replies, (n,) each; NaN in `human` where no person scored."""

    judge: ArrayLike
    human: ArrayLike
    clusters: Labels
    stimuli: Labels


class PredictionPowered(msgspec.Struct, frozen=True, kw_only=True):
    """A gap on the people's scale. `estimate` or `interval` None: `note` says why."""

    estimate: float | None
    interval: Interval | None
    trust: tuple[float, float] | None  # lambda of control and session
    labelled: tuple[int, int]
    clusters: int
    note: str | None = None


class ArmMeans(msgspec.Struct, frozen=True, eq=False):
    """The mean of one arm of many studies, and what each cluster adds to its error."""

    mean: FloatArray  # (studies,)
    influence: FloatArray  # (studies, clusters)
    trust: FloatArray  # (studies,)


def prediction_powered_gap(
    control: Readings, session: Readings, *, trust: float | None = None, level: float = 0.95
) -> PredictionPowered:
    """Control less session as people would score it, from all readings and some labels.

    `trust` is lambda: 1 for plain PPI, 0 for the labelled replies alone, None to tune it
    in each arm. Which replies are labelled must have been left to chance. Raises
    `ValueError` on a judge's score that is not finite, and on a trust outside 0 to 1.
    """
    check_level(level)
    if trust is not None and not 0.0 <= trust <= 1.0:
        raise ValueError(f"trust must lie between 0 and 1, not {trust}")
    judge, human = (
        [np.asarray(getattr(arm, name), dtype=np.float64) for arm in (control, session)]
        for name in ("judge", "human")
    )
    sizes = [len(scores) for scores in judge]
    codes, k = label_codes([*control.clusters, *session.clusters], sum(sizes))
    labelled = int(np.isfinite(human[0]).sum()), int(np.isfinite(human[1]).sum())
    if not min(labelled):
        note = "both arms need replies that a person scored"
        return PredictionPowered(
            estimate=None, interval=None, trust=None, labelled=labelled, clusters=k, note=note
        )
    arms = [
        arm_means(
            judge[i][np.newaxis],
            human[i][np.newaxis],
            nested_weights(own, label_codes(arm.stimuli, sizes[i])[0]),
            own,
            k,
            trust,
        )
        for i, (arm, own) in enumerate(
            zip((control, session), np.split(codes, sizes[:1]), strict=True)
        )
    ]
    estimate, variance = (float(each[0]) for each in powered_difference(*arms))
    found = PredictionPowered(
        estimate=estimate,
        interval=None,
        trust=(float(arms[0].trust[0]), float(arms[1].trust[0])),
        labelled=labelled,
        clusters=k,
        note=f"{k} clusters: no spread to estimate an interval from",
    )
    if variance <= _NO_SPREAD:
        return found
    half = t_quantile(level, k - 1) * math.sqrt(variance)
    interval = Interval(low=estimate - half, high=estimate + half, level=level, method="ppi++")
    return msgspec.structs.replace(found, interval=interval, note=None)


def arm_means(
    judge: FloatArray,
    human: FloatArray,
    weights: FloatArray,
    clusters: IntArray,
    k: int,
    trust: float | None = None,
) -> ArmMeans:
    """The mean of one arm in each of many studies of the same replies.

    `judge` and `human` (studies, n), NaN in `human` where there is no label; `weights`
    (n,) adding to 1; `clusters` (n,) codes below `k`. Each study needs a label.
    """
    if not np.isfinite(judge).all():
        raise ValueError("the judge's scores must be finite; leave missing ones out")
    there = np.isfinite(human)
    y = np.where(there, human, 0.0)
    share = there * weights
    share = share / share.sum(axis=1, keepdims=True)
    slope = _slope(judge, y, there) if trust is None else np.full(len(judge), trust)
    each = slope[:, np.newaxis]
    off = y - each * judge
    mean_read = judge @ weights
    mean_off = (share * off).sum(axis=1)
    influence = each * weights * (judge - mean_read[:, np.newaxis])
    influence = influence + share * (off - mean_off[:, np.newaxis])
    return ArmMeans(slope * mean_read + mean_off, influence @ np.eye(k)[clusters], slope)


def powered_difference(control: ArmMeans, session: ArmMeans) -> tuple[FloatArray, FloatArray]:
    """The difference of two arms in each study, and its variance over clusters."""
    influence = control.influence - session.influence
    k = influence.shape[1]
    variance = np.square(influence).sum(axis=1) * (k / (k - 1) if k > 1 else 0.0)
    return control.mean - session.mean, variance


def _slope(judge: FloatArray, human: FloatArray, there: FloatArray) -> FloatArray:
    """Covariance over the labelled replies by the judge's variance over all, from 0 to 1."""
    n = there.sum(axis=1, keepdims=True)
    x = there * (judge - (there * judge).sum(axis=1, keepdims=True) / n)
    spread = judge.var(axis=1)
    covariance = (x * human).sum(axis=1) / n[:, 0]
    return np.asarray(np.clip(covariance / np.where(spread > 0.0, spread, np.inf), 0.0, 1.0))
