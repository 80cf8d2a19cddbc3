"""Where the nodes of a DAG go on a page of some shape: from left to right, readable, and so that they fill it.

First by the method of Sugiyama, Tagawa and Toda (1981): layers, orders within layers, coordinates, long edges routed
round the nodes. A graph with long paths is a ribbon then, which on a page is too small to read: its nodes are placed by
forces instead, with x still increasing along every edge, but labels above each other where layers are closer than they
are wide. What is readable is then stretched to the shape of the page. All of it is deterministic.
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
ASPECT = 1.45
"""Width to height of the box that the report draws in."""
# The width of that box in pixels; a drawing that has to be shrunk below this share of its size is hard to read, and one
# without layers has to be so much larger to be worth it.
PAGE, READABLE, WORTH = 840.0, 0.62, 1.3
# More layers than this times the root of the nodes are a ribbon.
RIBBON = 1.8
# Beyond so many nodes forces take seconds, and no drawing is read as a whole.
LARGEST_FORCED = 320
FORCE_STEPS, COOLING = 250, 0.985
# Rows and columns are drawn apart to fill a page, but not further than this.
WIDEST_STRETCH = 6.0
# How far the middle of a curved edge is beside the line between its ends, as a share of its length.
BOW = 0.1


@dataclass(frozen=True, eq=False)
class Layout:
    """Coordinates in pixels, y downwards; every edge leads to the right, from centre to centre.

    Attributes
    ----------
    x, y, widths : ndarrays of shape (d,)
        Centre and width of each node; all have the height `NODE_HEIGHT`.
    layers : ndarray of int, shape (d,)
        Column of each node from the left.
    bends : mapping of (i, j) to a tuple of points
        Where an edge that skips layers passes them, if nodes are placed in layers.
    width, height : float
        Of the smallest box around all nodes, which starts at (0, 0).
    layered : bool
        Whether edges can leave at the right side of a node and enter at the left side of another.
    """

    x: Floats
    y: Floats
    widths: Floats
    layers: Integers
    bends: dict[tuple[int, int], tuple[Point, ...]]
    width: float
    height: float
    layered: bool = True

    def route(self, source: int, target: int) -> list[Point]:
        """The points that an edge passes: level ones between layers, else the ends and the middle of one curve."""
        x, y, half = self.x, self.y, self.widths / 2
        if self.layered:
            start, end = (x[source] + half[source], y[source]), (x[target] - half[target], y[target])
            return [start, *self.bends.get((source, target), ()), end]
        ends = [(float(x[node]), float(y[node])) for node in (source, target)]
        along, down = ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]
        middle = (ends[0][0] + along / 2 + BOW * down, ends[0][1] + down / 2 - BOW * along)
        if self._holds(source, middle) or self._holds(target, middle):
            start, end = self._border(source, ends[1]), self._border(target, ends[0])
            return [start, ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2), end]
        return [self._border(source, middle), middle, self._border(target, middle)]

    def _holds(self, node: int, point: Point) -> bool:
        across, down = abs(point[0] - self.x[node]), abs(point[1] - self.y[node])
        return bool(across < self.widths[node] / 2 and down < NODE_HEIGHT / 2)

    def _border(self, node: int, towards: Point) -> Point:
        """Where a line from the centre of a node to a point outside leaves its box."""
        across, down = towards[0] - self.x[node], towards[1] - self.y[node]
        scale = 1 / max(2 * abs(across) / self.widths[node], 2 * abs(down) / NODE_HEIGHT)
        return float(self.x[node] + scale * across), float(self.y[node] + scale * down)


def shorten_name(name: str) -> str:
    """The name as it is drawn: on one line, and cut where it is long."""
    line = " ".join(name.split()) or "∅"
    return line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"


def place_nodes(dag: AcyclicGraph, aspect: float = ASPECT) -> Layout:
    """Place the nodes of a DAG in a box that is ``aspect`` times as wide as it is high.

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
    placed = _place_in_layers(layers, adjacency, joined, widths)
    shown = _shrunk_to(placed, aspect)
    is_ribbon = layers.max() + 1 > RIBBON * np.sqrt(joined.sum())
    if shown < READABLE and is_ribbon and 3 < joined.sum() <= LARGEST_FORCED:
        other = _place_by_forces(layers, adjacency, joined, widths, dag.order, aspect)
        placed = other if _shrunk_to(other, aspect) > WORTH * shown else placed
    return _fill(placed, aspect)


def _shrunk_to(placed: Layout, aspect: float) -> float:
    """The share of its size at which the page shows a drawing."""
    return min(PAGE / placed.width, PAGE / aspect / placed.height)


