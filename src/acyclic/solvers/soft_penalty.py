"""The soft penalty of GOLEM: one minimisation of F + λ‖W‖₁ + αh, by Adam as published or by a faster minimiser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from acyclic.solvers.inner import Minimiser
from acyclic.solvers.problem import Penalty, Point, Problem
from acyclic.solvers.solution import Monitor, State


@dataclass(frozen=True)
class SoftPenalty:
    """Minimise F + λ‖W‖₁ + αh for each problem in turn, from the solution of the one before.

    A minimiser with long steps may leave the valley that small steps follow from zero. With ``detour`` every problem is
    first solved with a penalty so many times as large, which lets it start close to a DAG.
    """

    alpha: float = 5.0
    detour: float | None = None

    def __call__(self, problems: Sequence[Problem], minimise: Minimiser, monitor: Monitor, state: State) -> None:
        """Run from a state to the last minimum, in place."""
        penalties = [self.alpha] if self.detour is None else [self.detour * self.alpha, self.alpha]
        for problem, alpha in list(product(problems, penalties))[state.round :]:
            state.shortfall = ""
            point = minimise(problem, Penalty(0.0, alpha), state, monitor, "soft penalty")
            state.accept(weights=point.weights, h=point.h, round=state.round + 1)
            monitor.tick(state, "soft penalty", point.objective, point.h, alpha, ended=True)
        state.finish(not state.shortfall, state.shortfall or "the minimum of the penalised likelihood was reached")


@dataclass(frozen=True)
class Adam:
    """Adam with the settings of GOLEM: a fixed number of steps, the subgradient of the L1 term, no early stop.

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
            gradient = point.smooth_gradient + problem.l1_weights * np.sign(W)
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
            state.shortfall = f"Adam made its {self.steps} steps while the objective was still falling"
        return end
