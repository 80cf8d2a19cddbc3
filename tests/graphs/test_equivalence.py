import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given

from acyclic.errors import CycleError, InputError
from acyclic.graphs.cycles import is_acyclic
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import (
    Cpdag,
    apply_meek_rules,
    count_consequences,
    extend_consistently,
    find_compelled,
    find_cpdag,
    find_reversible,
)
from strategies import dags


def v_structures(adjacency):
    """Mark the edges of unshielded colliders."""
    joined = adjacency | adjacency.T
    found = np.zeros_like(adjacency)
    for child in range(len(adjacency)):
        for a, b in itertools.combinations(np.flatnonzero(adjacency[:, child]), 2):
            if not joined[a, b]:
                found[a, child] = found[b, child] = True
    return found


def orientations(skeleton):
    """Every acyclic orientation of a skeleton."""
    pairs = np.argwhere(np.triu(skeleton))
    for flips in itertools.product([False, True], repeat=len(pairs)):
        adjacency = np.zeros_like(skeleton)
        for (i, j), flip in zip(pairs, flips):
            adjacency[(j, i) if flip else (i, j)] = True
        if is_acyclic(adjacency):
            yield adjacency


def equivalent(adjacency):
    colliders = v_structures(adjacency)
    return [other for other in orientations(adjacency | adjacency.T) if np.array_equal(v_structures(other), colliders)]


def all_dags(n):
    pairs = list(itertools.combinations(range(n), 2))
    for states in itertools.product([0, 1, 2], repeat=len(pairs)):
        adjacency = np.zeros((n, n), dtype=bool)
        for (i, j), state in zip(pairs, states):
            adjacency[i, j], adjacency[j, i] = state == 1, state == 2
        if is_acyclic(adjacency):
            yield adjacency


def check_against_enumeration(adjacency):
    members = equivalent(adjacency)
    shared = np.logical_and.reduce(members)
    np.testing.assert_array_equal(find_compelled(adjacency), shared)
    np.testing.assert_array_equal(find_reversible(adjacency), adjacency & ~shared)
    graph = find_cpdag(adjacency)
    np.testing.assert_array_equal(graph.arcs, np.logical_or.reduce(members))
    assert graph.is_complete
    extension = extend_consistently(graph)
    assert any(np.array_equal(extension, member) for member in members)
    colliders = v_structures(adjacency)
    closed = apply_meek_rules(colliders, graph.skeleton & ~(colliders | colliders.T))
    np.testing.assert_array_equal(closed[0], graph.directed)
    np.testing.assert_array_equal(closed[1], graph.undirected)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 3), (3, 25), (4, 543)])
def test_every_small_dag_against_the_enumerated_class(n, count):
    graphs = list(all_dags(n))
    assert len(graphs) == count
    for adjacency in graphs:
        check_against_enumeration(adjacency)


@pytest.mark.slow
def test_random_dags_of_five_nodes_against_the_enumerated_class():
    rng = np.random.default_rng(0)
    for density in rng.uniform(0.2, 1, size=30):
        upper = np.triu(rng.random((5, 5)) < density, 1)
        order = rng.permutation(5)
        check_against_enumeration(upper[np.ix_(order, order)])


