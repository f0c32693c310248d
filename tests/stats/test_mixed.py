from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats as scipy_stats
from statsmodels.regression.mixed_linear_model import MixedLM

from contextecho.stats import mixed_mean

rng = np.random.default_rng(17)
SESSION = np.repeat([0, 1, 2, 3, 4, 5], [9, 4, 7, 12, 5, 8])
NESTED = rng.normal(0.0, 0.8, 6)[SESSION] + rng.normal(0.3, 1.0, 45)


def test_components_of_sessions_are_those_of_statsmodels() -> None:
    fit = MixedLM(NESTED, np.ones(45), SESSION).fit(reml=True)
    found = mixed_mean(NESTED, {"session": SESSION})
    assert found.components["session"] == pytest.approx(float(fit.cov_re[0, 0]), rel=1e-3)
    assert found.components["residual"] == pytest.approx(float(fit.scale), rel=1e-4)
    assert found.mean == pytest.approx(float(fit.fe_params[0]), rel=1e-4)
    between = float(fit.cov_re[0, 0]) / (float(fit.cov_re[0, 0]) + float(fit.scale))
    assert found.share("session") == pytest.approx(between, rel=1e-3)


def test_unbalanced_crossed_components_are_those_of_statsmodels() -> None:
    where, what = np.indices((8, 5)).reshape(2, -1)
    y = rng.normal(0, 0.7, 8)[where] + rng.normal(0, 0.5, 5)[what] + rng.normal(0.4, 0.5, 40)
    kept = rng.random(40) > 0.2
    where, what, y = where[kept], what[kept], y[kept]
    frame = pd.DataFrame({"y": y, "where": where, "what": what, "all": 0})
    effects = {"where": "0 + C(where)", "what": "0 + C(what)"}
    fit = MixedLM.from_formula("y ~ 1", frame, groups="all", vc_formula=effects).fit(reml=True)
    expected = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    found = mixed_mean(y, {"where": where, "what": what})
    assert found.components["where"] == pytest.approx(expected["where"], rel=1e-3)
    assert found.components["what"] == pytest.approx(expected["what"], rel=1e-3)
    assert found.mean == pytest.approx(float(fit.fe_params.iloc[0]), rel=1e-4)
    assert found.interval is not None
    assert found.df is not None
    half = (found.interval.high - found.interval.low) / 2
    se = half / scipy_stats.t.ppf(0.975, found.df)
    assert se == pytest.approx(float(fit.bse_fe.iloc[0]), rel=3e-3)  # it stops a little early


def test_equal_groups_have_the_closed_form_of_the_analysis_of_variance() -> None:
    y = rng.normal(0.0, 1.0, (7, 1)) + rng.normal(0.0, 1.0, (7, 6))
    between, within = 6 * y.mean(axis=1).var(ddof=1), y.var(axis=1, ddof=1).mean()
    assert between > within
    found = mixed_mean(y.ravel(), {"session": np.repeat(np.arange(7), 6)})
    assert found.components["session"] == pytest.approx((between - within) / 6, rel=1e-4)
    assert found.components["residual"] == pytest.approx(within, rel=1e-4)
    assert found.df == pytest.approx(6.0, rel=1e-4)  # of the seven means
    assert found.mean == pytest.approx(y.mean())


def test_sessions_that_differ_less_than_their_cells_have_no_variance_between_them() -> None:
    y = np.tile([0.0, 1.0, 2.0], 4)
    found = mixed_mean(y, {"session": np.repeat(np.arange(4), 3)})
    assert found.components == {"session": 0.0, "residual": pytest.approx(y.var(ddof=1))}
    assert found.share("session") == 0.0
    assert found.df == pytest.approx(11.0)  # twelve values, taken as independent


def test_a_planted_share_is_found_on_average() -> None:
    # A quarter of the variance lies between sessions.
    draw = np.random.default_rng(5)
    labels = np.repeat(np.arange(30), 10)
    shares = []
    for _ in range(40):
        y = draw.normal(0, 0.5, 30)[labels] + draw.normal(0, math.sqrt(0.75), 300)
        shares.append(mixed_mean(y, {"session": labels}).share("session"))
    assert np.mean(shares) == pytest.approx(0.25, abs=4 * np.std(shares) / math.sqrt(40))


@pytest.mark.parametrize(
    ("values", "labels", "why"),
    [
        ([1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1], "no variation"),
        ([1.0, 2.0, 3.0], [0, 0, 0], "session has 1 levels"),
        ([1.0, 2.0, 3.0], [0, 1, 2], "session has 3 levels for 3 values"),
        ([], [], "no variation"),
    ],
)
def test_what_cannot_be_told_apart_has_a_reason(
    values: list[float], labels: list[int], why: str
) -> None:
    found = mixed_mean(values, {"session": labels})
    assert (found.interval, found.components) == (None, {})
    assert found.note is not None
    assert why in found.note


def test_an_additive_table_has_no_components() -> None:
    """Rows and columns explain it whole, so that the likelihood grows without end."""
    table = np.array([[0.0, -1.0], [-1.0, -2.0]])
    where, what = np.indices(table.shape).reshape(2, -1)
    found = mixed_mean(table.ravel(), {"a": where, "b": what})
    assert (found.mean, found.interval, found.components) == (-1.0, None, {})
    assert found.note is not None
    assert "explain every value" in found.note


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        mixed_mean([1.0, math.nan], {"session": [0, 1]})


tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6),
    elements=st.integers(-3, 3).map(float),
)


@settings(max_examples=40)
@given(tables, st.sampled_from([0.5, 3.0]))
def test_components_follow_the_square_of_the_scale(table: np.ndarray, factor: float) -> None:
    where, what = np.indices(table.shape).reshape(2, -1)
    one = mixed_mean(table.ravel(), {"a": where, "b": what})
    other = mixed_mean(factor * table.ravel() + 1.0, {"a": where, "b": what})
    assert one.components.keys() == other.components.keys()
    total = sum(one.components.values())
    for name, value in one.components.items():
        assert value >= 0.0
        assert other.components[name] == pytest.approx(
            factor**2 * value, rel=1e-2, abs=1e-3 * factor**2 * total
        )
