import networkx
import numpy as np
import pytest
from hypothesis import given

from acyclic.errors import CycleError, InputError
from acyclic.graphs.checks import check_square
from acyclic.graphs.cycles import find_cycle, is_acyclic, label_components, sort_topologically
from strategies import dags, square_weights


def as_networkx(weights):
    return networkx.from_numpy_array(weights != 0, create_using=networkx.DiGraph)


@given(square_weights())
def test_the_answers_agree_with_networkx_and_with_each_other(weights):
    graph = as_networkx(weights)
    acyclic = networkx.is_directed_acyclic_graph(graph)
    assert is_acyclic(weights) == acyclic
    assert (find_cycle(weights) is None) == acyclic
    if acyclic:
        assert sort_topologically(weights).tolist() == list(networkx.lexicographical_topological_sort(graph))
    else:
        with pytest.raises(CycleError):
            sort_topologically(weights)


@given(square_weights())
def test_a_found_cycle_is_one(weights):
    cycle = find_cycle(weights)
    if cycle is not None:
        assert len(set(cycle)) == len(cycle)
        assert all(weights[i, j] != 0 for i, j in zip(cycle, cycle[1:] + cycle[:1]))


@given(square_weights())
def test_components_agree_with_networkx(weights):
    labels = label_components(weights)
    found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}
    assert found == set(map(frozenset, networkx.strongly_connected_components(as_networkx(weights))))
    assert set(labels.tolist()) == set(range(len(found)))


@given(dags())
def test_parents_come_before_children(dag):
    rank = np.argsort(sort_topologically(dag.weights))
    sources, targets = np.nonzero(dag.weights)
    assert (rank[sources] < rank[targets]).all()


def test_short_cycles_are_preferred():
    ring = np.roll(np.eye(6), 1, axis=1)
    assert find_cycle(ring) == (0, 1, 2, 3, 4, 5)
    ring[4, 0] = 1
    assert find_cycle(ring) == (0, 1, 2, 3, 4)
    ring[5, 4] = 1
    assert find_cycle(ring) == (4, 5)
    ring[3, 3] = 1
    assert find_cycle(ring) == (3,)


def test_a_cycle_error_names_the_cycle():
    ring = np.roll(np.eye(3), 1, axis=1)
    with pytest.raises(CycleError, match="a → ' b' → '' → a") as caught:
        sort_topologically(ring, ["a", " b", ""])
    assert caught.value.cycle == ("a", " b", "")
    with pytest.raises(CycleError, match="x0 → x1 → x2 → x0"):
        sort_topologically(ring)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.zeros((2, 3)), r"square.*\(2, 3\)"),
        (np.zeros((0, 0)), r"at least one node.*\(0, 0\)"),
        ([1.0, 2.0], r"square.*\(2,\)"),
        ([[0, 1], [0]], "differ in length"),
        ([["a", "b"], ["c", "d"]], "real numbers.*<U1"),
        ([[0, 1j], [0, 0]], "real numbers.*complex"),
        ([[0, None], [0, 0]], "real numbers.*object"),
        ([[0, 1], [np.nan, 0]], r"weights\[1, 0\] is nan"),
        ([[0, np.inf], [0, 0]], r"weights\[0, 1\] is inf"),
    ],
)
def test_what_is_no_matrix_of_weights_is_refused_in_words(matrix, words):
    for function in (is_acyclic, find_cycle, sort_topologically, label_components, check_square):
        with pytest.raises(InputError, match=words):
            function(matrix)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, np.float64])
def test_every_real_dtype_is_taken(dtype):
    assert sort_topologically(np.array([[0, 0], [1, 0]], dtype=dtype)).tolist() == [1, 0]


def test_a_tiny_weight_is_an_edge_and_negative_zero_is_none():
    assert not is_acyclic([[0, 5e-324], [-5e-324, 0]])
    assert is_acyclic([[-0.0, 1], [-0.0, 0]])
