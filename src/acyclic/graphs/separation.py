"""Which nodes a graph says to be independent given others, and what to hold fixed to read an effect."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from acyclic.types import Bools

__all__ = ["find_adjustment", "is_separated"]


def is_separated(adjacency: Bools, one: int, other: int, given: Collection[int] = ()) -> bool:
    """Whether every path between two nodes of a DAG is blocked by the given ones (d-separation).

    Two nodes are separated if no path joins them, without the given ones, in the moral graph of their ancestors and
    those of the given.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (d, d)
        Entry (i, j) is the edge i → j.
    one, other : int
    given : collection of int

    Examples
    --------
    >>> collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> is_separated(collider, 0, 1), is_separated(collider, 0, 1, [2])
    (True, False)
    """
    kept, waiting = set(), [one, other, *given]
    while waiting:
        node = waiting.pop()
        if node not in kept:
            kept.add(node)
            waiting += np.flatnonzero(adjacency[:, node]).tolist()
    nodes = sorted(kept)
    edges = adjacency[np.ix_(nodes, nodes)].astype(np.intp)
    moral = (edges + edges.T + edges @ edges.T) > 0
    blocked = np.isin(nodes, list(given))
    seen = np.array(nodes) == one
    front = seen
    while front.any():
        front = moral[front].any(axis=0) & ~seen & ~blocked
        seen = seen | front
    return not bool(seen[nodes.index(other)])


def find_adjustment(adjacency: Bools, cause: int, outcome: int) -> list[int] | None:
    """A smallest part of the parents of a cause that is enough to hold fixed: none of it can be left out.

    None where the outcome is a parent of the cause, so that there is no effect to be read.

    Examples
    --------
    >>> confounded = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=bool)
    >>> find_adjustment(confounded, 1, 2)
    [0]
    """
    chosen = np.flatnonzero(adjacency[:, cause]).tolist()
    if outcome in chosen:
        return None
    without = np.array(adjacency)
    without[cause] = False
    for node in list(chosen):
        rest = [other for other in chosen if other != node]
        if is_separated(without, cause, outcome, rest):
            chosen = rest
    return chosen
