"""Proximal Newton: the model of the problem falls into one weighted elastic net for each column.

h is linearised in A = W∘W, where it is h₀ + ⟨G, A − A₀⟩: a ridge with weights φ'(h₀)G. Together with the score's
curvature the model falls into one weighted elastic net for each column, which the kernel solves exactly; a line search
on the true objective follows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from ctypes import c_double, c_int, c_int64

import numpy as np

from acyclic._native import library, pointer
from acyclic.continuous.problem import Penalty, Point, Problem
from acyclic.facts import Ended, Fact
from acyclic.running import Monitor, State
from acyclic.types import Floats


def proximal_newton(
    problem: Problem,
    penalty: Penalty,
    state: State,
    monitor: Monitor,
    stage: str,
    *,
    tolerance: float = 1e-9,
    max_steps: int = 500,
    threads: int = 1,
) -> Point:
    """Minimise by weighted elastic nets and a line search.

    Ends when a step promises less than ``tolerance`` of the objective's size, or when rounding leaves no descent.
    """
    point = problem.at(state.reached, penalty)
    while state.inner_steps < max_steps:
        weights, total, size = point.weights, point.total, problem.score.size(point.objective)
        target = _model_minimiser(problem, point, threads)
        slope = _promised(problem, point, target)
        if not slope < -tolerance * size:
            return point
        del point  # at large d the memory of its gradients counts
        following = _line_search(problem, penalty, weights, total, target, slope)
        if following is None:
            return problem.at(weights, penalty)
        point = following
        del following, weights, target
        state.step(point.weights)
        monitor.tick(state, stage, point.objective, point.h, penalty.rho or penalty.alpha)
    state.shortfall = Fact.of(Ended.STEPS_SPENT, minimiser="proximal Newton", steps=max_steps)
    return point


def _promised(problem: Problem, point: Point, target: Floats) -> float:
    """Change of the objective that a step to the target promises: slope of the smooth part, change of the L1 term."""
    step = target - point.weights
    slope = float(np.vdot(point.gradient, step)) + 2 * float(np.einsum("ij,ij,ij->", point.ridge, point.weights, step))
    return slope + problem.l1_norm(target) - point.l1


def _line_search(
    problem: Problem, penalty: Penalty, weights: Floats, total: float, target: Floats, slope: float
) -> Point | None:
    """The first of the points 1, ½, ¼, … of the way to the target with sufficient decrease (Armijo), or None."""
    length = 1.0
    while length > 1e-10:
        candidate = problem.at(target if length == 1 else problem.between(weights, target, length), penalty)
        if candidate.total <= total + 1e-4 * length * slope:
            return candidate
        del candidate
        length /= 2
    return None


def _model_minimiser(problem: Problem, point: Point, threads: int) -> Floats:
    """Minimiser of the convex model around a point: one weighted elastic net for each column."""
    Q, c = problem.score.curvature(point.weights)
    accuracy = 1e-7 * np.sqrt(float(np.mean(Q.diagonal() * c)))
    return elastic_nets(
        Q,
        c,
        _linear_term(Q, c, point),
        problem.l1_weights,
        point.ridge,
        problem.least,
        problem.most,
        point.weights,
        accuracy,
        threads,
        loops=False,
    )


def _linear_term(Q: Floats, c: Floats, point: Point) -> Floats:
    """Gradient of the score less that of the model's quadratic form, stored by columns, as the kernel wants it."""
    by_column: Floats = point.weights.T @ Q
    by_column *= -c[:, None]
    by_column += point.gradient.T
    return by_column.T


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
) -> Floats:
    """For every column j: argmin_b ½c_j bᵀQb + linear_jᵀb + Σ l1_ij|b_i| + Σ ridge_ij b_i² over lower ≤ b ≤ upper.

    All matrices are (d, d) and belong to the columns of the result; l1, lower and upper may be broadcast from one
    number, and then take no memory. ``tolerance`` bounds the last change of an entry, in units of the square root of
    the objective. Without ``loops`` the diagonal of the result is 0. Columns are shared out over threads; the result
    does not depend on them.
    """
    d = len(Q)
    limits = [np.asarray(A, dtype=float) for A in (l1, lower, upper)]
    shared = all(A.strides == (0, 0) for A in limits)
    l1, lower, upper = (np.full(d, A[0, 0]) if shared else np.ascontiguousarray(A.T) for A in limits)
    by_column = [
        np.ascontiguousarray(linear.T, dtype=float),
        l1,
        np.ascontiguousarray(ridge.T, dtype=float),
        lower,
        upper,
    ]
    del linear, ridge, limits
    Q, c = np.ascontiguousarray(Q), np.ascontiguousarray(c, dtype=float)
    B = np.array(start.T, dtype=float, order="C", copy=True)
    kernel = library().elastic_net
    kernel.restype = c_int64

    def run(first: int, last: int) -> None:
        pointers = [pointer(A) for A in (Q, c, *by_column, B)]
        numbers = c_double(tolerance), c_int(max_rounds), c_int(shared), c_int(loops)
        if kernel(c_int(d), c_int(first), c_int(last), *pointers, *numbers) < 0:
            raise MemoryError(f"no memory for a ({d}, {d}) work array")

    if threads <= 1 or d < 64:
        run(0, d)
    else:
        edges = np.linspace(0, d, 4 * threads + 1).astype(int)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, edges[:-1], edges[1:]))
    by_column.clear()
    return np.ascontiguousarray(B.T)
