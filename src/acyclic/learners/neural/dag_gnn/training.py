"""The torch side of DAG-GNN: the model with its gradient written out, and its training.

Values are kept as (channels, b·d) for a batch of b rows and d columns; features as (latent, b, d).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, log10, sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acyclic.constraints.base import Constraint
from acyclic.constraints.torch import value_and_gradient
from acyclic.continuous.loops.augmented_lagrangian import finish_schedule
from acyclic.continuous.problem import Penalty
from acyclic.facts import Ended
from acyclic.learners.neural.dag_gnn.networks import DenseNetworks, Networks, PiecewiseLinearNetworks
from acyclic.running import Monitor, State
from acyclic.types import Floats

DOUBLE = torch.float64
STAGE = "augmented Lagrangian"
# Time limit and Ctrl-C are looked at after so many batches at most, and where each is large after so many values.
BATCHES_PER_STEP, VALUES_PER_STEP = 200, 1_500_000


class Batch:
    """A few rows (b, d, channels). Values of one channel are sorted, which makes lookups predictable."""

    def __init__(self, rows: Tensor) -> None:
        self.shape = rows.shape[:2]
        self.values = rows.permute(2, 0, 1).reshape(rows.shape[2], -1).contiguous()
        self.order: Tensor | None = None
        if rows.shape[2] == 1:
            self.values, order = torch.sort(self.values)
            self.order, self.place = order[0], torch.argsort(order[0])

    def __len__(self) -> int:
        return int(self.shape[0])

    def spread(self, features: Tensor) -> Tensor:
        """Features (latent, b·d) in the order of rows and columns, from that of the values."""
        return features if self.order is None else features.index_select(1, self.place)

    def gathered(self, features: Tensor) -> Tensor:
        """The inverse of `spread`, from (latent·b, d)."""
        flat = features.view(-1, self.shape.numel())
        return flat if self.order is None else flat.index_select(1, self.order)


def batches(rows: Floats, size: int, device: torch.device) -> list[Batch]:
    """Rows (n, d) or (n, d, channels) in batches, in their order; the last may be smaller."""
    cells = torch.tensor(rows.reshape(*rows.shape[:2], -1), dtype=DOUBLE, device=device)
    return [Batch(part) for part in torch.split(cells, size)]


class Model:
    """Parameters in one vector, and the loss of a batch with its gradient.

    With features H = encoder(X) and A = sinh(3Ã), Z = (H + w)(I − A) − w and X̂ = decoder((Z + w)(I − A)⁻¹ − w). The
    argument of the decoder is H again, so no matrix is ever inverted. The loss is ½‖Z‖² + ½‖X − X̂‖² per row, and with
    it come αh + ½ρh² for the constraint's value h at A∘A, and the L1 term.

    Parameters
    ----------
    allowed, l1 : ndarray (d, d)
        Which entries of A may leave zero, and the weight of each in the L1 term.
    channels, hidden, latent : int
        Sizes of the networks.
    constraint : Constraint
    device : torch.device
    """

    def __init__(
        self,
        allowed: NDArray[np.bool_],
        l1: Floats,
        channels: int,
        hidden: int,
        latent: int,
        constraint: Constraint,
        device: torch.device,
    ) -> None:
        self.d, self.constraint = len(allowed), constraint
        self.shapes = [(self.d, self.d), (latent,)]
        for size, outputs in ((channels, latent), (latent, channels)):
            self.shapes += [(hidden, size), (hidden,), (outputs, hidden), (outputs,)]
        n_parameters = sum(torch.Size(shape).numel() for shape in self.shapes)
        self.parameters, self.gradient = torch.zeros(2, n_parameters, dtype=DOUBLE, device=device)
        self.raw, self.shift, *weights = self.views(self.parameters)
        self.raw_gradient, self.shift_gradient, *gradients = self.views(self.gradient)
        self.networks: Networks = DenseNetworks(weights, gradients)
        if channels == latent == 1:
            start = self.d * self.d + 1
            self.networks = PiecewiseLinearNetworks(
                self.parameters[start:].view(2, -1), self.gradient[start:].view(2, -1)
            )
        self.allowed = torch.tensor(allowed, dtype=DOUBLE, device=device)
        self.l1, self.sparse = torch.tensor(l1, dtype=DOUBLE, device=device) * self.allowed, bool(l1.any())
        self.others_gradient = self.gradient[self.d**2 :]

    def views(self, vector: Tensor) -> list[Tensor]:
        """The parts of a vector of parameters."""
        parts = torch.split(vector, [torch.Size(shape).numel() for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes)]

    def draw(self, generator: torch.Generator) -> None:
        """Start as published: A = 0, Xavier-normal weights, biases of the encoder uniform, of the decoder zero."""
        self.parameters.zero_()
        for position, part in enumerate(self.views(self.parameters)[2:]):
            if part.ndim == 2:
                fan_in = part.shape[1]
                values = torch.randn(part.shape, generator=generator, dtype=DOUBLE) * sqrt(2 / sum(part.shape))
            else:
                values = torch.rand(part.shape, generator=generator, dtype=DOUBLE).mul_(2).sub_(1) / sqrt(fan_in)
            if part.ndim == 2 or position < 4:
                part.copy_(values)

    def weights(self) -> Tensor:
        """A = sinh(3Ã)."""
        return torch.sinh(3 * self.raw)

    def strengths(self) -> Floats:
        """|A| as an array."""
        return np.asarray(self.weights().abs().cpu().numpy())

    def loss(self, batch: Batch, A: Tensor) -> float:
        """Mean of ½‖Z‖² + ½‖X − X̂‖² over the rows; keeps what `backward` needs."""
        H = self.networks.encode(batch.values)
        features = batch.spread(H)
        self.shifted = (features + self.shift[:, None]).view(-1, self.d)
        self.Z = torch.addmm(features.view(-1, self.d), self.shifted, A, alpha=-1)
        self.residuals = self.networks.decode(H).sub_(batch.values)
        squares = sum(float(torch.dot(part.view(-1), part.view(-1))) for part in (self.Z, self.residuals))
        return 0.5 * squares / len(batch)

    def backward(self, batch: Batch, A: Tensor, penalty: Penalty) -> None:
        """Set the gradient of loss, L1 term and penalty, after `loss` of the same batch."""
        through = self.Z @ A.T
        torch.sum(through.view(len(self.shift), -1), 1, out=self.shift_gradient).neg_()
        slope = self.networks.pull_back(self.residuals)
        self.networks.finish(slope.add_(batch.gathered(torch.sub(self.Z, through, out=through))))
        self.others_gradient.div_(len(batch))
        B = A * A
        self.h, G = value_and_gradient(B, self.constraint)
        dA = torch.addmm(A * G, self.shifted.T, self.Z, beta=2 * penalty.slope(self.h), alpha=-1 / len(batch))
        if self.sparse:
            dA.addcmul_(self.l1, A.sign())
        torch.mul(dA.mul_(self.allowed), B.add_(1).sqrt_().mul_(3), out=self.raw_gradient)

    def shrink(self, amount: float) -> None:
        """The published proximal step after each update: Ã moves towards zero by ``amount`` times the L1 weights."""
        if self.sparse:
            self.raw.copy_(self.raw.sign() * (self.raw.abs() - amount * self.l1).clamp_(min=0))


class Adam:
    """Adam on one vector, with its moments."""

    def __init__(self, parameters: Tensor, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        self.parameters, self.beta1, self.beta2, self.eps, self.steps = parameters, beta1, beta2, eps, 0
        self.first, self.second = torch.zeros(2, len(parameters), dtype=DOUBLE, device=parameters.device)

    def step(self, gradient: Tensor, rate: float) -> None:
        """Move the parameters in place."""
        self.steps += 1
        self.first.lerp_(gradient, 1 - self.beta1)
        self.second.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        correction = sqrt(1 - self.beta2**self.steps)
        spread = self.second.sqrt().add_(self.eps * correction)
        self.parameters.addcdiv_(self.first, spread, value=-rate * correction / (1 - self.beta1**self.steps))


@dataclass(frozen=True)
class Schedule:
    """The augmented Lagrangian as DAG-GNN runs it.

    After each ``epochs`` epochs ρ grows by ``growth`` if h has not fallen to ``ratio`` times its last accepted value;
    otherwise, or if the loss is more than ``worse`` times the best of any epoch, α += ρh. Parameters and moments are
    kept throughout. Ends at h ≤ ``h_tol`` or ρ ≥ ``rho_max``.
    """

    epochs: int = 300
    base_rate: float = 3e-3
    h_tol: float = 1e-8
    rho_max: float = 1e20
    max_rounds: int = 100
    growth: float = 10.0
    ratio: float = 0.25
    worse: float = 2.0

    def rate(self, rho: float) -> float:
        """The learning rate falls with the logarithm of ρ, between 1e-4 and 1e-2."""
        # As published: the 1e-10 lets ρ = 1, whose logarithm is 0, have the largest rate.
        return min(max(self.base_rate / (log10(rho) + 1e-10), 1e-4), 1e-2)

    def goes_on(self, state: State) -> bool:
        """Whether there is another round to train."""
        return state.round < self.max_rounds and state.rho < self.rho_max and not state.h <= self.h_tol

    def after(self, state: State, h: float, loss: float, best: float) -> dict[str, float]:
        """What changes in the state after a round that ended at h and at this loss."""
        enough = loss > self.worse * best or not h > self.ratio * state.h
        rho = state.rho if enough else state.rho * self.growth
        if not enough and rho < self.rho_max:
            return {"rho": rho}
        return {"rho": rho, "h": h, "alpha": state.alpha + rho * h, "round": state.round + 1}


class NotFiniteError(Exception):
    """Raised when the loss, a parameter or a moment of its gradient is no longer a finite number."""


class Training:
    """Trains a model from a state, in which it leaves after each step all that is needed to go on.

    Parameters
    ----------
    model : Model
        Its parameters are drawn here.
    data : list of Batch
    schedule : Schedule
    generator : torch.Generator
    """

    def __init__(self, model: Model, data: list[Batch], schedule: Schedule, generator: torch.Generator) -> None:
        self.model, self.data, self.schedule = model, data, schedule
        self.n, self.adam = sum(map(len, data)), Adam(model.parameters)
        self.vectors = model.parameters, self.adam.first, self.adam.second
        self.epoch, self.batch, self.partial, self.losses = 0, 0, 0.0, np.empty(0)
        values = model.d * (len(data[0]) + model.d)
        self.window = min(BATCHES_PER_STEP, max(1, VALUES_PER_STEP // values))
        model.draw(generator)

    def __call__(self, state: State, monitor: Monitor) -> None:
        """Run from a state to the end of the schedule, in place."""
        self.restore(state)
        try:
            while self.schedule.goes_on(state):
                self._round(state, monitor)
            finish_schedule(state, self.schedule.h_tol, self.schedule.max_rounds)
        except NotFiniteError:
            state.finish(Ended.NOT_FINITE, steps=state.steps)

    def restore(self, state: State) -> None:
        """Go to where a state was left; a new one leaves everything as it was drawn."""
        if state.memory:
            for vector, stored in zip(self.vectors, state.memory["vectors"]):
                vector.copy_(torch.from_numpy(stored))
            self.losses = state.memory["losses"]
            self.partial = float(state.memory["partial"])
            self.epoch, self.batch, self.adam.steps = (int(count) for count in state.memory["counts"])

    def objective(self) -> float:
        """Mean loss of all rows with the L1 term at the present parameters."""
        A = self.model.weights()
        loss = sum(self.model.loss(batch, A) * len(batch) for batch in self.data) / self.n
        total = loss + float((self.model.l1 * A.abs()).sum())
        return total if isfinite(total) else inf

    def _round(self, state: State, monitor: Monitor) -> None:
        rho = state.rho
        while self.epoch < self.schedule.epochs:
            self._step(state, monitor)
        A = self.model.weights()
        objective, (h, _) = self.objective(), value_and_gradient(A * A, self.model.constraint)
        changes = self.schedule.after(state, h, self.losses[-1], self.losses.min())
        self.epoch = 0
        vars(state).update(changes, memory=self._memory(), inner_steps=0)
        monitor.tick(state, STAGE, objective, h, rho, ended=True)

    def _step(self, state: State, monitor: Monitor) -> None:
        """Train on the next batches, to the end of the epoch at most."""
        penalty, rate = Penalty(state.rho, state.alpha), self.schedule.rate(state.rho)
        end = min(self.batch + self.window, len(self.data))
        for batch in self.data[self.batch : end]:
            self.partial += self._update(batch, penalty, rate) * len(batch) / self.n
        # Second moments that overflow would hold the parameters where they are, without any sign of it.
        if not all(torch.isfinite(vector).all() for vector in self.vectors):
            raise NotFiniteError
        loss = self.partial / (min(end * len(self.data[0]), self.n) / self.n)
        self.batch = end
        if end == len(self.data):
            self.losses = np.append(self.losses, self.partial)
            self.epoch, self.batch, self.partial = self.epoch + 1, 0, 0.0
        state.step(self.model.strengths(), **self._memory())
        monitor.tick(state, STAGE, loss, self.model.h, penalty.rho)

    def _update(self, batch: Batch, penalty: Penalty, rate: float) -> float:
        A = self.model.weights()
        loss = self.model.loss(batch, A)
        if not isfinite(loss):
            raise NotFiniteError
        self.model.backward(batch, A, penalty)
        self.adam.step(self.model.gradient, rate)
        self.model.shrink(rate)
        return loss

    def _memory(self) -> dict[str, Floats]:
        counts = np.array([self.epoch, self.batch, self.adam.steps], dtype=float)
        vectors = torch.stack(self.vectors).cpu().numpy()
        return {"vectors": vectors, "losses": self.losses, "partial": np.array(self.partial), "counts": counts}
