"""GraN-DAG in torch: d networks side by side with gradients written out, and the published training of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite, log, nan, pi, prod, sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acyclic.constraints.base import Constraint
from acyclic.constraints.torch import value_and_gradient
from acyclic.facts import Ended
from acyclic.running import Monitor, State

# Of the leaky ReLUs, as published: PyTorch's default.
SLOPE = 0.01
# Entries of the largest work array of a Jacobian.
CHUNK = 4_000_000

backward_through_activation = torch.ops.aten.leaky_relu_backward.default


class Networks:
    """A network for each of d columns, from all columns to the mean of its own (and the log scale, if outputs = 2).

    Network j is W⁽ᴸ⁺¹⁾ a(W⁽ᴸ⁾ … a(W⁽¹⁾x + b⁽¹⁾) …) + b⁽ᴸ⁺¹⁾ with leaky ReLUs a. All parameters are views of one
    vector, weights first; those of network j are at position j. ``live[j, i]`` is 0 where W⁽¹⁾ of network j holds
    zeros for input i, for good. Activations are (d, units, rows): a layer of all networks is one batched product.
    """

    def __init__(self, live: Tensor, hidden: int, layers: int, outputs: int) -> None:
        d = len(live)
        widths = [d, *[hidden] * layers, outputs]
        shapes: list[tuple[int, ...]] = [(d, after, before) for before, after in pairwise(widths)]
        shapes += [(d, after, 1) for after in widths[1:]] + ([(d, 1)] if outputs == 1 else [])
        sizes = [prod(shape) for shape in shapes]
        self.live, self.outputs = live, outputs
        self.n_weights, self.share = sum(sizes[: layers + 1]), 1 / (outputs * hidden**layers)
        self.parameters, self.gradient = live.new_zeros(2, sum(sizes))
        self.slopes, self.sizes = live.new_zeros(2, self.n_weights)
        self.weights, self.biases, self.log_scales = _views(self.parameters, shapes, layers + 1)
        self.weight_gradients, self.bias_gradients, self.scale_gradient = _views(self.gradient, shapes, layers + 1)
        self.weight_sizes, self.size_slopes = (
            _views(flat, shapes[: layers + 1], layers + 1)[0] for flat in (self.sizes, self.slopes)
        )

    def draw(self, generator: torch.Generator) -> None:
        """Weights uniform as by Glorot & Bengio with the gain of leaky ReLUs; all else zero."""
        gain = sqrt(2 / (1 + SLOPE**2))
        self.parameters.zero_()
        for weight in self.weights:
            bound = gain * sqrt(6 / (weight.shape[1] + weight.shape[2]))
            drawn = torch.rand(weight.shape, generator=generator, dtype=torch.float64)
            weight.copy_((2 * drawn - 1) * bound)
        self.weights[0].mul_(self.live.unsqueeze(1))

    def forward(self, columns: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
        """Activations of the hidden layers, means (d, b) and log scales, (d, b) or (d, 1), for columns (d, b)."""
        first, (d, hidden) = self.weights[0], self.weights[0].shape[:2]
        flat = torch.addmm(self.biases[0].view(-1, 1), first.view(-1, d), columns)
        activations = [torch.nn.functional.leaky_relu_(flat, SLOPE).view(d, hidden, -1)]
        for weight, bias in zip(self.weights[1:-1], self.biases[1:-1]):
            value = torch.baddbmm(bias, weight, activations[-1])
            activations.append(torch.nn.functional.leaky_relu_(value, SLOPE))
        out = torch.baddbmm(self.biases[-1], self.weights[-1], activations[-1])
        return activations, out[:, 0], self.log_scales if self.outputs == 1 else out[:, 1]

    def loss(self, columns: Tensor) -> float:
        """Mean of −log N(x_j; μ_j, σ_j) over rows and columns."""
        _, means, log_scales = self.forward(columns)
        scaled = (columns - means) * torch.exp(-log_scales)
        return 0.5 * log(2 * pi) + float(log_scales.mean() + 0.5 * (scaled * scaled).mean())

    def loss_gradient(self, columns: Tensor) -> None:
        """Put the gradient of the loss into ``gradient``."""
        activations, means, log_scales = self.forward(columns)
        delta = self._output_slopes(columns, means, log_scales, 1 / columns.numel())
        if self.outputs == 1:
            torch.sum(delta[1], 1, keepdim=True, out=self.scale_gradient)
        delta = delta[: self.outputs].transpose(0, 1)
        for k in range(len(self.weights) - 1, 0, -1):
            torch.bmm(delta, activations[k - 1].transpose(1, 2), out=self.weight_gradients[k])
            torch.sum(delta, 2, keepdim=True, out=self.bias_gradients[k])
            delta = self._back(k, delta, activations[k - 1])
        first = self.weight_gradients[0]
        torch.mm(delta.view(-1, columns.shape[1]), columns.T, out=first.view(-1, len(columns)))
        torch.sum(delta, 2, keepdim=True, out=self.bias_gradients[0])
        first.mul_(self.live.unsqueeze(1))

    @staticmethod
    def _output_slopes(columns: Tensor, means: Tensor, log_scales: Tensor, share: float) -> Tensor:
        """Slopes (2, d, b) of −log N, times a share, with respect to means and log scales."""
        slopes = columns.new_empty(2, *columns.shape)
        residuals = torch.sub(columns, means, out=slopes[1])
        torch.mul(residuals, torch.exp(-2 * log_scales).mul_(-share), out=slopes[0])
        residuals.mul_(slopes[0]).add_(share)
        return slopes

    def _back(self, layer: int, delta: Tensor, activation: Tensor) -> Tensor:
        slopes = torch.bmm(self.weights[layer].transpose(1, 2), delta)
        back: Tensor = backward_through_activation(slopes, activation, SLOPE, True)
        return back

    def connectivity(self) -> Tensor:
        """A_φ (d, d): ``[i, j]`` is the mean over paths from input i to outputs of network j of the product of |W|."""
        torch.abs(self.parameters[: self.n_weights], out=self.sizes)
        self._tails = [self.weight_sizes[-1].sum(1, keepdim=True).mul_(self.share)]
        for size in self.weight_sizes[-2:0:-1]:
            self._tails.append(torch.bmm(self._tails[-1], size))
        return torch.bmm(self._tails[-1], self.weight_sizes[0]).squeeze(1).T

    def add_connectivity_gradient(self, slopes: Tensor, factor: float) -> None:
        """Add factor·Σ slopes∘∂A_φ to ``gradient``; `connectivity` was called for the same parameters."""
        ahead = (slopes.T * factor).contiguous().unsqueeze(1)
        for size, tail, out in zip(self.weight_sizes, reversed(self._tails), self.size_slopes):
            torch.mul(tail.transpose(1, 2), ahead, out=out)
            ahead = torch.bmm(ahead, size.transpose(1, 2))
        self.size_slopes[-1].copy_(ahead.mul_(self.share).expand_as(self.size_slopes[-1]))
        signs = torch.sign(self.parameters[: self.n_weights])
        self.gradient[: self.n_weights].addcmul_(signs, self.slopes)

    def clamp(self, live: Tensor) -> None:
        """Cut inputs for good."""
        self.live.mul_(live)
        self.weights[0].mul_(self.live.unsqueeze(1))

    def jacobian(self, columns: Tensor) -> Tensor:
        """Mean over rows of |∂ log p(x_j | x)/∂x_i| at ``[i, j]``, i ≠ j, for columns (d, n)."""
        d, n = columns.shape
        total = columns.new_zeros(d, d)
        for part in torch.split(columns, max(CHUNK // d**2, 1), dim=1):
            activations, means, log_scales = self.forward(part)
            delta = self._output_slopes(part, means, log_scales, 1.0)[: self.outputs].transpose(0, 1)
            for k in range(len(self.weights) - 1, 0, -1):
                delta = self._back(k, delta, activations[k - 1])
            total += torch.bmm(self.weights[0].transpose(1, 2), delta).abs_().sum(2)
        return (total / n).T


def _views(flat: Tensor, shapes: list[tuple[int, ...]], layers: int) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Weights, biases and log scales as parts of a vector."""
    parts = [part.view(shape) for part, shape in zip(torch.split(flat, [prod(shape) for shape in shapes]), shapes)]
    return parts[:layers], parts[layers : 2 * layers], parts[-1]


