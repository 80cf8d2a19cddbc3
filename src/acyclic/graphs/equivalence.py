"""Markov equivalence: which edges every equivalent DAG shares, and which may be turned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from acyclic.errors import InputError, show_name
from acyclic.graphs.checks import (
    EdgeDirection,
    check_ends,
    check_marks,
    check_names,
    check_square,
    match_names,
    orient_matrix,
)
from acyclic.graphs.cycles import sort_topologically
from acyclic.graphs.edge_list import EdgeList, ListedEdge
from acyclic.graphs.protocols import AcyclicGraph
from acyclic.graphs.showing import Shown
from acyclic.graphs.writing import Writable
from acyclic.types import Bools, Integers

# What follows from an edge may be as much as its component holds: beyond this, counting it for all would take seconds.
MOST_IN_COMPONENT = 300


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Cpdag(Writable, Shown):
    """A graph with directed and undirected edges, as it stands for a Markov equivalence class.

    The constructor takes any such graph (also a bare skeleton, or the output of another tool); `is_complete`
    says whether it is exactly the CPDAG of some DAG.

    Parameters
    ----------
    names : iterable of str or None
        One unique name per node; None for x0, x1, ….
    directed : array_like of bool, shape (d, d)
        Entry (i, j) is the directed edge i → j.
    undirected : array_like of bool, shape (d, d), symmetric
        Entries (i, j) and (j, i) are the undirected edge i – j.

    Examples
    --------
    >>> from acyclic import Dag
    >>> chain = Dag.from_edges([("a", "b"), ("b", "c")], names=["a", "b", "c"])
    >>> chain.cpdag()
    Cpdag(3 nodes, 0 directed and 2 undirected edges)
    """

    names: tuple[str, ...]
    directed: Bools
    undirected: Bools

    def __init__(self, names: Iterable[str] | None, directed: ArrayLike, undirected: ArrayLike) -> None:
        arrows, lines = check_marks(directed, "directed"), check_marks(undirected, "undirected")
        _check_mixed(arrows, lines)
        arrows.flags.writeable = lines.flags.writeable = False
        object.__setattr__(self, "names", check_names(names, len(arrows)))
        object.__setattr__(self, "directed", arrows)
        object.__setattr__(self, "undirected", lines)

    @classmethod
    def from_arcs(cls, arcs: ArrayLike, names: Iterable[str] | None = None, *, edge_direction: EdgeDirection) -> Cpdag:
        """Read the matrix form in which two arcs, i → j and j → i, stand for the undirected edge i – j."""
        present = orient_matrix(arcs, edge_direction) != 0
        return cls(names, present & ~present.T, present & present.T)

    @classmethod
    def from_edges(
        cls, directed: Iterable[tuple[str, str]], undirected: Iterable[tuple[str, str]], names: Iterable[str]
    ) -> Cpdag:
        """Make a graph from named edges: (source, target) if directed, the two ends in any order if not.

        Examples
        --------
        >>> Cpdag.from_edges([("a", "b")], [("c", "b")], names=["a", "b", "c"]).undirected_edges()
        [('b', 'c')]
        """
        labels = check_names(names)
        index = {name: position for position, name in enumerate(labels)}
        return cls(labels, _place_edges(directed, "→", index), _place_edges(undirected, "–", index))

    @property
    def n_nodes(self) -> int:
        """Number of nodes, d."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges, directed and undirected."""
        return int(np.count_nonzero(self.directed) + np.count_nonzero(self.undirected) // 2)

    @property
    def arcs(self) -> Bools:
        """Boolean matrix of shape (d, d) in which an undirected edge stands as both arcs."""
        return self.directed | self.undirected

    @property
    def skeleton(self) -> Bools:
        """Symmetric boolean matrix of shape (d, d): joined by an edge of either kind."""
        return self.arcs | self.arcs.T

    @property
    def is_complete(self) -> bool:
        """Whether this is the CPDAG of some DAG, neither more nor less directed."""
        try:
            return find_cpdag(extend_consistently(self), self.names) == self
        except InputError:
            return False

    def directed_edges(self) -> list[tuple[str, str]]:
        """List (source, target) of the directed edges, by position."""
        return [(self.names[i], self.names[j]) for i, j in np.argwhere(self.directed).tolist()]

    def undirected_edges(self) -> list[tuple[str, str]]:
        """List the undirected edges, by position, each once with its earlier node first."""
        return [(self.names[i], self.names[j]) for i, j in np.argwhere(np.triu(self.undirected)).tolist()]

    def reordered(self, names: Sequence[str]) -> Cpdag:
        """Give the same graph with its nodes in the order of `names`, a permutation of its own."""
        positions = match_names(self.names, names)
        grid = np.ix_(positions, positions)
        return Cpdag(names, self.directed[grid], self.undirected[grid])

    def table(self) -> list[dict[str, Any]]:
        """List the edges as rows, the directed ones first."""
        return [
            {"source": edge.source, "target": edge.target, "directed": edge.directed}
            for edge in self.list_edges().edges
        ]

    def list_edges(self) -> EdgeList:
        """Give names and edges as writers take them, the directed ones first."""
        arrows = [ListedEdge(*ends) for ends in self.directed_edges()]
        lines = [ListedEdge(*ends, directed=False) for ends in self.undirected_edges()]
        return EdgeList(self.names, [*arrows, *lines], is_class=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cpdag):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.arcs, other.arcs)

    def __hash__(self) -> int:
        return hash((self.names, self.arcs.tobytes()))

    def __repr__(self) -> str:
        counts = len(self.directed_edges()), len(self.undirected_edges())
        return f"Cpdag({self.n_nodes} nodes, {counts[0]} directed and {counts[1]} undirected edges)"

    def __reduce__(self) -> tuple[type[Cpdag], tuple[tuple[str, ...], Bools, Bools]]:
        return Cpdag, (self.names, self.directed, self.undirected)


