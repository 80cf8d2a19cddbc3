"""Adam as GOLEM was published with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from acyclic.continuous.problem import Penalty, Point, Problem
from acyclic.facts import Ended, Fact
from acyclic.running import Monitor, State


@dataclass(frozen=True)
class Adam:
    """Adam with the settings of GOLEM: a fixed number of steps, the subgradient of the L1 term (0 at 0), no early stop.

    ``dtype`` is what it computes in; the published code does so in single precision, which takes half the time.

    It counts as converged if the last tenth of the steps lowered the objective by less than ``tolerance`` of its size.
    """

    steps: int = 100_000
    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    tolerance: float = 1e-3
    dtype: type[np.floating[Any]] = np.float64

    def __call__(self, problem: Problem, penalty: Penalty, state: State, monitor: Monitor, stage: str) -> Point:
        """Minimise for one penalty, going on from the state's moments if it has them."""
        rounded = problem if self.dtype is np.float64 else problem.rounded(self.dtype)
        W = state.reached.astype(self.dtype, copy=False)
        zero = np.zeros_like(W)
        first, second = state.memory.get("first", zero), state.memory.get("second", zero)
        before = state.memory.get("before", np.array(np.inf))
        while state.inner_steps < self.steps:
            point = rounded.at(W, penalty)
            gradient = (point.smooth_gradient + rounded.l1_near(point) * np.sign(W)).astype(self.dtype, copy=False)
            t = state.inner_steps + 1
            before = np.array(point.total) if t <= self.steps - self.steps // 10 else before
            first = self.beta1 * first + (1 - self.beta1) * gradient
            second = self.beta2 * second + (1 - self.beta2) * gradient**2
            rate = self.rate * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
            # The box is that of double precision: a limit rounded to single may lie beyond the one that was set.
            moved = problem.inside((W - rate * first / (np.sqrt(second) + self.eps)).astype(float, copy=False))
            state.step(moved, first=first, second=second, before=before)
            W = moved.astype(self.dtype, copy=False)
            monitor.tick(state, stage, point.objective, point.h, penalty.alpha)
        end = problem.at(state.reached, penalty)
        if not before - end.total <= self.tolerance * problem.score.size(end.total):
            state.shortfall = Fact.of(Ended.STEPS_SPENT, minimiser="Adam", steps=self.steps)
        return end
