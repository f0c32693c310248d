from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from contextecho.stats import pca

TABLE = np.random.default_rng(6).normal(size=(60, 6)) @ np.diag([3, 1, 1, 0.5, 2, 1])
TABLE[:, 1] += TABLE[:, 0]


def test_components_agree_with_sklearn_on_standardised_columns() -> None:
    standard = StandardScaler().fit_transform(TABLE)  # population sd, constant columns kept
    reference = PCA(2, svd_solver="full").fit(standard)
    found = pca(TABLE)
    assert found.explained == pytest.approx(reference.explained_variance_ratio_)
    assert np.abs(found.loadings) == pytest.approx(np.abs(reference.components_.T))
    assert np.abs(found.scores) == pytest.approx(np.abs(reference.transform(standard)))


def test_the_first_component_points_to_the_marked_rows() -> None:
    marked = TABLE[:, 0] > 0
    for high in (marked, ~marked):
        scores = pca(TABLE, high=high).scores[:, 0]
        assert scores[high].mean() > scores[~high].mean()


def test_without_marks_the_largest_loading_is_positive() -> None:
    for table in (TABLE, -TABLE):
        loadings = pca(table).loadings
        assert (loadings[np.abs(loadings).argmax(axis=0), [0, 1]] > 0).all()


def test_a_constant_feature_is_left_out_of_every_component() -> None:
    table = TABLE.copy()
    table[:, 3] = 0.1 + 0.2  # not exact in binary
    found = pca(table)
    assert found.loadings[3] == pytest.approx([0, 0])
    assert found.scale[3] == 1.0


@pytest.mark.parametrize("value", [1.0, 0.1 + 0.2, 1 / 3, 1e9 / 7])
@pytest.mark.parametrize("rows", [5, 7, 49])
def test_a_table_without_any_variation_explains_nothing(value: float, rows: int) -> None:
    found = pca(np.full((rows, 6), value))  # the mean of equal numbers is not always that number
    assert found.explained.tolist() == [0.0, 0.0]
    assert (found.scores == 0).all()


@pytest.mark.parametrize(
    "table", [np.ones((1, 6)), np.ones((5, 1)), np.full((4, 6), np.nan), np.ones(6)]
)
def test_a_table_that_has_no_components_is_refused(table: np.ndarray) -> None:
    with pytest.raises(ValueError, match="table"):
        pca(table)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(2, 6)),
        elements=st.integers(-5, 5).map(float),
    )
)
def test_scores_are_the_standardised_table_on_orthonormal_loadings(table: np.ndarray) -> None:
    found = pca(table)
    assert np.isfinite(found.scores).all()
    assert found.scores == pytest.approx(
        (table - found.centre) / found.scale @ found.loadings, abs=1e-9
    )
    assert found.loadings.T @ found.loadings == pytest.approx(np.eye(2), abs=1e-9)
    assert 0.0 <= found.explained.sum() <= 1.0 + 1e-9