def _place_edges(edges: Iterable[tuple[str, str]], sign: Literal["→", "–"], index: Mapping[str, int]) -> Bools:
    placed = np.zeros((len(index), len(index)), dtype=np.bool_)
    for source, target in edges:
        edge = f"the edge {show_name(source)} {sign} {show_name(target)}"
        check_ends(edge, (source, target), index)
        i, j = index[source], index[target]
        if placed[i, j]:
            raise InputError(f"{edge} is given twice")
        placed[i, j] = True
        placed[j, i] |= sign == "–"
    return placed


def _check_mixed(directed: Bools, undirected: Bools) -> None:
    faults = (
        (undirected & ~undirected.T, "is undirected in one entry only; undirected must be symmetric"),
        (directed & undirected, "is both directed and undirected"),
        (directed & directed.T, "is directed both ways; say undirected, or use Cpdag.from_arcs"),
        (np.diag(undirected.diagonal()), "joins a node to itself"),
    )
    if directed.shape != undirected.shape:
        raise InputError(f"directed has the shape {directed.shape}, undirected {undirected.shape}; make them equal")
    for wrong, fault in faults:
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise InputError(f"the edge between nodes {i} and {j} {fault}")


def find_cpdag(dag: AcyclicGraph | ArrayLike, names: Iterable[str] | None = None) -> Cpdag:
    """Give the CPDAG of a DAG: its skeleton, with the edges directed that all equivalent DAGs share.

    Parameters
    ----------
    dag : Dag, or array_like of shape (d, d)
        In an array, entry (i, j) is the edge i → j.
    names : iterable of str, optional
        Node names for an array; a Dag has its own.

    Notes
    -----
    Edges are labelled in topological order (Chickering 1995): one pass, O(d²) for d nodes.

    Examples
    --------
    >>> collider = find_cpdag([[0, 0, 1], [0, 0, 1], [0, 0, 0]], names=["a", "b", "c"])
    >>> collider.directed_edges(), collider.undirected_edges()
    ([('a', 'c'), ('b', 'c')], [])
    """
    if isinstance(dag, AcyclicGraph) and names is not None:
        raise InputError("names are for arrays; a Dag has its own (use reordered to permute them)")
    labels, adjacency, order = _take_apart(dag, names)
    fixed = _label_compelled(adjacency, order)
    free = adjacency & ~fixed
    return Cpdag(labels, fixed, free | free.T)


