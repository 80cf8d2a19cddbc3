"""A constraint that no cycle is too long or too weak for."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from acyclic._native import strong_components
from acyclic.constraints.base import LARGEST, Constraint, Evaluation, Matrix
from acyclic.constraints.perron import irreducible_root

Block = tuple[NDArray[np.intp], Matrix]
"""Nodes of a component, and its part of the matrix, balanced and divided by the spectral radius."""


@dataclass(frozen=True)
class Balanced(Constraint):
    """The s with Σ_{i ≥ 1} s⁻ⁱ tr Bⁱ = 1, and 0 on a DAG: the scale at which the closed walks of B add up to one.

    It is a norm of the cycles: h(tB) = t h(B), smooth where it is not zero, at least the spectral radius and at most
    d + 1 times that. A cycle of k edges b alone has h = b (k + 1)^(1/k), however long and weak it is, where traces of
    powers vanish with bᵏ. All of them are in h and nothing is cut: where h ≤ t, every cycle has an edge with
    B_ij ≤ t, so that a threshold of √t on the weights W, B = W∘W, leaves a DAG.

    The gradient is s G/⟨G, B⟩ with G = ((sI − B)⁻²)ᵀ. Like that of the spectral radius it is not bounded near a DAG:
    an edge that closes a cycle of k counts there as its k-th root. At a DAG it is given as zero, and above the largest
    power allowed it is cut.

    How: the strong components are balanced by diagonal similarities in powers of two, which change no trace, and
    divided by the spectral radius r, so that all powers stay in range; s/r, between 1 and d + 1, follows by Newton's
    method, one inverse of each component for each step. Always in double precision inside.

    Examples
    --------
    >>> import numpy as np
    >>> B = 1e-16 * np.roll(np.eye(64), 1, axis=1)  # a cycle of 64 edges of weight 1e-8
    >>> h, G = Balanced().value_and_gradient(B)
    >>> round(h / 1e-16, 6), bool((G[B > 0] > 0).all())
    (1.067399, True)
    """

    name = "balanced"
    support = "all"

    def linear_coefficient(self, size: int) -> float:
        """See Constraint; the diagonal off the cycles depends on them, and `OnComponents` does not take this one."""
        return 0.0

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        A = B.astype(np.float64)
        _, _, labels = strong_components(np.ascontiguousarray(A > 0).view(np.uint8))
        radius, exponents, blocks = _balance(A, labels)
        if radius == 0:
            return Evaluation(0.0, np.zeros_like(B), None)
        x = _solve(blocks, len(A))
        gradient = _gradient(A, labels, exponents, blocks, x, radius)
        largest = LARGEST[B.dtype]
        return Evaluation(min(x * radius, largest), np.minimum(gradient, largest).astype(B.dtype), None)


def _balance(A: Matrix, labels: NDArray[np.int32]) -> tuple[float, NDArray[np.int32], list[Block]]:
    """Spectral radius, exponents of the similarity 2^e for each node, and the components that hold cycles."""
    exponents, found = np.zeros(len(A), dtype=np.int32), []
    sizes = np.bincount(labels)
    for label in np.unique(labels[(sizes[labels] > 1) | (A.diagonal() > 0)]):
        nodes = np.flatnonzero(labels == label)
        root = irreducible_root(np.ascontiguousarray(A[np.ix_(nodes, nodes)]))
        exponents[nodes] = np.frexp(root.scale)[1]
        found.append((nodes, root))
    radius = max((root.value for _, root in found), default=0.0)
    return radius, exponents, [(nodes, root.A * (root.largest / radius)) for nodes, root in found]


def _walks(blocks: list[Block], x: float) -> tuple[float, float]:
    """φ(x) = Σ x⁻ⁱ tr Aⁱ over the components, and −x φ'(x)."""
    value, slope = 0.0, 0.0
    for _, A in blocks:
        Y = np.linalg.inv(x * np.eye(len(A)) - A)
        part = max(float(np.vdot(Y.T, A)), 0.0)
        value += part
        # Σ i x⁻ⁱ tr Aⁱ = x tr Y²A = x tr Y(xY − I): the second form needs no product, but cancels where it is small.
        slope += x * float(np.vdot(Y.T, x * Y - np.eye(len(A)) if part > 1e-3 else Y @ A))
    return value, slope


def _solve(blocks: list[Block], d: int) -> float:
    """The x > 1 with φ(x) = 1: Newton's method on log(1 + 1/φ) over log x, safeguarded by a bracket.

    For one eigenvalue, φ = 1/(x − 1), that function is linear in log x; for a long cycle, φ = k/(xᵏ − 1), nearly so.
    """
    low, high, at = 0.0, log(d + 1), 0.4
    for _ in range(100):
        at = at if low < at < high else (low + high) / 2
        value, slope = _walks(blocks, exp(at))
        if value > 1:
            low = at
        else:
            high = at
        if not 0 < value < inf:
            at = (low + high) / 2
            continue
        step = (log(2) - np.log1p(1 / value)) * value * (1 + value) / slope
        at += step
        if abs(step) <= 1e-15 or high - low <= 4e-16:
            break
    return exp(min(max(at, low), high))


def _gradient(
    A: Matrix, labels: NDArray[np.int32], exponents: NDArray[np.int32], blocks: list[Block], x: float, radius: float
) -> Matrix:
    """x (Y²)ᵀ/⟨(Y²)ᵀ, A⟩ for Y = (xI − A)⁻¹ of the scaled matrix, with the similarity taken back."""
    # An edge between components leads to a smaller label: in this order the matrix is block-triangular, so that its
    # inverse mixes no component into another.
    order = np.argsort(-labels, kind="stable")
    between = exponents[None, order] - exponents[order, None]
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.ldexp(A[np.ix_(order, order)] / radius, between)
        Y = np.maximum(np.linalg.inv(x * np.eye(len(A)) - scaled), 0)
        squares = Y @ Y
        slope = np.ldexp(squares.T, between)
    gradient = np.empty_like(A)
    gradient[np.ix_(order, order)] = slope
    if not np.isfinite(squares).all():
        gradient = np.zeros_like(A)
    total = 0.0
    for nodes, part in blocks:
        Y = np.maximum(np.linalg.inv(x * np.eye(len(part)) - part), 0)
        own = (Y @ Y).T
        total += float(np.vdot(own, part))
        cross = np.ix_(nodes, nodes)
        gradient[cross] = np.ldexp(own, exponents[None, nodes] - exponents[nodes, None])
    gradient *= x / total
    return np.nan_to_num(gradient, nan=0.0, posinf=inf)
