import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from acyclic.data.schemes import draw_onion
from acyclic.data.simulate import Noise, Nonlinear, Scheme, population_covariance, random_dag, random_weights, simulate
from acyclic.errors import CycleError, InputError
from acyclic.graphs.dag import Dag

UNIT_VARIANCE = [scheme for scheme in get_args(Scheme) if scheme != "raw"]
# A fixed seed and the hundredth part of a per mille: a wrong law fails at these sizes by orders of magnitude.
UNLIKELY = 1e-5


def correlations(simulation):
    return population_covariance(simulation.graph, simulation.scale, simulation.noise)


def partial_correlation(correlation, i, j, given_nodes):
    nodes = [i, j, *given_nodes]
    precision = np.linalg.inv(correlation[np.ix_(nodes, nodes)])
    return -precision[0, 1] / math.sqrt(precision[0, 0] * precision[1, 1])


@pytest.mark.parametrize("scheme", UNIT_VARIANCE)
@pytest.mark.parametrize("noise", get_args(Noise))
@given(n_nodes=st.integers(9, 25), kind=st.sampled_from(["ER1", "ER4", "SF3"]), seed=st.integers(0, 2**32))
@settings(max_examples=8, deadline=None)
def test_every_column_has_variance_one_and_the_rows_obey_the_stated_model(scheme, noise, n_nodes, kind, seed):
    data = simulate(n_nodes, 50, graph=kind, scheme=scheme, noise=noise, random_state=seed)
    # Total effects sum products along paths: rounding grows with their number, the variances stay near 1.
    assert np.allclose(correlations(data).diagonal(), 1, rtol=0, atol=1e-9)
    assert np.array_equal(data.graph.adjacency, simulate(n_nodes, 50, graph=kind, random_state=seed).graph.adjacency)
    empty = simulate(n_nodes, 50, graph=np.zeros((n_nodes, n_nodes)), noise=noise, random_state=seed)
    assert np.allclose(data.X, data.X @ data.graph.weights + empty.X * data.scale, rtol=1e-9, atol=1e-9)
    assert data.scheme == scheme


@pytest.mark.parametrize("scheme", UNIT_VARIANCE)
def test_correlations_are_markov_to_the_graph(scheme):
    for seed in range(5):
        data = simulate(12, 1, graph="ER2", scheme=scheme, random_state=seed)
        correlation, order = correlations(data), data.graph.order.tolist()
        for place, j in enumerate(order):
            parents = np.flatnonzero(data.graph.adjacency[:, j]).tolist()
            for i in set(order[:place]) - set(parents):
                assert abs(partial_correlation(correlation, i, j, parents)) < 1e-8


def test_the_onion_method_by_the_letter():
    """The published recipe: a permuted Cholesky factor of all nodes before, and only then the parents' part."""
    adjacency = random_dag(15, "ER3", 4)
    weights, variances = draw_onion(adjacency, np.random.default_rng(6))
    correlation = population_covariance(weights, np.sqrt(variances))
    topological = Dag(adjacency).order.tolist()
    sources = [j for j in topological if not adjacency[:, j].any()]
    order = sources + [j for j in topological if j not in sources]
    for place, j in enumerate(order[len(sources) :], start=len(sources)):
        before, k = order[:place], int(adjacency[:, j].sum())
        permuted = [i for i in before if adjacency[i, j]] + [i for i in before if not adjacency[i, j]]
        factor = np.linalg.cholesky(correlation[np.ix_(permuted, permuted)])
        w = np.linalg.solve(factor, correlation[permuted, j])
        assert np.allclose(w[k:], 0, atol=1e-10)
        assert w @ w == pytest.approx(1 - variances[j], abs=1e-10)
        assert np.allclose(np.linalg.solve(factor.T, w), weights[permuted, j], atol=1e-9)


def uniform_if_drawn_from(values, laws):
    return stats.kstest(np.concatenate([law.cdf(column) for law, column in zip(laws, np.transpose(values))]), "uniform")


def test_the_weight_of_an_only_parent_has_its_beta_law_in_the_onion_method():
    """A star: the node at place i has a squared weight of law Beta(1/2, (d − i + 1)/2) and a sign by a fair coin."""
    d = 6
    star = np.zeros((d, d), dtype=bool)
    star[0, 1:] = True
    drawn = [(draw_onion(star, np.random.default_rng(seed))[0][0, 1:] + 1) / 2 for seed in range(1500)]
    halves = [(d - place + 1) / 2 for place in range(1, d)]
    assert uniform_if_drawn_from(drawn, [stats.beta(half, half) for half in halves]).pvalue > UNLIKELY
    for wrong in (-0.5, 0.5):
        assert (
            uniform_if_drawn_from(drawn, [stats.beta(half + wrong, half + wrong) for half in halves]).pvalue < UNLIKELY
        )


