"""Sums of matrix powers by doubling, and the gradient of a norm of one power."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[Any]


class PowerSums:
    """Sums over the first i powers of A: R = Σ_{0<m<i} Aᵐ, H = Σ_{m<i} (m+1) Aᵐ, P = Aⁱ, for i doubled or raised by 1.

    With T = A^i (I + R), doubling is R ← R + T, H ← H + A^i H + i T, P ← P²: the paper's corollary, written without its
    subtraction. The work array has shape (4, d, d); it may be of NumPy or of torch, whose product is then ``matmul``.
    """

    def __init__(self, work: Any, B: Any, matmul: Callable[..., Any] = np.matmul) -> None:
        self.R, self.H, self.P, self._spare = work
        self.d, self.i, self._matmul = len(B), 1, matmul
        self.P[:] = B.T

    @property
    def value(self) -> float:
        """Σ_{m ≤ i} tr Aᵐ."""
        return float(self.P.trace()) + (float(self.R.trace()) if self.i > 1 else 0.0)

    def gradient(self) -> Any:
        """Σ_{m < i} (m+1) Aᵐ, the gradient of the value for A = Bᵀ; a part of the work array."""
        if self.i == 1:
            self.H[:] = 0
            self._add_identity()
        return self.H

    def double(self) -> None:
        """From order i to order 2i: three products, one of them where i = 1."""
        self._sums_doubled()
        self._matmul(self.P, self.P, out=self._spare)
        self.P, self._spare = self._spare, self.P
        self.i *= 2

    def final(self) -> tuple[float, Any]:
        """Value and gradient at twice the order, without forming the power itself: only its trace is needed."""
        last_trace = float(np.vdot(self.P.T, self.P))
        self._sums_doubled()
        return float(self.R.trace()) + last_trace, self.H

    def increment(self, A: Any) -> None:
        """From order i to order i + 1."""
        if self.i == 1:
            self.double()
            return
        self.R += self.P
        self._spare[:] = self.P
        self._spare *= self.i + 1
        self.H += self._spare
        self._matmul(self.P, A, out=self._spare)
        self.P, self._spare = self._spare, self.P
        self.i += 1

    def _sums_doubled(self) -> None:
        if self.i == 1:
            self.R[:] = self.P
            self.H[:] = self.P
            self.H *= 2
            self._add_identity()
            return
        T = self._spare
        self._matmul(self.H, self.P, out=T)
        self.H += T
        self._matmul(self.R, self.P, out=T)
        T += self.P
        self.R += T
        T *= self.i
        self.H += T

    def _add_identity(self) -> None:
        self.H.reshape(-1)[:: self.d + 1] += 1


class PowerChain:
    """B^order by repeated squaring, and the way back: the gradient of any function of the power.

    Where the power would exceed ``largest``, the last square that does not takes its place; ``order`` says which it is.
    """

    def __init__(self, B: Matrix, order: int, largest: float) -> None:
        self.squares, self.order = [B], order
        self._partial: list[Matrix | None] = [B if order & 1 else None]
        top = float(B.max())
        top_partial = top if order & 1 else 0.0
        for digit in range(1, order.bit_length()):
            # Bounds on the next square and on its product with the partial power, before either is formed.
            next_top = len(B) * top * top
            if max(next_top, len(B) * top_partial * next_top) > largest:
                self.order = 1 << (digit - 1)
                self._partial = [None] * (digit - 1) + [self.squares[-1]]
                break
            self.squares.append(self.squares[-1] @ self.squares[-1])
            top, last = float(self.squares[-1].max()), self._partial[-1]
            if order >> digit & 1:
                last = self.squares[-1] if last is None else last @ self.squares[-1]
                top_partial = float(last.max())
            self._partial.append(last)

    @property
    def power(self) -> Matrix:
        """B to the power of ``order``."""
        last = self._partial[-1]
        assert last is not None
        return last

    def pull_back(self, slope: Matrix) -> Matrix:
        """Σ_k (Bᵏ)ᵀ slope (B^(order−1−k))ᵀ in O(log order) products: reverse mode through the squarings."""
        total = np.zeros_like(slope)
        for digit in reversed(range(len(self.squares))):
            square, before = self.squares[digit], self._partial[digit - 1] if digit else None
            if self.order >> digit & 1:
                total = total + (slope if before is None else before.T @ slope)
                slope = slope if before is None else slope @ square.T
            if digit:
                root = self.squares[digit - 1].T
                total = total @ root + root @ total
        return total
