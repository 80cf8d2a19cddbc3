"""Scores of a node given its parents: one sign, one unit, and the price of a parent."""

import numpy as np
import pytest

from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.discrete.equivalence_search import GreedyEquivalenceSearch
from acyclic.discrete.hill_climbing import HillClimbing
from acyclic.errors import CycleError, InputError
from acyclic.graphs.dag import Dag
from acyclic.running import Monitor, State
from acyclic.scores.local import (
    GaussianScore,
    LocalScore,
    bic_of_weights,
    gaussian_bic,
    price_of_parent,
)
from acyclic.scores.regression import least_squares


def sample(d, n, seed=0, **options):
    data = simulate(d, n, random_state=seed, **options)
    return data, Moments.from_array(data.X)


@pytest.fixture(scope="module")
def rows():
    return simulate(n_nodes=7, n=60, variances=(0.5, 4.0), random_state=3).X


def naive_score(X, node, parents, price):
    centred = X - X.mean(axis=0)
    slopes = np.linalg.lstsq(centred[:, parents], centred[:, node], rcond=None)[0]
    variance = np.mean((centred[:, node] - centred[:, parents] @ slopes) ** 2)
    return len(X) * np.log(variance / centred[:, node].var()) + price * len(parents)


def test_penalty_rules():
    assert price_of_parent("bic", 100, 7) == np.log(100)
    assert price_of_parent("strong", 100, 7) == 2 * np.log(100)
    assert price_of_parent("ebic", 100, 7) == np.log(100) + 2 * np.log(7)
    assert price_of_parent(3, 100, 7) == 3.0


@pytest.mark.parametrize("penalty", ["BIC", -1.0, np.inf, np.nan])
def test_a_penalty_that_is_none_is_refused(penalty):
    with pytest.raises(InputError, match="penalty is"):
        price_of_parent(penalty, 100, 7)


def test_scores_are_those_of_the_rows(rows):
    scores = GaussianScore(Moments.from_array(rows))
    assert scores.penalty == pytest.approx(np.log(60))
    for node, parents in ((0, []), (1, [0]), (2, [0, 1, 3]), (6, [0, 1, 2, 3, 4, 5])):
        assert scores.score(node, parents) == pytest.approx(naive_score(rows, node, parents, scores.penalty))


def test_gains_are_differences_of_scores(rows):
    scores = GaussianScore(Moments.from_array(rows), penalty=1.5)
    for node, given in ((0, []), (3, [1]), (5, [0, 2, 4])):
        gains = scores.gains(node, given)
        for x in range(7):
            if x in (node, *given):
                assert gains[x] == -np.inf
            else:
                expected = naive_score(rows, node, given, 1.5) - naive_score(rows, node, [*given, x], 1.5)
                assert gains[x] == pytest.approx(expected, abs=1e-8)


def test_total_is_the_sum_over_nodes(rows):
    scores = GaussianScore(Moments.from_array(rows))
    adjacency = np.triu(np.ones((7, 7), dtype=bool), 1)
    expected = sum(naive_score(rows, node, list(range(node)), scores.penalty) for node in range(7))
    assert scores.total(adjacency) == pytest.approx(expected)


def test_units_do_not_change_scores(rows):
    one, other = (GaussianScore(Moments.from_array(rows * unit)) for unit in (1.0, 10.0 ** np.arange(-3, 4)))
    for node in range(7):
        assert other.gains(node, []) == pytest.approx(one.gains(node, []), rel=1e-9)


def test_a_column_that_repeats_a_parent_cannot_be_added(rows):
    doubled = np.column_stack([rows, 3 * rows[:, 0]])
    scores = GaussianScore(Moments.from_array(doubled))
    assert scores.gains(1, [0])[7] == -np.inf
    assert np.isfinite(scores.gains(7, [])[0])
    assert np.isfinite(scores.score(7, [0]))
    assert scores.score(1, [0, 7]) == pytest.approx(scores.score(1, [0]) + scores.penalty)


def test_a_column_that_others_determine_has_a_finite_score(rows):
    determined = np.column_stack([rows, rows[:, 0] + rows[:, 1]])
    scores = GaussianScore(Moments.from_array(determined))
    assert scores.score(7, [0, 1]) == pytest.approx(60 * np.log(1e-10) + 2 * scores.penalty)
    assert scores.gains(7, [0])[1] == pytest.approx(scores.score(7, [0]) - scores.score(7, [0, 1]), rel=1e-6)


