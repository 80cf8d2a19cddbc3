"""Dag: named nodes and weighted edges, acyclic by construction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from acyclic.errors import InputError, show_name
from acyclic.graphs.checks import (
    EdgeDirection,
    check_ends,
    check_names,
    check_square,
    explain_unknown,
    match_names,
    orient_matrix,
)
from acyclic.graphs.cycles import make_sparse, sort_topologically
from acyclic.graphs.drawing import draw_picture
from acyclic.graphs.edge_list import EdgeList, ListedEdge
from acyclic.graphs.equivalence import Cpdag, find_cpdag
from acyclic.graphs.exchange import make_networkx
from acyclic.graphs.reachability import find_reached
from acyclic.graphs.showing import make_frame
from acyclic.graphs.writing import Writable
from acyclic.types import Bools, Floats, Integers

EdgeEntry = tuple[str, str] | tuple[str, str, float]


# Matrices of more nodes than this are not copied if nobody can change them.
_MANY = 1000


def _own(matrix: Floats) -> Floats:
    """A copy that nobody else can change."""
    frozen = not matrix.flags.writeable and matrix.flags.owndata and matrix.flags.c_contiguous
    if frozen and len(matrix) > _MANY and not (np.signbit(matrix) & (matrix == 0)).any():
        return matrix
    # Adding zero copies, and turns -0.0 into 0.0 so that equal graphs have equal bytes.
    return np.ascontiguousarray(matrix + 0.0)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Dag(Writable):
    """A weighted directed acyclic graph with named nodes; it cannot be changed.

    Parameters
    ----------
    weights : array_like of shape (d, d)
        ``weights[i, j] != 0`` is the edge i → j with that weight. Copied as float64.
    names : iterable of str, optional
        One unique name per node, any text; x0, x1, … by default. Other types are refused, never converted.

    Attributes
    ----------
    weights : ndarray of shape (d, d), read-only
    names : tuple of str
    order : ndarray of int, shape (d,), read-only
        Node indices in topological order; of the nodes that could come next, the first comes.

    Raises
    ------
    CycleError
        If the edges close a cycle (a self-loop is one); the message and ``.cycle`` name it.
    InputError
        If the matrix is not square, empty, not finite or not numeric, or the names are not unique strings.

    Examples
    --------
    >>> dag = Dag([[0, 2, 0], [0, 0, -1], [0, 0, 0]], names=["rain", "river", "trust"])
    >>> dag
    Dag(3 nodes, 2 edges: rain → river, river → trust)
    >>> dag.ancestors("trust")
    ('rain', 'river')
    >>> float(dag.total_effects()[0, 2])
    -2.0
    """

    weights: Floats
    names: tuple[str, ...]
    order: Integers

    def __init__(self, weights: ArrayLike, names: Iterable[str] | None = None) -> None:
        matrix = _own(check_square(weights))
        node_names = check_names(names, len(matrix))
        order = sort_topologically(matrix, node_names)
        matrix.flags.writeable = order.flags.writeable = False
        object.__setattr__(self, "weights", matrix)
        object.__setattr__(self, "names", node_names)
        object.__setattr__(self, "order", order)

    @classmethod
    def from_weights(
        cls, weights: ArrayLike, names: Iterable[str] | None = None, *, edge_direction: EdgeDirection
    ) -> Dag:
        """Make a DAG from a matrix whose direction is said: "from row to column" if entry (i, j) is i → j."""
        return cls(orient_matrix(weights, edge_direction), names)

    @classmethod
    def from_edges(cls, edges: Iterable[EdgeEntry], names: Iterable[str]) -> Dag:
        """Make a DAG from named edges (source, target, weight) or (source, target); the weight is then 1.

        Examples
        --------
        >>> Dag.from_edges([("a", "b"), ("b", "c", 0.5)], names=["a", "b", "c"]).edges()
        [('a', 'b', 1.0), ('b', 'c', 0.5)]
        """
        node_names = check_names(names)
        index = {name: position for position, name in enumerate(node_names)}
        weights = np.zeros((len(node_names), len(node_names)))
        for edge in edges:
            source, target, weight = edge if len(edge) == 3 else (*edge, 1.0)
            label = f"the edge {show_name(source)} → {show_name(target)}"
            check_ends(label, (source, target), index)
            if weight == 0 or not np.isfinite(weight):
                raise InputError(f"{label} has the weight {weight}; a weight must be finite and not 0")
            if weights[index[source], index[target]] != 0:
                raise InputError(f"{label} is given twice")
            weights[index[source], index[target]] = weight
        return cls(weights, node_names)

    @classmethod
    def empty(cls, names: Iterable[str]) -> Dag:
        """Make the DAG without edges."""
        return cls.from_edges([], names)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, d."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(self.weights))

    @property
    def adjacency(self) -> Bools:
        """Boolean matrix of shape (d, d): entry (i, j) says whether i → j is an edge."""
        return np.not_equal(self.weights, 0)

    def edges(self) -> list[tuple[str, str, float]]:
        """List (source, target, weight), by position of the source, then of the target."""
        return [
            (self.names[i], self.names[j], float(self.weights[i, j])) for i, j in np.argwhere(self.weights).tolist()
        ]

    def parents(self, name: str) -> tuple[str, ...]:
        """Names of the nodes with an edge into `name`."""
        return self._pick_names(np.flatnonzero(self.weights[:, self._find_node(name)]))

    def children(self, name: str) -> tuple[str, ...]:
        """Names of the nodes with an edge from `name`."""
        return self._pick_names(np.flatnonzero(self.weights[self._find_node(name)]))

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Names of the nodes with a directed path to `name`, itself not included."""
        return self._pick_names(np.flatnonzero(find_reached(self.adjacency.T, self._find_node(name))))

    def descendants(self, name: str) -> tuple[str, ...]:
        """Names of the nodes with a directed path from `name`, itself not included."""
        return self._pick_names(np.flatnonzero(find_reached(self.adjacency, self._find_node(name))))

    def total_effects(self) -> Floats:
        """Sum, over all directed paths i ⇝ j, of the products of weights along them: (I − W)⁻¹ − I.

        Solved as (I − U) T = U with U = W in topological order, strictly upper triangular; pairs without a
        path are exactly 0.
        """
        grid = np.ix_(self.order, self.order)
        upper = self.weights[grid]
        effects = np.empty_like(upper)
        effects[grid] = solve_triangular(np.eye(self.n_nodes) - upper, upper, unit_diagonal=True)
        return effects

    def reordered(self, names: Sequence[str]) -> Dag:
        """Give the same graph with its nodes in the order of `names`, a permutation of its own."""
        positions = match_names(self.names, names)
        return Dag(self.weights[np.ix_(positions, positions)], names)

    def cpdag(self) -> Cpdag:
        """Give the completed partially directed graph of the Markov equivalence class."""
        return find_cpdag(self)

    def moral(self) -> Bools:
        """Symmetric boolean matrix of shape (d, d): joined by an edge, or parents of a common child."""
        edges = make_sparse(self.adjacency)
        moral = np.greater((edges + edges.T + edges @ edges.T).toarray(), 0)
        np.fill_diagonal(moral, False)
        return moral

    def to_networkx(self) -> Any:
        """Give a ``networkx.DiGraph`` with the names as nodes, in order, and the edge attribute ``weight``."""
        return make_networkx(self.list_edges())

    def list_edges(self) -> EdgeList:
        """Give names and edges as writers take them."""
        return EdgeList(self.names, [ListedEdge(*edge) for edge in self.edges()])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dag):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.names, self.weights.tobytes()))

    def __repr__(self) -> str:
        edges = [f"{show_name(source)} → {show_name(target)}" for source, target, _ in self.edges()[:4]]
        listed = ", ".join([*edges[:3], "…"] if len(edges) > 3 else edges)
        return f"Dag({_count(self.n_nodes, 'node')}, {_count(self.n_edges, 'edge')}{listed and ': '}{listed})"

    def _repr_html_(self) -> str:
        return draw_picture(self)

    def to_frame(self) -> Any:
        """The edges as a frame of pandas or Polars."""
        return make_frame([{"source": a, "target": b, "weight": weight} for a, b, weight in self.edges()])

    def __reduce__(self) -> tuple[type[Dag], tuple[Floats, tuple[str, ...]]]:
        # Arrays come back from a pickle writeable; building the graph anew keeps it immutable.
        return Dag, (self.weights, self.names)

    def _pick_names(self, nodes: Integers) -> tuple[str, ...]:
        return tuple(self.names[node] for node in nodes)

    def _find_node(self, name: str) -> int:
        if name not in self.names:
            raise InputError(explain_unknown(name, self.names))
        return self.names.index(name)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
