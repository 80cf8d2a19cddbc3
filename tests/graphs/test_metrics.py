import sys
from dataclasses import asdict

import gadjid
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from acyclic.errors import CycleError, InputError
from acyclic.facts import Difference
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag
from acyclic.graphs.metrics import compare, shd, shd_cpdag
from strategies import dags

ROWS = "from row to column"
CHAIN = Dag.from_edges([("x0", "x1"), ("x1", "x2")], ["x0", "x1", "x2"])
SACHS = Dag.from_edges(
    [
        edge
        for source, targets in {
            "Raf": ["Mek"],
            "Mek": ["Erk"],
            "Plcg": ["PIP2", "PIP3"],
            "PIP3": ["PIP2"],
            "Erk": ["Akt"],
            "PKA": ["Raf", "Mek", "Erk", "Akt", "P38", "Jnk"],
            "PKC": ["Raf", "Mek", "PKA", "P38", "Jnk"],
        }.items()
        for edge in [(source, target) for target in targets]
    ],
    ["Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk"],
)


def edges(*pairs, n=3):
    matrix = np.zeros((n, n), dtype=int)
    for i, j in pairs:
        matrix[i, j] = 1
    return matrix


def by_sets(true, guess, undirected=()):
    """The published definitions, written with sets of arcs; `undirected` holds unordered pairs."""
    arcs = {(i, j) for i, j in np.argwhere(guess).tolist()}
    right = {(i, j) for i, j in np.argwhere(true).tolist()}
    flipped = {(j, i) for i, j in right}
    lines = {frozenset(pair) for pair in undirected}
    true_skeleton = {frozenset(arc) for arc in right}
    skeleton = {frozenset(arc) for arc in arcs} | lines
    d = len(true)
    n_estimated = len(arcs) + len(lines)
    true_positive = len(arcs & right) + len(lines & true_skeleton)
    turned = len((arcs - right) & flipped)
    false_positive = len(arcs - right - flipped) + len(lines - true_skeleton)
    return {
        "n_true": len(right),
        "n_estimated": n_estimated,
        "true_positive": true_positive,
        "reversed": turned,
        "false_positive": false_positive,
        "missing": len(true_skeleton - skeleton),
        "fdr": (turned + false_positive) / max(n_estimated, 1),
        "tpr": true_positive / max(len(right), 1),
        "fpr": (turned + false_positive) / max(d * (d - 1) / 2 - len(right), 1),
        "shd": len(skeleton - true_skeleton) + len(true_skeleton - skeleton) + turned,
    }


@pytest.mark.parametrize(
    ("estimate", "raw", "favourable"),
    [
        (edges((0, 1), (1, 2)), 0, 0),
        (edges((1, 0), (1, 2)), 1, 1),
        (edges(), 2, 2),
        (edges((0, 1), (1, 2), (0, 2)), 1, 1),
        (edges((0, 1), (1, 0), (1, 2)), 1, 0),
    ],
)
def test_the_published_cases(estimate, raw, favourable):
    assert shd(CHAIN, estimate, edge_direction=ROWS) == raw
    result = compare(CHAIN, Cpdag.from_arcs(estimate, edge_direction=ROWS))
    assert (result.shd, result.favourable.shd) == (raw, favourable)


def test_a_reversal_counts_once_or_twice():
    estimate = Dag.from_edges([("x1", "x0"), ("x0", "x2")], ["x0", "x1", "x2"])
    assert shd(CHAIN, estimate) == 3
    assert shd(CHAIN, estimate, reversal=2) == compare(CHAIN, estimate, reversal=2).shd == 4
    both = edges((0, 1), (1, 0), (1, 2))
    assert shd(CHAIN, both, reversal=2, edge_direction=ROWS) == 1
    for function in (shd, compare):
        with pytest.raises(InputError, match="reversal is 3"):
            function(CHAIN, estimate, reversal=3)


def test_sachs():
    assert SACHS.n_edges == 17
    assert len(SACHS.cpdag().undirected_edges()) == 17 and SACHS.cpdag().directed_edges() == []
    result = compare(SACHS, Dag.empty(SACHS.names))
    assert (result.shd, result.shd_cpdag, result.missing, result.fdr, result.tpr) == (17, 17, 17, 0, 0)
    perfect = compare(SACHS, SACHS)
    assert (perfect.shd, perfect.shd_cpdag, perfect.sid, perfect.oset_aid, perfect.tpr) == (0, 0, 0, 0, 1)


