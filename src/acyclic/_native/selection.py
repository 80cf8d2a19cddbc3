"""Forward–backward choice of parents among the predecessors of each node."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from acyclic._native.library import FLOAT, UINT8, address, check, check_size, library
from acyclic._native.watching import run_parts
from acyclic.deadline import Deadline
from acyclic.types import Floats

_CHUNK = 64


def select_parents(
    R: Floats,
    n: float,
    cost: float,
    unit: Floats | None,
    allowed: NDArray[np.uint8] | None,
    required: NDArray[np.uint8] | None,
    max_parents: int,
    detours: int,
    *,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> tuple[Floats, Floats]:
    """Choose the parents of every node among those before it; see selection.h for the criterion.

    Parameters
    ----------
    R : ndarray (d, d)
        Correlations, rows and columns in the order of the nodes.
    n, cost : float
        Rows, and the cost of a parent.
    unit : ndarray (d,), optional
        Common noise variance as a share of each node's own.
    allowed, required : ndarray (d, d) of uint8, optional
        By target; None where nothing is known.
    max_parents, detours : int
    threads : int
        The result does not depend on it.
    deadline : Deadline, optional
        Raises Stopped when it passes.

    Returns
    -------
    slopes : ndarray (d, d)
        Row = target, between standardised columns.
    variances : ndarray (d,)
        What is left of each node's own.

    Examples
    --------
    >>> R = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> slopes, variances = select_parents(R, 100.0, 5.0, None, None, None, 2, 1)
    >>> slopes.round(6).tolist(), variances.round(6).tolist()
    ([[0.0, 0.0], [0.8, 0.0]], [1.0, 0.36])
    """
    d = check_size(len(R))
    check_criterion(R, n, cost, unit, (allowed, required), d)
    slopes, variances = np.zeros((d, d)), np.zeros(d)
    kernel = library().select_parents

    def run(part: tuple[int, int], flag: int | None) -> int:
        rules = n, cost, address(unit), address(allowed), address(required), max_parents, detours
        status: int = kernel(d, *part, address(R), *rules, address(slopes), address(variances), flag)
        return status

    # The last nodes have the most predecessors: they come first, so that no thread ends long after the others.
    parts = list(pairwise([*range(0, d, _CHUNK), d]))[::-1]
    purpose = f"to select parents among {d} columns"
    run_parts(run, parts, size=d**3, purpose=purpose, threads=threads, deadline=deadline)
    return slopes, variances


def check_criterion(
    R: Floats, n: float, cost: float, unit: Floats | None, rules: tuple[NDArray[np.uint8] | None, ...], d: int
) -> None:
    """Raise a ValueError unless the regressions of selection.h can read what they are given."""
    check("R", R, FLOAT, (d, d))
    if not (n > 0 and cost >= 0):
        raise ValueError(f"n is {n} and the cost of a parent {cost}; the kernel takes n > 0 and a cost of at least 0")
    if unit is not None:
        check("unit", unit, FLOAT, (d,))
        if not ((unit > 0) & (unit < np.inf)).all():
            raise ValueError(f"unit has values from {unit.min()} to {unit.max()}; the kernel takes positive numbers")
    for rule in rules:
        if rule is not None:
            check("a rule for parents", rule, UINT8, (d, d))