def find_compelled(dag: AcyclicGraph | ArrayLike) -> Bools:
    """Mark the edges that have the same direction in every DAG of the equivalence class, shape (d, d).

    For each node y, by topological order, let x be its latest parent. If some compelled edge w → x has
    w ∉ Pa(y), or some other parent of y is no parent of x, every edge into y is compelled; otherwise those
    w → y for which w → x is compelled.
    """
    _, adjacency, order = _take_apart(dag)
    return _label_compelled(adjacency, order)


def _label_compelled(adjacency: Bools, order: Integers) -> Bools:
    # Row y of these is about the edges into y.
    parents = np.ascontiguousarray(adjacency.T)
    fixed = np.zeros_like(parents)
    rank = np.argsort(order)
    for node in order:
        into = np.flatnonzero(parents[node])
        if into.size == 0:
            continue
        latest = into[rank[into].argmax()]
        others = into[into != latest]
        if (fixed[latest] & ~parents[node]).any() or not parents[latest, others].all():
            fixed[node] = parents[node]
        else:
            fixed[node] = fixed[latest]
    return np.ascontiguousarray(fixed.T)


def find_reversible(dag: AcyclicGraph | ArrayLike) -> Bools:
    """Mark the edges that some DAG of the equivalence class has the other way round, shape (d, d)."""
    _, adjacency, order = _take_apart(dag)
    return adjacency & ~_label_compelled(adjacency, order)


def _take_apart(
    dag: AcyclicGraph | ArrayLike, names: Iterable[str] | None = None
) -> tuple[tuple[str, ...], Bools, Integers]:
    """Names, adjacency and topological order."""
    if isinstance(dag, AcyclicGraph):
        return dag.names, np.not_equal(dag.weights, 0), dag.order
    matrix = check_square(dag)
    labels = check_names(names, len(matrix))
    return labels, np.not_equal(matrix, 0), sort_topologically(matrix, labels)


def apply_meek_rules(directed: ArrayLike, undirected: ArrayLike) -> tuple[Bools, Bools]:
    """Direct the undirected edges that follow from the directed ones, by Meek's four rules to closure.

    An undirected edge is directed where the other way would close a cycle or make a new v-structure
    (– undirected, → directed, ≁ not joined):

    1. a → b – c, a ≁ c gives b → c;
    2. a → b → c, a – c gives a → c;
    3. a – b, a – c, a – d, c → b, d → b, c ≁ d gives a → b;
    4. a – b, a – c, c → d → b, c ≁ b, a and d joined gives a → b (needed only with background knowledge).

    Parameters
    ----------
    directed, undirected : array_like of bool, shape (d, d)
        As in `Cpdag`.

    Returns
    -------
    directed, undirected : ndarray of bool, shape (d, d)

    Examples
    --------
    >>> arrow, line = [[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    >>> directed, undirected = apply_meek_rules(arrow, line)
    >>> bool(directed[1, 2]), bool(undirected.any())
    (True, False)
    """
    graph = _Mixed(Cpdag(None, directed, undirected))
    graph.close([(a, b) for a, children in enumerate(graph.children) for b in sorted(children)])
    return graph.make_matrices()


def count_consequences(directed: ArrayLike, undirected: ArrayLike) -> dict[tuple[int, int], int]:
    """How many other undirected edges would follow, by Meek's rules, if one of them were directed i → j.

    Parameters
    ----------
    directed, undirected : array_like of bool, shape (d, d)
        As in `Cpdag`; closed under Meek's rules.

    Returns
    -------
    dict of (i, j) to int
        Both directions of each undirected edge, but of those that belong to a component of very many.

    Examples
    --------
    >>> line = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> count_consequences(np.zeros((3, 3)), line)
    {(0, 1): 1, (1, 0): 0, (1, 2): 0, (2, 1): 1}
    """
    graph = _Mixed(Cpdag(None, directed, undirected))
    counts = {}
    for a, b in np.argwhere(np.asarray(undirected)).tolist():
        if graph.count_around(a) > MOST_IN_COMPONENT:
            continue
        graph.direct(a, b)
        followed = graph.close([(a, b)])
        counts[a, b] = len(followed)
        for pair in ((a, b), *followed):
            graph.undirect(*pair)
    return counts