def test_the_share_explained_by_three_parents_has_its_beta_law_and_no_preferred_direction():
    adjacency = np.zeros((5, 5), dtype=bool)
    adjacency[:3, 3] = True
    drawn = [draw_onion(adjacency, np.random.default_rng(seed)) for seed in range(1500)]
    # The only node that is not a source comes last, at place 4 of 5.
    shares = np.array([1 - variances[3] for _, variances in drawn])
    assert stats.kstest(shares, stats.beta(1.5, 1.0).cdf).pvalue > UNLIKELY
    # One coordinate of a uniform direction on the sphere of three dimensions is uniform (Archimedes).
    first = np.array([weights[0, 3] / math.sqrt(1 - variances[3]) for weights, variances in drawn])
    assert stats.kstest(first, stats.uniform(-1, 2).cdf).pvalue > UNLIKELY


def test_the_onion_method_is_uniform_over_all_correlation_matrices_on_a_complete_graph():
    # Every entry of a uniform correlation matrix (d, d) is 2 Beta(d/2, d/2) − 1, whichever it is (Joe 2006).
    complete = np.triu(np.ones((3, 3)), 1) != 0
    drawn = []
    for seed in range(1500):
        weights, variances = draw_onion(complete, np.random.default_rng(seed))
        drawn.append(population_covariance(weights, np.sqrt(variances)))
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        entries = np.array([correlation[i, j] for correlation in drawn])
        assert stats.kstest((entries + 1) / 2, stats.beta(1.5, 1.5).cdf).pvalue > UNLIKELY
        assert stats.kstest((entries + 1) / 2, stats.beta(1, 1).cdf).pvalue < UNLIKELY


def test_iscm_by_hand():
    """x0 → x1, both → x2: each has variance 1 before its children use it."""
    data = simulate(graph=np.triu(np.ones((3, 3)), 1), n=1, scheme="iscm", variances=[4.0, 1.0, 2.0], random_state=3)
    raw = simulate(graph=np.triu(np.ones((3, 3)), 1), n=1, variances=[4.0, 1.0, 2.0], random_state=3).graph.weights
    second = math.sqrt(raw[0, 1] ** 2 + 1.0)
    r01 = raw[0, 1] / second
    third = math.sqrt(raw[0, 2] ** 2 + raw[1, 2] ** 2 + 2 * raw[0, 2] * raw[1, 2] * r01 + 2.0)
    expected = [[0, r01, raw[0, 2] / third], [0, 0, raw[1, 2] / third], [0, 0, 0]]
    assert np.allclose(data.graph.weights, expected, rtol=1e-14)
    assert np.allclose(data.scale, [1, 1 / second, math.sqrt(2.0) / third], rtol=1e-14)


def test_iscm_keeps_weights_where_standardising_afterwards_does_not():
    """Down a long chain a standardised model nearly copies its parent; an internally standardised one does not."""
    chain = np.eye(30, k=1) != 0
    after = simulate(graph=chain, n=1, scheme="standardized", weight_range=(1.5, 2), random_state=1)
    inside = simulate(graph=chain, n=1, scheme="iscm", weight_range=(1.5, 2), random_state=1)
    assert np.abs(after.graph.weights[28, 29]) > 0.8
    # w / √(w² + 1) for w in [1.5, 2].
    sizes = np.abs(inside.graph.weights[chain])
    assert 1.5 / math.sqrt(3.25) <= sizes.min() <= sizes.max() <= 2 / math.sqrt(5)


@pytest.mark.parametrize("sem", get_args(Nonlinear))
def test_curved_iscm_feeds_standardised_columns_to_the_children(sem):
    """The first effect sees the standardised cause, as raw rows of a standardised cause would be made."""
    pair = [[0, 1], [0, 0]]
    data = simulate(graph=pair, n=128, scheme="iscm", sem=sem, noise="gumbel", random_state=3)
    assert np.allclose(data.X.mean(axis=0), 0, atol=1e-12) and np.allclose(data.X.std(axis=0), 1)
    raw = simulate(graph=pair, n=128, sem=sem, noise="gumbel", random_state=3)
    cause = (raw.X[:, 0] - raw.X[:, 0].mean()) / raw.X[:, 0].std()
    assert np.allclose(data.X[:, 0], cause, atol=1e-12)
    assert not np.allclose(data.X[:, 1], (raw.X[:, 1] - raw.X[:, 1].mean()) / raw.X[:, 1].std(), atol=1e-3)


