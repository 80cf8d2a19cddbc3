"""The inner minimisers: min F(W) + Σ L1∘|W| + φ(h(W∘W)) over a box, for one penalty φ.

`lbfgs` is the published way: L-BFGS-B on the doubled variables W = W⁺ − W⁻. `proximal_newton` linearises h in A = W∘W,
where it is h₀ + ⟨G, A − A₀⟩: a ridge with weights φ'(h₀)G. Together with the score's curvature the model falls into one
weighted elastic net for each column, which the kernel solves exactly; a line search on the true objective follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_double, c_int, c_int64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from acyclic._native import library, pointer
from acyclic.solvers.problem import Penalty, Point, Problem
from acyclic.solvers.solution import Monitor, State

Floats = NDArray[np.float64]
Minimiser = Callable[[Problem, Penalty, State, Monitor, str], Point]


def lbfgs(
    problem: Problem,
    penalty: Penalty,
    state: State,
    monitor: Monitor,
    stage: str,
    *,
    options: Mapping[str, Any] | None = None,
) -> Point:
    """Minimise by SciPy's L-BFGS-B on the 2d² doubled variables (Zheng et al. 2018), with its defaults or ``options``.

    Its memory of past gradients cannot be saved: it always starts from the last accepted weights.
    """
    d, l1, (lower, upper) = problem.d, problem.l1_weights.ravel(), problem.box()
    upper_bounds = np.concatenate([np.maximum(upper, 0).ravel(), np.maximum(-lower, 0).ravel()])
    lower_bounds = np.concatenate([np.maximum(lower, 0).ravel(), np.maximum(-upper, 0).ravel()])

    def weights(w: Floats) -> Floats:
        W: Floats = (w[: d * d] - w[d * d :]).reshape(d, d)
        return W

    def function(w: Floats) -> tuple[float, Floats]:
        W = weights(w)
        value, gradient = problem.score.value_and_gradient(W)
        if penalty.active:
            h, G, *_ = problem.constraint.evaluate_block(W * W, d)
            value += penalty.value(h)
            gradient = gradient + (2 * penalty.slope(h)) * W * G
        flat = gradient.ravel()
        return value + float(l1 @ w[: d * d] + l1 @ w[d * d :]), np.concatenate([flat + l1, l1 - flat])

    def after_step(w: Floats) -> None:
        state.step(weights(w))
        if monitor.callback is None:
            monitor.tick(state, stage, np.nan, np.nan, penalty.rho or penalty.alpha)
            return
        point = problem.at(state.reached, penalty)
        monitor.tick(state, stage, point.objective, point.h, penalty.rho or penalty.alpha)

    state.steps, state.inner_steps = state.steps - state.inner_steps, 0
    start = state.weights.ravel()
    doubled = np.clip(np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)]), lower_bounds, upper_bounds)
    bounds = Bounds(lower_bounds, upper_bounds)
    optimise: Any = minimize  # its published type does not know callbacks beside jac=True
    found = optimise(
        function, doubled, method="L-BFGS-B", jac=True, bounds=bounds, callback=after_step, options=dict(options or {})
    )
    if found.get("status") == 1:
        state.shortfall = f"L-BFGS-B made its {found.nit} steps without reaching a minimum"
    return problem.at(weights(found.x), penalty)


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
    state.shortfall = f"proximal Newton made its {max_steps} steps without reaching a minimum"
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


MINIMISERS: dict[str, Minimiser] = {"lbfgs": lbfgs, "proximal-newton": proximal_newton}
