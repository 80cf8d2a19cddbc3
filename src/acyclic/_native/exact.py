"""The best graph by dynamic programming over all sets of nodes, and the best one with and without each edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from acyclic._native.library import FLOAT, UINT32, address, check, check_size, library
from acyclic._native.selection import check_criterion
from acyclic._native.watching import run_parts
from acyclic.deadline import Deadline
from acyclic.types import Floats

EXACT_NODES = 24
"""The most nodes that the kernels take: see kernels.h."""

Sets = NDArray[np.uint32]
Part = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Around:
    """Scores of the best graphs of some kinds, and these graphs where their scores are within the limit.

    Attributes
    ----------
    edge : ndarray (d, d)
        With i → j at entry (i, j); inf on the diagonal and where none is allowed.
    apart : ndarray (d, d)
        At entry (i, j): i comes before j and is not its parent; inf for pairs that the best graph does not join.
    collider : ndarray (d, d, d)
        With i → j ← k at entry (i, k, j), for i < k.
    edge_parents, apart_parents, collider_parents : ndarray (…, d) of uint32
        For each of these entries the parents of all nodes, as bits; zeros where the score is above the limit.
    """

    edge: Floats
    apart: Floats
    collider: Floats
    edge_parents: Sets
    apart_parents: Sets
    collider_parents: Sets


class ExactTables:
    """The lowest score of each node within each set of others, and of all orders of each set: see exact.c.

    Parameters
    ----------
    R, n, cost, unit, allowed, required, max_parents
        As in `select_parents`, for nodes in any order; at most `EXACT_NODES`.
    threads : int
        The results do not depend on it.
    deadline : Deadline, optional
        Raises Stopped when it passes.

    Examples
    --------
    >>> R = np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> tables = ExactTables(R, 100.0, 5.0, None, None, None, 3)
    >>> tables.best_parents(1e-7).tolist(), round(tables.score, 2)
    ([0, 5, 0], -124.71)
    """

    def __init__(
        self,
        R: Floats,
        n: float,
        cost: float,
        unit: Floats | None,
        allowed: NDArray[np.uint8] | None,
        required: NDArray[np.uint8] | None,
        max_parents: int,
        *,
        threads: int = 1,
        deadline: Deadline | None = None,
    ) -> None:
        d = self.d = check_size(len(R))
        if d > EXACT_NODES:
            raise ValueError(f"the exact search takes up to {EXACT_NODES} nodes; got {d}")
        check_criterion(R, n, cost, unit, (allowed, required), d)
        self._criterion = R, n, cost, unit, allowed, required, max_parents
        self._threads = threads
        self._best, self._before = np.empty((d, 2 ** (d - 1))), np.empty(2**d)
        kernel = library().exact_scores

        def run(part: Part, flag: int | None) -> int:
            status: int = kernel(d, *part, *self._given(), address(self._best), flag)
            return status

        self._run(run, self._parts(), "local scores", deadline)
        self._order(self._before, False, deadline)

    @property
    def score(self) -> float:
        """The lowest score of a graph; inf where none is allowed."""
        return float(self._before[-1])

    def best_parents(self, tolerance: float) -> Sets:
        """The parents of each node in the best graph, as bits; scores closer than a tolerance count as equal."""
        parents = np.zeros(self.d, dtype=np.uint32)
        library().exact_graph(self.d, address(self._best), address(self._before), tolerance, address(parents))
        return parents

    def look_around(self, parents: Sets, limit: float, tolerance: float, *, deadline: Deadline | None = None) -> Around:
        """The best graphs with and without each edge, seen from the best of all, which has these parents."""
        d = self.d
        check("parents", parents, UINT32, (d,))
        after = np.empty_like(self._before)
        self._order(after, True, deadline)
        scores = [np.full((d,) * k, np.inf) for k in (2, 2, 3)]
        graphs = [np.zeros((d,) * k, dtype=np.uint32) for k in (3, 3, 4)]

        def run(part: Part, flag: int | None) -> int:
            tables = (address(table) for table in (self._best, self._before, after, parents))
            results = (address(array) for array in (*scores, *graphs))
            status: int = self._margins()(d, *part, *self._given(), *tables, limit, tolerance, *results, flag)
            return status

        self._run(run, self._parts(), "margins", deadline)
        # The kernel writes by target: the last axis of what is returned here.
        return Around(*(np.moveaxis(array, 0, k) for array, k in zip((*scores, *graphs), (1, 1, 2, 1, 1, 2))))

    def _order(self, total: Floats, rest: bool, deadline: Deadline | None) -> None:
        kernel = library().exact_orders

        def run(_: Part, flag: int | None) -> int:
            status: int = kernel(self.d, address(self._best), rest, address(total), flag)
            return status

        self._run(run, [(0, self.d)], "orders", deadline)

    def _margins(self) -> Callable[..., int]:
        kernel: Callable[..., int] = library().exact_margins
        return kernel

    def _given(self) -> tuple[int | float | None, ...]:
        R, n, cost, unit, allowed, required, max_parents = self._criterion
        return address(R), n, cost, address(unit), address(allowed), address(required), max_parents

    def _parts(self) -> list[Part]:
        """Targets for each thread: one part, since each takes memory of its own, and all targets take equally long."""
        count = min(self._threads, self.d)
        return list(pairwise(round(k * self.d / count) for k in range(count + 1)))

    def _run(
        self, call: Callable[[Part, int | None], int], parts: list[Part], what: str, deadline: Deadline | None
    ) -> None:
        # A set takes about ten times what an entry of the other kernels does.
        size, purpose = 10 * self.d * 2**self.d, f"for the {what} of all sets of {self.d} columns"
        run_parts(call, parts, size=size, purpose=purpose, threads=self._threads, deadline=deadline)


class ScoredTables(ExactTables):
    """The same for scores of all sets of parents that are at hand.

    Parameters
    ----------
    scores : ndarray (d, 2^(d - 1))
        Entry (j, s): the score of node j whose parents are the bits of s, those above j moved down by one; inf for sets
        that are not allowed.

    Examples
    --------
    >>> tables = ScoredTables(np.array([[0.0, -2.0], [0.0, -3.0]]))
    >>> tables.best_parents(1e-7).tolist(), tables.score
    ([0, 1], -3.0)
    """

    def __init__(self, scores: Floats, *, threads: int = 1, deadline: Deadline | None = None) -> None:
        d = self.d = check_size(len(scores))
        if d > EXACT_NODES:
            raise ValueError(f"the exact search takes up to {EXACT_NODES} nodes; got {d}")
        check("scores", scores, FLOAT, (d, 2 ** (d - 1)))
        self._scores, self._threads = scores, threads
        self._best, self._before = scores.copy(), np.empty(2**d)
        for bit in range(d - 1):  # the lowest of all subsets
            halves = self._best.reshape(d, -1, 2, 1 << bit)
            np.minimum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
        self._order(self._before, False, deadline)

    def _margins(self) -> Callable[..., int]:
        kernel: Callable[..., int] = library().exact_margins_of
        return kernel

    def _given(self) -> tuple[int | float | None, ...]:
        return (address(self._scores),)
