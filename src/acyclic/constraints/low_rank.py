"""Constraints on matrices of low rank, exactly, in time linear in the number of nodes.

For B = UVᵀ ≥ 0 the closed walks are those of an r × r matrix: tr Bⁱ = tr Mⁱ with M = VᵀU. So h(B) = tr f(B) − c₀d
is tr f(M) − c₀r, and its gradients with respect to U and V are V G and U Gᵀ with G = f'(M)ᵀ. M may have negative
entries where B has none. For weights W = PQᵀ the squares are W∘W = (P • P)(Q • Q)ᵀ, products taken row by row
(Khatri–Rao).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from acyclic.constraints.powers import PowerSums
from acyclic.errors import InputError
from acyclic.types import Floats

FORMS = ("geometric", "inverse-trace", "log-det")
# As for dense matrices in double precision: no power beyond the first that exceeds this is used.
LARGEST = 1e60


class LowRank(NamedTuple):
    """Value, the gradients with respect to the two factors, and whether the series converges (was not cut)."""

    value: float
    left: Floats
    right: Floats
    in_domain: bool = True


def low_rank(U: ArrayLike, V: ArrayLike, form: str = "geometric", *, s: float = 1.0) -> LowRank:
    """h(UVᵀ) and its gradients with respect to U and V, without ever forming UVᵀ: O(dr² + r³ log d).

    Parameters
    ----------
    U, V : array (d, r)
        Factors of B = UVᵀ, which has to be non-negative; that is not checked, it would cost d² operations.
    form : {"geometric", "inverse-trace", "log-det"}
        Σ_{i ≤ d} s⁻ⁱ tr Bⁱ; tr (I − B/s)⁻¹ − d; −log det(I − B/s). The last two need ρ(B) < s.
    s : float
        Scale of B.

    Examples
    --------
    >>> U, V = np.array([[0.0], [0.5], [0.2]]), np.array([[1.0], [0.4], [0.0]])
    >>> B = U @ V.T
    >>> found = low_rank(U, V)
    >>> bool(np.isclose(found.value, np.trace(B) + np.trace(B @ B) + np.trace(B @ B @ B)))
    True
    """
    left, right = _checked(U, V, s, form)
    M = right.T @ left / s
    value, G, in_domain = {"geometric": _geometric, "inverse-trace": _inverse_trace, "log-det": _log_det}[form](
        M, len(left)
    )
    return LowRank(value, right @ G / s, left @ G.T / s, in_domain)


def low_rank_weights(P: ArrayLike, Q: ArrayLike, form: str = "geometric", *, s: float = 1.0) -> LowRank:
    """h(W∘W) for weights W = PQᵀ and its gradients with respect to P and Q; see `low_rank`.

    Products p_a p_b and p_b p_a are equal, so that W∘W has q(q + 1)/2 columns in each factor for q columns of P.
    """
    left, right = _checked(P, Q, s, form)
    found = low_rank(khatri_rao(left), khatri_rao(right), form, s=s)
    return found._replace(left=_pull_back(found.left, left), right=_pull_back(found.right, right))


def khatri_rao(P: Floats) -> Floats:
    """The products of all pairs of columns, (d, q(q + 1)/2), those of different columns times √2: (PQᵀ)∘(PQᵀ) = UVᵀ.

    Examples
    --------
    >>> P, Q = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([[3.0, 1.0], [-1.0, 2.0]])
    >>> np.allclose(khatri_rao(P) @ khatri_rao(Q).T, (P @ Q.T) ** 2)
    True
    """
    a, b = np.triu_indices(P.shape[1])
    return np.asarray(P[:, a] * P[:, b] * np.where(a == b, 1.0, np.sqrt(2)))


def _pull_back(slope: Floats, P: Floats) -> Floats:
    """The gradient with respect to P from that with respect to its products."""
    a, b = np.triu_indices(P.shape[1])
    weighted = slope * np.where(a == b, 1.0, np.sqrt(2))
    result = np.zeros_like(P)
    for column in range(P.shape[1]):
        result[:, column] = np.einsum("ij,ij->i", weighted[:, a == column], P[:, b[a == column]])
        result[:, column] += np.einsum("ij,ij->i", weighted[:, b == column], P[:, a[b == column]])
    return result


def _checked(U: ArrayLike, V: ArrayLike, s: float, form: str) -> tuple[Floats, Floats]:
    left, right = np.asarray(U, dtype=np.float64), np.asarray(V, dtype=np.float64)
    if left.ndim != 2 or left.shape != right.shape or left.size == 0:
        raise InputError(f"the factors have to be matrices (d, r) of one shape; got {left.shape} and {right.shape}")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise InputError("the factors have to be finite")
    if not 0 < s < inf:
        raise InputError(f"s has to be positive; got {s}")
    if form not in FORMS:
        raise InputError(f"form has to be one of {', '.join(FORMS)}; got {form!r}")
    return left, right


def _geometric(M: Floats, d: int) -> tuple[float, Floats, bool]:
    """Σ_{i ≤ d} tr Mⁱ by the binary digits of d, cut where a power exceeds the largest one allowed."""
    sums, A = PowerSums(np.empty((4, *M.shape)), M), np.ascontiguousarray(M.T)
    for digit in f"{d:b}"[1:]:
        if 0 < np.abs(sums.P).max() <= LARGEST:
            sums.double()
        if digit == "1" and 0 < np.abs(sums.P).max() <= LARGEST:
            sums.increment(A)
    complete = sums.i == d or not sums.P.any() or bool(np.abs(sums.P).max() <= LARGEST)
    return sums.value, sums.gradient().copy(), complete


def _inverse_trace(M: Floats, d: int) -> tuple[float, Floats, bool]:
    if not _converges(M):
        return _outside(M, lambda i: 1.0)
    Y = np.linalg.inv(np.eye(len(M)) - M.T)
    return float(np.vdot(Y.T, M.T)), Y @ Y, True


def _log_det(M: Floats, d: int) -> tuple[float, Floats, bool]:
    if not _converges(M):
        return _outside(M, lambda i: 1 / i)
    N = np.eye(len(M)) - M.T
    return -float(np.linalg.slogdet(N)[1]), np.asarray(np.linalg.inv(N), dtype=np.float64), True


def _converges(M: Floats) -> bool:
    return bool(np.abs(np.linalg.eigvals(M)).max() < 1)


def _outside(M: Floats, coefficient: Callable[[int], float]) -> tuple[float, Floats, bool]:
    """The first 64 terms, or as many as stay below the largest power allowed."""
    power, value, G, i = np.eye(len(M)), 0.0, np.zeros_like(M), 0
    while i < 64 and np.abs(power).max() <= LARGEST:
        i += 1
        G = G + i * coefficient(i) * power
        power = power @ M.T
        value += coefficient(i) * float(power.trace())
    return value, G, False
