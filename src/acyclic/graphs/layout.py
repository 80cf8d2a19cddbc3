"""Where the nodes of a DAG go on a page: layers from left to right, few crossings, long edges routed round the nodes.

The method is that of Sugiyama, Tagawa and Toda (1981): layers, orders within layers, coordinates. It is deterministic.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from acyclic.graphs.protocols import AcyclicGraph
from acyclic.types import Bools, Floats, Integers

__all__ = ["Layout", "Point", "assign_layers", "place_nodes", "shorten_name"]

Point = tuple[float, float]

NODE_HEIGHT, NODE_GAP, EDGE_GAP = 30.0, 16.0, 14.0
CHARACTER, PADDING, LONGEST_LABEL = 7.6, 22.0, 24
NARROWEST_GAP, WIDEST_GAP = 70.0, 420.0
SWEEPS, PATIENCE = 12, 3


@dataclass(frozen=True, eq=False)
class Layout:
    """Coordinates in pixels, y downwards; every edge leads to the right.

    Attributes
    ----------
    x, y, widths : ndarrays of shape (d,)
        Centre and width of each node; all have the height `NODE_HEIGHT`.
    layers : ndarray of int, shape (d,)
        Column of each node from the left.
    bends : mapping of (i, j) to a tuple of points
        Where an edge that skips layers passes them.
    width, height : float
        Of the smallest box around all nodes, which starts at (0, 0).
    """

    x: Floats
    y: Floats
    widths: Floats
    layers: Integers
    bends: dict[tuple[int, int], tuple[Point, ...]]
    width: float
    height: float


def shorten_name(name: str) -> str:
    """The name as it is drawn: on one line, and cut where it is long."""
    line = " ".join(name.split()) or "∅"
    return line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"


def place_nodes(dag: AcyclicGraph) -> Layout:
    """Place the nodes of a DAG.

    Examples
    --------
    >>> from acyclic import Dag
    >>> placed = place_nodes(Dag.from_edges([("a", "b"), ("b", "c"), ("a", "c")], names=["a", "b", "c"]))
    >>> placed.layers.tolist(), bool((np.diff(placed.x) > 0).all())
    ([0, 1, 2], True)
    """
    adjacency = np.not_equal(dag.weights, 0)
    joined = np.asarray(adjacency.any(axis=0) | adjacency.any(axis=1))
    widths = np.array([max(CHARACTER * len(shorten_name(name)) + PADDING, 44.0) for name in dag.names])
    layers = assign_layers(dag)
    drawing = _Drawing(layers, adjacency, joined)
    drawing.sort_layers()
    x, y = np.zeros(len(widths)), np.zeros(len(widths))
    vertical = drawing.find_coordinates()
    columns = _place_columns(widths, layers, joined, float(np.ptp(vertical)) if len(vertical) else 0.0)
    x[joined] = columns[layers[joined]]
    y[joined] = vertical[: len(drawing.nodes)]
    _place_isolated(x, y, widths, np.flatnonzero(~joined))
    left, top = (x - widths / 2).min(), min(y.min(), vertical.min(initial=np.inf)) - NODE_HEIGHT / 2
    bends = {
        edge: tuple((float(columns[layer] - left), float(vertical[vertex] - top)) for layer, vertex in chain)
        for edge, chain in drawing.chains.items()
    }
    lowest = max(y.max(), vertical.max(initial=-np.inf)) + NODE_HEIGHT / 2
    right = max((x + widths / 2).max(), columns.max(initial=-np.inf))
    return Layout(x - left, y - top, widths, layers, bends, float(right - left), float(lowest - top))


def assign_layers(dag: AcyclicGraph) -> Integers:
    """Layer of each node: after all its parents, and next to its children where they outnumber its parents.

    Examples
    --------
    >>> from acyclic import Dag
    >>> assign_layers(Dag.from_edges([("a", "b"), ("b", "c"), ("z", "c")], names=["a", "b", "c", "z"])).tolist()
    [0, 1, 2, 1]
    """
    layers = np.zeros(len(dag.names), dtype=np.intp)
    children = [np.flatnonzero(row) for row in dag.weights]
    for node in dag.order.tolist():
        layers[children[node]] = np.maximum(layers[children[node]], layers[node] + 1)
    n_parents = np.count_nonzero(dag.weights, axis=0)
    for node in dag.order[::-1].tolist():
        if len(children[node]) > n_parents[node]:
            layers[node] = layers[children[node]].min() - 1
    return layers


class _Drawing:
    """Nodes that have edges, and a bend wherever an edge crosses a layer; each segment joins neighbouring layers."""

    def __init__(self, layers: Integers, adjacency: Bools, joined: Bools) -> None:
        self.nodes = np.flatnonzero(joined)
        vertex = {node: place for place, node in enumerate(self.nodes.tolist())}
        vertex_layers = layers[self.nodes].tolist()
        segments: list[tuple[int, int]] = []
        self.chains: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for source, target in np.argwhere(adjacency).tolist():
            chain = [
                (layer, len(vertex_layers) + k) for k, layer in enumerate(range(layers[source] + 1, layers[target]))
            ]
            vertex_layers += [layer for layer, _ in chain]
            path = [vertex[source], *(place for _, place in chain), vertex[target]]
            segments += pairwise(path)
            if chain:
                self.chains[source, target] = chain
        self.layers = np.array(vertex_layers, dtype=np.intp)
        self.segments = np.array(segments, dtype=np.intp).reshape(-1, 2)
        self.members = [np.flatnonzero(self.layers == layer) for layer in range(max(vertex_layers, default=-1) + 1)]
        before = self.layers[self.segments[:, 1]]
        self.before = [self.segments[before == layer] for layer in range(len(self.members))]
        self.is_bend = np.arange(len(self.layers)) >= len(self.nodes)
        # Where bends are many they move closer, or a large drawing would be mostly edges.
        self.edge_gap = EDGE_GAP * min(1.0, float(np.sqrt(len(self.nodes) / max(self.is_bend.sum(), 1))))

    def sort_layers(self) -> None:
        """Sort each layer by the mean place of its neighbours, to and fro; the order with fewest crossings stays."""
        best, fewest, unimproved = self.members, self.count_crossings(), 0
        for forward in [True, False] * SWEEPS:
            self.members = self._sweep(forward)
            crossings = self.count_crossings()
            unimproved += 1
            if crossings < fewest:
                best, fewest, unimproved = self.members, crossings, 0
            if unimproved > 2 * PATIENCE or not fewest:
                break
        self.members = best

    def count_crossings(self) -> int:
        """Number of crossings of segments."""
        place = self._find_places()
        return sum(_count_inversions(place[segments]) for segments in self.before)

    def find_coordinates(self) -> Floats:
        """Vertical position of each vertex: near its neighbours, in the order found, and not on top of another."""
        y = np.zeros(len(self.layers))
        offsets = [self._pack(members) for members in self.members]
        for members, offset in zip(self.members, offsets):
            y[members] = offset - offset.mean()
        # A bend that moves makes an edge crooked, so bends weigh more than nodes.
        weight = np.where(self.is_bend, 8.0, 1.0)
        for sides in [(True, False), (False, True)] * (SWEEPS // 2) + [(True, True)] * 3:
            for layer in self._list_layers(forward=sides[0]):
                members, offset = self.members[layer], offsets[layer]
                wish = self._average_neighbours(layer, y, weight, *sides)[members]
                y[members] = _space_out(np.where(np.isnan(wish), y[members], wish), offset, weight[members])
        return y

    def _sweep(self, forward: bool) -> list[Integers]:
        place = self._find_places()
        members = list(self.members)
        for layer in self._list_layers(forward):
            wish = self._average_neighbours(layer, place, np.ones(len(place)), forward, not forward)[members[layer]]
            wish = np.where(np.isnan(wish), place[members[layer]], wish)
            members[layer] = members[layer][np.argsort(wish, kind="stable")]
            place[members[layer]] = np.linspace(0, 1, len(members[layer]) + 2)[1:-1]
        return members

    def _list_layers(self, forward: bool) -> Iterator[int]:
        return iter(range(len(self.members)) if forward else reversed(range(len(self.members))))

    def _find_places(self) -> Floats:
        """Place of each vertex within its layer, from 0 to 1."""
        place = np.zeros(len(self.layers))
        for members in self.members:
            place[members] = np.linspace(0, 1, len(members) + 2)[1:-1]
        return place

    def _average_neighbours(self, layer: int, values: Floats, weight: Floats, left: bool, right: bool) -> Floats:
        """Weighted mean over the neighbours on the sides asked for; nan where there are none."""
        pairs = [self.before[layer][:, ::-1]] if left else []
        if right and layer + 1 < len(self.members):
            pairs.append(self.before[layer + 1])
        ends = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.intp)
        share = weight[ends[:, 1]]
        total = np.bincount(ends[:, 0], share, minlength=len(values))
        summed = np.bincount(ends[:, 0], share * values[ends[:, 1]], minlength=len(values))
        return np.asarray(np.divide(summed, total, out=np.full(len(values), np.nan), where=total > 0))

    def _pack(self, members: Integers) -> Floats:
        """Position of each vertex of a layer if all are packed from the top, as close as they may be."""
        half = np.where(self.is_bend[members], self.edge_gap / 2, (NODE_HEIGHT + NODE_GAP) / 2)
        return np.asarray(np.cumsum(half) + np.concatenate([[0.0], np.cumsum(half)[:-1]]))


def _space_out(wish: Floats, offset: Floats, weight: Floats) -> Floats:
    """The positions nearest to those wished for that keep order and distances: an isotonic regression."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(wish - offset, weights=weight).x + offset)


