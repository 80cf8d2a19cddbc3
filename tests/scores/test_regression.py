import numpy as np
import pytest
from sklearn.linear_model import Lasso

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.scores.local import LocalScores
from acyclic.scores.regression import lasso, least_squares


@pytest.fixture(scope="module")
def rows():
    return simulate(n_nodes=7, n=60, variances=(0.5, 4.0), random_state=3).X


def naive_score(X, node, parents, penalty):
    centred = X - X.mean(axis=0)
    slopes = np.linalg.lstsq(centred[:, parents], centred[:, node], rcond=None)[0]
    variance = np.mean((centred[:, node] - centred[:, parents] @ slopes) ** 2)
    return -len(X) / 2 * (1 + np.log(variance)) - penalty * (len(parents) + 1)


def test_least_squares_is_that_of_the_rows(rows):
    adjacency = np.triu(np.ones((7, 7), dtype=bool), 1)
    weights = least_squares(Moments.from_array(rows).covariance, adjacency)
    centred = rows - rows.mean(axis=0)
    for target in range(1, 7):
        expected = np.linalg.lstsq(centred[:, :target], centred[:, target], rcond=None)[0]
        assert weights[:target, target] == pytest.approx(expected, rel=1e-9)
    assert not weights[~adjacency].any()


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


def test_scores_are_those_of_the_rows(rows):
    scores = LocalScores(Moments.from_array(rows))
    assert scores.penalty == pytest.approx(0.5 * np.log(60))
    for node, parents in ((0, []), (1, [0]), (2, [0, 1, 3]), (6, [0, 1, 2, 3, 4, 5])):
        assert scores.score(node, parents) == pytest.approx(naive_score(rows, node, parents, scores.penalty))


def test_gains_are_differences_of_scores(rows):
    scores = LocalScores(Moments.from_array(rows), penalty=1.5)
    for node, given in ((0, []), (3, [1]), (5, [0, 2, 4])):
        gains = scores.gains(node, given)
        for x in range(7):
            if x in (node, *given):
                assert gains[x] == -np.inf
            else:
                expected = naive_score(rows, node, [*given, x], 1.5) - naive_score(rows, node, given, 1.5)
                assert gains[x] == pytest.approx(expected, abs=1e-8)


def test_total_is_the_sum_over_nodes(rows):
    scores = LocalScores(Moments.from_array(rows))
    adjacency = np.triu(np.ones((7, 7), dtype=bool), 1)
    expected = sum(naive_score(rows, node, list(range(node)), scores.penalty) for node in range(7))
    assert scores.total(adjacency) == pytest.approx(expected)


def test_units_change_scores_by_a_constant_only(rows):
    one, other = (LocalScores(Moments.from_array(rows * unit)) for unit in (1.0, 10.0 ** np.arange(-3, 4)))
    for node in range(7):
        assert other.gains(node, []) == pytest.approx(one.gains(node, []), rel=1e-9)


def test_a_column_that_repeats_a_parent_cannot_be_added(rows):
    doubled = np.column_stack([rows, 3 * rows[:, 0]])
    scores = LocalScores(Moments.from_array(doubled))
    assert scores.gains(1, [0])[7] == -np.inf
    assert np.isfinite(scores.gains(7, [])[0])
    assert np.isfinite(scores.score(7, [0]))
    assert scores.score(1, [0, 7]) == pytest.approx(scores.score(1, [0]) - scores.penalty)


def test_more_parents_than_rows_are_refused():
    X = np.random.default_rng(0).normal(size=(4, 6))
    scores = LocalScores(Moments.from_array(X))
    assert scores.score(0, [1, 2, 3]) == -np.inf
    assert (scores.gains(0, [1, 2]) == -np.inf).all()
    assert np.isfinite(scores.score(0, [1, 2]))
