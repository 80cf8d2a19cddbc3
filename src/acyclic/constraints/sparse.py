"""Constraints on sparse matrices: powers of each strong component, small entries dropped, with a bound on the error."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from acyclic.errors import InputError


class Sparse(NamedTuple):
    """An evaluation with an error that is bounded.

    The exact value of Σ_{i ≥ 1} s⁻ⁱ tr Bⁱ lies between ``value`` and ``value + bound``, up to rounding. ``gradient`` is
    sparse, on the entries of B alone, and none of its entries is above the exact one. ``order`` is the highest power
    that was formed. The bound is infinite where a norm of B/s is not below 1, so that nothing limits what was left out.
    """

    value: float
    gradient: Any
    bound: float
    order: int


def sparse_geometric(B: Any, *, s: float = 1.0, drop: float = 1e-12, most: int = 1000) -> Sparse:
    """Σ_{i ≥ 1} s⁻ⁱ tr Bⁱ of a sparse non-negative matrix, and its gradient on the entries of B.

    Parameters
    ----------
    B : sparse matrix or array (d, d)
        Non-negative.
    s : float
        The scale; the series converges where the spectral radius of B is below it.
    drop : float
        Entries of a power of B/s that are not larger are dropped, and counted in the bound; 0 drops none.
    most : int
        The highest power.

    Notes
    -----
    All closed walks stay within a strong component: each is taken by itself. With E_i ≥ 0 what the computed i-th power
    lacks and D_i what is dropped from it, E_{i+1} = E_i B + D_{i+1}; so Σ tr E_i ≤ Σ_m Σ (entries of D_m)·Σ_j max Bʲ,
    and max Bʲ ≤ ‖B‖ʲ in the norm of largest row or column sum, after a diagonal similarity, which leaves the traces as
    they are, has brought the sums closer together. The terms after the last power P_k add at most
    Σ_j tr P_k Bʲ ≤ (sum of entries of P_k)·‖B‖/(1 − ‖B‖).

    Examples
    --------
    >>> B = sparse.csr_array(np.array([[0, 0.5, 0], [0, 0, 0.4], [0.3, 0, 0]]))
    >>> found = sparse_geometric(B)
    >>> bool(abs(found.value - 0.18 / 0.94) <= found.bound + 1e-15 < 1e-10)
    True
    """
    A = _checked(B, s, drop) / s
    count, labels = connected_components(A, directed=True, connection="strong")
    gradient, value, bound, order = sparse.lil_array(A.shape), 0.0, 0.0, 1
    sizes, loops = np.bincount(labels, minlength=count), A.diagonal() > 0
    members = np.argsort(labels, kind="stable")
    ends = np.cumsum(sizes)
    for label in np.flatnonzero((sizes > 1) | (np.bincount(labels, weights=loops, minlength=count) > 0)):
        nodes = members[ends[label] - sizes[label] : ends[label]]
        part = _component(A[nodes][:, nodes].tocsr(), drop, most)
        rows, columns = part.gradient.nonzero()
        gradient[nodes[rows], nodes[columns]] = np.asarray(part.gradient[rows, columns]).ravel()
        value, bound, order = value + part.value, bound + part.bound, max(order, part.order)
    return Sparse(value, gradient.tocsr() / s, bound, order)


def _component(A: Any, drop: float, most: int) -> Sparse:
    """The same for one strong component, s = 1."""
    scale = _similarity(A)
    A = sparse.csr_array(sparse.diags_array(1 / scale) @ A @ sparse.diags_array(scale))
    norm = min(float(A.sum(axis=1).max()), float(A.sum(axis=0).max()))
    entries = A.astype(bool).T.tocsr()
    power, i = A.copy(), 1
    slopes = sparse.eye_array(A.shape[0], format="csr").multiply(entries).tocsr()
    value, dropped = float(power.trace()), 0.0
    while i < most and power.nnz and not (norm < 1 and _after(power, norm) <= drop):
        i += 1
        slopes = slopes + i * power.multiply(entries)
        power = sparse.csr_array(power @ A)
        small = power.data <= drop
        dropped += float(power.data[small].sum())
        power.data[small] = 0.0
        power.eliminate_zeros()
        value += float(power.trace())
        if not value < inf:
            break
    if norm < 1:
        bound = (_after(power, norm) if power.nnz else 0.0) + dropped / (1 - norm)
    else:
        bound = inf if power.nnz or dropped else 0.0
    # The similarity, taken back: entry (i, j) of the gradient is that of the power at (j, i).
    gradient = sparse.csr_array(sparse.diags_array(1 / scale) @ slopes.T @ sparse.diags_array(scale))
    return Sparse(value, gradient, bound, i)


def _after(power: Any, norm: float) -> float:
    """A bound on the traces of all later powers: tr PBʲ ≤ (sum of entries of P)·max Bʲ."""
    return float(power.sum()) * norm / (1 - norm)


def _similarity(A: Any, rounds: int = 30) -> Any:
    """A positive vector x, near to the right Perron vector: D⁻¹AD has row sums closer to the spectral radius."""
    x = np.ones(A.shape[0])
    for _ in range(rounds):
        # The shift by the identity lets the rounds converge on a cycle too, whose powers are periodic.
        x = x + A @ x / max(float((A @ x).max()), 1e-300)
        x = x / x.max()
    return np.maximum(x, 1e-100)


def _checked(B: Any, s: float, drop: float) -> Any:
    A = sparse.csr_array(B, dtype=np.float64)
    A.sum_duplicates()
    A.eliminate_zeros()
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise InputError(f"B has to be a square matrix with at least one row; got shape {A.shape}")
    if A.nnz and not (A.data.min() >= 0 and A.data.max() < inf):
        raise InputError("B has to be finite and non-negative (pass W.multiply(W) for weights W)")
    if not (0 < s < inf and 0 <= drop < inf):
        raise InputError(f"s has to be positive and drop at least 0; got {s} and {drop}")
    return A
