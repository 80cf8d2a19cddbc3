"""Additive mechanisms in a Sobolev basis: x̂_j = Σ_{i,k} β_jki ψ_k(x_i), linear in their parameters."""

from __future__ import annotations

import numpy as np
import torch

from acyclic.learners.neural.notears_mlp.problem import Mechanisms, Prediction, Tangent
from acyclic.types import Floats, Integers


class Sobolev(Mechanisms):
    """ψ_k(x) = μ_k sin(x/μ_k) with μ_k = 2/((2k + 1)π), k < ``functions``; no bias, columns not centred.

    The l2 term is ½ l2 ‖x̂‖²/n. Residuals being linear, the Gauss–Newton matrix is the same everywhere.
    """

    def __init__(self, rows: Floats, functions: int, l2: float, device: torch.device) -> None:
        n, d = rows.shape
        self.n_rows, self.n_nodes, self.units, self.l2 = n, d, functions, l2
        self.ridge = np.zeros(functions * d)
        self.targets = torch.from_numpy(np.ascontiguousarray(rows.T)).to(device)
        mu = 2 / ((2 * torch.arange(functions, dtype=torch.float64, device=device) + 1) * torch.pi)
        self.features = (mu[:, None, None] * torch.sin(self.targets / mu[:, None, None])).reshape(functions * d, n)
        self.curvature: Floats = (self.features @ self.features.T).mul_((1 + l2) / n).cpu().numpy()

    def start(self, rng: np.random.Generator, *, edges: bool) -> Floats:
        """Zero, as published."""
        return np.zeros((self.n_nodes, len(self.ridge)))

    def predict(self, parameters: Floats) -> Expansion:
        """See Mechanisms."""
        return Expansion(self, parameters)


class Expansion(Prediction, Tangent):
    """Predictions (d, n), and the gradient, which they decide on."""

    def __init__(self, basis: Sobolev, parameters: Floats) -> None:
        self.basis = basis
        self.predictions = torch.from_numpy(parameters).to(basis.features.device) @ basis.features
        squares = (self.predictions - basis.targets).square() + basis.l2 * self.predictions.square()
        self.losses: Floats = (squares.sum(dim=1) / (2 * basis.n_rows)).cpu().numpy()

    def take(self, other: Prediction, nodes: Integers) -> None:
        """See Prediction."""
        assert isinstance(other, Expansion)
        which = torch.from_numpy(nodes).to(self.predictions.device)
        self.predictions[which] = other.predictions[which]
        self.losses[nodes] = other.losses[nodes]

    def tangent(self) -> Expansion:
        """See Prediction."""
        basis = self.basis
        slope = ((1 + basis.l2) * self.predictions - basis.targets) / basis.n_rows
        self.gradient = (slope @ basis.features.T).cpu().numpy()
        return self

    def gram(self, node: int, which: Integers) -> Floats:
        """See Tangent."""
        return self.basis.curvature[np.ix_(which, which)]