class RmsProp:
    """x ← x − rate·g/(√v + 1e-8) with v ← 0.99 v + 0.01 g², in place."""

    def __init__(self, parameters: Tensor) -> None:
        self.parameters, self.squares = parameters, torch.zeros_like(parameters)

    def step(self, gradient: Tensor, rate: float) -> None:
        """One step."""
        self.squares.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
        self.parameters.addcdiv_(gradient, self.squares.sqrt().add_(1e-8), value=-rate)


@dataclass
class Schedule:
    """The augmented Lagrangian loss + λh + ½μh² and when to change λ and μ, from its values on validation rows.

    Of three values, one window apart, the last less the first is the progress. Where the middle one lies between them
    and the progress per iteration is below ``tolerance`` (or a loss), λ += μh, and μ grows where h has not fallen to
    ``ratio`` times its value at the previous such moment.
    """

    penalty: float = 1e-3
    growth: float = 10.0
    ratio: float = 0.9
    tolerance: float = 1e-4
    window: int = 100
    multiplier: float = 0.0
    last_h: float = inf
    rounds: int = 0
    values: list[float] = field(default_factory=list)

    def cost(self, h: float) -> float:
        """λh + ½μh²."""
        return self.multiplier * h + 0.5 * self.penalty * h * h

    def slope(self, h: float) -> float:
        """λ + μh."""
        return self.multiplier + self.penalty * h

    def follow(self, iteration: int, loss: float, h: float) -> bool:
        """Note the validation loss after an iteration that ends a window; whether a new subproblem begins."""
        self.values = [*self.values[-2:], loss + self.cost(h)]
        if iteration < 2 * self.window or iteration % (2 * self.window) or not self._stationary():
            return False
        before = self.cost(h)
        self.multiplier += self.penalty * h
        self.penalty *= self.growth if h > self.ratio * self.last_h else 1.0
        self.last_h, self.rounds = h, self.rounds + 1
        # What the penalty gained must not count as a loss of progress in the next comparison.
        self.values[-1] += self.cost(h) - before
        return True

    def _stationary(self) -> bool:
        first, middle, last = self.values
        progress = (last - first) / self.window
        return min(first, last) < middle < max(first, last) and progress > -self.tolerance

    def pack(self) -> NDArray[np.float64]:
        """What changes, as an array."""
        values = [*self.values, *[np.nan] * (3 - len(self.values))]
        return np.array([self.penalty, self.multiplier, self.last_h, self.rounds, *values])

    def unpack(self, packed: NDArray[np.float64]) -> None:
        """The inverse of `pack`."""
        self.penalty, self.multiplier, self.last_h = map(float, packed[:3])
        self.rounds, self.values = int(packed[3]), packed[4:][~np.isnan(packed[4:])].tolist()