def extend_consistently(graph: Cpdag) -> Bools:
    """Direct every undirected edge without a cycle or a new v-structure (Dor & Tarsi 1992).

    A node without children whose undirected neighbours are each joined to all other nodes around it can be
    the last of an order: its edges are directed into it and it is set aside; among several, the first.

    Returns
    -------
    ndarray of bool, shape (d, d)
        Adjacency of a DAG with the same skeleton, the same directed edges and the same v-structures.

    Raises
    ------
    InputError
        If there is no such DAG; the message names nodes that cannot be ordered.
    """
    mixed = _Mixed(graph)
    adjacency = graph.directed.copy()
    remaining = set(range(graph.n_nodes))
    candidates = sorted(remaining)  # in order, so it is a heap
    while candidates:
        node = heappop(candidates)
        if node not in remaining or not mixed.can_be_last(node):
            continue
        adjacency[sorted(mixed.neighbours[node]), node] = True
        remaining.remove(node)
        for around in mixed.set_aside(node):
            heappush(candidates, around)
    if remaining:
        some = ", ".join(show_name(graph.names[node]) for node in sorted(remaining)[:10])
        raise InputError(
            "no DAG has this skeleton, these directed edges and no further v-structure; "
            f"these nodes cannot be ordered: {some}"
        )
    return adjacency


class _Mixed:
    """Sets of parents, children and undirected neighbours of each node, to be directed step by step."""

    def __init__(self, graph: Cpdag) -> None:
        self.parents = [set(np.flatnonzero(column).tolist()) for column in graph.directed.T]
        self.children = [set(np.flatnonzero(row).tolist()) for row in graph.directed]
        self.neighbours = [set(np.flatnonzero(row).tolist()) for row in graph.undirected]
        self.joined = [set(np.flatnonzero(row).tolist()) for row in graph.skeleton]

    def direct(self, a: int, b: int) -> None:
        self.neighbours[a].discard(b)
        self.neighbours[b].discard(a)
        self.children[a].add(b)
        self.parents[b].add(a)

    def undirect(self, a: int, b: int) -> None:
        self.neighbours[a].add(b)
        self.neighbours[b].add(a)
        self.children[a].discard(b)
        self.parents[b].discard(a)

    def close(self, pending: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Direct what follows from these directed edges by Meek's rules, to closure; the edges that did."""
        followed = []
        while pending:
            for a, b in sorted(set(self.find_consequences(*pending.pop()))):
                if b in self.neighbours[a]:
                    self.direct(a, b)
                    pending.append((a, b))
                    followed.append((a, b))
        return followed

    def count_around(self, node: int) -> int:
        """How many undirected edges are in the component of a node, as far as they are not too many."""
        seen, waiting, ends = {node}, [node], 0
        while waiting and ends <= 2 * MOST_IN_COMPONENT + 1:
            around = self.neighbours[waiting.pop()]
            ends += len(around)
            waiting += around - seen
            seen |= around
        return ends // 2

    def find_consequences(self, a: int, b: int) -> Iterator[tuple[int, int]]:
        """Edges that one of Meek's rules directs because a → b is directed."""
        parents, children, neighbours, joined = self.parents, self.children, self.neighbours, self.joined
        yield from ((b, c) for c in neighbours[b] - joined[a])
        yield from ((a, c) for c in children[b] & neighbours[a])
        yield from ((c, b) for c in parents[a] & neighbours[b])
        for c in neighbours[a] & neighbours[b]:
            if (parents[b] & neighbours[c]) - joined[a] - {a}:
                yield c, b
        for c in children[b] - joined[a]:
            yield from ((e, c) for e in neighbours[a] & neighbours[c] & joined[b])
        for c in parents[a] - joined[b]:
            yield from ((e, b) for e in neighbours[c] & neighbours[b] & joined[a])

    def can_be_last(self, node: int) -> bool:
        around = self.joined[node]
        return not self.children[node] and all(
            around - {neighbour} <= self.joined[neighbour] for neighbour in self.neighbours[node]
        )

    def set_aside(self, node: int) -> set[int]:
        around = self.joined[node]
        for other in around:
            for sets in (self.parents, self.children, self.neighbours, self.joined):
                sets[other].discard(node)
        return around

    def make_matrices(self) -> tuple[Bools, Bools]:
        shape = len(self.joined), len(self.joined)
        directed, undirected = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        for node, (children, neighbours) in enumerate(zip(self.children, self.neighbours)):
            directed[node, sorted(children)] = True
            undirected[node, sorted(neighbours)] = True
        return directed, undirected
