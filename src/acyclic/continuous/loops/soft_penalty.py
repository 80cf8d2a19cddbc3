"""The soft penalty of GOLEM: one minimisation of F + λ‖W‖₁ + αh, by Adam as published or by a faster minimiser."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from acyclic.continuous.problem import Minimiser, Penalty, Problem
from acyclic.facts import Ended, Fact
from acyclic.running import Monitor, State


@dataclass(frozen=True)
class SoftPenalty:
    """Minimise F + λ‖W‖₁ + αh; if there are problems on the way, these first, each from the solution of the one before.

    A minimiser with long steps may leave the valley that small steps follow from zero. With ``detour`` every problem is
    first solved with a penalty so many times as large, which lets it start close to a DAG; by ``approach``, if that is
    given: a start need not be exact.
    """

    alpha: float = 5.0
    detour: float | None = None
    way: tuple[Problem, ...] = ()
    approach: Minimiser | None = None

    def __call__(self, problem: Problem, minimise: Minimiser, monitor: Monitor, state: State) -> None:
        """Run from a state to the last minimum, in place."""
        penalties = [self.alpha] if self.detour is None else [self.detour * self.alpha, self.alpha]
        for task, alpha in list(product((*self.way, problem), penalties))[state.round :]:
            state.shortfall = None
            solve = self.approach if self.approach and alpha > self.alpha else minimise
            point = solve(task.starting_at(state.weights), Penalty(0.0, alpha), state, monitor, "soft penalty")
            state.accept(weights=point.weights, h=point.h, round=state.round + 1)
            monitor.tick(state, "soft penalty", point.objective, point.h, alpha, ended=True)
        state.end = state.shortfall or Fact.of(Ended.MINIMUM_REACHED)
