"""L-BFGS-B on the doubled variables W = W⁺ − W⁻: the published minimiser of NOTEARS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from acyclic.continuous.problem import Penalty, Point, Problem
from acyclic.facts import Ended, Fact
from acyclic.running import Monitor, State
from acyclic.types import Floats


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
        state.shortfall = Fact.of(Ended.STEPS_SPENT, minimiser="L-BFGS-B", steps=found.nit)
    return problem.at(weights(found.x), penalty)
