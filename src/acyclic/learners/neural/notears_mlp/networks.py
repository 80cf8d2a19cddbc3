"""One perceptron for each column, all d in one batch: predictions, gradients and curvature, written out.

Every parameter multiplies one signal and feeds one unit, so that its derivative in a row is the signal times the unit's
sensitivity ∂x̂/∂(input of the unit): gradients and Gauss–Newton matrices are products of these.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from acyclic.learners.neural.notears_mlp.problem import Mechanisms, Prediction, Tangent
from acyclic.types import Floats, Integers

AWAKE = 3
"""How many times larger than published the other weights of a network without inputs start: far from 0, where the ridge
would end them, and units still alive, as the slope of a logistic unit is 0.05 at 3. Factors from 1 to 10 end within
0.2 % of the same objective."""


class Perceptrons(Mechanisms):
    """x̂_j = c_j + v_jᵀ σ(Θ^j x + b_j) for one hidden layer, and likewise for more, with logistic σ.

    Parameters of a node: weights (units of the layer × units below) and biases of each layer in turn. Columns are
    centred, which the free biases make up for: the objective keeps its minima and becomes better conditioned.
    """

    def __init__(self, rows: Floats, hidden: Sequence[int], l2: float, device: torch.device) -> None:
        n, d = rows.shape
        self.n_rows, self.n_nodes, self.units = n, d, hidden[0]
        self.inputs = torch.from_numpy(np.ascontiguousarray((rows - rows.mean(axis=0)).T)).to(device)
        self.widths = (d, *hidden, 1)
        layers = [(np.full(above * below, l2), np.zeros(above)) for below, above in pairwise(self.widths)]
        self.ridge = np.concatenate([part for layer in layers for part in layer])
        self._free: dict[int, list[Tensor]] = {}

    def start(self, rng: np.random.Generator, *, edges: bool) -> Floats:
        """Uniform draws in ±1/√(units below), as published; first weights are differences of two draws, each cut at 0.

        Without ``edges`` the first weights are 0 and all else is AWAKE times as large: a node whose other weights the
        ridge takes to 0 as well, before inputs come in, would stay there.
        """
        first = self.units * self.n_nodes
        bounds = [1 / np.sqrt(below) for below in self.widths[:-1]]
        counts = [(below + 1) * above for below, above in pairwise(self.widths)]
        parameters: Floats = rng.uniform(-1, 1, (self.n_nodes, sum(counts))) * np.repeat(bounds, counts)
        if not edges:
            parameters[:, :first] = 0.0
            return AWAKE * parameters
        negative = rng.uniform(-bounds[0], bounds[0], (self.n_nodes, first))
        parameters[:, :first] = np.maximum(parameters[:, :first], 0) - np.maximum(negative, 0)
        return parameters

    def predict(self, parameters: Floats) -> Pass:
        """See Mechanisms."""
        return Pass(self, parameters)

    def borrow(self, units: int, owner: object) -> Tensor:
        """A tensor (d, units, n) that holds anything, and serves others when its owner is gone.

        The system takes longer to give and take back fresh tensors of megabytes than what is computed in them.
        """
        free = self._free.setdefault(units, [])
        found = free.pop() if free else self.inputs.new_empty((self.n_nodes, units, self.n_rows))
        weakref.finalize(owner, free.append, found)
        return found

    def layers(self, parameters: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weights (d, units, units below) and biases (d, units) of each layer."""
        found, at = [], 0
        for below, above in pairwise(self.widths):
            weights = parameters[:, at : at + above * below].reshape(-1, above, below)
            at += above * below
            found.append((weights, parameters[:, at : at + above]))
            at += above
        return found