@given(dags(), st.data())
def test_raw_matrices_follow_the_published_definitions(dag, data):
    guess = data.draw(hnp.arrays(bool, dag.weights.shape))
    result = asdict(compare(dag, guess, edge_direction=ROWS))
    expected = by_sets(dag.adjacency, guess)
    assert {key: result[key] for key in expected} == pytest.approx(expected)
    assert {key: result["favourable"][key] for key in expected} == pytest.approx(expected)


@given(dags(max_nodes=6), st.data())
def test_mixed_graphs_follow_both_scorings(dag, data):
    arcs = data.draw(hnp.arrays(bool, dag.weights.shape))
    np.fill_diagonal(arcs, False)
    guess = Cpdag.from_arcs(arcs, edge_direction=ROWS)
    result = asdict(compare(dag, guess))
    raw = by_sets(dag.adjacency, arcs)
    favourable = by_sets(dag.adjacency, guess.directed, np.argwhere(guess.undirected).tolist())
    assert {key: result[key] for key in raw} == pytest.approx(raw)
    assert {key: result["favourable"][key] for key in raw} == pytest.approx(favourable)


@settings(max_examples=50)
@given(dags(min_nodes=2), st.data())
def test_distances_agree_with_gadjid(truth, data):
    guess = data.draw(dags(min_nodes=truth.n_nodes, max_nodes=truth.n_nodes))
    result = compare(truth, guess)
    matrices = truth.adjacency.astype(np.int8), guess.adjacency.astype(np.int8)
    assert result.shd == gadjid.shd(*matrices)[1]
    for name in ("sid", "parent_aid", "ancestor_aid", "oset_aid"):
        assert getattr(result, name) == getattr(gadjid, name)(*matrices, edge_direction=ROWS)[1]
    classes = [
        graph.cpdag().directed.astype(np.int8) + 2 * np.triu(graph.cpdag().undirected).astype(np.int8)
        for graph in (truth, guess)
    ]
    assert result.shd_cpdag == shd_cpdag(truth.cpdag(), guess) == gadjid.shd(*classes)[1]


def test_sid_by_hand():
    """Against a → b the flip is wrong about both effects; the empty graph only about that of a on b."""
    truth = Dag.from_edges([("a", "b")], ["a", "b"])
    assert compare(truth, Dag.from_edges([("b", "a")], ["a", "b"])).sid == 2
    assert compare(truth, Dag.empty(["a", "b"])).sid == 1


def test_a_class_is_scored_against_the_truth():
    result = compare(CHAIN, CHAIN.cpdag())
    assert (result.shd, result.shd_cpdag, result.favourable.shd, result.favourable.tpr) == (2, 0, 0, 1)
    assert result.sid is None and result.parent_aid == 6
    assert any("SID" in note for note in result.notes)
    directed = Cpdag(["x0", "x1", "x2"], edges((0, 1), (2, 1)), edges())
    assert compare(CHAIN, directed).sid == compare(CHAIN, Dag(edges((0, 1), (2, 1)))).sid


def test_an_incomplete_class_has_no_adjustment_distance():
    result = compare(CHAIN, Cpdag(None, CHAIN.adjacency, edges()))
    assert (result.shd, result.sid, result.parent_aid) == (0, None, None)
    assert "not the CPDAG of any DAG" in result.notes[0]


def test_a_cyclic_estimate_is_scored_as_far_as_it_can_be():
    result = compare(CHAIN, edges((0, 1), (1, 2), (2, 0)), edge_direction=ROWS)
    assert (result.shd, result.false_positive, result.tpr) == (1, 1, 1)
    assert (result.shd_cpdag, result.sid, result.oset_aid) == (None, None, None)
    assert "x0 → x1 → x2 → x0" in result.notes[0]
    both = compare(CHAIN, edges((0, 1), (1, 0)), edge_direction=ROWS)
    assert "Cpdag.from_arcs" in both.notes[0]


def test_without_gadjid_the_rest_is_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "gadjid", None)
    result = compare(CHAIN, CHAIN)
    assert (result.shd, result.shd_cpdag, result.sid, result.parent_aid) == (0, 0, None, None)
    assert "acyclic[metrics]" in result.notes[0]


def test_graphs_are_matched_by_name():
    turned = CHAIN.reordered(["x2", "x0", "x1"])
    assert compare(CHAIN, turned).shd == 0 == shd_cpdag(turned.cpdag(), CHAIN)
    assert compare(turned, CHAIN.cpdag()).favourable.shd == 0
    # An array has the node order of the named graph, be it truth or estimate.
    assert shd(turned, turned.weights, edge_direction=ROWS) == 0
    assert shd(turned.weights, turned, edge_direction=ROWS) == 0
    assert shd_cpdag(turned.weights, turned.cpdag(), edge_direction=ROWS) == 0