def _place_in_layers(layers: Integers, adjacency: Bools, joined: Bools, widths: Floats) -> Layout:
    drawing = _Drawing(layers, adjacency, joined)
    drawing.sort_layers()
    x, y = np.zeros(len(widths)), np.zeros(len(widths))
    vertical = _close_gaps(drawing.find_coordinates())
    columns = _place_columns(widths, layers, joined, float(np.ptp(vertical)) if len(vertical) else 0.0)
    x[joined] = columns[layers[joined]]
    y[joined] = vertical[: len(drawing.nodes)]
    bends = {
        edge: tuple((float(columns[layer]), float(vertical[vertex])) for layer, vertex in chain)
        for edge, chain in drawing.chains.items()
    }
    return _frame(x, y, widths, layers, joined, bends, layered=True)


def _close_gaps(y: Floats) -> Floats:
    """The same heights without empty bands across the whole drawing, as parts that are not joined leave them."""
    order = np.argsort(y, kind="stable")
    steps = np.minimum(np.diff(y[order], prepend=y[order][:1]), NODE_HEIGHT + NODE_GAP)
    closed = np.empty_like(y)
    closed[order] = np.cumsum(steps)
    return closed


def _frame(
    x: Floats,
    y: Floats,
    widths: Floats,
    layers: Integers,
    joined: Bools,
    bends: dict[tuple[int, int], tuple[Point, ...]],
    *,
    layered: bool,
) -> Layout:
    """The layout in the smallest box that starts at (0, 0), with what has no edges below the rest."""
    _place_isolated(x, y, widths, np.flatnonzero(~joined))
    along, down = (np.array([point[k] for chain in bends.values() for point in chain]) for k in (0, 1))
    left, right = (x - widths / 2).min(), max((x + widths / 2).max(), along.max(initial=-np.inf))
    top = min(y.min() - NODE_HEIGHT / 2, down.min(initial=np.inf) - NODE_HEIGHT / 2)
    bottom = max(y.max(), down.max(initial=-np.inf)) + NODE_HEIGHT / 2
    moved = {edge: tuple((a - left, b - top) for a, b in chain) for edge, chain in bends.items()}
    return Layout(x - left, y - top, widths, layers, moved, float(right - left), float(bottom - top), layered)


def _fill(placed: Layout, aspect: float) -> Layout:
    """Stretch what is between the nodes to the shape of the page, and to its size if it is smaller."""
    half = placed.widths / 2
    span = float(np.ptp(placed.x)), placed.height - NODE_HEIGHT
    ends = placed.width - span[0], placed.height - span[1]
    width = max(placed.width, aspect * placed.height, 0.62 * PAGE)
    wanted = width, width / aspect
    across, down = (
        min((size - end) / length, WIDEST_STRETCH) if length > 0 and size > end + length else 1.0
        for size, end, length in zip(wanted, ends, span)
    )
    left, top = float((placed.x - half).min()), NODE_HEIGHT / 2
    # Nodes keep their widths: only centres move apart.
    x, y = placed.x * across, (placed.y - top) * down + top
    shift = float((x - half).min()) - left
    bends = {
        edge: tuple((a * across - shift, (b - top) * down + top) for a, b in chain)
        for edge, chain in placed.bends.items()
    }
    lowest = max((b for chain in bends.values() for _, b in chain), default=0.0)
    furthest = max((a for chain in bends.values() for a, _ in chain), default=0.0)
    right, bottom = max(float((x - shift + half).max()), furthest), max(float(y.max()), lowest) + NODE_HEIGHT / 2
    return Layout(x - shift, y, placed.widths, placed.layers, bends, right, bottom, placed.layered)


def _place_by_forces(
    layers: Integers, adjacency: Bools, joined: Bools, widths: Floats, order: Integers, aspect: float
) -> Layout:
    """Nodes repel each other, edges pull, and every edge leads to the right."""
    nodes = np.flatnonzero(joined)
    edges = adjacency[np.ix_(nodes, nodes)]
    place = {node: k for k, node in enumerate(nodes.tolist())}
    sequence = [place[node] for node in order.tolist() if node in place]
    area = float(((widths[nodes] + 46) * (NODE_HEIGHT + 40)).sum()) * 1.5
    forces = _Forces(edges, sequence, (float(np.sqrt(area * aspect)), float(np.sqrt(area / aspect))), widths[nodes])
    forces.settle()
    x, y = np.zeros(len(widths)), np.zeros(len(widths))
    x[nodes], y[nodes] = forces.x, _separate(forces.x, forces.y, widths[nodes])
    return _frame(x, y, widths, layers, joined, {}, layered=False)


