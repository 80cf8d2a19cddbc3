"""The central path: min μ(F + λ‖W‖₁) + h for falling μ, each from the solution of the last (Bello et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from acyclic.continuous.problem import Minimiser, Penalty, Problem
from acyclic.facts import Ended
from acyclic.running import Monitor, State


@dataclass(frozen=True)
class CentralPath:
    """Follow μ = 1, 0.1, 0.01, … with any constraint; written as F + λ‖W‖₁ + h/μ, which has the same minimisers."""

    path: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)

    def __call__(self, problem: Problem, minimise: Minimiser, monitor: Monitor, state: State) -> None:
        """Run from a state to the end of the path, in place."""
        while state.round < len(self.path):
            mu = self.path[state.round]
            task = problem.starting_at(state.weights)
            point = minimise(task, Penalty(0.0, 1 / mu), state, monitor, "central path")
            state.accept(weights=point.weights, h=point.h, round=state.round + 1)
            monitor.tick(state, "central path", point.objective, point.h, 1 / mu, ended=True)
        state.finish(Ended.PATH_FOLLOWED, mu=self.path[-1])
