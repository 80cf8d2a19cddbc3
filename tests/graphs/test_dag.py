import copy
import pickle
from dataclasses import FrozenInstanceError

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acyclic.errors import CycleError, InputError
from acyclic.graphs.dag import Dag
from strategies import dags, hostile_names


@pytest.fixture
def diamond():
    edges = [("b", "a", 2.0), ("b", "c", -1.0), ("a", "d", 0.5), ("c", "d", 3.0)]
    return Dag.from_edges(edges, names=["a", "b", "c", "d"])


def test_the_hand_made_diamond(diamond):
    assert diamond.order.tolist() == [1, 0, 2, 3]
    assert (diamond.n_nodes, diamond.n_edges) == (4, 4)
    assert diamond.edges() == [("a", "d", 0.5), ("b", "a", 2.0), ("b", "c", -1.0), ("c", "d", 3.0)]
    assert diamond.parents("d") == ("a", "c")
    assert diamond.children("b") == ("a", "c")
    assert diamond.ancestors("d") == ("a", "b", "c")
    assert diamond.descendants("b") == ("a", "c", "d")
    assert diamond.descendants("d") == () == diamond.ancestors("b")
    assert diamond.total_effects()[1].tolist() == [2.0, 0.0, -1.0, -2.0]
    moral = diamond.moral()
    assert moral[0, 2] and moral[2, 0] and not moral[1, 3] and not moral.diagonal().any()
    assert np.count_nonzero(moral) == 10
    assert repr(diamond) == "Dag(4 nodes, 4 edges: a → d, b → a, b → c, …)"


def test_one_node_is_a_graph():
    dag = Dag([[0]])
    assert (dag.names, dag.edges(), dag.order.tolist(), repr(dag)) == (("x0",), [], [0], "Dag(1 node, 0 edges)")
    assert dag.total_effects().tolist() == [[0.0]]
    assert dag == Dag.empty(["x0"])


@given(dags())
def test_total_effects_agree_with_the_sum_of_powers(dag):
    power, total = dag.weights, np.zeros_like(dag.weights)
    while power.any():
        total, power = total + power, power @ dag.weights
    np.testing.assert_allclose(dag.total_effects(), total, rtol=1e-9, atol=1e-9 * max(1, np.abs(total).max()))


@given(dags())
def test_relatives_agree_with_networkx(dag):
    graph = dag.to_networkx()
    for name in dag.names:
        assert set(dag.ancestors(name)) == networkx.ancestors(graph, name)
        assert set(dag.descendants(name)) == networkx.descendants(graph, name)
        assert set(dag.parents(name)) == set(graph.predecessors(name))
        assert set(dag.children(name)) == set(graph.successors(name))
    moral = networkx.to_numpy_array(networkx.moral_graph(graph), nodelist=dag.names, weight=None)
    np.testing.assert_array_equal(dag.moral(), moral != 0)


def test_moral_parents_with_many_common_children():
    weights = np.zeros((300, 300))
    weights[:2, 2:258] = 1
    assert Dag(weights).moral()[0, 1]


@given(dags(names=hostile_names))
def test_edges_and_names_give_the_graph_back(dag):
    assert Dag.from_edges(dag.edges(), dag.names) == dag
    assert Dag.from_weights(dag.weights, dag.names, edge_direction="from row to column") == dag
    assert Dag.from_weights(dag.weights.T, dag.names, edge_direction="from column to row") == dag


@given(dags(), st.randoms(use_true_random=False))
def test_reordering_keeps_the_edges(dag, random):
    names = list(dag.names)
    random.shuffle(names)
    other = dag.reordered(names)
    assert other.names == tuple(names)
    assert sorted(other.edges()) == sorted(dag.edges())
    assert other.reordered(dag.names) == dag


def test_the_graph_cannot_be_changed():
    weights = np.array([[0.0, 1.0], [0.0, 0.0]])
    dag = Dag(weights, ["a", "b"])
    weights[1, 0] = 1
    assert dag.weights[1, 0] == 0
    for twin in (dag, pickle.loads(pickle.dumps(dag)), copy.deepcopy(dag)):
        assert twin == dag
        for array in (twin.weights, twin.order):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        with pytest.raises(FrozenInstanceError):
            twin.names = ("c", "d")


def test_equality_and_hash():
    dag = Dag([[0, 1], [-0.0, 0]], ["a", "b"])
    same = Dag([[0, 1], [0, 0]], ["a", "b"])
    assert dag == same and hash(dag) == hash(same)
    assert dag != Dag([[0, 1], [0, 0]], ["a", "c"])
    assert dag != Dag([[0, 2], [0, 0]], ["a", "b"])
    assert dag != "dag"


@pytest.mark.parametrize(
    ("weights", "cycle"), [([[0, 1], [1, 0]], ("a", "b")), ([[0, 1], [0, 0.5]], ("b",)), ([[3, 0], [0, 0]], ("a",))]
)
def test_a_cycle_is_refused_and_named(weights, cycle):
    with pytest.raises(CycleError, match=" → ".join([*cycle, cycle[0]])) as caught:
        Dag(weights, ["a", "b"])
    assert caught.value.cycle == cycle


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a"], "1 names were given for 2 nodes"),
        (["a", "a"], "the name a is given to more than one node"),
        (["", ""], "the name '' is given"),
        ([0, 1], r"names\[0\] is 0 \(int\)"),
        ("ab", "single string 'ab'"),
        ([], "at least one node"),
    ],
)
def test_bad_names_are_refused_in_words(names, words):
    with pytest.raises(InputError, match=words):
        Dag(np.zeros((2, 2)), names)


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("a", "c")], "the edge a → c cannot be drawn: no node is called 'c'; the nodes are a, beta"),
        ([("a", "bta")], "did you mean 'beta'"),
        ([("a", "beta"), ("a", "beta", 2.0)], "a → beta is given twice"),
        ([("a", "beta", 0.0)], "has the weight 0.0"),
        ([("a", "beta", float("nan"))], "has the weight nan"),
        ([("a", "a")], "the cycle a → a"),
    ],
)
def test_bad_edges_are_refused_in_words(edges, words):
    with pytest.raises(InputError, match=words):
        Dag.from_edges(edges, ["a", "beta"])


def test_other_refusals(diamond):
    with pytest.raises(InputError, match="no node is called 'z'"):
        diamond.parents("z")
    with pytest.raises(InputError, match="d missing; z unknown"):
        diamond.reordered(["a", "b", "c", "z"])
    with pytest.raises(InputError, match="edge_direction is 'down'"):
        Dag.from_weights([[0]], edge_direction="down")
    with pytest.raises(TypeError):
        Dag.from_weights([[0]])


def test_a_large_sparse_graph():
    rng = np.random.default_rng(0)
    rows, columns = np.sort(rng.integers(0, 2000, size=(2, 4000)), axis=0)
    weights = np.zeros((2000, 2000))
    weights[rows[rows < columns], columns[rows < columns]] = 1
    shuffled = rng.permutation(2000)
    dag = Dag(weights[np.ix_(shuffled, shuffled)])
    assert dag.n_edges == np.count_nonzero(weights)
    assert (np.diff(dag.order[:2]) != 0).all() and sorted(dag.order) == list(range(2000))
