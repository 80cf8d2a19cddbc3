"""Orders of nodes: polished under equal noise variances, and searched under the Gaussian BIC."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from acyclic._native.library import (
    FLOAT,
    INT32,
    INT64,
    UINT8,
    address,
    check,
    check_size,
    check_status,
    check_writable,
    library,
)
from acyclic._native.selection import check_criterion
from acyclic._native.watching import Flag, run_kernel
from acyclic.deadline import Deadline
from acyclic.types import Bools, Floats

Order = NDArray[np.int32]


def polish_order(
    L: Floats,
    weight: Floats,
    precede: NDArray[np.uint8] | None,
    reach: int,
    max_sweeps: int,
    tolerance: float,
    *,
    deadline: Deadline | None = None,
) -> Order:
    """The places of the nodes after moving one at a time while Σ_k weight[k] L[k, k]² falls by more than a tolerance.

    Parameters
    ----------
    L : ndarray (d, d)
        Cholesky factor of the covariance in the order to polish; it becomes that of the polished order.
    weight : ndarray (d,)
    precede : ndarray (d, d) of uint8, optional
        Non-zero at (i, j) if i has to stay before j.
    reach, max_sweeps : int
        How many places later a node is tried, and the most passes over all nodes.
    tolerance : float
    deadline : Deadline, optional
        Raises Stopped when it passes.

    Examples
    --------
    >>> L = np.linalg.cholesky([[2.0, 1.0], [1.0, 1.0]])
    >>> polish_order(L, np.ones(2), None, 2, 100, 1e-10)
    array([1, 0], dtype=int32)
    """
    d = check_size(len(L))
    check_writable("L", L, FLOAT, (d, d))
    check("weight", weight, FLOAT, (d,))
    if precede is not None:
        check("precede", precede, UINT8, (d, d))
    if reach < 0:
        raise ValueError(f"reach is {reach}; the kernel takes numbers of at least 0")
    order = np.arange(d, dtype=np.int32)
    arrays, numbers = (L, order, weight, precede), (min(reach, d), max_sweeps, tolerance)
    kernel = library().polish_order
    run_kernel(
        lambda flag: kernel(d, *map(address, arrays), *numbers, flag),
        size=d**3,
        purpose=f"to polish an order of {d} columns",
        deadline=deadline,
    )
    return order


@dataclass(frozen=True, eq=False)
class Candidates:
    """Which columns each node may have as parents, and where a chain reads their correlations.

    Attributes
    ----------
    column : ndarray (d,) of int32
        The column of the covariance matrix that a node is.
    scale : ndarray (d,)
        1 / standard deviation of each node, 0 for a constant one.
    start : ndarray (d + 1,) of int64
        Where the candidates of each node begin in ``nodes``.
    nodes : ndarray of int32
        The candidates of one node after the other, in rising order, none of them the node itself.
    """

    column: Order
    scale: Floats
    start: NDArray[np.int64]
    nodes: Order

    def check(self, d: int) -> None:
        """Raise a ValueError unless a kernel can read them."""
        check("column", self.column, INT32, (d,))
        check("scale", self.scale, FLOAT, (d,))
        check("start", self.start, INT64, (d + 1,))
        check("nodes", self.nodes, INT32, (len(self.nodes),))
        whole = self.start[0] == 0 and self.start[-1] == len(self.nodes) and bool((np.diff(self.start) >= 0).all())
        if not (whole and np.array_equal(np.sort(self.column), np.arange(d))):
            raise ValueError("the candidates of the nodes do not follow each other, or a column is not that of a node")
        pairs = np.repeat(np.arange(d), np.diff(self.start)) * d + self.nodes
        inside = not len(pairs) or (self.nodes.min() >= 0 and self.nodes.max() < d)
        if not inside or (np.diff(pairs) <= 0).any() or (pairs % (d + 1) == 0).any():
            raise ValueError("the candidates of a node have to be other nodes, in rising order")


class OrderChain:
    """One chain of a search over orders: an order, the best one so far, and the trees of what was asked: see order.c.

    Use it in a ``with`` block, which frees the trees at its end. Every call that may take long takes the flag of
    `run_watched`, which ends it with Stopped; the best order is then still the best so far, and `start` goes on.

    Parameters
    ----------
    R, n, cost, unit, allowed, required, max_parents, detours
        As in `select_parents`, for nodes in any order.
    precede : ndarray (d, d) of uint8, optional
        Non-zero at (i, j) if i has to stay before j.
    most_branches : int
        The trees are forgotten when they have more.
    seed : int
        Of the kicks.
    candidates : Candidates, optional
        Only these are asked. R then holds the covariances of the columns, in their own order and units.

    Examples
    --------
    >>> R = np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> with OrderChain(R, 100.0, 5.0, None, None, None, None, 3, 1, 1000, 0) as chain:
    ...     chain.start(np.array([1, 0, 2], dtype=np.int32))
    ...     chain.descend(10**9, 1e-6)
    ...     chain.best()[1].tolist(), chain.parents().astype(int).tolist()
    1
    ([0, 2, 1], [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    """

    def __init__(
        self,
        R: Floats,
        n: float,
        cost: float,
        unit: Floats | None,
        allowed: NDArray[np.uint8] | None,
        required: NDArray[np.uint8] | None,
        precede: NDArray[np.uint8] | None,
        max_parents: int,
        detours: int,
        most_branches: int,
        seed: int,
        candidates: Candidates | None = None,
    ) -> None:
        self.d = check_size(len(R))
        self._nodes = np.arange(self.d, dtype=np.int32)
        check_criterion(R, n, cost, unit, (allowed, required, precede), self.d)
        self._arrays = R, unit, allowed, required, precede  # the kernel reads them until it is closed
        self._candidates = candidates
        rules = n, cost, *(address(array) for array in self._arrays[1:]), max_parents, detours
        some: tuple[int | None, ...] = (None,) * 4
        if candidates is not None:
            candidates.check(self.d)
            arrays = candidates.column, candidates.scale, candidates.start, candidates.nodes
            some = tuple(address(array) for array in arrays)
        given = *rules, most_branches, seed, *some
        self._take(library().order_search_open(self.d, address(R), *given))

    def _open_under(
        self,
        open_selector: Callable[[], int | None],
        rules: Sequence[NDArray[np.uint8] | None],
        most: tuple[int, int, int, int],
    ) -> None:
        """Open the search under the score of a selector.

        ``rules`` are allowed, required and preceding columns, ``most`` most parents, detours, branches and the seed.
        """
        for rule in rules:
            if rule is not None:
                check("a rule for parents", rule, UINT8, (self.d, self.d))
        self._nodes = np.arange(self.d, dtype=np.int32)
        self._rules = tuple(rules)  # the kernel reads them until it is closed
        # The search reads no moments where another score chooses the parents.
        search = library().order_search_open(
            self.d, None, 1.0, 0.0, None, *map(address, self._rules), *most, *(None,) * 4
        )
        self._take(library().order_search_use(search, open_selector()))

    def _take(self, handle: int | None) -> None:
        self._busy, self._ready = threading.Lock(), False
        self._purpose = f"for the search trees of {self.d} columns"
        self._handle = handle
        if not handle:
            raise MemoryError(f"not enough memory {self._purpose}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the trees, once no kernel works on them."""
        with self._busy:
            handle, self._handle = self._handle, None
            library().order_search_close(handle)

    def start(self, order: Order, flag: Flag | None = None) -> None:
        """Go to an order, which is the best from then on."""
        check("order", order, INT32, (self.d,))
        if not np.array_equal(np.sort(order), self._nodes):
            raise ValueError(f"the order has to hold each of 0 to {self.d - 1} once; got {order}")
        self._ready = True
        self._run(library().order_search_start, address(order), address(flag))

    def grow(self, variance: Floats, rounding: float, flag: Flag | None = None) -> Order:
        """Go to an order in which each node leaves the least of its variance, given parents among those before it.

        Of nodes whose shares of their variances (d,) differ by a share ``rounding`` or less, the first comes.
        """
        check("variance", variance, FLOAT, (self.d,))
        order, self._ready = np.empty(self.d, dtype=np.int32), True
        self._run(library().order_search_grow, address(variance), rounding, address(order), address(flag))
        return order

    def descend(self, work: int, tolerance: float, flag: Flag | None = None) -> int:
        """Move nodes to their best places until none gains more than a tolerance, or so much more work is done.

        Returns the number of moves.
        """
        return self._run(library().order_search_descend, self.work + work, tolerance, address(flag))

    def kick(
        self,
        insertions: int,
        temperature: float,
        patience: int,
        work: int,
        tolerance: float,
        flag: Flag | None = None,
    ) -> int:
        """Kick the order and repair it, until that has failed so often in a row, or so much more work is done.

        A worse order is gone on from with probability exp(−excess / temperature). Returns the number of kicks.
        """
        until = self.work + work
        return self._run(
            library().order_search_kick, insertions, temperature, patience, until, tolerance, address(flag)
        )

    def rival(self, u: int, v: int, turned: bool, work: int, tolerance: float, flag: Flag | None = None) -> float:
        """The lowest score near the best order with v before u, or without an edge between them; inf where forbidden.

        It starts from the order of the last `start`, with u before v; `parents` are those of the rival then.
        """
        if not (0 <= u < self.d and 0 <= v < self.d and u != v):
            raise ValueError(f"a rival is of two different nodes of 0 to {self.d - 1}; got {u} and {v}")
        score = np.empty(1)
        given = u, v, int(turned), work, tolerance, address(score), address(flag)
        self._run(library().order_search_rival, *given)
        return float(score[0])

    def best(self) -> tuple[float, Order]:
        """The lowest score so far and its order."""
        order = np.empty(self.d, dtype=np.int32)
        with self._open() as handle:
            return float(library().order_search_best(handle, address(order))), order

    @property
    def work(self) -> int:
        """What was done so far, in units of about a nanosecond that do not depend on the machine."""
        with self._open() as handle:
            return int(library().order_search_work(handle))

    def scores(self) -> tuple[Floats, Order]:
        """The score of each node in the present order, and how many parents it has."""
        score, size = np.empty(self.d), np.empty(self.d, dtype=np.int32)
        with self._open() as handle:
            library().order_search_scores(handle, address(score), address(size))
        return score, size

    def edges(self) -> tuple[NDArray[np.int64], Order]:
        """The parents of all nodes in the present order: those of j are ``parents[start[j] : start[j + 1]]``."""
        return self._find_parents(0, self.d, 8 * self.d)

    def widen(self, candidates: Candidates, changed: NDArray[np.uint8]) -> None:
        """Take other candidates for the nodes that are marked in ``changed`` (d,); `start` or `grow` goes on.

        Columns and scales stay those that the chain was opened with.
        """
        if self._candidates is None:
            raise ValueError("this chain has all nodes as candidates")
        candidates.check(self.d)
        check("changed", changed, UINT8, (self.d,))
        self._candidates, self._ready = replace(self._candidates, start=candidates.start, nodes=candidates.nodes), True
        given = address(candidates.start), address(candidates.nodes), address(changed)
        self._run(library().order_search_widen, *given)
        self._ready = False

    def missed(self, room: int, threads: int = 1, flag: Flag | None = None) -> Order:
        """What a selection among all predecessors in the present order chooses that is no candidate.

        Returns pairs (count, 2): a node, and one that it chooses, ``room`` for each at most. Where there are none, the
        parents of all nodes are those that they would have among all columns.
        """
        found = np.full((self.d, room), -1, dtype=np.int32)
        kernel, step = library().order_search_missed, max(1, -(-self.d // (8 * threads)))
        with self._open() as handle, ThreadPoolExecutor(threads) as pool:

            def look(first: int) -> int:
                nodes = first, min(first + step, self.d)
                return int(kernel(handle, *nodes, room, address(found), address(flag)))

            check_status(min(pool.map(look, range(0, self.d, step))), self._purpose)
        nodes, places = np.nonzero(found >= 0)
        return np.stack([nodes.astype(np.int32), found[nodes, places]], axis=1)

    def parents(self) -> Bools:
        """The parents of all nodes in the present order, by column: (d, d)."""
        start, parents = self._find_parents(0, self.d, 8 * self.d)
        adjacency = np.zeros((self.d, self.d), dtype=bool)
        adjacency[parents, np.repeat(self._nodes, np.diff(start))] = True
        return adjacency

    def parents_of(self, node: int) -> Order:
        """The parents of one node in the present order."""
        if not 0 <= node < self.d:
            raise ValueError(f"node is {node}; give one of 0 to {self.d - 1}")
        return self._find_parents(node, node + 1, self.d)[1]

    def _find_parents(self, first: int, last: int, room: int) -> tuple[NDArray[np.int64], Order]:
        """Where the parents of each of some nodes begin, and all of them."""
        start, parents = np.empty(last - first + 1, dtype=np.int64), np.empty(room, dtype=np.int32)
        kernel = library().order_search_parents
        count = self._run(kernel, first, last, address(start), address(parents), room)
        if count > room:
            parents = np.empty(count, dtype=np.int32)
            self._run(kernel, first, last, address(start), address(parents), count)
        return start, parents[:count]

    @contextmanager
    def _open(self) -> Iterator[int]:
        with self._busy:
            if self._handle is None:
                raise ValueError("the trees of this search are closed; open new ones")
            yield self._handle

    def _run(self, kernel: Callable[..., int], *given: object) -> int:
        with self._open() as handle:
            if not self._ready:
                raise ValueError("this chain has no order, or was stopped; start it with one")
            self._ready = False
            answer = check_status(kernel(handle, *given), self._purpose)
            self._ready = True
            return answer