@dataclass(eq=False)
class Training:
    """The published training: RMSprop on batches, a schedule from validation rows, inputs clamped on the way.

    Batches are drawn without replacement by walking through the shuffled rows. ``rates`` are those of the first
    subproblem and of the later ones. Edges whose connectivity falls to ``clamp`` go for good, but for the required.
    """

    networks: Networks
    rows: Tensor
    validation: Tensor
    constraint: Constraint
    required: Tensor
    schedule: Schedule
    generator: torch.Generator
    rates: tuple[float, float]
    batch_size: int
    max_iterations: int
    clamp: float
    h_tol: float

    def __post_init__(self) -> None:
        self.optimiser = RmsProp(self.networks.parameters)
        self.held_out = self.validation.T.contiguous()
        self.kept = torch.ones_like(self.required)

    def run(self, state: State, monitor: Monitor) -> None:
        """Train from a state to the end, window by window."""
        self.restore(state)
        while state.steps < self.max_iterations:
            done, h = self._window(state.steps)
            loss = self.networks.loss(self.held_out)
            if not isfinite(loss + self.schedule.cost(h) + float(self.optimiser.squares.max())):
                self.restore(state)
                state.finish(Ended.NOT_FINITE, steps=state.steps)
                return
            acyclic = self._acyclic(h)
            begins = not acyclic and self._follow(state.steps + done - 1, loss, h)
            self._note(state, state.steps + done, h)
            monitor.tick(state, "training", loss, h, self.schedule.penalty, ended=begins or acyclic)
            if acyclic:
                state.finish(Ended.CONSTRAINT_MET, h=h, h_tol=self.h_tol)
                return
        state.finish(Ended.STEPS_SPENT, minimiser="RMSprop", steps=state.steps, h=state.h)

    def restore(self, state: State) -> None:
        """Take parameters, schedule and random stream from a state; draw the first where it has none."""
        if "parameters" not in state.memory:
            self.networks.draw(self.generator)
            self._note(state, 0, inf)
            return
        stored = {name: torch.from_numpy(np.array(value)) for name, value in state.memory.items()}
        self.networks.parameters.copy_(stored["parameters"])
        self.networks.live.copy_(stored["live"])
        self.optimiser.squares.copy_(stored["squares"])
        self.generator.set_state(stored["generator"].to(torch.uint8))
        self.schedule.unpack(state.memory["schedule"])

    def _note(self, state: State, steps: int, h: float) -> None:
        own = self.networks.parameters, self.networks.live, self.optimiser.squares, self.networks.connectivity()
        parameters, live, squares, weights = (np.array(tensor.cpu().numpy()) for tensor in own)
        stream = self.generator.get_state().numpy().astype(float)
        memory = {"parameters": parameters, "live": live, "squares": squares, "generator": stream}
        memory = {**state.memory, **memory, "schedule": self.schedule.pack()}
        penalty = {"rho": self.schedule.penalty, "alpha": self.schedule.multiplier, "round": self.schedule.rounds}
        vars(state).update(weights=weights, memory=memory, steps=steps, h=h, **penalty)

    def _window(self, start: int) -> tuple[int, float]:
        """Iterate to the end of a window, or to where it has to stop before: iterations done, and the last h."""
        length = min(self.schedule.window if start else 1, self.max_iterations - start)
        for done, columns in enumerate(self._batches(length)):
            h = self._iterate(columns)
            if not isfinite(h) or self._acyclic(h):
                return done, h
        return length, h

    def _batches(self, length: int) -> Iterator[Tensor]:
        n, size = len(self.rows), min(self.batch_size, len(self.rows))
        shuffles = -(-length // (n // size))
        orders = [torch.randperm(n, generator=self.generator)[: n - n % size] for _ in range(shuffles)]
        chosen = torch.cat(orders)[: length * size].to(self.rows.device)
        yield from self.rows[chosen].view(length, size, -1).transpose(1, 2).contiguous()

    def _iterate(self, columns: Tensor) -> float:
        connectivity = self.networks.connectivity()
        if not isfinite(float(connectivity.sum())):
            return nan
        h, slopes = value_and_gradient(connectivity, self.constraint)
        if self._acyclic(h):
            return h
        self.networks.loss_gradient(columns)
        self.networks.add_connectivity_gradient(slopes, self.schedule.slope(h))
        self.optimiser.step(self.networks.gradient, self.rates[self.schedule.rounds > 0])
        self._clamp(connectivity.T)
        return h

    def _clamp(self, connectivity: Tensor) -> None:
        kept = (connectivity > self.clamp).logical_or_(self.required)
        if not torch.equal(kept, self.kept):
            self.networks.clamp(kept)
            self.kept = kept

    def _acyclic(self, h: float) -> bool:
        """Whether the end is reached; without a subproblem solved, h = 0 is due to prior knowledge, not to training."""
        return h <= self.h_tol and self.schedule.rounds > 0

    def _follow(self, iteration: int, loss: float, h: float) -> bool:
        if iteration % self.schedule.window or not self.schedule.follow(iteration, loss, h):
            return False
        self.optimiser.squares.zero_()
        return True

    def strengths(self, jacobian: bool) -> NDArray[np.float64]:
        """Strength (d, d) of each edge left: the mean |Jacobian| of log p over the rows, or the connectivity."""
        live, columns = self.networks.live.T, self.rows.T.contiguous()
        found = self.networks.jacobian(columns) * live if jacobian else self.networks.connectivity()
        return np.array((found if found.isfinite().all() else self.networks.connectivity()).cpu().numpy())
