"""Which nodes a directed path leads to: from all nodes at once, from some of them, or as edges are added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import ArrayLike

from acyclic.types import Bools

# Up to so many nodes a handful of matrix products is faster than a loop over them.
_SMALL = 64


def close_transitively(edges: Bools) -> Bools:
    """Mark the pairs (i, j) such that a path of one edge or more leads from i to j.

    A node reaches itself only along a cycle. This is Warshall's algorithm on rows packed into bits; in a small graph,
    where the loop over nodes costs more than the work inside, the relation is squared until nothing is added.

    Parameters
    ----------
    edges : bool array (d, d)
        Entry (i, j) is the edge i → j.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> close_transitively(chain).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    if len(edges) <= _SMALL:
        reach = edges.astype(np.float32)
        while True:
            further = ((reach + reach @ reach) > 0).astype(np.float32)
            if np.array_equal(further, reach):
                return reach > 0
            reach = further
    rows = np.packbits(edges, axis=1)
    for node in range(len(edges)):
        before = np.flatnonzero(rows[:, node >> 3] & (128 >> (node & 7)))
        rows[before] |= rows[node]
    return np.unpackbits(rows, axis=1, count=len(edges)).astype(np.bool_)


def find_reached(edges: Bools, starts: ArrayLike, avoiding: ArrayLike = ()) -> Bools:
    """Mark the nodes at the end of a path of one edge or more from one of the starts, shape (d,).

    Parameters
    ----------
    edges : bool array (d, d)
        Entry (i, j) is the edge i → j.
    starts : indices, or bool array (d,)
    avoiding : indices, or bool array (d,)
        Nodes that no path may pass or end at; starts may be among them.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> find_reached(chain, 0).tolist(), find_reached(chain, 0, avoiding=[1]).tolist()
    ([False, True, True], [False, False, False])
    """
    reached, latest = np.zeros(len(edges), dtype=np.bool_), _mark(starts, len(edges))
    unseen = ~_mark(avoiding, len(edges))
    while latest.any():
        latest = edges[latest].any(axis=0) & unseen
        reached |= latest
        unseen &= ~latest
    return reached


def follow_edges(following: Sequence[AbstractSet[int]], start: int, avoiding: Iterable[int] = ()) -> set[int]:
    """The same for a graph given as the set of nodes that follow each, which is faster in a sparse one.

    The start counts as reached, unless it is to be avoided.

    Examples
    --------
    >>> sorted(follow_edges([{1}, {2}, set()], 0)), sorted(follow_edges([{1}, {2}, set()], 0, avoiding=[1]))
    ([0, 1, 2], [0])
    """
    avoided = set(avoiding)
    found, pending = {start} | avoided, [start]
    while pending:
        further = following[pending.pop()] - found
        found |= further
        pending.extend(further)
    return found - avoided


def add_edge(reach: Bools, source: int, target: int) -> None:
    """Bring a closure in which every node reaches itself up to date, in place, with the edge source → target.

    Examples
    --------
    >>> reach = np.eye(3, dtype=bool)
    >>> add_edge(reach, 0, 1), add_edge(reach, 1, 2)
    (None, None)
    >>> bool(reach[0, 2])
    True
    """
    reach |= np.outer(reach[:, source], reach[target])


def _mark(nodes: ArrayLike, d: int) -> Bools:
    marked = np.zeros(d, dtype=np.bool_)
    marked[np.asarray(nodes, dtype=None if np.size(nodes) else np.intp)] = True
    return marked
