"""The augmented Lagrangian of NOTEARS with its published schedule, and the quadratic penalty method."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from acyclic.continuous.problem import Minimiser, Penalty, Point, Problem
from acyclic.facts import Ended
from acyclic.running import Monitor, State


@dataclass(frozen=True)
class AugmentedLagrangian:
    """min F + λ‖W‖₁ subject to h = 0 by φ(h) = ½ρh² + αh (Zheng et al. 2018).

    While h has not fallen to ``ratio`` times its last value, ρ grows by ``growth`` and the problem is solved again from
    the last accepted point; then α += ρh. Ends at h ≤ ``h_tol`` or ρ ≥ ``rho_max``. With ``multiplier=False`` α stays 0
    and ρ grows after every solve: the quadratic penalty method (Ng et al. 2022). A constraint that follows the point is
    set before each solve.
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
        while state.round < self.max_rounds and state.rho < self.rho_max and not state.h <= self.h_tol:
            rho, task = state.rho, problem.starting_at(state.weights)
            if task is not problem and state.h < inf:
                # The next value is measured against one of the same function.
                state.h = task.h(state.weights)
            point = minimise(task, Penalty(rho, state.alpha), state, monitor, stage)
            self._follow(state, point)
            monitor.tick(state, stage, point.objective, point.h, rho, ended=True)
            del point  # three matrices that the next minimisation has no use for
        finish_schedule(state, self.h_tol, self.max_rounds)

    def _follow(self, state: State, point: Point) -> None:
        """Accept the point, or raise ρ for another attempt from the last point accepted."""
        enough = not point.h > self.ratio * state.h
        rho = state.rho if enough and self.multiplier else state.rho * self.growth
        if self.multiplier and not enough and rho < self.rho_max:
            state.accept(rho=rho)
        else:
            alpha = state.alpha + rho * point.h if self.multiplier else 0.0
            state.accept(weights=point.weights, h=point.h, rho=rho, alpha=alpha, round=state.round + 1)


def finish_schedule(state: State, h_tol: float, max_rounds: int) -> None:
    """Note how a schedule of growing penalties ended: at its tolerance, or after its last round or penalty."""
    if state.h <= h_tol:
        state.finish(Ended.CONSTRAINT_MET, h=state.h, h_tol=h_tol)
    elif state.round >= max_rounds:
        state.finish(Ended.ROUNDS_SPENT, round=state.round, h=state.h, h_tol=h_tol)
    else:
        state.finish(Ended.PENALTY_SPENT, rho=state.rho, h=state.h, h_tol=h_tol)
