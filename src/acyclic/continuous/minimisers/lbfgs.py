"""L-BFGS-B: one loop around SciPy's, and the two views of a problem with weights that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.optimize import Bounds, minimize

from acyclic.continuous.problem import Penalty, Point, Problem
from acyclic.facts import Ended, Fact
from acyclic.running import Monitor, State
from acyclic.types import Floats


class Evaluated(Protocol):
    """What progress is told of a point."""

    @property
    def objective(self) -> float:
        """Everything but the penalty of the constraint."""

    @property
    def h(self) -> float:
        """The constraint's value."""


Reached = TypeVar("Reached", bound=Evaluated, covariant=True)


class View(Protocol[Reached]):
    """A problem under one penalty as L-BFGS-B wants it: a smooth function of flat variables in a box.

    |w| has no derivative at 0: under an L1 term each weight takes two variables, its positive and its negative part,
    both at least 0.
    """

    lower: Floats
    upper: Floats

    def split(self, weights: Floats) -> Floats:
        """Variables that stand for the weights of a state."""

    def join(self, flat: Floats) -> Floats:
        """The weights, as a state holds them, that variables stand for."""

    def value_and_gradient(self, flat: Floats) -> tuple[float, Floats]:
        """The function."""

    def at(self, weights: Floats) -> Reached:
        """The problem's own evaluation at the weights of a state."""


def follow(
    view: View[Reached],
    penalty: Penalty,
    state: State,
    monitor: Monitor,
    stage: str,
    options: Mapping[str, Any] | None = None,
) -> Reached:
    """Run L-BFGS-B, with SciPy's defaults or ``options``, from the last accepted weights of a state.

    Its memory of past gradients cannot be saved: a minimisation that was interrupted begins again.
    """
    weight = penalty.rho or penalty.alpha

    def after_step(flat: Floats) -> None:
        state.step(view.join(flat))
        if monitor.callback is None:
            monitor.tick(state, stage, np.nan, np.nan, weight)
            return
        point = view.at(state.reached)
        monitor.tick(state, stage, point.objective, point.h, weight)

    state.steps, state.inner_steps = state.steps - state.inner_steps, 0
    start = np.clip(view.split(state.weights), view.lower, view.upper)
    optimise: Any = minimize  # its published type does not know callbacks beside jac=True
    found = optimise(
        view.value_and_gradient,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=Bounds(view.lower, view.upper),
        callback=after_step,
        options=dict(options or {}),
    )
    if found.get("status") == 1:
        state.shortfall = Fact.of(Ended.STEPS_SPENT, minimiser="L-BFGS-B", steps=found.nit)
    return view.at(view.join(found.x))


class Doubled:
    """All d² weights doubled, W = W⁺ − W⁻ (Zheng et al. 2018)."""

    def __init__(self, problem: Problem, penalty: Penalty) -> None:
        self.problem, self.penalty, self.l1 = problem, penalty, problem.l1_weights.ravel()
        lower, upper = problem.box()
        self.lower = np.concatenate([np.maximum(lower, 0).ravel(), np.maximum(-upper, 0).ravel()])
        self.upper = np.concatenate([np.maximum(upper, 0).ravel(), np.maximum(-lower, 0).ravel()])

    def split(self, weights: Floats) -> Floats:
        """See View."""
        flat = weights.ravel()
        return np.concatenate([np.maximum(flat, 0), np.maximum(-flat, 0)])

    def join(self, flat: Floats) -> Floats:
        """See View."""
        positive, negative = self._halves(flat)
        return np.reshape(positive - negative, (self.problem.d, self.problem.d))

    def value_and_gradient(self, flat: Floats) -> tuple[float, Floats]:
        """See View."""
        W, (positive, negative) = self.join(flat), self._halves(flat)
        value, gradient = self.problem.score.value_and_gradient(W)
        growth, squares = self.l1, self.problem.h_of == "squares"
        if self.penalty.active:
            # At a minimum one part of each weight is 0: their sum is |W|, and has a derivative everywhere.
            B = W * W if squares else np.reshape(positive + negative, W.shape)
            h, G, *_ = self.problem.constraint.evaluate_block(B, self.problem.d)
            value += self.penalty.value(h)
            if squares:
                gradient = gradient + (2 * self.penalty.slope(h)) * W * G
            else:
                growth = growth + self.penalty.slope(h) * G.ravel()
        slope = gradient.ravel()
        l1 = float(self.l1 @ positive + self.l1 @ negative)
        return value + l1, np.concatenate([slope + growth, growth - slope])

    def at(self, weights: Floats) -> Point:
        """See View."""
        return self.problem.at(weights, self.penalty)

    def _halves(self, flat: Floats) -> tuple[Floats, Floats]:
        """As np.split does, which takes an eighth of a whole fit at 30 columns."""
        half = len(self.l1)
        return flat[:half], flat[half:]


class Plain:
    """The d² weights themselves, for a problem without L1 term."""

    def __init__(self, problem: Problem, penalty: Penalty) -> None:
        self.problem, self.penalty = problem, penalty
        self.lower, self.upper = (limit.ravel() for limit in problem.box())

    def split(self, weights: Floats) -> Floats:
        """See View."""
        return weights.ravel()

    def join(self, flat: Floats) -> Floats:
        """See View."""
        return np.reshape(flat, (self.problem.d, self.problem.d))

    def value_and_gradient(self, flat: Floats) -> tuple[float, Floats]:
        """See View."""
        point = self.at(self.join(flat))
        return point.score + self.penalty.value(point.h), point.smooth_gradient.ravel()

    def at(self, weights: Floats) -> Point:
        """See View."""
        return self.problem.at(weights, self.penalty)


def lbfgs(
    problem: Problem,
    penalty: Penalty,
    state: State,
    monitor: Monitor,
    stage: str,
    *,
    doubled: bool = True,
    options: Mapping[str, Any] | None = None,
) -> Point:
    """Minimise by SciPy's L-BFGS-B on doubled weights, the published minimiser of NOTEARS.

    Without L1 term the weights themselves will do, as NOCURL was published with: ``doubled=False``.
    """
    view: View[Point] = Doubled(problem, penalty) if doubled else Plain(problem, penalty)
    return follow(view, penalty, state, monitor, stage, options)
