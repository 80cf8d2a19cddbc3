"""Analytic constraints (Zhang et al., ICLR 2025): tr f(B) − c₀d for any power series f with c_i > 0, and their algebra.

Such functions are closed under sums, products and derivatives, and so are these objects: ``a + b`` is tr (f + g)(B),
``a * b`` is tr (f·g)(B), the product of the functions and not of the traces, and ``a.derivative()`` is tr f'(B), each
less its constant. Everything is computed on Bᵀ, which yields gradients without a transposition, from sums of
non-negative matrices.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from math import comb, factorial, inf, prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, logm

from acyclic.constraints.base import LARGEST_VALUE, Constraint, Evaluation, Matrix
from acyclic.constraints.following import Following
from acyclic.constraints.resolvents import InverseTrace, LogDet, Resolvent
from acyclic.errors import InputError

MOST = 8
"""The largest order: beyond it the gradients of neighbouring orders differ by less than their size does."""
TERMS = 64
Own = TypeVar("Own", bound="PowerSeries")


@dataclass(frozen=True)
class PowerSeries(Constraint):
    """tr f(B) − c₀d for f = Σ c_i xⁱ, c_i ≥ 0, on ρ(B) below its radius of convergence; beyond, the first 64 terms."""

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

    def __add__(self, other: Constraint) -> PowerSeries:
        return _Sum(left=self, right=as_power_series(other))

    def __mul__(self, other: Constraint) -> PowerSeries:
        return _Product(left=self, right=as_power_series(other))

    __radd__, __rmul__ = __add__, __mul__


@dataclass(frozen=True)
class Analytic(Following, PowerSeries, Resolvent):
    """tr (I − B/s)⁻ⁿ − d on ρ(B) < s, n the ``order`` from 1 to 8; −log det(I − B/s) for n = 0.

    Each is, but for a factor, the derivative of the one before; c_i = C(n + i − 1, i)/sⁱ. A larger order has larger
    gradients, which vanish less, and is further from convex. Order 1 is the inverse trace. s follows the spectral
    radius as in `Adaptive`; ``derived`` is how often the derivative was taken. One factorisation, and n products.

    Examples
    --------
    >>> import numpy as np
    >>> B = np.array([[0, 0.5], [0.5, 0]])
    >>> first, second = Analytic(order=1), Analytic(order=2)
    >>> round((first * first).value_and_gradient(B)[0] - second.value_and_gradient(B)[0], 12)
    0.0
    >>> (first + second).derivative().name
    'analytic-1′ + analytic-2′'
    """

    order: int = 2
    margin: float = 0.5
    least: float = 0.1
    derived: int = 0

    @property
    def name(self) -> str:  # type: ignore[override]
        """With the order, and a prime for each derivative."""
        return f"analytic-{self.order}" + "′" * self.derived

    def __post_init__(self) -> None:
        self._check_following()
        if isinstance(self.order, bool) or self.order not in range(MOST + 1):
            raise InputError(f"order has to be a whole number from 0 to {MOST}; got {self.order!r}")
        if self.derived not in range(MOST + 1):
            raise InputError(f"derived has to be a whole number from 0 to {MOST}; got {self.derived!r}")

    def _power(self) -> tuple[float, int]:
        """Factor and exponent m of factor·(I − B/s)⁻ᵐ, what the function or its derivative is unless it is a log."""
        rising = prod(range(max(self.order, 1), self.order + self.derived))
        return rising / self.s**self.derived, self.order + self.derived

    def coefficients(self, count: int) -> NDArray[np.float64]:
        """See PowerSeries."""
        factor, m = self._power()
        if m == 0:
            return np.array([0.0, *(1 / (i * self.s**i) for i in range(1, count + 1))])
        return np.array([factor * comb(m + i - 1, i) / self.s**i for i in range(count + 1)])

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return float(self.coefficients(1)[1])

    def derivative(self) -> Analytic:
        """See PowerSeries."""
        return replace(self, derived=self.derived + 1)

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint: with Z = (I − B/s)⁻¹, tr Zᵐ − d = tr (Z + … + Zᵐ)B/s, free of cancellation."""
        found = self.inverse(B)
        if found is None:
            return self._outside(B, size)
        (factor, m), Z = self._power(), found[1] * B.dtype.type(self.s)
        if m == 0:
            return Evaluation(max(-found[0], 0.0), found[1], None)
        sums, power = _powers(Z, m)
        with np.errstate(over="ignore"):
            value, gradient = factor / self.s * float(np.vdot(sums, B)), power * B.dtype.type(factor * m / self.s)
        if not (value < LARGEST_VALUE and gradient.max() < inf):
            return self._outside(B, size)
        return Evaluation(value, gradient, None)

    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        """See PowerSeries."""
        found = self.inverse(B)
        if found is None:
            return None
        Z = found[1] * B.dtype.type(self.s)
        (factor, m), A = self._power(), B.T / B.dtype.type(self.s)
        if m == 0:
            logarithm = np.real(logm(np.eye(len(B)) - A)).astype(B.dtype)
            first, power, factor = np.maximum(-logarithm, 0), Z, 1 / self.s
        else:
            sums, power = _powers(Z, m)
            first, factor = factor * (sums @ A), factor * m / self.s
        result = [first]
        for k in range(1, count + 1):
            result.append(factor * power)
            power, factor = power @ Z, factor * (m + k) / self.s
        return result


