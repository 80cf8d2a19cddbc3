import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acyclic.graphs.reachability import add_edge, close_transitively, find_reached
from strategies import square_weights


def naive_closure(edges):
    """Floyd and Warshall, three plain loops."""
    reach = edges.tolist()
    for k in range(len(edges)):
        for i in range(len(edges)):
            for j in range(len(edges)):
                reach[i][j] = reach[i][j] or (reach[i][k] and reach[k][j])
    return np.array(reach, dtype=bool)


@given(square_weights(max_nodes=11))
def test_the_closure_is_that_of_three_plain_loops(weights):
    edges = weights != 0
    before = edges.copy()
    assert np.array_equal(close_transitively(edges), naive_closure(edges))
    assert np.array_equal(edges, before)


@pytest.mark.parametrize("density", [0.02, 0.1, 0.5])
def test_the_closure_of_larger_graphs(density):
    edges = np.random.default_rng(0).random((67, 67)) < density
    assert np.array_equal(close_transitively(edges), naive_closure(edges))
    assert np.array_equal(close_transitively(edges.T), naive_closure(edges).T)


@given(square_weights(max_nodes=9))
def test_what_one_node_reaches_is_its_row_of_the_closure(weights):
    edges = weights != 0
    closure = naive_closure(edges)
    for node in range(len(edges)):
        assert np.array_equal(find_reached(edges, node), closure[node])
        assert np.array_equal(find_reached(edges.T, node), closure[:, node])


@given(square_weights(max_nodes=9), st.data())
def test_what_some_nodes_reach_past_others(weights, data):
    edges, d = weights != 0, len(weights)
    starts = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    avoided = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    open_edges = edges & ~avoided
    expected = naive_closure(open_edges)[starts].any(axis=0)
    assert np.array_equal(find_reached(edges, starts, avoided), expected)
    assert np.array_equal(find_reached(edges, np.flatnonzero(starts), np.flatnonzero(avoided)), expected)


@given(st.integers(1, 8), st.data())
def test_a_closure_grows_with_its_edges(d, data):
    node = st.integers(0, d - 1)
    edges, reach = np.zeros((d, d), dtype=bool), np.eye(d, dtype=bool)
    for source, target in data.draw(st.lists(st.tuples(node, node), max_size=15)):
        edges[source, target] = True
        add_edge(reach, source, target)
        assert np.array_equal(reach, naive_closure(edges) | np.eye(d, dtype=bool))
