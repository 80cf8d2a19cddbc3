"""Adam as GOLEM was published with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acyclic.continuous.problem import Penalty, Point, Problem
from acyclic.facts import Ended, Fact
from acyclic.running import Monitor, State


@dataclass(frozen=True)
class Adam:
    """Adam with the settings of GOLEM: a fixed number of steps, the subgradient of the L1 term (0 at 0), no early stop.

    It counts as converged if the last tenth of the steps lowered the objective by less than ``tolerance`` of its size.
    """

    steps: int = 100_000
    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    tolerance: float = 1e-3

    def __call__(self, problem: Problem, penalty: Penalty, state: State, monitor: Monitor, stage: str) -> Point:
        """Minimise for one penalty, going on from the state's moments if it has them."""
        W, zero = state.reached, np.zeros_like(state.weights)
        first, second = state.memory.get("first", zero), state.memory.get("second", zero)
        before = state.memory.get("before", np.array(np.inf))
        while state.inner_steps < self.steps:
            point = problem.at(W, penalty)
            gradient = point.smooth_gradient + problem.l1_near(point) * np.sign(W)
            t = state.inner_steps + 1
            before = np.array(point.total) if t <= self.steps - self.steps // 10 else before
            first = self.beta1 * first + (1 - self.beta1) * gradient
            second = self.beta2 * second + (1 - self.beta2) * gradient**2
            rate = self.rate * np.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
            W = problem.inside(W - rate * first / (np.sqrt(second) + self.eps))
            state.step(W, first=first, second=second, before=before)
            monitor.tick(state, stage, point.objective, point.h, penalty.alpha)
        end = problem.at(W, penalty)
        if not before - end.total <= self.tolerance * problem.score.size(end.total):
            state.shortfall = Fact.of(Ended.STEPS_SPENT, minimiser="Adam", steps=self.steps)
        return end
