import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import random_dag, simulate
from acyclic.discrete.kkt import kkt_search
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.metrics import shd


def breach(moments, dag, l1, allowed=True):
    """How far the weights of a DAG are from the KKT conditions, over the edges that close no cycle."""
    S, W = moments.covariance, dag.weights
    gradient = S - S @ W
    reach = np.linalg.matrix_power(np.eye(len(S)) + dag.adjacency, len(S)) > 0
    active = W != 0
    possible = ~reach.T & ~active & allowed
    absent = np.where(possible, np.abs(gradient) - l1, 0.0).max(initial=0.0)
    present = np.where(active, np.abs(gradient - l1 * np.sign(W)), 0.0).max(initial=0.0)
    return max(absent, present)


def penalised(moments, dag, l1):
    residual = np.eye(dag.n_nodes) - dag.weights
    return 0.5 * np.trace(residual.T @ moments.covariance @ residual) + l1 * np.abs(dag.weights).sum()


@pytest.mark.slow
@pytest.mark.parametrize("thorough", [False, True])
@given(seed=st.integers(0, 10_000), l1=st.sampled_from([0.02, 0.1, 0.5]))
@settings(max_examples=25, deadline=None)
def test_the_conditions_hold_at_the_end(thorough, seed, l1):
    data = simulate(n_nodes=9, n=200, random_state=seed)
    start = Dag(random_dag(9, "ER2", seed + 1), data.names)
    moments = Moments.from_array(data.X, data.names)
    found = kkt_search(moments, start, l1=l1, threshold=0, thorough=thorough)
    assert breach(moments, found, l1) < 1e-6 * moments.covariance.trace()


def test_it_lowers_the_penalised_loss_of_a_wrong_start():
    data = simulate(n_nodes=15, n=500, random_state=4)
    moments = Moments.from_array(data.X)
    start = kkt_search(moments, Dag(data.graph.weights.T), threshold=0, max_reversals=0, thorough=False)
    published = kkt_search(moments, start, threshold=0, thorough=False)
    thorough = kkt_search(moments, start, threshold=0)
    values = [penalised(moments, dag, 0.1) for dag in (start, published, thorough)]
    assert values[0] > values[1] >= values[2]


def test_the_truth_is_kept_and_found_again():
    data = simulate(n_nodes=12, n=5000, weight_range=(1.0, 2.0), graph="ER1", random_state=6)
    damaged = Dag.from_edges([edge for k, edge in enumerate(data.graph.edges()) if k % 3], data.names)
    assert shd(data.graph, kkt_search(data.X, data.graph)) == 0
    assert shd(data.graph, kkt_search(data.X, damaged)) == 0


@pytest.mark.slow
def test_it_pays_on_average():
    before = after = thorough = 0
    for seed in range(6):
        data = simulate(n_nodes=20, n=1000, random_state=seed)
        rng = np.random.default_rng(seed)
        order = np.argsort(data.X.var(axis=0) * rng.uniform(0.3, 3, size=20))
        start = np.zeros((20, 20))
        start[np.ix_(order, order)] = np.triu((data.graph.adjacency | data.graph.adjacency.T)[np.ix_(order, order)], 1)
        dag = Dag(start, data.names)
        before += shd(data.graph, dag)
        after += shd(data.graph, kkt_search(data.X, dag, thorough=False))
        thorough += shd(data.graph, kkt_search(data.X, dag))
    assert after < 0.65 * before
    assert thorough < 0.65 * before


def test_knowledge_is_obeyed():
    data = simulate(n_nodes=8, n=500, random_state=2)
    (a, b, _), (c, d, _) = data.graph.edges()[:2]
    allowed = ~data.graph.adjacency & ~data.graph.adjacency.T & ~np.eye(8, dtype=bool)
    strange = next((data.names[i], data.names[j]) for i, j in np.argwhere(allowed))
    knowledge = Knowledge(forbidden=[(a, b)], required=[(d, c), strange], bounds={strange: (0.7, 0.9)})
    found = kkt_search(data.X, data.graph, knowledge=knowledge)
    assert knowledge.compile(data.names).check(found.weights) == []


def test_a_required_edge_that_explains_nothing_is_there():
    moments = Moments(100, [0, 0], np.diag([1.0, 2.0]), ["a", "b"])
    found = kkt_search(moments, Dag.empty(["a", "b"]), knowledge=Knowledge(required=[("a", "b")]))
    assert [(source, target) for source, target, _ in found.edges()] == [("a", "b")]


def test_columns_are_matched_by_name():
    data = simulate(n_nodes=6, n=300, random_state=1)
    frame = pd.DataFrame(data.X, columns=data.names)
    turned = frame[list(reversed(data.names))]
    expected = kkt_search(data.X, data.graph)
    # Sums over the rows are rounded in another order, and least squares magnify that by the condition number.
    rounding = len(data.X) * np.finfo(float).eps * np.linalg.cond(np.cov(data.X.T))
    for table in (turned, Moments.from_frame(turned)):
        found = kkt_search(table, data.graph)
        assert found.names == expected.names and (found.adjacency == expected.adjacency).all()
        np.testing.assert_allclose(found.weights, expected.weights, rtol=rounding)


def test_small_weights_are_cut_and_the_start_is_left_alone():
    data = simulate(n_nodes=8, n=200, random_state=5)
    weights = np.array(data.graph.weights)
    full, cut = kkt_search(data.X, data.graph, threshold=0), kkt_search(data.X, data.graph, threshold=0.5)
    assert np.array_equal(cut.weights, np.where(np.abs(full.weights) >= 0.5, full.weights, 0))
    assert np.array_equal(data.graph.weights, weights)


@pytest.mark.parametrize("d", [1, 2])
def test_odd_tables_end(d):
    X = np.zeros((5, d))
    assert kkt_search(X, Dag.empty([f"x{k}" for k in range(d)])).n_edges == 0


def test_duplicated_columns_and_few_rows_end():
    X = np.random.default_rng(0).normal(size=(5, 8))
    X[:, 4:] = X[:, :4]
    for thorough in (False, True):
        found = kkt_search(X, Dag.empty([f"x{k}" for k in range(8)]), thorough=thorough)
        assert np.isfinite(found.weights).all() and found.n_edges > 0


def test_errors_say_what_is_wrong():
    data = simulate(n_nodes=4, n=50, graph="ER1")
    with pytest.raises(InputError, match="l1 has to be at least 0"):
        kkt_search(data.X, data.graph, l1=-1)
    with pytest.raises(InputError, match="3 names were given for 4 nodes"):
        kkt_search(data.X, Dag.empty(["a", "b", "c"]))
    with pytest.raises(InputError, match="unknown columns"):
        kkt_search(Moments.from_array(data.X), Dag.empty(["a", "b", "c", "d"]))
