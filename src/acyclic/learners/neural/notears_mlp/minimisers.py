"""The outer loop and the inner minimisers of NOTEARS with nonlinear mechanisms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from acyclic._native import elastic_net
from acyclic.continuous.loops.augmented_lagrangian import AugmentedLagrangian
from acyclic.continuous.minimisers.lbfgs import follow
from acyclic.continuous.problem import Penalty
from acyclic.deadline import Deadline
from acyclic.facts import Ended, Fact
from acyclic.learners.neural.notears_mlp.problem import NonlinearProblem, Point
from acyclic.running import Monitor, State
from acyclic.types import Floats

DAMPING = 1.0
"""What the first step of a minimisation adds to the curvature, in units of it: less, and units saturate for good."""

GLANCE = 16
"""After so many nodes the clock is looked at: among forty, the model of one takes ten milliseconds."""

SETBACK = 16.0
"""Factor on the damping of all nodes where the step of all together fails, though each node's own part was kept: two of
the ordinary factors of 4 at once, so that five failures in a row lead from the first damping to where it gives up."""


HIDDEN = 2.2e-9
"""Share of its function below which L-BFGS-B sees no change, SciPy's ``ftol``; it is blind to a loss that is less."""


class NotFiniteError(Exception):
    """The loss overflows at the start of a minimisation."""


@dataclass(frozen=True)
class OnwardLagrangian(AugmentedLagrangian):
    """The schedule for nonlinear mechanisms: a larger ρ goes on from where the smaller one ended, as published."""

    def _follow(self, state: State, point: Any) -> None:
        larger = state.rho * self.growth
        if point.h > self.ratio * state.h and larger < self.rho_max:
            state.accept(weights=point.weights, rho=larger)
        else:
            super()._follow(state, point)


def proximal_newton(
    problem: NonlinearProblem,
    penalty: Penalty,
    state: State,
    monitor: Monitor,
    stage: str,
    *,
    tolerance: float = 1e-5,
    far: float = 1e-3,
    max_steps: int = 200,
) -> Point:
    """Minimise by damped Gauss–Newton steps under the L1 term, one elastic net for each node.

    With h linearised in A the objective falls apart into nodes. Each has its own damping, raised where its part of that
    model did not fall as promised (the node then stays), lowered where it did; a line search on the true objective
    follows. Ends when a step so damped promises less than ``tolerance`` of the objective; ten times as much will do
    while the constraint is above ``far``, since such minima are left again by a long way.
    """
    tolerance *= 10.0 if state.h > far else 1.0
    point = _finite_start(problem, penalty, state.reached)
    damping = state.memory.get("damping", np.full(len(point.terms), DAMPING))
    while state.inner_steps < max_steps:
        target, promised = _model_minimisers(problem, point, damping, tolerance, monitor.deadline)
        if not promised.sum() > tolerance * point.total:
            return point
        trial, damping, promised = _node_by_node(problem, penalty, point, target, promised, damping)
        following = _line_search(problem, penalty, point, trial, promised.sum())
        if following is None:
            damping = SETBACK * damping
            if damping.min() > 1e6:
                return point
        point = following or point
        state.step(point.weights, damping=damping)
        monitor.tick(state, stage, point.objective, point.h, penalty.rho)
    state.shortfall = Fact.of(Ended.STEPS_SPENT, minimiser="proximal Newton", steps=max_steps)
    return point


def _finite_start(problem: NonlinearProblem, penalty: Penalty, flat: Floats) -> Point:
    point = problem.at(flat.reshape(problem.shape), penalty)
    if not np.isfinite(point.objective):
        raise NotFiniteError
    return point


def _model_minimisers(
    problem: NonlinearProblem, point: Point, damping: Floats, tolerance: float, deadline: Deadline
) -> tuple[Floats, Floats]:
    """Minimiser (d, P) of the convex model around a point, and the decrease (d,) that it promises each node."""
    tangent, p, ridge = point.prediction.tangent(), point.parameters, point.ridge + 0.5 * problem.mechanisms.ridge
    slope = tangent.gradient + 2 * ridge * p
    moving = problem.free & ((p != 0) | (np.abs(slope) > problem.l1))
    moving[:, problem.first :] = True
    target, promised = p.copy(), np.zeros(len(p))
    # Squared and summed over the nodes, a ten-thousandth of what ends the minimisation.
    accuracy = 1e-2 * np.sqrt(tolerance * point.total / len(p))
    for node, chosen in enumerate(moving):
        which = np.flatnonzero(chosen)
        if not len(which):
            continue
        Q = tangent.gram(node, which)
        diagonal = Q.diagonal()
        # The mean keeps units near saturation, whose curvature is tiny, from running off to where they are dead.
        Q.flat[:: len(Q) + 1] += damping[node] * (diagonal + diagonal.mean())
        if not np.isfinite(Q).all():
            continue
        here, g, l1, r = p[node, which], tangent.gradient[node, which], problem.l1[node, which], ridge[node, which]
        # Ten rounds: the model is only as good as its damping, and the next step starts from here.
        ends = np.full(len(Q), np.inf)
        there = elastic_net(Q, g - Q @ here, l1, r, -ends, ends, here, accuracy, 10, deadline=deadline)
        step = there - here
        change = g @ step + 0.5 * step @ Q @ step + r @ (there**2 - here**2) + l1 @ (np.abs(there) - np.abs(here))
        if change < 0:
            target[node, which], promised[node] = there, -change
        if node % GLANCE == GLANCE - 1:
            deadline.check()
    return target, promised


