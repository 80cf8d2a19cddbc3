"""Graphs of other packages' estimators: where they keep them, in which direction, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from acyclic.errors import InputError, show_name
from acyclic.graphs.checks import EdgeDirection, orient_matrix
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag

# The LiNGAM of gCastle has `adjacency_matrix_` too, from column to row; its `causal_matrix` leads from row to column.
ATTRIBUTES = (
    "causal_graph_", "cpdag_", "graph_", "dag_", "causal_matrix_", "causal_matrix", "adjacency_matrix_", "weights_",
    "W_est",
)  # fmt: skip
"""Where a fitted estimator may keep its graph; the first that it has counts."""

DIRECTIONS: dict[str, EdgeDirection] = {"lingam": "from column to row"}
"""Packages whose matrices lead from column to row; those of all others are taken to lead from row to column."""

Answer = Dag | Cpdag | np.ndarray[Any, np.dtype[np.float64]]


def is_estimator(value: object) -> bool:
    """Whether something that is no graph learns one: it has ``fit``, or ``learn`` as in gCastle."""
    return any(callable(getattr(value, name, None)) for name in ("fit", "learn"))


def has_graph(value: object) -> bool:
    """Whether an object keeps a graph where estimators do."""
    return any(_get(value, name) is not None for name in ATTRIBUTES)


def read_graph(
    estimator: object,
    names: Sequence[str] | None = None,
    *,
    attribute: str | None = None,
    edge_direction: EdgeDirection | None = None,
) -> Answer:
    """The graph that a fitted estimator keeps: a `Dag`, a `Cpdag`, or weights (d, d) from row to column with cycles.

    It is looked for under the names in `ATTRIBUTES`, in that order, and may be a `Dag`, a `Cpdag`, a graph of networkx
    or pgmpy, a frame, or a square matrix. In a matrix, entry (i, j) is the edge i → j; in those of the package lingam,
    and where ``edge_direction`` says so, it is j → i. A matrix of 0 and 1 that joins two nodes both ways is an
    equivalence class, in which that edge is undirected.

    Parameters
    ----------
    estimator : object
    names : sequence of str, optional
        The columns that it learned from, in their order, for graphs whose nodes have no names or numbers for names.
    attribute : str, optional
        Where to look instead.
    edge_direction : {"from row to column", "from column to row"}, optional

    Examples
    --------
    >>> class Fitted:
    ...     adjacency_matrix_ = np.array([[0, 0.5], [0, 0]])
    >>> read_graph(Fitted(), ["a", "b"]).edges()
    [('a', 'b', 0.5)]
    """
    looked = ATTRIBUTES if attribute is None else (attribute,)
    found = next((value for name in looked if (value := _get(estimator, name)) is not None), None)
    if found is None:
        called = type(estimator).__name__
        raise InputError(f"{called} has no graph; after fit it has to keep one as {', '.join(looked)}")
    known = [DIRECTIONS[package] for package in list_packages(estimator) if package in DIRECTIONS]
    usual: EdgeDirection = known[0] if known else "from row to column"
    return understand_graph(found, names, edge_direction or usual)


def understand_graph(
    found: Any, names: Sequence[str] | None, edge_direction: EdgeDirection = "from row to column"
) -> Answer:
    """A graph in any of the forms of `read_graph`, in the order of the names where they are given."""
    if isinstance(found, Dag):
        return Dag(found.weights, names) if _by_position(found.names, names) else found.reordered(names or found.names)
    if isinstance(found, Cpdag):
        by_position = _by_position(found.names, names)
        return Cpdag(names, found.directed, found.undirected) if by_position else found.reordered(names or found.names)
    if callable(getattr(found, "edges", None)) and hasattr(found, "nodes"):
        return _understand_matrix(*_of_networkx(found, names))
    if hasattr(found, "columns") and hasattr(found, "to_numpy"):
        return _understand_matrix(*_of_frame(found, names, edge_direction))
    dense = found.toarray() if hasattr(found, "toarray") else found
    matrix = orient_matrix(dense, edge_direction)
    if names is not None and len(names) != len(matrix):
        raise InputError(f"the graph has {len(matrix)} nodes for {len(names)} columns")
    return _understand_matrix(matrix, names)


def list_packages(value: object) -> list[str]:
    """The top-level packages of an object's class and of those that it is derived from.

    Examples
    --------
    >>> list_packages(Dag([[0]]))
    ['acyclic', 'builtins']
    """
    return list(dict.fromkeys(kind.__module__.partition(".")[0] for kind in type(value).__mro__))


def _understand_matrix(matrix: Any, names: Sequence[str] | None) -> Answer:
    both = (matrix != 0) & (matrix.T != 0)
    if both.any() and np.isin(matrix, (0, 1)).all():
        return Cpdag.from_arcs(matrix, names, edge_direction="from row to column")
    try:
        return Dag(matrix, names)
    except InputError:
        return np.asarray(matrix, dtype=float)


def _by_position(own: Sequence[str], names: Sequence[str] | None) -> bool:
    """Whether nodes are meant by their position: they have other names than the columns, as many of them."""
    return names is not None and set(own) != set(names) and len(own) == len(names)


def _of_networkx(graph: Any, names: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    nodes = list(graph.nodes)
    own = [str(node) for node in nodes]
    wanted = own if names is None else list(names)
    if set(own) <= set(wanted):
        at = {node: wanted.index(name) for node, name in zip(nodes, own)}
    elif all(isinstance(node, int | np.integer) and 0 <= node < len(wanted) for node in nodes):
        at = {node: int(node) for node in nodes}
    else:
        strange = next(name for name in own if name not in wanted)
        raise InputError(f"the graph has a node {show_name(strange)}, which is no column; they are {wanted[:10]}")
    matrix = np.zeros((len(wanted), len(wanted)))
    for source, target, weight in graph.edges(data="weight", default=1.0):
        matrix[at[source], at[target]] = 1.0 if weight is None else float(weight)
    # pgmpy keeps undirected edges beside the arcs of its PDAG.
    for source, target in getattr(graph, "undirected_edges", ()):
        matrix[at[source], at[target]] = matrix[at[target], at[source]] = 1.0
    return matrix, wanted


def _of_frame(frame: Any, names: Sequence[str] | None, direction: EdgeDirection) -> tuple[Any, Sequence[str] | None]:
    own = [str(name) for name in frame.columns]
    matrix = orient_matrix(np.asarray(frame.to_numpy()), direction)
    if names is None or _by_position(own, names):
        return matrix, names or own
    if set(own) != set(names):
        raise InputError(f"the graph has the nodes {own[:10]}; the columns are {list(names)[:10]}")
    order = [own.index(name) for name in names]
    return matrix[np.ix_(order, order)], names


def _get(value: object, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # a property that cannot be read yet
        return None