def test_the_direction_of_arrays_matters():
    truth, flipped = CHAIN.weights, CHAIN.weights.T
    assert shd(truth, flipped, edge_direction=ROWS) == 2
    assert shd(flipped, CHAIN, edge_direction="from column to row") == 0


def test_refusals():
    with pytest.raises(InputError, match="edge_direction must be said"):
        compare(CHAIN, CHAIN.weights)
    with pytest.raises(InputError, match="x2 missing; z unknown"):
        compare(Dag.empty(["x0", "x1", "z"]), CHAIN)
    with pytest.raises(InputError, match="3 and 2 nodes"):
        compare(CHAIN, np.zeros((2, 2)), edge_direction=ROWS)
    with pytest.raises(InputError, match="truth must be one DAG"):
        compare(CHAIN.cpdag(), CHAIN)
    with pytest.raises(CycleError):
        compare(edges((0, 1), (1, 0)), CHAIN, edge_direction=ROWS)
    with pytest.raises(CycleError):
        shd_cpdag(CHAIN, edges((0, 1), (1, 0)), edge_direction=ROWS)


def test_one_node():
    result = compare(Dag([[0]]), Dag([[0]]))
    assert (result.shd, result.shd_cpdag, result.sid, result.oset_aid, result.fpr) == (0, 0, 0, 0, 0)


def test_it_reads_well():
    assert str(compare(CHAIN, CHAIN.cpdag())).splitlines() == [
        "2 true edges, 4 estimated: 2 right, 2 reversed, 0 false, 0 missing",
        "FDR 0.500, TPR 1.000, FPR 2.000",
        "SHD 2, SHD of CPDAGs 0, SID –, parent AID 6, ancestor AID 6, o-set AID 6",
        "undirected edges on true adjacencies taken as correct: SHD 0, FDR 0.000, TPR 1.000, FPR 0.000",
        "Undirected: x0 → x1, x1 → x2",
        "SID is defined for DAGs, and the estimate has undirected edges",
    ]


def test_the_edges_that_differ_are_named():
    names = ["a", "b", "c", "d", "e"]
    truth = Dag.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("a", "e")], names)
    guess = Cpdag.from_edges([("c", "b"), ("d", "e")], [("c", "d"), ("a", "d")], names)
    found = compare(truth, guess)
    assert found.edges("missing") == [("a", "b"), ("a", "e")] and found.edges("turned") == [("b", "c")]
    assert found.edges("extra") == [("a", "d"), ("d", "e")] and found.edges(Difference.UNDIRECTED) == [("c", "d")]
    assert "Missing: a → b, a → e" in str(found) and "Extra: a → d, d → e" in str(found)
    assert compare(truth, truth).differences == ()
    raw = truth.adjacency | truth.adjacency.T
    assert compare(truth, raw, edge_direction=ROWS).edges("undirected") == [edge[:2] for edge in truth.edges()]


def test_as_many_edges_differ_as_are_counted():
    rng = np.random.default_rng(5)
    for _ in range(20):
        truth, guess = (
            Dag(np.triu(rng.random((6, 6)) < 0.4, 1)[np.ix_(order, order)] * 1.0) for order in two_orders(rng)
        )
        found = compare(truth, guess)
        counts = [len(found.edges(kind)) for kind in ("missing", "extra", "turned", "undirected")]
        assert counts == [found.missing, found.false_positive, found.reversed, 0]


def two_orders(rng):
    return rng.permutation(6), rng.permutation(6)


def test_a_node_that_one_list_of_edges_names_is_isolated_in_the_other():
    truth = Dag.from_edges([("a", "b")], ["a", "b", "z"])
    guess = Dag.from_edges([("b", "a"), ("b", "new")], ["new", "b", "a"])
    with pytest.raises(InputError, match="nodes='union'"):
        compare(truth, guess)
    found = compare(truth, guess, nodes="union")
    assert (found.only_in_truth, found.only_in_estimate) == (("z",), ("new",))
    assert found.edges("turned") == [("a", "b")] and found.edges("extra") == [("b", "new")] and found.sid is not None
    assert compare(truth, guess.cpdag(), nodes="union").only_in_estimate == ("new",)
    with pytest.raises(InputError, match="share no node"):
        compare(truth, Dag.empty(["x"]), nodes="union")


def test_a_long_chain_is_compared_without_what_takes_hours():
    pytest.importorskip("gadjid")
    d = 700
    chain = np.zeros((d, d))
    chain[np.arange(d - 1), np.arange(1, d)] = 1
    found = compare(Dag(chain), Dag(chain))
    assert (found.shd, found.sid, found.oset_aid) == (0, 0, None) and "o-set AID was left out" in str(found)