def test_more_parents_than_rows_are_refused():
    X = np.random.default_rng(0).normal(size=(4, 6))
    scores = GaussianScore(Moments.from_array(X))
    assert scores.score(0, [1, 2, 3]) == np.inf
    assert (scores.gains(0, [1, 2]) == -np.inf).all()
    assert np.isfinite(scores.score(0, [1, 2]))


def test_gaussian_bic_is_that_of_the_residuals():
    data, moments = sample(7, 200, 8, graph="ER2")
    X, total = data.X - data.X.mean(axis=0), 0.0
    for target in range(7):
        parents = np.flatnonzero(data.graph.adjacency[:, target])
        residual = X[:, target] - X[:, parents] @ np.linalg.lstsq(X[:, parents], X[:, target])[0]
        total += 200 * np.log(residual.var() / X[:, target].var()) + np.log(200) * len(parents)
    assert gaussian_bic(moments, data.graph.adjacency) == pytest.approx(total, rel=1e-9)
    assert gaussian_bic(moments.scaled(np.geomspace(1e-3, 1e3, 7)), data.graph.adjacency) == pytest.approx(total)
    assert gaussian_bic(moments, np.zeros((7, 7))) == 0


def test_gaussian_bic_is_the_same_within_an_equivalence_class():
    _, moments = sample(3, 100, 1, graph="ER1")
    chains = [[("x0", "x1"), ("x1", "x2")], [("x2", "x1"), ("x1", "x0")], [("x1", "x0"), ("x1", "x2")]]
    graphs = [Dag.from_edges([(*edge, 1.0) for edge in chain], moments.names) for chain in chains]
    scores = [gaussian_bic(moments, graph.adjacency) for graph in graphs]
    np.testing.assert_allclose(scores, scores[0])


def test_gaussian_bic_refuses_cycles_and_other_sizes():
    _, moments = sample(3, 20, graph="ER1")
    with pytest.raises(CycleError):
        gaussian_bic(moments, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    with pytest.raises(InputError, match="2 nodes"):
        gaussian_bic(moments, np.zeros((2, 2)))


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_the_criterion_of_weights_is_that_of_their_residuals(noise):
    data, moments = sample(7, 200, 8, graph="ER2")
    weights = least_squares(moments.covariance, data.graph.adjacency)
    residuals = (data.X - data.X.mean(axis=0)) @ (np.eye(7) - weights)
    variances = np.full(7, residuals.var(axis=0).mean()) if noise == "equal" else residuals.var(axis=0)
    expected = 200 * np.log(variances).sum() + price_of_parent("strong", 200, 7) * data.graph.n_edges
    assert bic_of_weights(moments, weights, noise, "strong") == pytest.approx(expected, rel=1e-10)


def test_the_criterion_of_weights_and_the_score_of_their_graph_differ_by_a_constant():
    data, moments = sample(7, 200, 8, graph="ER2")
    alone = 200 * np.log(np.diag(moments.covariance)).sum()
    for edges in (data.graph.adjacency, data.graph.adjacency.T):
        weights = least_squares(moments.covariance, edges)
        expected = gaussian_bic(moments, edges, "ebic") + alone
        assert bic_of_weights(moments, weights) == pytest.approx(expected, rel=1e-10)


class Slow(LocalScore):
    """The members that a search asks for, and nothing else."""

    def __init__(self, moments):
        self.R, self.n, self.n_nodes = moments.standardized().covariance, moments.n, len(moments.names)

    def score(self, node, parents):
        given = sorted(parents)
        slopes = np.linalg.solve(self.R[np.ix_(given, given)], self.R[given, node])
        return self.n * np.log(1 - self.R[given, node] @ slopes) + np.log(self.n) * len(given)

    def gains(self, node, given):
        others = [x for x in range(self.n_nodes) if x != node and x not in given]
        found = np.full(self.n_nodes, -np.inf)
        found[others] = [self.score(node, given) - self.score(node, {*given, x}) for x in others]
        return found


@pytest.mark.parametrize("seed", range(3))
def test_searches_take_any_score_that_has_the_members_of_the_protocol(seed):
    _, moments = sample(6, 200, seed, graph="ER2")
    mask, states = Mask.unrestricted(6), []
    for scores in (GaussianScore(moments), Slow(moments)):
        for search in (GreedyEquivalenceSearch(scores, mask), HillClimbing(scores, mask, mask.required)):
            states.append(State(np.zeros((6, 6))))
            search(Monitor(), states[-1])
    assert all(state.end.kind.converged for state in states)
    np.testing.assert_array_equal(states[0].weights, states[2].weights)
    np.testing.assert_array_equal(states[1].weights, states[3].weights)
