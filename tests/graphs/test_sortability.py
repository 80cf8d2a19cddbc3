import numpy as np
import pytest
from hypothesis import given

from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.metrics import r2_sortability, varsortability
from acyclic.graphs.sortability import explained_by_others, sortable_by_others
from strategies import dags

DIAMOND = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])


def by_boolean_powers(adjacency, scores):
    power, total, right = adjacency.copy(), 0, 0.0
    for _ in range(len(adjacency)):
        for i, j in np.argwhere(power):
            total += 1
            tie = abs(scores[i] - scores[j]) <= 1e-9 * max(scores[i], scores[j])
            right += 0.5 if tie else float(scores[i] < scores[j])
        power = (power.astype(int) @ adjacency.astype(int)) > 0
    return right / total


def test_the_diamond_by_hand():
    # Paths: 0→1, 0→2, 1→3, 2→3 and, once for its length, 0⇝3.
    assert varsortability(DIAMOND, np.diag([1.0, 2, 3, 4])) == 1
    assert varsortability(DIAMOND, np.diag([4.0, 3, 2, 1])) == 0
    assert varsortability(DIAMOND, np.diag([1.0, 2, 1, 1])) == pytest.approx((1 + 0.5 + 0 + 0.5 + 0.5) / 5)
    assert varsortability(DIAMOND, np.eye(4) * (1 + 1e-12 * np.arange(4))) == 0.5
    assert np.isnan(varsortability(np.zeros((2, 2)), np.eye(2)))


@given(dags(min_nodes=2))
def test_the_definition_is_followed_on_any_dag(dag):
    mixing = np.eye(dag.n_nodes) + dag.total_effects()
    covariance = mixing.T @ mixing
    if dag.n_edges:
        expected = by_boolean_powers(dag.adjacency, np.diag(covariance))
        assert varsortability(dag, covariance) == pytest.approx(expected)
        assert 0 <= r2_sortability(dag, covariance) <= 1


def test_r2_agrees_with_regression_and_ignores_units():
    rng = np.random.default_rng(0)
    dag = Dag(np.triu(rng.uniform(0.5, 2, (6, 6)) * (rng.random((6, 6)) < 0.5), 1))
    mixing = np.linalg.inv(np.eye(6) - dag.weights)
    covariance = mixing.T @ mixing
    explained = np.empty(6)
    for j in range(6):
        others = np.delete(np.arange(6), j)
        cross = covariance[others, j]
        explained[j] = cross @ np.linalg.solve(covariance[np.ix_(others, others)], cross) / covariance[j, j]
    assert explained_by_others(covariance) == pytest.approx(explained, rel=1e-9)
    assert sortable_by_others(covariance, 1e-10, 0.0)[0] == pytest.approx(explained, rel=1e-9)
    assert r2_sortability(dag, covariance) == by_boolean_powers(dag.adjacency, explained)
    scale = np.array([1e3, 1, 1e-3, 5, 7, 0.1])
    assert r2_sortability(dag, covariance * np.outer(scale, scale)) == r2_sortability(dag, covariance)


def test_linear_relations_and_constants_have_a_value():
    # x1 = x0 exactly (both explained wholly), x2 independent, x3 constant.
    covariance = np.diag([1.0, 1.0, 1.0, 0.0])
    covariance[0, 1] = covariance[1, 0] = 1
    assert r2_sortability([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], covariance) == 0.5
    assert r2_sortability([[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], covariance) == 1
    assert r2_sortability([[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], covariance) == 0


def test_variables_of_an_exact_relation_can_be_sorted_by_what_they_carry_of_it():
    # x2 = x0 + 3·x1, of variances 1, 1 and 10.
    covariance = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 3.0], [1.0, 3.0, 10.0]])
    assert (explained_by_others(covariance) == 1).all()
    assert np.argsort(sortable_by_others(covariance, 1e-10, 0.0)[0]).tolist() == [0, 1, 2]


def signs(rng, d, count):
    for _ in range(count):
        upper = np.triu(rng.choice([-1.0, 1.0], (d, d)), 1)
        yield upper + upper.T


def test_r2_moves_by_no_more_than_rounding_may_move_it():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(50, 5))
    rows[:, 4] = rows[:, 0] + rows[:, 1] + 1e-3 * rows[:, 4]
    C = np.corrcoef(rows.T)
    shares, moved = sortable_by_others(C, 1e-10, 1e-12)
    off = [np.abs(sortable_by_others(C + 1e-12 * noise, 1e-10, 0.0)[0] - shares) for noise in signs(rng, 5, 200)]
    # The bound is of first order, and no more than the number of columns above what happens.
    assert (np.max(off, axis=0) <= moved).all() and (moved < 20 * np.max(off, axis=0)).all()


def test_a_covariance_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="2 variables, but the graph has 4"):
        varsortability(DIAMOND, np.eye(2))
    with pytest.raises(InputError, match="negative variance at x1"):
        r2_sortability([[0, 1], [0, 0]], [[1, 0], [0, -1]])
    with pytest.raises(InputError, match=r"covariance.*nan"):
        varsortability([[0]], [[np.nan]])