class _Forces:
    """Positions in a box that springs and repulsion settle; x grows along every edge by a share of the box."""

    def __init__(self, edges: Bools, sequence: list[int], box: tuple[float, float], widths: Floats) -> None:
        self.edges, self.sequence = edges, sequence
        self.parents = [np.flatnonzero(column) for column in edges.T]
        self.width, self.height = box
        before, after = np.zeros(len(edges)), np.zeros(len(edges))
        for node in sequence:
            before[node] = before[self.parents[node]].max(initial=-1.0) + 1
        for node in reversed(sequence):
            after[node] = after[np.flatnonzero(edges[node])].max(initial=-1.0) + 1
        longest = max(float(before.max()), 1.0)
        self.step = 0.6 * self.width / longest
        self.low, self.high = self.step * before, self.width - self.step * after
        self.anchor = (before + longest - after) / (2 * longest) * self.width
        self.x, self.y = self.anchor.copy(), self._start()
        # Labels are wide: what is beside each other has to be further apart than what is above each other.
        self.flat = (NODE_HEIGHT + 30) / (float(widths.mean()) + 30)

    def _start(self) -> Floats:
        """Heights by the smoothest waves over the graph, but for what they have in common with x."""
        joined = (self.edges | self.edges.T).astype(float)
        degree = joined.sum(axis=1)
        _, vectors = np.linalg.eigh(np.diag(degree) - joined)
        wave = _without_trend(vectors[:, 1:4] @ np.array([1.0, 0.5, 0.25])[: vectors.shape[1] - 1], self.anchor)
        # Its sign is a matter of rounding: the node furthest out is below.
        wave = wave * (np.sign(wave[np.argmax(np.round(np.abs(wave), 6))]) or 1.0)
        ranks = np.argsort(np.argsort(np.round(wave, 6), kind="stable"), kind="stable")
        return np.asarray((ranks + 0.5) / len(ranks) * self.height)

    def settle(self) -> None:
        """Move by the forces, ever less far, within the box."""
        count = len(self.x)
        ideal = float(np.sqrt(self.flat * self.width * self.height / count))
        joined = (self.edges | self.edges.T).astype(float)
        joined /= np.maximum(np.sqrt(np.outer(joined.sum(axis=0), joined.sum(axis=1))), 1.0) ** 0.5
        furthest = 0.12 * self.height
        for step in range(FORCE_STEPS):
            if step in (FORCE_STEPS // 4, FORCE_STEPS // 2):
                # A drawing that leans leaves two corners of the page empty.
                level = _without_trend(self.y, self.x)
                self.y = (level - level.min()) / (float(np.ptp(level)) or 1.0) * self.height
            across = self.flat * (self.x[:, None] - self.x[None, :])
            down = self.y[:, None] - self.y[None, :]
            distance = np.maximum(np.hypot(across, down), 1.0)
            pull = ideal**2 / distance**2 - joined * distance / ideal
            np.fill_diagonal(pull, 0.0)
            self._move((pull * across).sum(axis=1), (pull * down).sum(axis=1), furthest)
            furthest *= COOLING
        self.y -= self.y.min()

    def _move(self, across: Floats, down: Floats, furthest: float) -> None:
        size = np.maximum(np.hypot(across, down), 1e-9)
        scale = np.minimum(size, furthest) / size
        self.y = np.clip(self.y + down * scale, 0.0, self.height)
        wish = 0.92 * (self.x + across * scale / self.flat) + 0.08 * self.anchor
        for node in self.sequence:
            least = (self.x[self.parents[node]] + self.step).max(initial=self.low[node])
            self.x[node] = min(max(wish[node], least), self.high[node])


def _without_trend(values: Floats, x: Floats) -> Floats:
    centred = x - x.mean()
    return np.asarray(values - values.mean() - centred * float(centred @ values) / (float(centred @ centred) or 1.0))


def _separate(x: Floats, y: Floats, widths: Floats) -> Floats:
    """Heights at which no two labels overlap: from the top down, each below those that it would cover."""
    placed = y.copy()
    done: list[int] = []
    for node in np.lexsort((x, np.round(y, 3))).tolist():
        near = [other for other in done if abs(x[other] - x[node]) < (widths[other] + widths[node]) / 2 + NODE_GAP]
        placed[node] = max([y[node], *(placed[other] + NODE_HEIGHT + NODE_GAP for other in near)])
        done.append(node)
    return placed


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
    top = y[rest].max() + 1.25 * (NODE_HEIGHT + NODE_GAP) if len(rest) else 0.0
    page = max((x[rest] + widths[rest] / 2).max() - left if len(rest) else 0.0, 90.0 * np.sqrt(len(nodes)))
    across, down = 0.0, 0
    for node in nodes:
        if across and across + widths[node] > page:
            across, down = 0.0, down + 1
        x[node] = left + across + widths[node] / 2
        y[node] = top + down * (NODE_HEIGHT + NODE_GAP)
        across += widths[node] + NODE_GAP
