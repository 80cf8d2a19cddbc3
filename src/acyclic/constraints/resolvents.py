"""Constraints by one factorisation: −log det(I − B/s), tr (I − B/s)⁻ⁿ − d, and what is derived of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import comb, inf, prod

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, logm

from acyclic._native import strong_components
from acyclic.constraints.base import LARGEST, LARGEST_VALUE, Evaluation, Matrix
from acyclic.constraints.following import Following, check_s
from acyclic.constraints.perron import balance
from acyclic.constraints.power_series import PowerSeries
from acyclic.errors import InputError

WELL_CONDITIONED = 1e4
"""Entries of (I − B/s)⁻¹ up to which the digits that are lost stay below 1e-10, a hundredth of the usual h_tol."""

MOST = 8
"""The largest order: beyond it the gradients of neighbouring orders differ by less than their size does."""


def balance_by_components(B: Matrix) -> tuple[NDArray[np.intp], Matrix]:
    """An order that makes B block-triangular by components, and ratios t_j/t_i, in it, that make its entries alike."""
    _, _, labels = strong_components(np.ascontiguousarray(B > 0).view(np.uint8))
    order = np.argsort(labels, kind="stable")
    scale, largest = balance(B[np.ix_(order, order)]), LARGEST[B.dtype]
    middle = np.exp2(np.rint(np.log2(scale.min()) / 2 + np.log2(scale.max()) / 2))
    scale = np.clip(scale / middle, 1 / largest, largest)  # so that no ratio overflows
    return order, (scale[None, :] / scale[:, None]).astype(B.dtype)


@dataclass(frozen=True)
class Resolvent(PowerSeries):
    """What constraints share that are functions of (sI − B)⁻¹, on ρ(B) < s: a power of it, or its logarithm."""

    s: float = 1.0

    def __post_init__(self) -> None:
        check_s(self.s)

    @abstractmethod
    def _power(self) -> tuple[float, int]:
        """Factor and exponent m of f = factor·(1 − x/s)⁻ᵐ, where m = 0 stands for −log(1 − x/s)."""

    def coefficients(self, count: int) -> NDArray[np.float64]:
        """See PowerSeries."""
        factor, m = self._power()
        if m == 0:
            return np.array([0.0, *(1 / (i * self.s**i) for i in range(1, count + 1))])
        return np.array([factor * comb(m + i - 1, i) / self.s**i for i in range(count + 1)])

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

    def inverse(self, B: Matrix) -> tuple[float, Matrix] | None:
        """log det(I − B/s) and (sI − B)⁻ᵀ, or None outside ρ(B) < s, where some entry of the inverse is negative.

        Along the paths of a nearly acyclic B entries may grow to many orders of magnitude, in which those of weak
        edges that close cycles get lost: all of h, and gradients with it. A second attempt then takes D⁻¹BD, whose
        entries D makes alike, with the nodes in an order that makes it block-triangular by components: on a DAG it is
        triangular, so that determinant and inverse are exact. Larger entries than the largest power allowed are cut.
        """
        found = self._factored(B)
        if found is not None and self.s * found[1].max() <= WELL_CONDITIONED:
            return found
        order, ratio = balance_by_components(B)
        ordered = np.ix_(order, order)
        found = self._factored(B[ordered] * ratio)
        if found is None:
            return None
        inverse = np.empty_like(B)
        inverse[ordered] = np.minimum(found[1] * ratio, LARGEST[B.dtype])
        return found[0], inverse

    def _factored(self, B: Matrix) -> tuple[float, Matrix] | None:
        M = -B.T
        M.flat[:: len(B) + 1] += self.s
        getrf, getri = (lapack.dgetrf, lapack.dgetri) if M.dtype == np.float64 else (lapack.sgetrf, lapack.sgetri)
        lu, pivots, info = getrf(M, overwrite_a=True)
        if info:
            return None
        logarithm = float(np.log(np.abs(lu.diagonal()) / self.s).sum())
        inverse, info = getri(lu, pivots, overwrite_lu=True)
        top, slack = inverse.max(), 100 * np.finfo(B.dtype).eps
        if info or not top < inf or not inverse.min() >= -slack * top:
            return None
        return logarithm, np.ascontiguousarray(np.maximum(inverse, 0, out=inverse))


def _powers(Z: Matrix, m: int) -> tuple[Matrix, Matrix]:
    """Z + … + Zᵐ and Zᵐ⁺¹."""
    sums, power = Z.copy(), Z @ Z
    for _ in range(m - 1):
        sums += power
        power = power @ Z
    return sums, power


@dataclass(frozen=True)
class Analytic(Following, Resolvent):
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
    margin: float | None = 0.5
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
        rising = prod(range(max(self.order, 1), self.order + self.derived))
        return rising / self.s**self.derived, self.order + self.derived

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


@dataclass(frozen=True)
class LogDet(Resolvent):
    """−log det(sI − B) + d log s (Bello et al. 2022) on ρ(B) < s: c_i = 1/(i sⁱ). Outside, the first 64 terms."""

    name = "log-det"

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        found = self.inverse(B)
        if found is None:
            return self._outside(B, size)
        return Evaluation(max(-found[0], 0.0), found[1], None)

    def _power(self) -> tuple[float, int]:
        return 1.0, 0

    def derivative(self) -> Analytic:
        """See PowerSeries; s stays as it is."""
        return Analytic(order=0, derived=1, s=self.s, margin=None)


@dataclass(frozen=True)
class InverseTrace(Resolvent):
    """tr (I − B/s)⁻¹ − d on ρ(B) < s: c_i = 1/sⁱ. Outside, the first 64 terms.

    For s = 1 this is the limit that TMPI truncates, at the cost of one inverse and one product.
    """

    name = "inverse-trace"

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint: with Y = (sI − B)⁻¹ it is Σ Y∘Bᵀ, free of cancellation, and G = s (Y²)ᵀ."""
        found = self.inverse(B)
        if found is None:
            return self._outside(B, size)
        Y = found[1]
        gradient = Y @ Y
        if self.s != 1:
            gradient *= B.dtype.type(self.s)
        return Evaluation(float(np.vdot(Y, B)), gradient, None)

    def _power(self) -> tuple[float, int]:
        return 1.0, 1

    def derivative(self) -> Analytic:
        """See PowerSeries; s stays as it is."""
        return Analytic(order=1, derived=1, s=self.s, margin=None)


@dataclass(frozen=True)
class Adaptive(Following, InverseTrace):
    """tr (I − B/s)⁻¹ − d = Σ s⁻ⁱ tr Bⁱ, where s follows the spectral radius: see `Following`.

    By itself it is the inverse trace with ``s``, and a learner tells the value of that one at the end. `Notears`,
    `Golem`, `NoCurl` and `NotearsMlp` move s; DAG-GNN and GraN-DAG, which have no inner minimisation, do not.

    Examples
    --------
    >>> import numpy as np
    >>> B = 0.04 * np.roll(np.eye(20), 1, axis=1)  # a cycle of 20 edges of weight 0.2
    >>> made = Adaptive(least=0.01)
    >>> f"{made.value_and_gradient(B)[0]:.0e}, {made.for_point(B).value_and_gradient(B)[0]:.0e}"
    '2e-27, 6e-03'
    """

    name = "adaptive"
    margin: float | None = 0.5
    least: float = 0.1

    def __post_init__(self) -> None:
        self._check_following()

    def derivative(self) -> Analytic:
        """See PowerSeries; s follows the radius as it does here."""
        return Analytic(order=1, derived=1, s=self.s, margin=self.margin, least=self.least)
