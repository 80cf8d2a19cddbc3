"""The geometric sum Σ tr Bⁱ, whole and truncated, term by term and by doubling: the constraints of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from acyclic.constraints.base import LARGEST, Constraint, Evaluation, Matrix
from acyclic.constraints.following import Following
from acyclic.constraints.powers import PowerSums
from acyclic.errors import InputError
from acyclic.graphs.staircase import Staircase

LARGE = 200
"""Nodes from which on the powers skip the blocks of zeros that strong components leave."""


@dataclass(frozen=True)
class Tmpi(Constraint):
    """Truncated matrix power iteration (Algorithm 1): Σ_{i ≤ k} tr Bⁱ, k the first i ≥ 2 with max Bⁱ ≤ eps, or d."""

    name = "tmpi"
    is_trace = True
    eps: float = 1e-6

    def __post_init__(self) -> None:
        if not 0 <= self.eps < inf:
            raise InputError(f"eps has to be at least 0 and finite; got {self.eps}")

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        return self._partial_sum(B, lambda i: 1.0, size, self.eps)[0]


@dataclass(frozen=True)
class Geometric(Constraint):
    """Σ_{i ≤ d} tr Bⁱ, one product per term."""

    name = "geometric"
    is_trace = True

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        partial, top = self._partial_sum(B, lambda i: 1.0, size)
        return partial._replace(order=size) if top == 0 else partial


@dataclass(frozen=True)
class FastTmpi(Constraint):
    """Fast truncated matrix power iteration: the geometric sum at orders 2, 4, 8, … until max Bⁱ ≤ eps.

    Follows Corollary 1 of the paper, whose Algorithm 2 is misprinted. ``loop="paper"`` doubles while i ≤ d, so the
    order reached may be 2d; ``loop="repository"`` (the authors' NumPy code) doubles while 2i is at most the next power
    of two of d.
    The last square is not formed where d·max(P)² ≤ eps proves that it ends the loop, nor at the last order.
    """

    name = "fast-tmpi"
    is_trace = True
    eps: float = 1e-6
    loop: str = "paper"

    def __post_init__(self) -> None:
        if not 0 <= self.eps < inf:
            raise InputError(f"eps has to be at least 0 and finite; got {self.eps}")
        if self.loop not in ("paper", "repository"):
            raise InputError(f'loop has to be "paper" or "repository"; got {self.loop!r}')

    def _last_order(self, size: int) -> int:
        power = 1 << (size - 1).bit_length()
        return power if self.loop == "repository" or power > size else 2 * power

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        stairs = Staircase.find(B) if len(B) >= LARGE else None
        if stairs is None:
            return self._sum(B, size)
        # The sums are over powers of Bᵀ, which lead down the stairs.
        found = self._sum(stairs.arrange(B), size, lambda X, Y, out: stairs.multiply(Y.T, X.T, out.T))
        return found._replace(gradient=stairs.restore(found.gradient))

    def _sum(self, B: Matrix, size: int, matmul: Callable[..., Any] = np.matmul) -> Evaluation:
        d, largest, last = len(B), LARGEST[B.dtype], max(self._last_order(size), 2)
        work = self._borrow((4, d, d), B.dtype)
        sums, top = PowerSums(work, B, matmul), float(B.max())
        while top <= largest and 2 * sums.i < last and d * top * top > self.eps:
            sums.double()
            top = float(sums.P.max())
            if top <= self.eps:
                break
        if sums.i == last or top > largest or (sums.i > 1 and top <= self.eps):
            result = Evaluation(sums.value, sums.gradient().copy(), sums.i, top <= largest)
        else:
            value, gradient = sums.final()
            result = Evaluation(value, gradient.copy(), 2 * sums.i)
        self._give_back(work)
        return result


@dataclass(frozen=True)
class FastGeometric(Constraint):
    """Σ_{i ≤ d} tr Bⁱ, exactly, with d built from its binary digits: at most 3 log₂ d + popcount(d) products."""

    name = "fast-geometric"
    is_trace = True

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        d, largest = len(B), LARGEST[B.dtype]
        work = self._borrow((4, d, d), B.dtype)
        sums, A, top = PowerSums(work, B), np.ascontiguousarray(B.T), float(B.max())
        for digit in f"{size:b}"[1:]:
            if 2 * sums.i == size and top <= largest:
                value, gradient = sums.final()
                result = Evaluation(value, gradient.copy(), size)
                break
            if top <= largest and top > 0:
                sums.double()
                top = float(sums.P.max())
            if digit == "1" and 0 < top <= largest:
                sums.increment(A)
                top = float(sums.P.max())
        else:
            order = size if top == 0 else sums.i
            result = Evaluation(sums.value, sums.gradient().copy(), order, top <= largest)
        self._give_back(work)
        return result


@dataclass(frozen=True)
class AdaptiveTmpi(Following, FastTmpi):
    """Fast TMPI on B/s: Σ_{i ≤ k} s⁻ⁱ tr Bⁱ, cut at max (B/s)ⁱ ≤ eps, where s follows the spectral radius.

    See `Following`; by itself it is fast TMPI on B/``s``.
    """

    name = "adaptive-tmpi"
    s: float = 1.0
    margin: float | None = 0.5
    least: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_following()

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return 1 / self.s

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        if self.s == 1:
            return super().evaluate_block(B, size)
        scale = B.dtype.type(1 / self.s)
        found = super().evaluate_block(B * scale, size)
        np.multiply(found.gradient, scale, out=found.gradient)
        return found
