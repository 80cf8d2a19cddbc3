"""The problem of NOTEARS with nonlinear mechanisms.

For parameters p_j of node j, with first weights Θ^j that let inputs in and A_ij = Σ_m (Θ^j_mi)²:

    min  Σ_j F_j(p_j) + ½ Σ ridge∘p² + Σ L1∘|Θ| + φ(h(A)),   F_j = (1/2n) Σ_rows (x̂_j − x_j)².

Parameters are held as an array (d, P) on the host; whoever predicts keeps the rows where they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acyclic.constraints.base import Constraint
from acyclic.continuous.problem import Penalty
from acyclic.data.mask import Mask
from acyclic.errors import InputError
from acyclic.types import Floats, Integers


class Tangent(ABC):
    """Mechanisms linearised around their parameters."""

    gradient: Floats
    """Of the losses, (d, P)."""

    @abstractmethod
    def gram(self, node: int, which: Integers) -> Floats:
        """Gauss–Newton matrix (k, k) of a node's loss for k of its parameters."""


class Prediction(ABC):
    """What mechanisms say of the rows: their losses (d,), and the derivatives on demand."""

    losses: Floats

    @abstractmethod
    def take(self, other: Prediction, nodes: Integers) -> None:
        """Replace some nodes by those of another prediction."""

    @abstractmethod
    def tangent(self) -> Tangent:
        """Derivatives at the parameters of this prediction."""


class Mechanisms(ABC):
    """d functions x̂_j of all columns; the first units·d parameters of node j are Θ[j, m, i], input i into unit m."""

    n_nodes: int
    units: int
    ridge: Floats
    """Weights (P,) of the squares of a node's parameters."""

    @abstractmethod
    def start(self, rng: np.random.Generator, *, edges: bool) -> Floats:
        """Parameters (d, P) to start from, with or without first weights."""

    @abstractmethod
    def predict(self, parameters: Floats) -> Prediction:
        """Evaluate all mechanisms on all rows."""


@dataclass(frozen=True, eq=False)
class Point:
    """One evaluation of a problem."""

    parameters: Floats
    prediction: Prediction
    terms: Floats
    """Loss, ridge and L1 term of each node, (d,)."""
    h: float
    ridge: Floats
    """φ'(h)·∂h/∂A as weights (d, P) of squared parameters: the ridge that the penalty amounts to near this point."""
    total: float

    @property
    def weights(self) -> Floats:
        """The parameters as a state of the outer loop holds them."""
        return self.parameters.ravel()

    @property
    def objective(self) -> float:
        """Losses, ridge and L1 term."""
        return float(self.terms.sum())


class NonlinearProblem:
    """Mechanisms, constraint, L1 weights, and which parameters prior knowledge keeps at zero."""

    def __init__(self, mechanisms: Mechanisms, constraint: Constraint, l1: float, mask: Mask) -> None:
        if not 0 <= l1 < np.inf:
            raise InputError(f"l1 has to be at least 0 and finite; got {l1}")
        self.mechanisms, self.constraint, d = mechanisms, constraint, mechanisms.n_nodes
        self.shape, self.first = (d, len(mechanisms.ridge)), mechanisms.units * d
        self.l1, self.free = np.zeros(self.shape), np.ones(self.shape, dtype=bool)
        self.l1[:, : self.first] = self._by_unit(np.where(mask.required, 0.0, l1))
        self.free[:, : self.first] = self._by_unit(mask.allowed)

    def _by_unit(self, edges: NDArray[Any]) -> NDArray[Any]:
        """A matrix over edges i → j as the first weights of each node j hold it."""
        return np.tile(edges.T, (1, self.mechanisms.units))

    def squares(self, parameters: Floats) -> Floats:
        """A_ij = Σ_m Θ[j, m, i]²."""
        first = parameters.reshape(self.shape)[:, : self.first].reshape(len(parameters), -1, self.shape[0])
        return np.ascontiguousarray(np.einsum("jmi,jmi->ij", first, first))

    def strengths(self, flat: Floats) -> Floats:
        """√A, (d, d), of the parameters as a state holds them."""
        return np.asarray(np.sqrt(self.squares(flat.reshape(self.shape))))

    def starting_at(self, flat: Floats) -> NonlinearProblem:
        """The problem of a minimisation from these parameters: itself, unless its constraint follows the point."""
        constraint = self.constraint.for_point(self.squares(flat.reshape(self.shape)))
        if constraint is self.constraint:
            return self
        moved = copy(self)
        moved.constraint = constraint
        return moved

    def h(self, flat: Floats) -> float:
        """The constraint's value alone."""
        A = self.squares(flat.reshape(self.shape))
        return self.constraint.evaluate_block(A, len(A)).value

    def at(self, parameters: Floats, penalty: Penalty, prediction: Prediction | None = None) -> Point:
        """Evaluate; the total is infinite where the constraint's defining series diverges, or the loss overflows."""
        prediction = prediction or self.mechanisms.predict(parameters)
        terms = prediction.losses + self._shrinkage(parameters)
        A = self.squares(parameters)
        total, h, ridge = float(terms.sum()), np.inf, np.zeros(self.shape)
        if np.isfinite(total) and A.max() < np.inf:
            h, G, _, in_domain = self.constraint.evaluate_block(A, len(A))
            ridge[:, : self.first] = self._by_unit(penalty.slope(h) * G)
            total = total + penalty.value(h) if in_domain else np.inf
        return Point(parameters, prediction, terms, h, ridge, total if np.isfinite(total) else np.inf)

    def _shrinkage(self, parameters: Floats) -> Floats:
        l1 = np.einsum("jp,jp->j", self.l1, np.abs(parameters))
        return np.asarray(0.5 * parameters**2 @ self.mechanisms.ridge + l1)

    def model_terms(self, point: Point, parameters: Floats, losses: Floats) -> Floats:
        """Each node's part (d,) of the objective with the penalty linearised around a point."""
        penalty = np.einsum("jp,jp,jp->j", point.ridge, parameters, parameters)
        return np.asarray(losses + self._shrinkage(parameters) + penalty)

    def start(self, parameters: Floats) -> Floats:
        """The flat form of parameters, with zeros where prior knowledge wants them."""
        return np.where(self.free, parameters, 0.0).ravel()
