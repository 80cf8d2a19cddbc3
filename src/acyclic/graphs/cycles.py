"""Is a matrix acyclic, in which order do its nodes come, and where is a cycle: combinatorial and exact."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from acyclic.errors import CycleError, show_name
from acyclic.graphs.checks import check_square
from acyclic.types import Bools, Integers


def is_acyclic(weights: ArrayLike) -> bool:
    """Say whether no directed path of the graph ``weights != 0`` returns to its start.

    Examples
    --------
    >>> is_acyclic([[0, 1], [0, 0]]), is_acyclic([[0, 1], [1, 0]])
    (True, False)
    """
    edges = check_square(weights) != 0
    return not edges.diagonal().any() and bool(_label_nodes(edges).max() == len(edges) - 1)


def label_components(weights: ArrayLike) -> Integers:
    """Label each node with its strongly connected component.

    Parameters
    ----------
    weights : array_like of shape (d, d)
        ``weights[i, j] != 0`` is the edge i → j.

    Returns
    -------
    ndarray of int, shape (d,)
        Two nodes bear the same label iff each can be reached from the other; labels are 0, 1, ….

    Examples
    --------
    >>> labels = label_components([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    return _label_nodes(check_square(weights) != 0)


def make_sparse(edges: Bools) -> csr_array[np.int32, tuple[int, int]]:
    """Give a boolean matrix in the form that `scipy.sparse.csgraph` takes."""
    return csr_array(edges.astype(np.int32))


def _label_nodes(edges: Bools) -> Integers:
    labels = connected_components(make_sparse(edges), directed=True, connection="strong")[1]
    return np.asarray(labels, dtype=np.intp)


def sort_topologically(weights: ArrayLike, names: Sequence[str] | None = None) -> Integers:
    """Order the nodes so that every edge points forward; of the nodes that could come next, the first comes.

    Parameters
    ----------
    weights : array_like of shape (d, d)
        ``weights[i, j] != 0`` is the edge i → j.
    names : sequence of str, optional
        Node names for the error message; x0, x1, … by default.

    Returns
    -------
    ndarray of int, shape (d,)
        Node indices, parents before children.

    Raises
    ------
    CycleError
        If the graph has a cycle; the message names one.

    Examples
    --------
    >>> sort_topologically([[0, 0, 0], [0, 0, 0], [1, 0, 0]]).tolist()
    [1, 2, 0]
    """
    edges = check_square(weights) != 0
    waiting_for = np.count_nonzero(edges, axis=0)
    ready = np.flatnonzero(waiting_for == 0).tolist()
    order = []
    while ready:
        node = heappop(ready)
        order.append(node)
        children = np.flatnonzero(edges[node])
        waiting_for[children] -= 1
        for child in children[waiting_for[children] == 0].tolist():
            heappush(ready, child)
    if len(order) < len(edges):
        raise _make_cycle_error(edges, names)
    return np.array(order, dtype=np.intp)


def find_cycle(weights: ArrayLike) -> tuple[int, ...] | None:
    """Find one short cycle, always the same one for the same graph.

    A self-loop is preferred, then a cycle of two nodes, then a shortest cycle through the first node that
    lies on any cycle.

    Returns
    -------
    tuple of int, or None
        The nodes along the cycle, the first not repeated at the end; None if the graph is acyclic.

    Examples
    --------
    >>> find_cycle([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    (0, 1, 2)
    """
    edges = check_square(weights) != 0
    start = _find_node_on_cycle(edges)
    if start is None:
        return None
    reached, predecessors = breadth_first_order(make_sparse(edges), start)
    node = int(reached[edges[reached, start]][0])
    backwards = [node]
    while node != start:
        node = int(predecessors[node])
        backwards.append(node)
    return tuple(reversed(backwards))


def _find_node_on_cycle(edges: Bools) -> int | None:
    labels = _label_nodes(edges)
    shares_component = np.bincount(labels)[labels] > 1
    for on_cycle in (edges.diagonal(), (edges & edges.T).any(axis=0), shares_component):
        if on_cycle.any():
            return int(on_cycle.argmax())
    return None


def _make_cycle_error(edges: Bools, names: Sequence[str] | None) -> CycleError:
    nodes = find_cycle(edges) or ()
    cycle = [f"x{node}" if names is None else names[node] for node in nodes]
    path = " → ".join(show_name(name) for name in [*cycle, *cycle[:1]])
    return CycleError(f"the graph must be acyclic, but it has the cycle {path}; remove one of these edges", cycle)
