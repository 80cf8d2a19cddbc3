import numpy as np
import pytest
from sklearn.linear_model import Lasso

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.scores.regression import lasso, least_squares, regress_on_lower


@pytest.fixture(scope="module")
def rows():
    return simulate(n_nodes=7, n=60, variances=(0.5, 4.0), random_state=3).X


def test_least_squares_is_that_of_the_rows(rows):
    adjacency = np.triu(np.ones((7, 7), dtype=bool), 1)
    weights = least_squares(Moments.from_array(rows).covariance, adjacency)
    centred = rows - rows.mean(axis=0)
    for target in range(1, 7):
        expected = np.linalg.lstsq(centred[:, :target], centred[:, target], rcond=None)[0]
        assert weights[:target, target] == pytest.approx(expected, rel=1e-9)
    assert not weights[~adjacency].any()


@pytest.mark.parametrize("rank", [range(7), [3, 1, 1, 0, 2, 3, 1], [0] * 7])
def test_nested_parents_share_one_factor(rows, rank):
    S, rank = Moments.from_array(rows * 10.0 ** np.arange(-3, 4)).covariance, np.array(rank, dtype=float)
    expected = least_squares(S, rank[:, None] < rank)
    found = regress_on_lower(S, rank)
    assert found == pytest.approx(expected, rel=1e-9) and np.array_equal(found != 0, expected != 0)
    # Copies and constants have no such factor: weights are shared out as ever.
    odd = rows.copy()
    odd[:, 2], odd[:, 5] = odd[:, 1], 1.0
    S = Moments.from_array(odd).covariance
    assert np.array_equal(regress_on_lower(S, rank), least_squares(S, rank[:, None] < rank))


def test_least_squares_stays_within_bounds():
    moments = Moments(100, [0, 0, 0], [[1, 0.5, 2], [0.5, 1, 2], [2, 2, 6]], ["a", "b", "c"])
    mask = Knowledge(bounds={("a", "c"): (-1, 1)}).compile(moments.names)
    parents = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    weights = least_squares(moments.covariance, parents, mask)
    # With a at its bound of 1, b is regressed on what a leaves: 2 − 0.5.
    assert weights[:, 2] == pytest.approx([1, 1.5, 0])


def test_parents_that_are_the_same_column_share_the_weight():
    S = np.array([[1.0, 1, 2], [1, 1, 2], [2, 2, 5]])
    parents = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert least_squares(S, parents)[:, 2] == pytest.approx([1, 1, 0])


def test_a_constant_parent_has_no_weight():
    S = np.array([[0.0, 0, 0], [0, 1, 1], [0, 1, 2]])
    parents = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert least_squares(S, parents)[:, 2] == pytest.approx([0, 1, 0])


def test_lasso_agrees_with_scikit_learn(rows):
    centred = rows - rows.mean(axis=0)
    moments = Moments.from_array(rows)
    for target in range(7):
        others = np.delete(np.arange(7), target)
        reference = Lasso(alpha=0.2, fit_intercept=False, tol=1e-12, max_iter=100_000)
        reference.fit(centred[:, others], centred[:, target])
        limit = np.where(np.arange(7) == target, 0.0, np.inf)
        found = lasso(moments.covariance, target, np.full(7, 0.2), -limit, limit, np.zeros(7))
        assert found[others] == pytest.approx(reference.coef_, abs=1e-6)
        assert found[target] == 0