@pytest.mark.slow
def test_meek_with_background_knowledge_against_enumeration():
    """Direct a few undirected edges of a CPDAG as one member has them: Meek's rules find what the rest shares."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        order = rng.permutation(5)
        dag = np.triu(rng.random((5, 5)) < rng.uniform(0.4, 1), 1)[np.ix_(order, order)]
        graph = find_cpdag(dag)
        known = dag & graph.undirected & (rng.random((5, 5)) < 0.3)
        directed, undirected = apply_meek_rules(graph.directed | known, graph.undirected & ~(known | known.T))
        members = [member for member in equivalent(dag) if member[known].all()]
        np.testing.assert_array_equal(directed, np.logical_and.reduce(members))
        np.testing.assert_array_equal(directed | undirected, np.logical_or.reduce(members))


# Directed edges, undirected edges, and one edge that the rule directs; the later cases need it at the right time.
RULES = {
    "1": ("ab", "bc", "bc"),
    "1, along a chain": ("ab", "bc cd de", "de"),
    "2": ("ab bc", "ac", "ac"),
    "2, its first edge found late": ("wa bc wc", "ab ac", "ac"),
    "2, its second edge found late": ("ab wb", "bc ac", "ac"),
    "3": ("cb db", "ab ac ad", "ab"),
    "4": ("cd db", "ab ac ad", "ab"),
    "4, its first edge found late": ("wc db", "cd ab ac ad wa", "ab"),
    "4, its second edge found late": ("cd", "db ab ac ad", "ab"),
}


def colliders(adjacency):
    joined = adjacency | adjacency.T
    return {
        (child, a, b)
        for child in range(len(adjacency))
        for a, b in itertools.combinations(np.flatnonzero(adjacency[:, child]).tolist(), 2)
        if not joined[a, b]
    }


@pytest.mark.slow
@pytest.mark.parametrize(("directed", "undirected", "found"), RULES.values(), ids=RULES.keys())
def test_each_rule_against_enumeration_in_every_order_of_the_nodes(directed, undirected, found):
    letters = sorted(set(directed + undirected) - {" "})
    for order in itertools.permutations(letters):
        arrows, lines = (np.zeros((len(order), len(order)), dtype=bool) for _ in range(2))
        for matrix, text in ((arrows, directed), (lines, undirected)):
            for source, target in text.split():
                matrix[order.index(source), order.index(target)] = True
        lines |= lines.T
        skeleton = arrows | arrows.T | lines
        members = [
            member
            for member in orientations(skeleton)
            if member[arrows].all() and colliders(member) == colliders(arrows)
        ]
        closed, remaining = apply_meek_rules(arrows, lines)
        assert closed[order.index(found[0]), order.index(found[1])]
        np.testing.assert_array_equal(closed, np.logical_and.reduce(members))
        np.testing.assert_array_equal(closed | remaining, np.logical_or.reduce(members))


@given(dags(max_nodes=12))
def test_the_extension_is_in_the_class(dag):
    graph = dag.cpdag()
    member = Dag(extend_consistently(graph), dag.names)
    assert member.cpdag() == graph
    np.testing.assert_array_equal(v_structures(member.adjacency), v_structures(dag.adjacency))


@pytest.mark.slow
@given(dags(max_nodes=12))
def test_both_ways_to_the_cpdag_agree(dag):
    graph, colliders = dag.cpdag(), v_structures(dag.adjacency)
    directed, undirected = apply_meek_rules(colliders, graph.skeleton & ~(colliders | colliders.T))
    np.testing.assert_array_equal(directed, graph.directed)
    np.testing.assert_array_equal(undirected, graph.undirected)


def test_both_ways_agree_on_a_large_graph():
    rng = np.random.default_rng(0)
    order = rng.permutation(300)
    dag = Dag(np.triu(rng.random((300, 300)) < 4 / 299, 1)[np.ix_(order, order)])
    graph, colliders = dag.cpdag(), v_structures(dag.adjacency)
    assert 0 < np.count_nonzero(graph.undirected) and 0 < np.count_nonzero(graph.directed)
    directed, undirected = apply_meek_rules(colliders, graph.skeleton & ~(colliders | colliders.T))
    np.testing.assert_array_equal(directed, graph.directed)
    np.testing.assert_array_equal(undirected, graph.undirected)
    assert find_cpdag(extend_consistently(graph)) == graph


def test_a_four_cycle_skeleton_is_no_class_of_dags():
    ring = np.roll(np.eye(4, dtype=bool), 1, axis=1)
    graph = Cpdag(["a", "b", "c", "d"], np.zeros((4, 4)), ring | ring.T)
    assert not graph.is_complete
    with pytest.raises(InputError, match="a, b, c, d"):
        extend_consistently(graph)


def test_too_few_or_too_many_directions_are_not_complete():
    collider = Dag.from_edges([("a", "c"), ("b", "c")], ["a", "b", "c"])
    chain = Dag.from_edges([("a", "b"), ("b", "c")], ["a", "b", "c"])
    nothing = np.zeros((3, 3), dtype=bool)
    assert Cpdag(None, collider.adjacency, nothing).is_complete
    assert not Cpdag(None, chain.adjacency, nothing).is_complete
    # The skeleton alone stands for chain and fork; that of a directed cycle for nothing.
    assert Cpdag(None, nothing, collider.adjacency | collider.adjacency.T).is_complete
    assert not Cpdag(None, np.roll(np.eye(3), 1, axis=1), nothing).is_complete


def test_the_parts_of_a_cpdag():
    graph = Dag.from_edges([("a", "c"), ("b", "c"), ("c", "d"), ("e", "f")], list("abcdef")).cpdag()
    assert graph.directed_edges() == [("a", "c"), ("b", "c"), ("c", "d")]
    assert graph.undirected_edges() == [("e", "f")]
    assert (graph.n_nodes, graph.n_edges) == (6, 4)
    assert repr(graph) == "Cpdag(6 nodes, 3 directed and 1 undirected edges)"
    assert Cpdag.from_arcs(graph.arcs, graph.names, edge_direction="from row to column") == graph
    assert Cpdag.from_arcs(graph.arcs.T, graph.names, edge_direction="from column to row") == graph
    turned = graph.reordered(list("fedcba"))
    assert turned.undirected_edges() == [("f", "e")]
    assert turned != graph and turned.reordered(graph.names) == graph
    twin = pickle.loads(pickle.dumps(graph))
    assert twin == graph and hash(twin) == hash(graph) and not twin.directed.flags.writeable
    assert graph != "graph"


@pytest.mark.parametrize(
    ("directed", "undirected", "words"),
    [
        ([[0, 1], [0, 0]], [[0, 1], [1, 0]], "nodes 0 and 1 is both directed and undirected"),
        ([[0, 0], [0, 0]], [[0, 1], [0, 0]], "undirected must be symmetric"),
        ([[0, 1], [1, 0]], [[0, 0], [0, 0]], "directed both ways"),
        ([[0, 0], [0, 0]], [[0, 0], [0, 1]], "nodes 1 and 1 joins a node to itself"),
        ([[1, 0], [0, 0]], [[0, 0], [0, 0]], "nodes 0 and 0 is directed both ways"),
        ([[0]], [[0, 0], [0, 0]], r"shape \(1, 1\), undirected \(2, 2\)"),
        ([[0, np.nan], [0, 0]], [[0, 0], [0, 0]], "directed.*nan"),
    ],
)
def test_impossible_mixtures_are_refused_in_words(directed, undirected, words):
    with pytest.raises(InputError, match=words):
        Cpdag(None, directed, undirected)


def test_cpdag_needs_a_dag_and_takes_names_for_arrays_only():
    with pytest.raises(CycleError):
        find_cpdag([[0, 1], [1, 0]])
    with pytest.raises(InputError, match="a Dag has its own"):
        find_cpdag(Dag([[0]]), names=["a"])


@given(dags(min_nodes=2, max_nodes=7))
def test_what_follows_from_a_direction_is_what_the_rules_direct(dag):
    graph = find_cpdag(dag)
    counts = count_consequences(graph.directed, graph.undirected)
    assert set(counts) == {tuple(pair) for pair in np.argwhere(graph.undirected).tolist()}
    for (i, j), count in counts.items():
        directed, undirected = np.array(graph.directed), np.array(graph.undirected)
        directed[i, j] = True
        undirected[i, j] = undirected[j, i] = False
        after, _ = apply_meek_rules(directed, undirected)
        assert count == int(after.sum() - directed.sum())


def test_what_follows_is_not_counted_in_a_component_of_very_many():
    line = np.eye(400, k=1, dtype=bool)
    assert count_consequences(np.zeros((400, 400)), line | line.T) == {}
    short = line[:20, :20]
    assert count_consequences(np.zeros((20, 20)), short | short.T)[0, 1] == 18
