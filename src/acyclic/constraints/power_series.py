"""Constraints tr f(B) − c₀d for power series f = Σ c_i xⁱ with c_i ≥ 0 (Zhang et al., ICLR 2025), and their algebra.

Such functions are closed under sums, products and derivatives, and so are these objects: ``a + b`` is tr (f + g)(B),
``a * b`` is tr (f·g)(B), the product of the functions and not of the traces, ``2 * a`` is tr 2f(B), and
``a.derivative()`` is tr f'(B), each less its constant. Everything is computed on Bᵀ, which yields gradients without a
transposition, from sums of non-negative matrices.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from math import comb, factorial, inf

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from acyclic.constraints.base import LARGEST_VALUE, Constraint, Evaluation, Matrix, Multiple, Sum

TERMS = 64
"""Of the partial sum that stands in for a series where it diverges."""


@dataclass(frozen=True)
class PowerSeries(Constraint):
    """tr f(B) − c₀d on ρ(B) below the radius of convergence of f; beyond, the first 64 terms."""

    is_trace = True

    @abstractmethod
    def coefficients(self, count: int) -> NDArray[np.float64]:
        """c_0, …, c_count."""

    @abstractmethod
    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        """f(Bᵀ) − c₀I, f'(Bᵀ), …, the first ``count`` of the derivatives; None outside of the domain."""

    @abstractmethod
    def derivative(self) -> PowerSeries:
        """The constraint of f'."""

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return float(self.coefficients(1)[1])

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        found = self.derivatives(B, 1)
        if found is None or not (float(found[0].trace()) < LARGEST_VALUE and found[1].max() < inf):
            return self._outside(B, size)
        return Evaluation(max(float(found[0].trace()), 0.0), found[1], None)

    def _outside(self, B: Matrix, size: int) -> Evaluation:
        c = self.coefficients(min(size, TERMS))
        return self._partial_sum(B, lambda i: float(c[i]), len(c) - 1)[0]._replace(in_domain=False)

    def __add__(self, other: Constraint) -> Constraint:
        return SeriesSum(left=self, right=other) if isinstance(other, PowerSeries) else super().__add__(other)

    def __mul__(self, other: Constraint | float) -> Constraint:
        if isinstance(other, PowerSeries):
            return Product(left=self, right=other)
        found = super().__mul__(other)
        return SeriesMultiple(inside=self, factor=found.factor) if isinstance(found, Multiple) else found


@dataclass(frozen=True)
class Exponential(PowerSeries):
    """tr e^B − d (Zheng et al. 2018): c_i = 1/i!."""

    name = "exponential"

    def coefficients(self, count: int) -> NDArray[np.float64]:
        """See PowerSeries."""
        return np.array([1 / factorial(i) for i in range(count + 1)])

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return 1.0

    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        """See PowerSeries: all are the same."""
        with np.errstate(over="ignore", invalid="ignore"):
            power = expm(B.T)
        return [power - np.eye(len(B), dtype=B.dtype), *[power] * count] if power.max() < inf else None

    def derivative(self) -> PowerSeries:
        """See PowerSeries."""
        return self

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        with np.errstate(over="ignore", invalid="ignore"):
            power = expm(B.T)
        value = float(power.trace()) - len(B)
        if value < LARGEST_VALUE and power.max() < inf:
            return Evaluation(max(value, 0.0), power, None)
        partial, _ = self._partial_sum(B, lambda i: 1 / float(np.prod(np.arange(1.0, i + 1))), 100)
        return partial._replace(in_domain=False)


@dataclass(frozen=True)
class SeriesSum(Sum, PowerSeries):  # type: ignore[override]
    """tr (f + g)(B) − c₀d, the sum of two power series."""

    left: PowerSeries = field(kw_only=True)
    right: PowerSeries = field(kw_only=True)

    def coefficients(self, count: int) -> NDArray[np.float64]:
        """See PowerSeries."""
        return self.left.coefficients(count) + self.right.coefficients(count)

    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        """See PowerSeries."""
        left, right = self.left.derivatives(B, count), self.right.derivatives(B, count)
        return None if left is None or right is None else [f + g for f, g in zip(left, right)]

    def derivative(self) -> PowerSeries:
        """See PowerSeries."""
        return SeriesSum(left=self.left.derivative(), right=self.right.derivative())


@dataclass(frozen=True)
class SeriesMultiple(Multiple, PowerSeries):  # type: ignore[override]
    """A power series times a positive number."""

    inside: PowerSeries = field(kw_only=True)

    def coefficients(self, count: int) -> NDArray[np.float64]:
        """See PowerSeries."""
        return self.factor * self.inside.coefficients(count)

    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        """See PowerSeries."""
        found = self.inside.derivatives(B, count)
        return None if found is None else [B.dtype.type(self.factor) * f for f in found]

    def derivative(self) -> PowerSeries:
        """See PowerSeries."""
        return replace(self, inside=self.inside.derivative())


@dataclass(frozen=True)
class Product(PowerSeries):
    """tr (f·g)(B) − c₀d, the product of two power series."""

    _parts = ("left", "right")
    left: PowerSeries = field(kw_only=True)
    right: PowerSeries = field(kw_only=True)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Those of the two."""
        return f"({self.left.name})·({self.right.name})"

    def coefficients(self, count: int) -> NDArray[np.float64]:
        """See PowerSeries."""
        return np.convolve(self.left.coefficients(count), self.right.coefficients(count))[: count + 1]

    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        """See PowerSeries: Leibniz's rule; with f = c + F the constants are kept apart: fg − cd = cG + dF + FG."""
        left, right = self.left.derivatives(B, count), self.right.derivatives(B, count)
        if left is None or right is None:
            return None
        c, d = float(self.left.coefficients(0)[0]), float(self.right.coefficients(0)[0])
        with np.errstate(over="ignore", invalid="ignore"):
            result = [c * right[0] + d * left[0] + left[0] @ right[0]]
            for n in range(1, count + 1):
                terms = c * right[n] + d * left[n]
                for k in range(n + 1):
                    terms = terms + comb(n, k) * (left[k] @ right[n - k])
                result.append(terms)
        return result

    def derivative(self) -> PowerSeries:
        """See PowerSeries."""
        left, right = self.left, self.right
        return SeriesSum(
            left=Product(left=left.derivative(), right=right), right=Product(left=left, right=right.derivative())
        )