def _count_inversions(pairs: NDArray[np.float64]) -> int:
    """Pairs of segments whose ends are in opposite order."""
    seen: list[float] = []
    count = 0
    for end in pairs[np.lexsort((pairs[:, 1], pairs[:, 0])), 1].tolist():
        count += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return count


def _place_columns(widths: Floats, layers: Integers, joined: Bools, height: float) -> Floats:
    """Horizontal centre of each layer, the gaps wide where the drawing is high, so that edges are not too steep."""
    if not joined.any():
        return np.empty(0)
    widest = np.zeros(layers[joined].max() + 1)
    np.maximum.at(widest, layers[joined], widths[joined])
    gap = float(np.clip(height / (1.2 * len(widest)), NARROWEST_GAP, WIDEST_GAP))
    return np.concatenate([[0.0], np.cumsum((widest[:-1] + widest[1:]) / 2 + gap)])


def _place_isolated(x: Floats, y: Floats, widths: Floats, nodes: Sequence[int] | Integers) -> None:
    """Put nodes without edges in rows below the rest."""
    if not len(nodes):
        return
    rest = np.setdiff1d(np.arange(len(x)), nodes)
    left = (x[rest] - widths[rest] / 2).min() if len(rest) else 0.0
    top = y[rest].max() + 2 * (NODE_HEIGHT + NODE_GAP) if len(rest) else 0.0
    page = max((x[rest] + widths[rest] / 2).max() - left if len(rest) else 0.0, 90.0 * np.sqrt(len(nodes)))
    across, down = 0.0, 0
    for node in nodes:
        if across and across + widths[node] > page:
            across, down = 0.0, down + 1
        x[node] = left + across + widths[node] / 2
        y[node] = top + down * (NODE_HEIGHT + NODE_GAP)
        across += widths[node] + NODE_GAP