def _powers(Z: Matrix, m: int) -> tuple[Matrix, Matrix]:
    """Z + … + Zᵐ and Zᵐ⁺¹."""
    sums, power = Z.copy(), Z @ Z
    for _ in range(m - 1):
        sums += power
        power = power @ Z
    return sums, power


@dataclass(frozen=True)
class _Exponential(PowerSeries):
    """eˣ, its own derivative."""

    name = "exponential"

    def coefficients(self, count: int) -> NDArray[np.float64]:
        return np.array([1 / factorial(i) for i in range(count + 1)])

    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        with np.errstate(over="ignore", invalid="ignore"):
            power = expm(B.T)
        return [power - np.eye(len(B), dtype=B.dtype), *[power] * count] if power.max() < inf else None

    def derivative(self) -> PowerSeries:
        return self


@dataclass(frozen=True)
class _Pair(PowerSeries):
    left: PowerSeries = field(kw_only=True)
    right: PowerSeries = field(kw_only=True)

    def for_point(self: Any, B: Matrix) -> Any:
        left, right = self.left.for_point(B), self.right.for_point(B)
        return self if left is self.left and right is self.right else replace(self, left=left, right=right)


@dataclass(frozen=True)
class _Sum(_Pair):
    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.left.name} + {self.right.name}"

    def coefficients(self, count: int) -> NDArray[np.float64]:
        return self.left.coefficients(count) + self.right.coefficients(count)

    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        left, right = self.left.derivatives(B, count), self.right.derivatives(B, count)
        return None if left is None or right is None else [f + g for f, g in zip(left, right)]

    def derivative(self) -> PowerSeries:
        return self.left.derivative() + self.right.derivative()


@dataclass(frozen=True)
class _Product(_Pair):
    @property
    def name(self) -> str:  # type: ignore[override]
        return f"({self.left.name})·({self.right.name})"

    def coefficients(self, count: int) -> NDArray[np.float64]:
        return np.convolve(self.left.coefficients(count), self.right.coefficients(count))[: count + 1]

    def derivatives(self, B: Matrix, count: int) -> list[Matrix] | None:
        """Leibniz's rule; with f = c + F the constants are kept apart: fg − cd = cG + dF + FG."""
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
        return self.left.derivative() * self.right + self.left * self.right.derivative()


def as_power_series(given: Constraint) -> PowerSeries:
    """A constraint that can be combined: analytic ones, exponential, log-det, inverse trace, whose s then follows."""
    if isinstance(given, PowerSeries):
        return given
    if isinstance(given, LogDet | InverseTrace):
        return Analytic(order=int(isinstance(given, InverseTrace)), s=given.s)
    if isinstance(given, Constraint) and given.name == "exponential":
        return _Exponential()
    said = given.name if isinstance(given, Constraint) else repr(given)
    raise InputError(
        f"{said} is none of the constraints that can be combined: analytic, exponential, log-det, adaptive"
    )