def _node_by_node(
    problem: NonlinearProblem, penalty: Penalty, point: Point, target: Floats, promised: Floats, damping: Floats
) -> tuple[Point, Floats, Floats]:
    """The target less the nodes whose part of the model rises there, the next damping, and what is still promised."""
    prediction = problem.mechanisms.predict(target)
    before = problem.model_terms(point, point.parameters, point.prediction.losses)
    kept = before - problem.model_terms(point, target, prediction.losses)
    worse = ~(kept >= 1e-4 * promised)
    ratio = np.divide(kept, promised, out=np.zeros_like(kept), where=(promised > 0) & ~worse)
    # The quarters are those of textbooks on trust regions, whose radius goes as the inverse of the damping.
    damping = np.clip(damping * np.where(ratio > 0.75, 0.25, np.where(ratio < 0.25, 4.0, 1.0)), 1e-3, 1e8)
    if worse.any():
        prediction.take(point.prediction, np.flatnonzero(worse))
        target = np.where(worse[:, None], point.parameters, target)
    return problem.at(target, penalty, prediction), damping, np.where(worse, 0.0, promised)


def _line_search(
    problem: NonlinearProblem, penalty: Penalty, point: Point, trial: Point, promised: float
) -> Point | None:
    """The first of the points 1, ½, ¼, … of the way to the trial with sufficient decrease (Armijo), or None."""
    step, length = trial.parameters - point.parameters, 1.0
    while not trial.total <= point.total - 1e-4 * length * promised:
        length /= 2
        if length < 1e-4 or promised == 0:
            return None
        trial = problem.at(point.parameters + length * step, penalty)
    return trial


def within_sight(problem: NonlinearProblem, flat: Floats) -> Floats:
    """A start, flat, at which the first penalty does not hide the loss: first weights are halved until then.

    At the published random start A has a spectral radius of 2 for ten hidden units. The exponential is harmless there,
    but a geometric sum over 50 nodes reaches 1e20. L-BFGS-B would end far from a DAG, where no step changes the
    function by a share that it sees, and the multiplier, raised by h, would leave nothing but the constraint for good.
    """
    parameters, penalty = flat.reshape(problem.shape).copy(), Penalty(rho=State(flat).rho)
    while True:
        point = problem.at(parameters, penalty)
        if not HIDDEN * penalty.value(point.h) > point.objective:
            return parameters.ravel()
        parameters[:, : problem.first] /= 2


class FirstDoubled:
    """The first weights doubled, Θ = Θ⁺ − Θ⁻, and all other parameters as they are (Zheng et al. 2020)."""

    def __init__(self, problem: NonlinearProblem, penalty: Penalty) -> None:
        self.problem, self.penalty, self.first = problem, penalty, problem.first
        d, others = problem.shape[0], problem.shape[1] - problem.first
        self.l1, ends = problem.l1[:, : self.first], np.where(problem.free[:, : self.first], np.inf, 0.0)
        free, zero = np.full((d, others), np.inf), np.zeros((d, self.first))
        self.lower = np.concatenate([zero, -free, zero], axis=1).ravel()
        self.upper = np.concatenate([ends, free, ends], axis=1).ravel()

    def split(self, weights: Floats) -> Floats:
        """See View."""
        p = weights.reshape(self.problem.shape)
        first = p[:, : self.first]
        return np.concatenate([np.maximum(first, 0), p[:, self.first :], np.maximum(-first, 0)], axis=1).ravel()

    def join(self, flat: Floats) -> Floats:
        """See View."""
        doubled, first = flat.reshape(len(self.l1), -1), self.first
        return np.concatenate([doubled[:, :first] - doubled[:, -first:], doubled[:, first:-first]], axis=1).ravel()

    def value_and_gradient(self, flat: Floats) -> tuple[float, Floats]:
        """See View; very large where the loss overflows, so that the line search turns back."""
        point, first = self.at(self.join(flat)), self.first
        if not np.isfinite(point.objective + self.penalty.value(point.h)):
            return 1e300, np.zeros_like(flat)
        p, doubled = point.parameters, flat.reshape(len(self.l1), -1)
        gradient = point.prediction.tangent().gradient + (2 * point.ridge + self.problem.mechanisms.ridge) * p
        # |Θ⁺ − Θ⁻| in the objective; Θ⁺ + Θ⁻ here.
        excess = float((self.l1 * (doubled[:, :first] + doubled[:, -first:] - np.abs(p[:, :first]))).sum())
        gradient = np.concatenate([gradient, -gradient[:, :first]], axis=1)
        gradient[:, :first] += self.l1
        gradient[:, -first:] += self.l1
        return point.objective + excess + self.penalty.value(point.h), gradient.ravel()

    def at(self, weights: Floats) -> Point:
        """See View."""
        return self.problem.at(weights.reshape(self.problem.shape), self.penalty)


def lbfgs(problem: NonlinearProblem, penalty: Penalty, state: State, monitor: Monitor, stage: str) -> Point:
    """Minimise by SciPy's L-BFGS-B with its defaults, as published."""
    _finite_start(problem, penalty, state.weights)
    return follow(FirstDoubled(problem, penalty), penalty, state, monitor, stage)
