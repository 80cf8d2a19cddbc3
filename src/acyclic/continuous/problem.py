"""The problem that all continuous solvers minimise: F(W) + Σ L1∘|W| + φ(h(B)) over a box, B = W∘W or |W|."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from acyclic.constraints.base import Constraint
from acyclic.data.mask import Mask
from acyclic.deadline import Stopped
from acyclic.errors import InputError
from acyclic.running import Monitor, State
from acyclic.scores.continuous import Score
from acyclic.types import Floats

H_OF = ("squares", "absolute")
"""What a constraint takes of the weights W: B = W∘W, or |W|."""


@dataclass(frozen=True)
class Penalty:
    """φ(h) = ½ρh² + αh: augmented Lagrangian (ρ, α), central path (0, 1/μ), soft penalty (0, α), or none (0, 0)."""

    rho: float = 0.0
    alpha: float = 0.0

    def value(self, h: float) -> float:
        """φ(h)."""
        return 0.5 * self.rho * h * h + self.alpha * h

    def slope(self, h: float) -> float:
        """φ'(h)."""
        return self.rho * h + self.alpha

    @property
    def active(self) -> bool:
        """Whether the constraint matters at all."""
        return self.rho > 0 or self.alpha > 0


@dataclass(frozen=True, eq=False)
class Point:
    """One evaluation of a problem: weights, the parts of the objective, and the gradients of score and constraint."""

    weights: Floats
    score: float
    gradient: Floats
    l1: float
    h: float
    ridge: Floats
    """φ'(h)·∂h/∂B: the weighted ridge that a penalty on B = W∘W amounts to near this point."""
    total: float
    shrinkage: Floats | None = None
    """φ'(h)·∂h/∂B for B = |W|: the L1 weights that the penalty amounts to near this point; the ridge is zero then."""

    @property
    def objective(self) -> float:
        """Score and L1 term."""
        return self.score + self.l1

    @property
    def smooth_gradient(self) -> Floats:
        """Gradient of everything but the L1 term and a penalty on |W|."""
        return self.gradient + 2 * self.weights * self.ridge


class Problem:
    """Score, constraint, L1 weights and box; ``h_of`` says what the constraint takes, a member of `H_OF`.

    Edges that prior knowledge requires carry no L1 term; edges that it forbids have the box [0, 0]. Without knowledge
    the L1 weights and the limits ``least`` and ``most`` of the weights are broadcast numbers and take no memory; the
    diagonal is zero in any case.
    """

    def __init__(
        self, score: Score, constraint: Constraint, l1: float, mask: Mask | None = None, h_of: str = "squares"
    ) -> None:
        d = score.n_nodes
        if not 0 <= l1 < np.inf:
            raise InputError(f"l1 has to be at least 0 and finite; got {l1}")
        self.score, self.constraint, self.d, self.h_of = score, constraint, d, h_of
        if mask is None or mask.is_free:
            self.l1_weights, self.least, self.most = (np.broadcast_to(x, (d, d)) for x in (float(l1), -np.inf, np.inf))
        else:
            self.l1_weights = np.where(mask.required, 0.0, float(l1))
            self.least, self.most = mask.box

    def box(self) -> tuple[Floats, Floats]:
        """Lower and upper limits of all weights, (d, d) each, zero on the diagonal."""
        lower, upper = np.array(self.least), np.array(self.most)
        np.fill_diagonal(lower, 0)
        np.fill_diagonal(upper, 0)
        return lower, upper

    def inside(self, weights: Floats) -> Floats:
        """The nearest point of the box."""
        moved: Floats = np.clip(weights, self.least, self.most)
        np.fill_diagonal(moved, 0)
        return moved

    def between(self, weights: Floats, target: Floats, length: float) -> Floats:
        """A point on the way from one point of the box to another."""
        step = target - weights
        step *= length
        step += weights
        # Rounding may carry a weight past its limit by one unit in the last place.
        moved: Floats = np.clip(step, self.least, self.most, out=step)
        return moved

    def l1_norm(self, weights: Floats) -> float:
        """Σ L1∘|W|."""
        return float(np.einsum("ij,ij->", self.l1_weights, np.abs(weights)))

    def l1_near(self, point: Point) -> Floats:
        """The L1 weights with those that a penalty on |W| amounts to near a point."""
        return self.l1_weights if point.shrinkage is None else self.l1_weights + point.shrinkage

    def start(self, weights: Floats | None = None) -> Floats:
        """A point of the box: the given one, or zero, moved into it."""
        given = np.zeros((self.d, self.d)) if weights is None else np.asarray(weights, dtype=float)
        if given.shape != (self.d, self.d) or not np.isfinite(given).all():
            raise InputError(f"the start has to be a finite ({self.d}, {self.d}) matrix; got shape {given.shape}")
        return self.inside(given)

    def strengths(self, weights: Floats) -> Floats:
        """B ≥ 0, which the constraint takes: W∘W, or |W|."""
        return weights * weights if self.h_of == "squares" else np.abs(weights)

    def starting_at(self, weights: Floats) -> Problem:
        """The problem of a minimisation from these weights: itself, unless its constraint follows the point."""
        constraint = self.constraint.for_point(self.strengths(weights))
        if constraint is self.constraint:
            return self
        moved = copy(self)
        moved.constraint = constraint
        return moved

    def rounded(self, dtype: type[np.floating[Any]]) -> Problem:
        """The problem for weights of this precision, so that no product is of matrices of two."""
        moved = copy(self)
        moved.score = self.score.rounded(dtype)
        moved.l1_weights = self.l1_weights.astype(dtype)
        return moved

    def h(self, weights: Floats) -> float:
        """The constraint's value alone."""
        return self.constraint.evaluate_block(self.strengths(weights), self.d).value

    def at(self, weights: Floats, penalty: Penalty) -> Point:
        """Evaluate; the total is infinite where the constraint's defining series diverges."""
        value, gradient = self.score.value_and_gradient(weights)
        l1 = self.l1_norm(weights)
        if not penalty.active:
            return Point(weights, value, gradient, l1, np.nan, np.zeros_like(weights), value + l1)
        h, G, _, in_domain = self.constraint.evaluate_block(self.strengths(weights), self.d)
        total = value + l1 + penalty.value(h) if in_domain else np.inf
        pull = penalty.slope(h) * G
        if self.h_of == "squares":
            return Point(weights, value, gradient, l1, h, pull, total)
        return Point(weights, value, gradient, l1, h, np.zeros_like(weights), total, pull)

    def at_end(self, weights: Floats, penalty: Penalty) -> Point:
        """Evaluate where a minimisation ended.

        A cap on evaluations that its last step just met speaks once, now, and has nothing to end any more.
        """
        try:
            return self.at(weights, penalty)
        except Stopped:
            return self.at(weights, penalty)


Minimiser = Callable[[Problem, Penalty, State, Monitor, str], Point]
"""Minimises a problem for one penalty from where a state stands, telling the monitor of each step of a stage."""
