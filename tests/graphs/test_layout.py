from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from acyclic.data.simulate import random_dag
from acyclic.graphs.dag import Dag
from acyclic.graphs.layout import (
    EDGE_GAP,
    NODE_GAP,
    NODE_HEIGHT,
    _count_inversions,
    _Drawing,
    assign_layers,
    place_nodes,
    shorten_name,
)
from strategies import dags


def drawing(dag):
    joined = dag.adjacency.any(axis=0) | dag.adjacency.any(axis=1)
    return _Drawing(assign_layers(dag), dag.adjacency, joined)


@given(dags(max_nodes=12))
def test_every_edge_leads_to_the_right(dag):
    placed = place_nodes(dag)
    for i, j in np.argwhere(dag.adjacency).tolist():
        assert placed.x[i] < placed.x[j]
        if not placed.layered:
            assert placed.bends == {}
            continue
        xs = [placed.x[i] + placed.widths[i] / 2, *(x for x, _ in placed.bends.get((i, j), ()))]
        xs.append(placed.x[j] - placed.widths[j] / 2)
        assert (np.diff(xs) > 0).all()
        assert len(placed.bends.get((i, j), ())) == placed.layers[j] - placed.layers[i] - 1


@given(dags(max_nodes=12))
def test_no_two_nodes_overlap_and_all_lie_in_the_box(dag):
    placed = place_nodes(dag)
    for i, j in combinations(range(dag.n_nodes), 2):
        beside = abs(placed.x[i] - placed.x[j]) >= (placed.widths[i] + placed.widths[j]) / 2
        assert beside or abs(placed.y[i] - placed.y[j]) >= NODE_HEIGHT
    assert (placed.x - placed.widths / 2).min() == pytest.approx(0, abs=1e-9)
    assert (placed.x + placed.widths / 2).max() <= placed.width + 1e-9
    assert (placed.y - NODE_HEIGHT / 2).min() >= -1e-9
    assert (placed.y + NODE_HEIGHT / 2).max() <= placed.height + 1e-9


@given(dags(max_nodes=10))
def test_a_bend_is_clear_of_the_nodes_of_its_layer(dag):
    placed, drawn = place_nodes(dag), drawing(dag)
    for bends in placed.bends.values():
        for x, y in bends:
            column = np.flatnonzero((np.abs(placed.x - x) < 1e-6) & dag.adjacency.any(axis=0))
            gaps = np.abs(placed.y[column] - y)
            assert (gaps >= (NODE_HEIGHT + NODE_GAP + drawn.edge_gap) / 2 - 1e-6).all()


def test_the_same_graph_has_the_same_places():
    dag = Dag(random_dag(40, "SF3", 1).astype(float))
    once, again = place_nodes(dag), place_nodes(dag)
    assert once.x.tobytes() == again.x.tobytes() and once.y.tobytes() == again.y.tobytes()
    assert once.bends == again.bends


def test_layers_by_hand():
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("root", "d"), ("a", "leaf")]
    dag = Dag.from_edges(edges, ["a", "b", "c", "d", "root", "leaf", "alone"])
    assert dict(zip(dag.names, assign_layers(dag).tolist())) == {
        "a": 0, "b": 1, "c": 2, "d": 3, "root": 2, "leaf": 1, "alone": 0,
    }  # fmt: skip


def test_crossings_are_found_and_removed():
    # a, b, c lead to z, y, x: three crossings as given, none in the best order.
    dag = Dag.from_edges([("a", "z"), ("b", "y"), ("c", "x")], names=["a", "b", "c", "x", "y", "z"])
    drawn = drawing(dag)
    assert drawn.count_crossings() == 3
    drawn.sort_layers()
    assert drawn.count_crossings() == 0


@given(dags(max_nodes=10))
def test_ordering_never_adds_crossings(dag):
    drawn = drawing(dag)
    before = drawn.count_crossings()
    drawn.sort_layers()
    assert drawn.count_crossings() <= before


