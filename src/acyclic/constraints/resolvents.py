"""Constraints by one factorisation: the log-determinant and the inverse trace."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from acyclic._native import strong_components
from acyclic.constraints.base import LARGEST, Constraint, Evaluation, Matrix
from acyclic.constraints.perron import balance
from acyclic.errors import InputError

WELL_CONDITIONED = 1e4
"""Entries of (I − B/s)⁻¹ up to which the digits that are lost stay below 1e-10, a hundredth of the usual h_tol."""


def check_s(s: float) -> None:
    """Refuse a scale that is not positive and finite."""
    if not 0 < s < inf:
        raise InputError(f"s has to be positive; got {s}")


def balance_by_components(B: Matrix) -> tuple[NDArray[np.intp], Matrix]:
    """An order that makes B block-triangular by components, and ratios t_j/t_i, in it, that make its entries alike."""
    _, _, labels = strong_components(np.ascontiguousarray(B > 0).view(np.uint8))
    order = np.argsort(labels, kind="stable")
    scale, largest = balance(B[np.ix_(order, order)]), LARGEST[B.dtype]
    middle = np.exp2(np.rint(np.log2(scale.min()) / 2 + np.log2(scale.max()) / 2))
    scale = np.clip(scale / middle, 1 / largest, largest)  # so that no ratio overflows
    return order, (scale[None, :] / scale[:, None]).astype(B.dtype)


@dataclass(frozen=True)
class Resolvent(Constraint):
    """What constraints share that are functions of (sI − B)⁻¹, on ρ(B) < s."""

    is_trace = True
    s: float = 1.0

    def __post_init__(self) -> None:
        check_s(self.s)

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return 1 / self.s

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


@dataclass(frozen=True)
class LogDet(Resolvent):
    """−log det(sI − B) + d log s (Bello et al. 2022) on ρ(B) < s: c_i = 1/(i sⁱ). Outside, the first 64 terms."""

    name = "log-det"

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        found = self.inverse(B)
        if found is None:
            return self._partial_sum(B, lambda i: 1 / (i * self.s**i), min(size, 64))[0]._replace(in_domain=False)
        return Evaluation(max(-found[0], 0.0), found[1], None)


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
            return self._partial_sum(B, lambda i: self.s**-i, min(size, 64))[0]._replace(in_domain=False)
        Y = found[1]
        gradient = Y @ Y
        if self.s != 1:
            gradient *= B.dtype.type(self.s)
        return Evaluation(float(np.vdot(Y, B)), gradient, None)
