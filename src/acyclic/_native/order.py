"""Orders of nodes: polished under equal noise variances, and searched under the Gaussian BIC."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from acyclic._native.library import FLOAT, INT32, UINT8, address, check, check_size, check_writable, library
from acyclic._native.selection import check_criterion
from acyclic._native.watching import run_kernel
from acyclic.deadline import Deadline
from acyclic.types import Floats

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


class OrderTrees:
    """Every node's tree of the forward selections that some order has asked for: see order.c.

    Use it in a ``with`` block, which frees the trees at its end.

    Parameters
    ----------
    R, n, cost, unit, allowed, required, max_parents, detours
        As in `select_parents`, for nodes in any order.
    precede : ndarray (d, d) of uint8, optional
        Non-zero at (i, j) if i has to stay before j.
    most_branches : int
        The trees are forgotten when they have more.

    Examples
    --------
    >>> R = np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> with OrderTrees(R, 100.0, 5.0, None, None, None, None, 3, 1, 1000) as trees:
    ...     order = np.array([1, 0, 2], dtype=np.int32)
    ...     before = trees.score(order)
    ...     moves = trees.sweep(order, np.array([1], dtype=np.int32), 1e-6)
    ...     order.tolist(), moves, trees.score(order) < before
    ([0, 2, 1], 1, True)
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
    ) -> None:
        self.d = check_size(len(R))
        self._nodes = np.arange(self.d, dtype=np.int32)
        check_criterion(R, n, cost, unit, (allowed, required, precede), self.d)
        self._arrays = R, unit, allowed, required, precede  # the kernel reads them until it is closed
        rules = n, cost, *(address(array) for array in self._arrays[1:]), max_parents, detours
        self._busy = threading.Lock()
        self._purpose = f"for the search trees of {self.d} columns"
        self._handle: int | None = library().order_search_open(self.d, address(R), *rules, most_branches)
        if not self._handle:
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

    def score(self, order: Order, deadline: Deadline | None = None) -> float:
        """The total of an order; raises Stopped when the deadline passes."""
        self._check(order)
        total, kernel = np.empty(1), library().order_search_score
        self._run(lambda flag: kernel(self._handle, address(order), address(total), flag), self.d**2, deadline)
        return float(total[0])

    def sweep(self, order: Order, movers: Order, tolerance: float, deadline: Deadline | None = None) -> int:
        """Put each mover where the total is lowest, in place, if that gains more than a tolerance; the number of moves.

        When it raises Stopped or KeyboardInterrupt, the order has the moves that were made, each of which lowered the
        total.
        """
        self._check(order)
        check("movers", movers, INT32, (len(movers),))
        if len(movers) and not 0 <= movers.min() <= movers.max() < self.d:
            raise ValueError(f"movers have to be numbers of nodes, 0 to {self.d - 1}; got {movers}")
        if not len(movers):
            return 0
        kernel, count = library().order_search_sweep, len(movers)
        return self._run(
            lambda flag: kernel(self._handle, address(order), address(movers), count, tolerance, flag),
            count * self.d**2,
            deadline,
        )

    def _run(self, call: Callable[[int | None], int], size: int, deadline: Deadline | None) -> int:
        def run(flag: int | None) -> int:
            with self._busy:
                if self._handle is None:
                    raise ValueError("the trees of this search are closed; open new ones")
                return call(flag)

        return run_kernel(run, size=size, purpose=self._purpose, deadline=deadline)

    def _check(self, order: Order) -> None:
        check_writable("order", order, INT32, (self.d,))
        if not np.array_equal(np.sort(order), self._nodes):
            raise ValueError(f"the order has to hold each of 0 to {self.d - 1} once; got {order}")
