"""A mean with random effects: variance components by REML, and a t interval for the mean.

    y = mu + sum_k Z_k u_k + e,   u_k ~ N(0, s_k),  e ~ N(0, s_e)

The effects may be crossed or nested, and the data unbalanced: a factor is a label for
each value. The components maximise the restricted likelihood (Patterson and Thompson
1971), none of them below 0:

    -2 l = (n - 1) log r + log |H| + log 1'H^-1 1,   H = I + sum_k (s_k / s_e) Z_k Z_k'

with r the generalised residual sum of squares, s_e = r / (n - 1). The mean is the
generalised least squares one, its variance V = s_e / (1'H^-1 1), its degrees of freedom
Satterthwaite's, 2 V^2 / (g' I^-1 g), with g the gradient of V in the components that are
above 0 and I their expected information, tr(P V_j P V_k) / 2.

Everything runs on Z'Z, so a step costs the cube of the number of levels, whatever n is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import check_level, t_quantile
from contextecho.stats.units import FloatArray, IntArray, Labels, label_codes

RESIDUAL = "residual"
_STARTS = (1.0, 0.1)
_LARGEST = 1e3  # standard deviation of an effect in units of the residual one
_ROUNDING_OF_FIT = 1e-8  # of the deviance: a component that gains less is 0
_ROUNDING = 1e-24  # of the variance, relative to the largest square


class MixedMean(msgspec.Struct, frozen=True, kw_only=True):
    """A mean and its variance components. None: `note` says why."""

    mean: float | None
    interval: Interval | None
    df: float | None
    components: Mapping[str, float]  # variance by factor, then the residual's
    levels: Mapping[str, int]
    n: int
    note: str | None = None

    def share(self, name: str) -> float:
        """Which part of the variance of one value this component is."""
        return self.components[name] / sum(self.components.values())


def mixed_mean(
    values: ArrayLike, factors: Mapping[str, Labels], *, level: float = 0.95
) -> MixedMean:
    """The mean of `values` (n,), finite, with a random effect for each of `factors`.

    Each factor is (n,) labels; for one nested in another give labels that name both.
    Without variation, or with a factor of fewer than two levels, or of as many as there
    are values, or where the factors explain every value, nothing can be told apart and
    there is no interval. Raises `ValueError` on values that are not finite, on unequal
    lengths and on a level outside 0 to 1.
    """
    check_level(level)
    y = np.asarray(values, dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError("values must be finite; leave missing ones out")
    coded = {name: label_codes(labels, len(y)) for name, labels in factors.items()}
    levels = {name: k for name, (_, k) in coded.items()}
    if reason := _lacks(y, levels) or _leaves_nothing(y, coded.values()):
        mean = float(y.mean()) if len(y) else None
        return MixedMean(
            mean=mean, interval=None, df=None, components={}, levels=levels, n=len(y), note=reason
        )
    model = _Model(y - y.mean(), [codes for codes, _ in coded.values()], list(levels.values()))
    fit = model.at(model.best())
    half = t_quantile(level, fit.df) * math.sqrt(fit.variance)
    mean = float(fit.mean + y.mean())
    return MixedMean(
        mean=mean,
        interval=Interval(low=mean - half, high=mean + half, level=level, method="reml"),
        df=fit.df,
        components=dict(zip((*factors, RESIDUAL), fit.components, strict=True)),
        levels=levels,
        n=len(y),
    )


def _lacks(y: FloatArray, levels: Mapping[str, int]) -> str | None:
    """Why the components cannot be told apart, if so."""
    if len(y) < 2 or np.var(y) <= _ROUNDING * np.square(y).max(initial=0.0):
        return "the values show no variation"
    for name, k in levels.items():
        if not 1 < k < len(y):
            return f"{name} has {k} levels for {len(y)} values: its effect cannot be told apart"
    return None


def _leaves_nothing(y: FloatArray, coded: Iterable[tuple[IntArray, int]]) -> str | None:
    """Why there is no residual: then the likelihood has no maximum."""
    z = np.concatenate([np.eye(k)[codes] for codes, k in coded], axis=1)
    off = y - z @ np.linalg.lstsq(z, y, rcond=None)[0]
    if off @ off <= _ROUNDING * (y @ y):
        return "the factors explain every value, which leaves nothing to tell them apart by"
    return None


class _Fit(msgspec.Struct, frozen=True):
    """What the model says at the components found."""

    mean: float
    variance: float  # of the mean
    df: float
    components: tuple[float, ...]


class _Model:
    """The cross products that the restricted likelihood needs."""

    def __init__(self, y: FloatArray, codes: Sequence[IntArray], levels: Sequence[int]) -> None:
        self.n, self.levels = len(y), levels
        columns = [np.eye(k)[code] for code, k in zip(codes, levels, strict=True)]
        z = np.concatenate(columns, axis=1)
        self.zz, self.z1, self.zy = z.T @ z, z.sum(axis=0), z.T @ y
        self.yy, self.y1 = float(y @ y), float(y.sum())

    def best(self) -> FloatArray:
        """The standard deviations, in units of the residual one, at which the fit is best."""
        found = [
            self._descend(self._deviance, np.full(len(self.levels), start), _LARGEST)
            for start in _STARTS
        ]
        best = min(found, key=self._deviance)
        # In a deviation the likelihood is flat at 0, where a step too long is caught; not so in
        # its square.
        squares = self._descend(lambda v: self._deviance(np.sqrt(v)), best**2, _LARGEST**2)
        best = min(best, np.sqrt(squares), key=self._deviance)
        for k in np.argsort(best):
            without = np.where(np.arange(len(best)) == k, 0.0, best)
            if self._deviance(without) <= self._deviance(best) + _ROUNDING_OF_FIT:
                best = without
        return best

    @staticmethod
    def _descend(
        function: Callable[[FloatArray], float], start: FloatArray, most: float
    ) -> FloatArray:
        found = optimize.minimize(
            function,
            start,
            method="L-BFGS-B",
            bounds=[(0.0, most)] * len(start),
            options={"ftol": 1e-13, "gtol": 1e-8},
        )
        return np.clip(found.x, 0.0, most)

    def at(self, theta: FloatArray) -> _Fit:
        """The fit at these standard deviations."""
        root, factor = self._factor(theta)
        inner = root[:, np.newaxis] * linalg.cho_solve(factor, np.diag(root))
        h, hy, rss = self._sums(inner)
        residual = rss / (self.n - 1)
        components = (*(float(t) ** 2 * residual for t in theta), residual)
        variance = residual / h
        df = self._df(inner, h, residual, variance, theta)
        return _Fit(hy / h, variance, df, components)

    def _deviance(self, theta: FloatArray) -> float:
        root, factor = self._factor(theta)
        inner = root[:, np.newaxis] * linalg.cho_solve(factor, np.diag(root))
        h, _, rss = self._sums(inner)
        log_det = 2.0 * np.log(np.diag(factor[0])).sum()
        return float((self.n - 1) * np.log(rss) + log_det + np.log(h))

    def _factor(self, theta: FloatArray) -> tuple[FloatArray, tuple[FloatArray, bool]]:
        """Standard deviations by level, and the factor of I + root Z'Z root."""
        root = np.repeat(theta, self.levels)
        inside = np.eye(len(root)) + root[:, np.newaxis] * self.zz * root
        return root, linalg.cho_factor(inside, lower=True)

    def _sums(self, inner: FloatArray) -> tuple[float, float, float]:
        """1'H^-1 1, 1'H^-1 y and the generalised residual sum of squares; H^-1 = I - Z inner Z'."""
        h = float(self.n - self.z1 @ inner @ self.z1)
        hy = float(self.y1 - self.z1 @ inner @ self.zy)
        rss = float(self.yy - self.zy @ inner @ self.zy) - hy**2 / h
        return h, hy, max(rss, np.finfo(np.float64).tiny)

    def _df(
        self, inner: FloatArray, h: float, residual: float, variance: float, theta: FloatArray
    ) -> float:
        """Satterthwaite's degrees of freedom of the mean, over the components above 0."""
        q = len(self.z1)
        # W = (Z, 1): P = (I - W K W') / residual, and V^-1 1 = W v / residual.
        cross = np.block([[self.zz, self.z1[:, np.newaxis]], [self.z1, np.array([float(self.n)])]])
        v = np.append(-inner @ self.z1, 1.0)
        k = np.pad(inner, (0, 1)) + np.outer(v, v) / h
        ends = np.cumsum(self.levels)
        blocks = [
            slice(end - size, end)
            for end, size, t in zip(ends, self.levels, theta, strict=True)
            if t > 0.0
        ]
        bk = cross @ k
        p = (cross - bk @ cross)[:q, :q]
        pp = (cross - 2.0 * bk @ cross + bk @ bk @ cross)[:q, :q]
        size = len(blocks) + 1
        information, gradient = np.empty((size, size)), np.empty(size)
        for i, one in enumerate(blocks):
            for j, other in enumerate(blocks):
                information[i, j] = np.square(p[one, other]).sum()
            information[i, -1] = information[-1, i] = np.trace(pp[one, one])
            gradient[i] = np.square((cross @ v)[one]).sum()
        information[-1, -1] = self.n - 2.0 * np.trace(bk) + np.trace(bk @ bk)
        gradient[-1] = v @ cross @ v
        information /= 2.0 * residual**2
        gradient *= (variance / residual) ** 2
        return float(2.0 * variance**2 / (gradient @ np.linalg.solve(information, gradient)))
