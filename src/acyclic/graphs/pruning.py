"""From a matrix of weights to that of a DAG: cut small weights, then the weakest until no cycle is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from acyclic.errors import InputError
from acyclic.graphs.checks import check_square
from acyclic.graphs.cycles import is_acyclic, label_components
from acyclic.types import Bools, Floats, Integers


@dataclass(frozen=True, eq=False)
class Pruned:
    """A matrix made acyclic, and what that took.

    Attributes
    ----------
    weights : ndarray of shape (d, d)
        The pruned weights; acyclic.
    cut : float
        The largest |weight| removed to break a cycle of two or more nodes; the given cut if there was none.
    removed : tuple of (int, int, float)
        The entries (i, j, weight) removed though they reach the given cut: self-loops, then by |weight|.
    """

    weights: Floats
    cut: float
    removed: tuple[tuple[int, int, float], ...]


def threshold(weights: ArrayLike, cut: float) -> Floats:
    """Set to 0 every weight with |weight| < `cut`; one that equals `cut` stays.

    Examples
    --------
    >>> threshold([[0.0, 0.3], [-0.2, 0.0]], 0.3).tolist()
    [[0.0, 0.3], [0.0, 0.0]]
    """
    if not 0 <= cut < np.inf:
        raise InputError(f"cut is {cut}; it must be finite and not negative")
    matrix = check_square(weights)
    return np.where(np.abs(matrix) < cut, 0.0, matrix)


def threshold_until_acyclic(weights: ArrayLike, cut: float = 0.0) -> Pruned:
    """Cut at `cut`, then remove the weakest edges of the whole graph, one by one, until it is acyclic.

    This is GOLEM's rule. Edges are removed in the order of (|weight|, i, j); the number of them is found by
    bisection, since removing more never closes a cycle.

    Examples
    --------
    >>> threshold_until_acyclic([[0, 0.9, 0.4], [0.5, 0, 0], [0, 0, 0]]).removed
    ((0, 2, 0.4), (1, 0, 0.5))
    """
    kept, loops = _remove_loops(threshold(weights, cut))
    sources, targets = _sort_weakest_first(kept)
    n_removed = _bisect(kept, sources, targets, is_acyclic)
    return _record(kept, cut, loops, sources[:n_removed], targets[:n_removed])


def threshold_components(weights: ArrayLike, cut: float = 0.0) -> Pruned:
    """Cut at `cut`, then remove the weakest edge that lies on a cycle, one by one, until there is none.

    Only edges inside a strongly connected component lie on a cycle, so weak edges elsewhere stay. Ties are
    broken by (i, j). A component loses its weakest edges together, by bisection, until it falls apart.

    Examples
    --------
    >>> threshold_components([[0, 0.9, 0.4], [0.5, 0, 0], [0, 0, 0]]).removed
    ((1, 0, 0.5),)
    """
    kept, loops = _remove_loops(threshold(weights, cut))
    remaining = kept.copy()
    components = list(_list_cyclic_components(np.arange(len(kept)), kept))
    while components:
        nodes = components.pop()
        inside = remaining[np.ix_(nodes, nodes)]
        sources, targets = _sort_weakest_first(inside)
        n_removed = _bisect(inside, sources, targets, _falls_apart)
        remaining[nodes[sources[:n_removed]], nodes[targets[:n_removed]]] = 0.0
        components.extend(_list_cyclic_components(nodes, remaining[np.ix_(nodes, nodes)]))
    sources, targets = _sort_weakest_first(np.where(remaining == 0, kept, 0.0))
    return _record(kept, cut, loops, sources, targets)


def _remove_loops(matrix: Floats) -> tuple[Floats, tuple[tuple[int, int, float], ...]]:
    loops = tuple((i, i, float(matrix[i, i])) for i in np.flatnonzero(matrix.diagonal()).tolist())
    kept = matrix.copy()
    np.fill_diagonal(kept, 0.0)
    return kept, loops


def _sort_weakest_first(matrix: Floats) -> tuple[Integers, Integers]:
    sources, targets = np.nonzero(matrix)
    # np.nonzero lists by (i, j), and the sort is stable.
    order = np.argsort(np.abs(matrix[sources, targets]), kind="stable")
    return sources[order], targets[order]


def _bisect(matrix: Floats, sources: Integers, targets: Integers, done: Callable[[Bools], bool]) -> int:
    """Smallest number of leading edges whose removal makes the graph `done`; all of them always do."""
    low, high = 0, len(sources)
    while low < high:
        middle = (low + high) // 2
        edges = matrix != 0
        edges[sources[:middle], targets[:middle]] = False
        low, high = (low, middle) if done(edges) else (middle + 1, high)
    return low


def _falls_apart(edges: Bools) -> bool:
    return bool(label_components(edges).any())


def _list_cyclic_components(nodes: Integers, matrix: Floats) -> Iterator[Integers]:
    labels = label_components(matrix)
    for label in np.flatnonzero(np.bincount(labels) > 1):
        yield nodes[labels == label]


def _record(
    kept: Floats, cut: float, loops: tuple[tuple[int, int, float], ...], sources: Integers, targets: Integers
) -> Pruned:
    values = kept[sources, targets].tolist()
    weights = kept.copy()
    weights[sources, targets] = 0.0
    weights.flags.writeable = False
    reached = abs(values[-1]) if values else float(cut)
    return Pruned(weights, reached, loops + tuple(zip(sources.tolist(), targets.tolist(), values)))
