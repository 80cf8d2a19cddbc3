"""The augmented Lagrangian of NOTEARS with its published schedule, and the quadratic penalty method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acyclic.solvers.inner import Minimiser
from acyclic.solvers.problem import Penalty, Problem
from acyclic.solvers.solution import Monitor, State


@dataclass(frozen=True)
class AugmentedLagrangian:
    """min F + λ‖W‖₁ subject to h = 0 by φ(h) = ½ρh² + αh (Zheng et al. 2018).

    While h has not fallen to ``ratio`` times its last value, ρ grows by ``growth`` and the problem is solved again from
    the last accepted point; then α += ρh. Ends at h ≤ ``h_tol`` or ρ ≥ ``rho_max``. With ``multiplier=False`` α stays 0
    and ρ grows after every solve: the quadratic penalty method (Ng et al. 2022).
    """

    h_tol: float = 1e-8
    rho_max: float = 1e16
    growth: float = 10.0
    ratio: float = 0.25
    max_rounds: int = 100
    multiplier: bool = True

    def __call__(self, problem: Problem, minimise: Minimiser, monitor: Monitor, state: State) -> None:
        """Run from a state to the end of the schedule, in place."""
        stage = "augmented Lagrangian" if self.multiplier else "quadratic penalty"
        while state.round < self.max_rounds and state.rho < self.rho_max:
            penalty = Penalty(state.rho, state.alpha)
            point = minimise(problem, penalty, state, monitor, stage)
            state.inner = point.weights
            enough = not self.multiplier or not point.h > self.ratio * state.h
            monitor.tick(state, stage, point.objective, point.h, state.rho, ended=True)
            if not enough:
                state.rho *= self.growth
            if enough or state.rho >= self.rho_max:
                state.weights, state.h = point.weights, point.h
                state.alpha += state.rho * point.h if self.multiplier else 0.0
                state.rho *= 1.0 if self.multiplier else self.growth
                state.round += 1
            state.accept()
            if state.h <= self.h_tol:
                state.converged, state.reason = True, f"the constraint fell to {state.h:.1e}, below {self.h_tol:g}"
                return
        limit = "rounds" if state.round >= self.max_rounds else f"penalty {self.rho_max:g}"
        state.reason = f"the last of the {limit} was reached with the constraint at {state.h:.1e}, above {self.h_tol:g}"


def empty_state(problem: Problem, start: np.ndarray | None = None) -> State:
    """The state before the first round."""
    return State(weights=problem.start(start))
