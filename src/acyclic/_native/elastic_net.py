"""Elastic nets that share one quadratic form: the one wrapper of their kernel, for many columns and for one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from acyclic._native.library import FLOAT, address, check, check_size, library
from acyclic._native.watching import run_kernel, run_parts
from acyclic.deadline import Deadline
from acyclic.types import Floats

_ONE = np.ones(1)


def elastic_nets(
    Q: Floats,
    c: Floats,
    linear: Floats,
    l1: Floats,
    ridge: Floats,
    lower: Floats,
    upper: Floats,
    start: Floats,
    tolerance: float,
    threads: int = 1,
    max_rounds: int = 1000,
    *,
    loops: bool = True,
    around: bool = False,
    deadline: Deadline | None = None,
) -> Floats:
    """For every column j: argmin_b ½c_j bᵀQb + linear_jᵀb + Σ l1_ij|b_i| + Σ ridge_ij b_i² over lower ≤ b ≤ upper.

    All matrices are (d, d) and belong to the columns of the result; l1, lower and upper may be broadcast from one
    number, and then take no memory. ``tolerance`` bounds the last change of an entry, in units of the square root of
    the objective. Without ``loops`` the diagonal of the result is 0. With ``around``, ``linear`` has the slopes of the
    quadratic and the linear terms at the start, not at zero. Columns are shared out over threads; the result does not
    depend on them. Raises Stopped when the deadline passes.

    Examples
    --------
    >>> Q, zero = np.eye(2), np.zeros((2, 2))
    >>> limit = np.broadcast_to(np.inf, (2, 2))
    >>> elastic_nets(Q, np.ones(2), -3 * Q, np.broadcast_to(1.0, (2, 2)), zero, -limit, limit, zero, 1e-9)
    array([[2., 0.],
           [0., 2.]])
    """
    d = check_size(len(Q))
    check("Q", Q, FLOAT, (d, d))
    check("c", c, FLOAT, (d,))
    matrices = {"linear": linear, "l1": l1, "ridge": ridge, "lower": lower, "upper": upper, "start": start}
    for name, matrix in matrices.items():
        if matrix.dtype != FLOAT or matrix.shape != (d, d):
            raise ValueError(f"{name} is {matrix.dtype} of shape {matrix.shape}; the kernel reads {FLOAT} of {(d, d)}")
    del matrices, matrix
    shared = l1.strides == lower.strides == upper.strides == (0, 0)
    l1, lower, upper = (np.full(d, A[0, 0]) if shared else np.ascontiguousarray(A.T) for A in (l1, lower, upper))
    # Transposed, each problem is a row; where the caller keeps no matrix as it was, there is only one of it.
    linear, ridge = np.ascontiguousarray(linear.T), np.ascontiguousarray(ridge.T)
    B = np.array(start.T, order="C")
    arrays = [Q, c, linear, l1, ridge, lower, upper, B]
    del linear, ridge
    numbers, kernel = (tolerance, max_rounds, shared, loops, around), library().elastic_net
    edges = np.linspace(0, d, 4 * threads + 1).astype(int).tolist() if threads > 1 and d >= 64 else [0, d]
    run_parts(
        lambda part, flag: kernel(d, *part, *map(address, arrays), *numbers, flag),
        list(pairwise(edges)),
        size=d**3,
        purpose=f"for a ({d}, {d}) work array",
        threads=threads,
        deadline=deadline,
    )
    arrays.clear()
    return np.ascontiguousarray(B.T)


def elastic_net(
    Q: Floats,
    linear: Floats,
    l1: Floats,
    ridge: Floats,
    lower: Floats,
    upper: Floats,
    start: Floats,
    tolerance: float,
    max_rounds: int = 1000,
    *,
    deadline: Deadline | None = None,
) -> Floats:
    """argmin_b ½bᵀQb + linearᵀb + Σ l1|b| + Σ ridge b² over lower ≤ b ≤ upper, as in `elastic_nets`; all are (d,).

    Examples
    --------
    >>> limit = np.array([np.inf, 0.5])
    >>> elastic_net(np.eye(2), np.array([-3.0, 3.0]), np.ones(2), np.zeros(2), -limit, limit, np.zeros(2), 1e-9)
    array([ 2. , -0.5])
    """
    d = check_size(len(Q))
    check("Q", Q, FLOAT, (d, d))
    vectors = {"linear": linear, "l1": l1, "ridge": ridge, "lower": lower, "upper": upper, "start": start}
    for name, vector in vectors.items():
        check(name, vector, FLOAT, (d,))
    b = start.copy()
    arrays = Q, _ONE, linear, l1, ridge, lower, upper, b
    numbers, kernel = (tolerance, max_rounds, False, True, False), library().elastic_net
    run_kernel(
        lambda flag: kernel(d, 0, 1, *map(address, arrays), *numbers, flag),
        size=8 * d**2,  # one column may be given far more rounds than many are
        purpose=f"for a ({d}, {d}) work array",
        deadline=deadline,
    )
    return b