def test_curved_iscm_by_hand():
    data = simulate(graph=[[0, 1], [0, 0]], n=100, scheme="iscm", sem="cos", random_state=3)
    noise = simulate(graph=np.zeros((2, 2)), n=100, random_state=3).X
    cause = (noise[:, 0] - noise[:, 0].mean()) / noise[:, 0].std()
    effect = data.graph.weights[0, 1] * np.cos(cause + 1) + noise[:, 1]
    assert np.allclose(data.X, np.column_stack([cause, (effect - effect.mean()) / effect.std()]), atol=1e-12)


@pytest.mark.parametrize("noise", get_args(Noise))
def test_a_standardized_model_has_the_correlations_of_the_raw_one(noise):
    settings_ = {"graph": "ER2", "noise": noise, "variances": (1, 2), "random_state": 5}
    raw, standard = simulate(12, 400, **settings_), simulate(12, 400, scheme="standardized", **settings_)
    deviation = np.sqrt(correlations(raw).diagonal())
    assert np.allclose(standard.X * deviation, raw.X, rtol=1e-9, atol=1e-9)
    assert np.allclose(standard.scale * deviation, raw.scale)


def test_edges_of_a_given_graph_are_taken_with_its_names_and_not_its_weights():
    own = Dag.from_edges([("rain", "wet", 100.0), ("sprinkler", "wet", -100.0)], names=["rain", "sprinkler", "wet"])
    for scheme in get_args(Scheme):
        data = simulate(n=20, graph=own, scheme=scheme, random_state=2)
        assert data.names == own.names and np.array_equal(data.graph.adjacency, own.adjacency)
        assert np.abs(data.graph.weights).max() <= 2
    assert simulate(3, 20, graph=own).graph == simulate(n=20, graph=own).graph
    assert simulate(n=20, graph=own, sem="mlp").X.shape == (20, 3)
    with pytest.raises(InputError, match="n_nodes is 4, but the graph has 3 nodes"):
        simulate(4, 20, graph=own)
    with pytest.raises(CycleError):
        simulate(n=20, graph=[[0, 1], [1, 0]])


def test_a_given_graph_draws_as_the_random_graph_with_its_edges():
    drawn = simulate(8, 30, scheme="iscm", random_state=9)
    again = simulate(n=30, graph=drawn.graph, scheme="iscm", random_state=9)
    assert again.graph == drawn.graph and np.array_equal(again.X, drawn.X)


@pytest.mark.parametrize("scheme", UNIT_VARIANCE)
def test_fewer_rows_are_a_prefix_of_more_rows(scheme):
    more, fewer = (simulate(10, n, scheme=scheme, random_state=8).X for n in (300, 65))
    assert fewer.tobytes() == more[:65].tobytes()


def test_what_a_scheme_does_not_take_is_refused():
    with pytest.raises(InputError, match="scheme has to be one of raw, standardized, iscm, dao; got 'onion'"):
        simulate(scheme="onion")
    for scheme in ("dao", "standardized"):
        with pytest.raises(InputError, match="for linear models, and sem is 'mlp'"):
            simulate(scheme=scheme, sem="mlp")
    with pytest.raises(InputError, match="at least 2"):
        simulate(n=1, scheme="iscm", sem="mlp")
    for given_ in ({"weight_range": (0.5, 2.0)}, {"variances": (1, 2)}, {"variances": [1.0] * 10}):
        with pytest.raises(InputError, match="draws weights and variances itself"):
            simulate(scheme="dao", **given_)


def test_the_defaults_are_what_they_were():
    data = simulate(random_state=4)
    assert np.array_equal(data.graph.weights[data.graph.adjacency], _drawn_weights(10, 4))
    assert data.X.shape == (1000, 10) and data.scheme == "raw"


def _drawn_weights(d, seed):
    graph_rng, weight_rng = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(5)[:2])
    adjacency = random_dag(d, "ER2", graph_rng)
    return random_weights(adjacency, 0.5, 2.0, weight_rng)[adjacency]
