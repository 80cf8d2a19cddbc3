"""Power series of one matrix, order by order: what each term adds to a constraint, and what a truncation leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, factorial
from typing import Any

import numpy as np

from acyclic.constraints.catalogue import constraint
from acyclic.types import Floats


def powers(B: Floats) -> list[Floats]:
    """B⁰, B¹, …, B^d."""
    found = [np.eye(len(B))]
    for _ in range(len(B)):
        found.append(found[-1] @ B)
    return found


def gradient_norms(B: Floats) -> dict[str, Any]:
    """Frobenius norms of ∇ c_i tr Bⁱ = i c_i (Bⁱ⁻¹)ᵀ for i = 1, …, d and the coefficients of three constraints.

    c_i is 1/i! for the exponential, C(d, i) d⁻ⁱ for the binomial with α = 1/d, and 1 for the geometric series.

    Examples
    --------
    >>> norms = gradient_norms(np.array([[0, 0.5], [0.5, 0]]))
    >>> [round(norm, 3) for norm in norms["exponential"]], [round(norm, 3) for norm in norms["geometric"]]
    ([1.414, 0.707], [1.414, 1.414])
    """
    d = len(B)
    norms = [i * float(np.linalg.norm(power)) for i, power in enumerate(powers(B)[:d], start=1)]
    orders = range(1, d + 1)
    coefficients = {
        "exponential": [1 / factorial(i) for i in orders],
        "binomial": [comb(d, i) / d**i for i in orders],
        "geometric": [1.0 for _ in orders],
    }
    columns = {name: [c * norm for c, norm in zip(given, norms)] for name, given in coefficients.items()}
    return {"orders": list(orders), **columns}


def truncation(B: Floats, eps: float = 1e-6) -> dict[str, Any]:
    """For k = 1, …, d: max Bᵏ, and what Σ_{i ≤ k} tr Bⁱ and its gradient lack of the sum up to d.

    The error of the gradient is its largest entry. Terms are added from the last to the first, so that small errors are
    exact. ``stop`` is the order at which TMPI stops.

    Examples
    --------
    >>> found = truncation(np.array([[0, 0.5], [0.5, 0]]))
    >>> found["power"], found["value_error"], found["gradient_error"], found["stop"]
    ([0.5, 0.25], [0.5, 0.0], [1.0, 0.0], 2)
    """
    d, terms = len(B), powers(B)
    value_error, gradient_error = [0.0], [0.0]
    rest = np.zeros_like(B)
    for i in range(d, 1, -1):
        value_error.append(value_error[-1] + float(terms[i].trace()))
        rest = rest + i * terms[i - 1]
        gradient_error.append(float(rest.max()))
    return {
        "k": list(range(1, d + 1)),
        "power": [float(term.max()) for term in terms[1:]],
        "value_error": value_error[::-1],
        "gradient_error": gradient_error[::-1],
        "stop": constraint("tmpi", eps=eps).evaluate(B).order,
    }


def along(points: Sequence[Mapping[str, Any]], x: str) -> dict[str, Any]:
    """What was found at many points of a way, number by number: the median, and under "low" and "high" the tenths.

    ``x`` names the orders, which all points share. Numbers are told to four digits, and infinite ones as None.

    Examples
    --------
    >>> along([{"k": [1, 2], "power": [1.0, 0.1 * i], "stop": i} for i in range(11)], "k")["high"]
    {'power': [1.0, 0.9], 'stop': 9}
    """
    names = [name for name in points[0] if name != x]

    def at(share: float) -> dict[str, Any]:
        # Of an even number of points the lower one in the middle: numbers that were met, and whole ones stay whole.
        chosen = {name: np.quantile([p[name] for p in points], share, axis=0, method="inverted_cdf") for name in names}
        return {name: _told(value) for name, value in chosen.items()}

    return {x: points[0][x], **at(0.5), "low": at(0.1), "high": at(0.9), "points": len(points)}


def _told(value: Any) -> Any:
    if np.ndim(value):
        return [_told(one) for one in value]
    if isinstance(value, np.integer):
        return int(value)
    return float(f"{value:.4g}") if np.isfinite(value) else None


def cyclic(B: Floats, radius: float) -> Floats:
    """B with weak edges around all nodes, scaled to a spectral radius: of the kind that a solver meets near a DAG."""
    ring = 0.01 * np.roll(np.eye(len(B)), 1, axis=1)
    closed = B + ring
    return np.asarray(closed * (radius / constraint("spectral-radius").value_and_gradient(closed)[0]))


def needed_order(B: Floats, eps: float = 1e-6, most: int = 10_000) -> int:
    """The first k ≥ 2 with max Bᵏ ≤ eps, as TMPI looks for it but without its bound d; `most` where there is none."""
    power, k = B, 1
    while k < 2 or (power.max() > eps and k < most):
        power, k = power @ B, k + 1
    return k
