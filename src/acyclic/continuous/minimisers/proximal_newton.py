"""Proximal Newton: the model of the problem falls into one weighted elastic net for each column.

h is linearised in A = W∘W, where it is h₀ + ⟨G, A − A₀⟩: a ridge with weights φ'(h₀)G. Together with the score's
curvature the model falls into one weighted elastic net for each column, which the kernel solves exactly; a line search
on the true objective follows. In A = |W| the same holds with L1 weights in the place of the ridge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from acyclic._native import elastic_nets
from acyclic._native.watching import LONG
from acyclic.continuous.problem import Penalty, Point, Problem
from acyclic.deadline import Deadline
from acyclic.facts import Ended, Fact
from acyclic.running import Monitor, State
from acyclic.types import Floats

STEPS_OF_MANY = 500
"""The most steps of a minimisation that others follow, as in the augmented Lagrangian: the next one goes on from there,
so that little is lost. On 20 to 40 nodes the median is 30, and one in a hundred needs more."""

STEPS_ALONE = 2000
"""The most steps of a minimisation whose end is the result, from far away, as GOLEM and NOCURL have them: the median is
100, and one in fifty needs more than 500."""

ON_THE_WAY = 1e-5
"""Tolerance of a minimisation from whose end another starts, as along the central path: that need not be exact."""

NEAR = 1e-5
"""From a promise of this share on, steps are drawn out or shortened. Earlier that would lead to other minima."""

MIXED = 5
"""How many of the last steps are mixed."""

WORTH = 0.1
"""A mixture is taken if it brings at least this share of what the step promises; a whole step brings about half."""

FARTHEST = 30.0
"""How many times its length a step may be drawn out."""


def proximal_newton(
    problem: Problem,
    penalty: Penalty,
    state: State,
    monitor: Monitor,
    stage: str,
    *,
    tolerance: float = 1e-9,
    max_steps: int = STEPS_OF_MANY,
    threads: int = 1,
) -> Point:
    """Minimise by weighted elastic nets and a line search.

    Ends when a step promises less than ``tolerance`` of the objective's size, or when rounding leaves no descent.
    """
    _check_if_long(problem, monitor.deadline)
    point = problem.at(state.reached, penalty)
    while state.inner_steps < max_steps:
        weights, total, size = point.weights, point.total, problem.score.size(point.objective)
        Q, c = problem.score.curvature(weights)
        target = _model_minimiser(problem, point, Q, c, threads, monitor.deadline)
        slope = _promised(problem, point, target)
        if not slope < -tolerance * size:
            return point
        del point  # at large d the memory of its gradients counts
        near = slope > -NEAR * size
        steps = Steps.of(state.memory).followed_by(weights, target) if near else Steps()
        following = None
        if len(steps.points) > 1:
            mixed = problem.at(steps.mix(problem, Q, c), penalty)
            following = mixed if mixed.total <= total + WORTH * slope else None
            del mixed
        if following is None:
            steps = Steps(steps.points[-1:], steps.targets[-1:])
            following = _line_search(problem, penalty, weights, total, target, slope, monitor.deadline)
            if following is None:
                return problem.at(weights, penalty)
            if near and following.weights is target:
                following = _rescaled(problem, penalty, weights, following, slope)
        point = following
        del following, weights, target
        state.step(point.weights, **steps.memory())
        monitor.tick(state, stage, point.objective, point.h, penalty.rho or penalty.alpha)
    state.shortfall = Fact.of(Ended.STEPS_SPENT, minimiser="proximal Newton", steps=max_steps)
    return point


@dataclass(frozen=True)
class Steps:
    """The last steps near a minimum: the points that they started from, and where the model has its minimum there."""

    points: tuple[Floats, ...] = ()
    targets: tuple[Floats, ...] = ()

    @classmethod
    def of(cls, memory: Mapping[str, Floats]) -> Steps:
        """Those that a state remembers."""
        count = sum(name.startswith("point") for name in memory)
        return cls(*(tuple(memory[f"{name}{k}"] for k in range(count)) for name in ("point", "target")))

    def memory(self) -> dict[str, Floats]:
        """What a state has to remember."""
        return {
            f"{name}{k}": matrix
            for name, some in (("point", self.points), ("target", self.targets))
            for k, matrix in enumerate(some)
        }

    def followed_by(self, point: Floats, target: Floats) -> Steps:
        """With one step more, and no more of them than are mixed."""
        return Steps((*self.points, point)[-MIXED:], (*self.targets, target)[-MIXED:])

    def mix(self, problem: Problem, Q: Floats, c: Floats) -> Floats:
        """The mixture of the targets whose steps, in the same mixture, cancel best (Anderson 1965).

        Steps that go back and forth, or creep on, tell together where they lead to. Lengths are measured by the
        diagonal of the curvature. What the last target has at zero stays there.
        """
        last, scale = self.targets[-1], np.sqrt(np.maximum(np.outer(Q.diagonal(), c), 0.0))
        moves = [(target - point) * scale for point, target in zip(self.points, self.targets, strict=True)]
        apart = [(moves[-1] - move).ravel() for move in moves[:-1]]
        normal = np.array([[float(a @ b) for b in apart] for a in apart])
        along = np.array([float(a @ moves[-1].ravel()) for a in apart])
        shares = np.linalg.lstsq(normal, along, rcond=1e-10)[0]
        mixed = last.copy()
        for share, target in zip(shares.tolist(), self.targets):
            mixed += share * (target - last)
        mixed[(last == 0) | (mixed * last < 0)] = 0
        return problem.inside(mixed)


def _promised(problem: Problem, point: Point, target: Floats) -> float:
    """Change of the objective that a step to the target promises: slope of the smooth part, change of the L1 term."""
    step = target - point.weights
    slope = float(np.vdot(point.gradient, step)) + 2 * float(np.einsum("ij,ij,ij->", point.ridge, point.weights, step))
    return slope + problem.l1_norm(target) - point.l1 + _shrunk(point, point.weights, target)


def _shrunk(point: Point, weights: Floats, target: Floats) -> float:
    """What a penalty on |W|, linear in it with its slopes at a point, changes on the way from weights to a target."""
    if point.shrinkage is None:
        return 0.0
    return float(np.vdot(point.shrinkage, np.abs(target) - np.abs(weights)))


def _line_search(
    problem: Problem,
    penalty: Penalty,
    weights: Floats,
    total: float,
    target: Floats,
    slope: float,
    deadline: Deadline,
) -> Point | None:
    """The first of the points 1, ½, ¼, … of the way to the target with sufficient decrease (Armijo), or None."""
    # 1e-4 is the usual constant of Armijo's rule; where 33 halvings do not help, the slope itself was rounding.
    length = 1.0
    while length > 1e-10:
        candidate = problem.at(target if length == 1 else problem.between(weights, target, length), penalty)
        if candidate.total <= total + 1e-4 * length * slope:
            return candidate
        del candidate
        length /= 2
        _check_if_long(problem, deadline)
    return None


def _rescaled(problem: Problem, penalty: Penalty, weights: Floats, reached: Point, slope: float) -> Point:
    """The end of a whole step, or the minimum of the parabola that its slopes at both ends make, if that is lower.

    The model moves weights one by one that pull on each other, as those of i → j and j → i do through log|det(I − W)|
    and h. Near a minimum steps then go back and forth, or creep on in one direction.
    """
    target = reached.weights
    step = target - weights
    end = float(np.vdot(reached.smooth_gradient, step)) + reached.l1 - problem.l1_norm(weights)
    end += _shrunk(reached, weights, target)
    length = slope / (slope - end) if end > slope else FARTHEST
    if 0.8 < length < 1.5:
        return reached
    moved = problem.between(weights, target, min(length, FARTHEST))
    if length > 1:
        # Beyond zero the L1 term bends.
        moved[(target == 0) | (moved * target < 0)] = 0
        moved = problem.inside(moved)
    other = problem.at(moved, penalty)
    return other if other.total < reached.total else reached


def _check_if_long(problem: Problem, deadline: Deadline) -> None:
    """Look at the clock within a step, where evaluations take so long that kernels are watched too."""
    if problem.d**3 >= LONG:
        deadline.check()


def _model_minimiser(problem: Problem, point: Point, Q: Floats, c: Floats, threads: int, deadline: Deadline) -> Floats:
    """Minimiser of the convex model around a point: one weighted elastic net for each column."""
    # Its square is what the model's value may miss: 1e-14 of what a weight of 1 changes, far below any tolerance.
    accuracy = 1e-7 * np.sqrt(float(np.mean(Q.diagonal() * c)))
    return elastic_nets(
        Q,
        c,
        point.gradient,
        problem.l1_near(point),
        point.ridge,
        problem.least,
        problem.most,
        point.weights,
        accuracy,
        threads,
        loops=False,
        around=True,
        deadline=deadline,
    )
