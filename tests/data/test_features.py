"""Features of columns: orthonormal blocks, the number itself first, and nothing that a wild row can bend."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from acyclic.data.features import Curves, Features, Indicators

EPS = np.finfo(float).eps


def test_features_of_a_number_are_orthonormal_and_begin_with_it():
    x = np.random.default_rng(0).normal(3.0, 5.0, size=400)
    Z = Curves.of(x, 10)(x)
    assert Z.shape == (400, 10)
    np.testing.assert_allclose(Z[:, 0], (x - x.mean()) / x.std(), rtol=1e-12)
    np.testing.assert_allclose(Z.T @ Z / len(x), np.eye(10), atol=1e-8)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-10)


def test_rougher_features_turn_more_often():
    x = np.sort(np.random.default_rng(1).uniform(size=1000))
    Z = Curves.of(x, 6)(x)
    turns = [int((np.diff(np.sign(column)) != 0).sum()) for column in Z.T]
    assert turns[0] == 1
    assert all(abs(count - k) <= 1 for k, count in enumerate(turns, start=1))


@given(
    arrays(float, st.integers(2, 200), elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0])),
    st.integers(1, 10),
)
def test_any_column_has_finite_features(x, size):
    Z = Curves.of(x, size)(x)
    assert np.isfinite(Z).all()
    assert Z.shape[1] <= max(size, 1)


def test_one_wild_row_does_not_bend_the_curves():
    x = np.random.default_rng(2).normal(size=500)
    wild = np.append(x, 1e4)
    plain, spoiled = Curves.of(x, 4), Curves.of(wild, 4)
    # Beyond the clipped range the splines are constant: the wild value has the splines of the largest other one.
    np.testing.assert_array_equal(spoiled.knots[0] >= x.min(), True)
    assert spoiled.knots[-1] <= x.max()
    np.testing.assert_allclose(spoiled.knots, plain.knots, atol=0.25)


def test_indicators_span_all_functions_of_the_levels():
    codes = np.random.default_rng(3).choice(4, size=300, p=[0.1, 0.2, 0.3, 0.4]).astype(float)
    Z = Indicators.of(codes, 4)(codes)
    np.testing.assert_allclose(Z.T @ Z / 300, np.eye(3), atol=100 * EPS)
    design = np.column_stack([np.ones(300), Z])
    for level in range(4):
        target = (codes == level).astype(float)
        left = target - design @ np.linalg.lstsq(design, target)[0]
        np.testing.assert_allclose(left, 0, atol=1e-12)


def test_moments_are_those_of_the_rows_and_constants_are_related_to_none():
    rng = np.random.default_rng(4)
    rows = np.column_stack([rng.normal(size=300), np.full(300, 7.0), rng.integers(3, size=300)])
    features = Features.of(rows, [0, 0, 3])
    Z = features(rows)
    expected = Z.T @ Z / 300
    constant = features.at[1]
    expected[constant, constant] = 1.0
    np.testing.assert_allclose(features.G, expected, atol=1e-12)
    assert features.levels == ((1, 4, 10), (1,), (2,))
    assert features.shaped == (True, False, False)
    assert features.responses().tolist() == [1, 1, 2]


@pytest.mark.parametrize("n", [30, 99])
def test_few_rows_have_no_curves(n):
    assert Features.of(np.random.default_rng(5).normal(size=(n, 2))).is_linear