def test_inversions_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 6, (40, 2)).astype(float)
    naive = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(pairs.tolist(), 2))
    assert _count_inversions(pairs) == naive


def test_isolated_nodes_are_below_the_rest():
    dag = Dag.from_edges([("a", "b")], names=["a", "b", *(f"alone {k}" for k in range(30))])
    placed = place_nodes(dag)
    assert placed.y[2:].min() > placed.y[:2].max() + NODE_HEIGHT
    assert len(set(placed.y[2:].tolist())) > 1


def test_a_chain_is_straight():
    dag = Dag.from_edges([("a", "b"), ("b", "c"), ("c", "d")], names=["a", "b", "c", "d"])
    assert np.ptp(place_nodes(dag).y) == pytest.approx(0)


def test_many_bends_move_closer():
    few = drawing(Dag.from_edges([("a", "b"), ("b", "c"), ("a", "c")], names=["a", "b", "c"]))
    many = drawing(Dag(np.triu(np.ones((14, 14)), 1)))
    assert few.edge_gap == EDGE_GAP > many.edge_gap > 0


@pytest.mark.parametrize(
    ("name", "drawn"), [("rain", "rain"), ("two\nlines", "two lines"), ("", "∅"), ("n" * 300, "n" * 23 + "…")]
)
def test_labels_are_one_short_line(name, drawn):
    assert shorten_name(name) == drawn


def ribbon(d=31, seed=0):
    """A dense graph with a path through all of its nodes."""
    weights = np.triu(np.random.default_rng(seed).random((d, d)) < 0.35, 1) | np.eye(d, k=1, dtype=bool)
    return Dag(weights.astype(float), [f"a rather long name {k}" for k in range(d)])


def shown_at(placed, width=830.0, height=564.0):
    """The zoom at which a page shows it, and the share of the page that it fills."""
    zoom = min(width / placed.width, height / placed.height, 1.6)
    return zoom, placed.width * placed.height * zoom**2 / (width * height)


@pytest.mark.parametrize("d", [8, 16, 31, 60])
def test_a_graph_with_long_paths_is_readable_and_fills_its_box(d):
    placed = place_nodes(ribbon(d))
    zoom, filled = shown_at(placed)
    # In layers it would be d labels of 170 pixels in a row, with gaps.
    assert filled >= 0.6 and zoom > 2 * 830 / (d * 240)


@pytest.mark.parametrize("graph", ["ER1", "ER2", "SF2"])
@pytest.mark.parametrize("d", [10, 30, 60])
def test_sparse_graphs_fill_their_box(d, graph):
    placed = place_nodes(Dag(random_dag(d, graph, 3).astype(float)))
    assert shown_at(placed)[1] >= 0.6


@pytest.mark.parametrize("aspect", [0.6, 1.0, 2.0])
def test_the_box_has_the_shape_that_was_asked_for(aspect):
    placed = place_nodes(Dag(random_dag(40, "ER2", 1).astype(float)), aspect)
    assert placed.width / placed.height == pytest.approx(aspect, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_no_labels_overlap_without_layers(seed):
    dag = ribbon(40, seed)
    placed = place_nodes(dag)
    assert not placed.layered
    for i, j in combinations(range(dag.n_nodes), 2):
        beside = abs(placed.x[i] - placed.x[j]) >= (placed.widths[i] + placed.widths[j]) / 2
        assert beside or abs(placed.y[i] - placed.y[j]) >= NODE_HEIGHT


def test_a_curve_leaves_and_enters_at_the_borders():
    dag = ribbon()
    placed = place_nodes(dag)
    for i, j in np.argwhere(dag.adjacency).tolist():
        start, _, end = placed.route(i, j)
        for node, (x, y) in ((i, start), (j, end)):
            across, down = (
                abs(x - placed.x[node]) / (placed.widths[node] / 2),
                abs(y - placed.y[node]) / (NODE_HEIGHT / 2),
            )
            assert max(across, down) == pytest.approx(1)