class Pass(Prediction):
    """One forward pass: activations (d, units, n) of the hidden layers, and residuals x̂ − x (d, n)."""

    def __init__(self, networks: Perceptrons, parameters: Floats) -> None:
        self.networks = networks
        self.parameters = torch.from_numpy(parameters).to(networks.inputs.device)
        (first, bias), *others = networks.layers(self.parameters)
        signal = networks.borrow(networks.units, self)
        torch.addmm(bias.reshape(-1, 1), first.flatten(0, 1), networks.inputs, out=signal.view(-1, networks.n_rows))
        self.activations = []
        for (weights, bias), width in zip(others, networks.widths[2:]):
            self.activations.append(signal.sigmoid_())
            signal = torch.baddbmm(bias[:, :, None], weights, signal, out=networks.borrow(width, self))
        self.residuals = signal[:, 0] - networks.inputs
        self.losses: Floats = (self.residuals.square().sum(dim=1) / (2 * networks.n_rows)).cpu().numpy()

    def take(self, other: Prediction, nodes: Integers) -> None:
        """See Prediction."""
        assert isinstance(other, Pass)
        which = torch.from_numpy(nodes).to(self.residuals.device)
        self.parameters = self.parameters.clone()
        for mine, given in zip(self._tensors(), other._tensors()):
            mine[which] = given[which]
        self.losses[nodes] = other.losses[nodes]

    def _tensors(self) -> list[Tensor]:
        return [self.parameters, *self.activations, self.residuals]

    def tangent(self) -> Tangent:
        """See Prediction."""
        return Linearised(self)


class Linearised(Tangent):
    """What follows from the derivative of the loss, or of the output, to the input of every unit."""

    def __init__(self, point: Pass) -> None:
        self.point, self.networks = point, point.networks
        self.layers, blocks = self.networks.layers(point.parameters), []
        slope = (point.residuals / self.networks.n_rows)[:, None]
        for depth in reversed(range(len(self.layers))):
            blocks.append(slope.sum(dim=2))
            blocks.append(self._onto_signals(slope, depth).reshape(len(slope), -1))
            slope = self._below(slope, depth) if depth else slope
        self.gradient = torch.cat(blocks[::-1], dim=1).cpu().numpy()

    @cached_property
    def sensitivities(self) -> list[Tensor]:
        """Of the output to the input of every unit, (d, units, n) by layer."""
        found = [torch.ones_like(self.point.residuals)[:, None]]
        for depth in reversed(range(1, len(self.layers))):
            found.insert(0, self._below(found[0], depth))
        return found

    def _below(self, slope: Tensor, depth: int) -> Tensor:
        """A derivative to the inputs of a layer, taken on to those of the layer below."""
        Z = self.point.activations[depth - 1]
        bend = torch.addcmul(Z, Z, Z, value=-1, out=self.networks.borrow(Z.shape[1], self))
        return torch.bmm(self.layers[depth][0].mT, slope, out=self.networks.borrow(Z.shape[1], self)).mul_(bend)

    def _onto_signals(self, slope: Tensor, depth: int) -> Tensor:
        if depth:
            return torch.bmm(slope, self.point.activations[depth - 1].mT)
        return slope.reshape(-1, slope.shape[2]) @ self.networks.inputs.T

    def gram(self, node: int, which: Integers) -> Floats:
        """See Tangent; all parameters but the first weights have to be in ``which``."""
        networks, J = self.networks, self._later_rows(node)
        first = torch.from_numpy(which[which < networks.units * networks.n_nodes]).to(J.device)
        unit, signal = first // networks.n_nodes, first % networks.n_nodes
        J = torch.cat([self.sensitivities[0][node][unit] * networks.inputs[signal], J])
        found: Floats = (J @ J.T).div_(networks.n_rows).cpu().numpy()
        return found

    def _later_rows(self, node: int) -> Tensor:
        """Derivatives of the predictions to the parameters after the first weights, (parameters, n)."""
        rows = [self.sensitivities[0][node]]
        for Z, S in zip(self.point.activations, self.sensitivities[1:]):
            rows.append((S[node][:, None] * Z[node]).flatten(0, 1))
            rows.append(S[node])
        return torch.cat(rows)
