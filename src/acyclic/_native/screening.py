"""Columns that may be parents or children of each, by forward selection among all others."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from acyclic._native.library import FLOAT, address, check, check_size, library
from acyclic._native.order import Order
from acyclic._native.watching import run_parts
from acyclic.deadline import Deadline
from acyclic.types import Floats

_CHUNK = 64


def screen_candidates(
    S: Floats,
    scale: Floats,
    n: float,
    cost: float,
    max_parents: int,
    detours: int,
    width: int,
    room: int,
    *,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> tuple[Order, Order]:
    """Candidates of every column: at each step of a forward selection among all others, those that explain most.

    Parameters
    ----------
    S : ndarray (d, d)
        Covariances.
    scale : ndarray (d,)
        1 / standard deviation of each column, 0 for a constant one.
    n, cost, max_parents, detours
        As in `select_parents`.
    width, room : int
        How many are noted at a step, and how many of one column in all.
    threads : int
        The result does not depend on it.
    deadline : Deadline, optional
        Raises Stopped when it passes.

    Returns
    -------
    found : ndarray (d, room) of int32
        Candidates; the rest of a row is −1.
    chosen : ndarray (d,) of int32
        How many candidates, in front of each row, the selection kept: without errors the parents, the children and the
        other parents of these.

    Examples
    --------
    >>> S = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 4.0]])
    >>> found, chosen = screen_candidates(S, np.array([1.0, 1.0, 0.5]), 100.0, 5.0, 3, 1, 2, 2)
    >>> found.tolist(), chosen.tolist()
    ([[1, -1], [0, -1], [-1, -1]], [1, 1, 0])
    """
    d = check_size(len(S))
    check("S", S, FLOAT, (d, d))
    check("scale", scale, FLOAT, (d,))
    if not (n > 0 and cost >= 0 and width >= 1 and room >= 1):
        raise ValueError(f"n = {n}, cost = {cost}, width = {width}, room = {room}: at least 1, a cost of at least 0")
    found, chosen = np.full((d, room), -1, dtype=np.int32), np.zeros(d, dtype=np.int32)
    kernel = library().screen_candidates

    def run(part: tuple[int, int], flag: int | None) -> int:
        numbers = n, cost, max_parents, detours, width, room
        return int(kernel(d, *part, address(S), address(scale), *numbers, address(found), address(chosen), flag))

    parts = list(pairwise([*range(0, d, _CHUNK), d]))
    purpose = f"to screen {d} columns"
    run_parts(run, parts, size=d**3, purpose=purpose, threads=threads, deadline=deadline)
    return found, chosen
