"""The soft penalty of GOLEM: one minimisation of F + λ‖W‖₁ + αh, by Adam as published or by a faster minimiser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acyclic.solvers.inner import Minimiser
from acyclic.solvers.problem import Penalty, Point, Problem
from acyclic.solvers.solution import Monitor, State


@dataclass(frozen=True)
class SoftPenalty:
    """Minimise F + λ‖W‖₁ + αh once."""

    alpha: float = 5.0

    def __call__(self, problem: Problem, minimise: Minimiser, monitor: Monitor, state: State) -> None:
        """Run from a state to the minimum, in place."""
        point = minimise(problem, Penalty(0.0, self.alpha), state, monitor, "soft penalty")
        state.weights, state.h, state.round = point.weights, point.h, state.round + 1
        state.accept()
        monitor.tick(state, "soft penalty", point.objective, point.h, self.alpha, ended=True)
        state.converged, state.reason = True, "the minimum of the penalised likelihood was reached"


@dataclass(frozen=True)
class Adam:
    """Adam with the settings of GOLEM: a fixed number of steps, the subgradient of the L1 term, no early stop."""

    steps: int = 100_000
    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    def __call__(self, problem: Problem, penalty: Penalty, state: State, monitor: Monitor, stage: str) -> Point:
        """Minimise for one penalty, going on from the state's moments if it has them."""
        W = np.array(state.weights if state.inner is None else state.inner)
        first, second = (np.array(state.memory.get(name, np.zeros_like(W))) for name in ("first", "second"))
        while state.inner_steps < self.steps:
            point = problem.at(W, penalty)
            gradient = point.smooth_gradient + problem.l1 * np.sign(W)
            t = state.inner_steps + 1
            first = self.beta1 * first + (1 - self.beta1) * gradient
            second = self.beta2 * second + (1 - self.beta2) * gradient**2
            rate = self.rate * np.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
            W = np.clip(W - rate * first / (np.sqrt(second) + self.eps), problem.lower, problem.upper)
            state.inner, state.inner_steps, state.steps = W, t, state.steps + 1
            state.memory = {"first": first, "second": second}
            monitor.tick(state, stage, point.objective, point.h, penalty.alpha)
        return problem.at(W, penalty)
