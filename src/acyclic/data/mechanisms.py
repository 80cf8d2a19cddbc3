"""Mechanisms of simulated models: what the parents of a node add to its noise."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy.linalg import solve_triangular
from scipy.special import expit

from acyclic.errors import InputError
from acyclic.types import Bools, Floats

Nonlinear: TypeAlias = Literal["cos", "sin", "mlp", "mim", "gp", "gp-add"]

# Rows are computed in whole blocks and the surplus is cut off: the first rows then undergo the same vector
# instructions and BLAS calls whatever n is.
BLOCK: Final = 64
_JITTER: Final = 1e-8
_HIDDEN_UNITS: Final = 100
# Kinds whose parents add up, so that each has a share of the variance.
ADDITIVE: Final = ("linear", "cos", "gp-add")
# Each round brings the variance nearer to a limit, unless there is none.
_MOST_ROUNDS: Final = 1000


def respond(sem: str, coefficients: Floats, inputs: Floats, linear: Bools, rng: Generator) -> Floats:
    """What parents (p, n) add to a node: the linear ones c x, the others together by their mechanism."""
    total = _MECHANISMS[sem](coefficients[~linear], inputs[~linear], rng) if not linear.all() else None
    straight = _linear(coefficients[linear], inputs[linear]) if linear.any() else np.zeros(1)
    return straight if total is None else total + straight if linear.any() else total


def respond_apart(sem: str, coefficients: Floats, inputs: Floats, linear: Bools, rng: Generator) -> Floats:
    """What each parent adds, (p, n), where they add up."""
    parts = coefficients[:, None] * (np.cos(inputs + 1) if sem == "cos" else inputs)
    parts[linear] = coefficients[linear, None] * inputs[linear]
    if sem == "gp-add" and not linear.all():
        parts[~linear] = _process_draws(inputs[~linear], rng)
    return parts


def lift_shares(parts: Floats, noise: Floats, least: float) -> Floats:
    """Factors (p,) ≥ 1 on the parts after which each has at least this share of the variance of their sum and noise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> parts, noise = rng.normal(size=(2, 1000)) * [[0.1], [1.0]], rng.normal(size=1000)
    >>> factors = lift_shares(parts, noise, 0.05)
    >>> total = factors @ parts + noise
    >>> float(((factors[:, None] * parts).var(axis=1) / total.var()).min().round(4)), float(factors[1])
    (0.05, 1.0)
    """
    variances, factors = parts.var(axis=1), np.ones(len(parts))
    for _ in range(_MOST_ROUNDS):
        wanted = least * float((factors @ parts + noise).var())
        weak = factors**2 * variances < wanted
        if not weak.any():
            return factors
        if not (variances[weak] > 0).all():
            break
        # A little more than is wanted: the sum grows with its parts.
        factors[weak] = 1.000001 * np.sqrt(wanted / variances[weak])
        if not factors.max() < 1e6:
            break
    raise InputError(
        f"least_share={least:g} cannot be had by the {len(parts)} parents of one node; give less, or a sparser graph"
    )


def signed_uniform(low: float, high: float, shape: int | tuple[int, ...], rng: Generator) -> Floats:
    """Draws of the uniform law on [−high, −low] ∪ [low, high], none of them 0."""
    signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    return signs * np.maximum(rng.uniform(low, high, shape), np.finfo(float).tiny)


# A mechanism takes the coefficients (p,) of the parents, their columns (p, n) and a stream of its own. It
# adds column to column: a matrix product may round the first rows otherwise when n changes.


def _linear(coefficients: Iterable[float], inputs: Iterable[Floats], rng: Generator | None = None) -> Floats:
    first, *others = (c * x for c, x in zip(coefficients, inputs))
    return sum(others, start=first)


def _cos(coefficients: Floats, inputs: Floats, rng: Generator) -> Floats:
    return _linear(coefficients, np.cos(inputs + 1))


def _sin(coefficients: Floats, inputs: Floats, rng: Generator) -> Floats:
    index = _linear(coefficients, inputs + 0.5)
    return 2 * np.sin(index) + index


def _mlp(coefficients: Floats, inputs: Floats, rng: Generator) -> Floats:
    first = signed_uniform(0.5, 2.0, (_HIDDEN_UNITS, len(inputs)), rng)
    second = signed_uniform(0.5, 2.0, _HIDDEN_UNITS, rng)
    return _linear(second, (expit(_linear(unit, inputs)) for unit in first))


def _mim(coefficients: Floats, inputs: Floats, rng: Generator) -> Floats:
    first, second, third = (_linear(w, inputs) for w in signed_uniform(0.5, 2.0, (3, len(inputs)), rng))
    return np.tanh(first) + np.cos(second) + np.sin(third)


def _gp(coefficients: Floats, inputs: Floats, rng: Generator) -> Floats:
    return _process_draw(inputs, rng.standard_normal((inputs.shape[1],)))


def _gp_add(coefficients: Floats, inputs: Floats, rng: Generator) -> Floats:
    return _linear(np.ones(len(inputs)), _process_draws(inputs, rng))


_MECHANISMS: Final[Mapping[str, Callable[[Floats, Floats, Generator], Floats]]] = {
    "linear": _linear, "cos": _cos, "sin": _sin, "mlp": _mlp, "mim": _mim, "gp": _gp, "gp-add": _gp_add
}  # fmt: skip


def _process_draws(inputs: Floats, rng: Generator) -> list[Floats]:
    normals = rng.standard_normal(inputs.shape[::-1]).T
    return [_process_draw(x[None], z) for x, z in zip(inputs, normals)]


def _process_draw(points: Floats, normals: Floats) -> Floats:
    """Draw L z at the columns of points, K + jitter·I = L Lᵀ; no block of L depends on later points."""
    n = points.shape[1]
    factor, values = np.zeros((n, n)), np.zeros(n)
    for start in range(0, n, BLOCK):
        past, block = slice(start), slice(start, start + BLOCK)
        own = _kernel(points[:, block], points[:, block]) + _JITTER * np.eye(BLOCK)
        if start:
            ahead = _kernel(points[:, past], points[:, block])
            cross = solve_triangular(factor[past, past], ahead, lower=True)
            own -= cross.T @ cross
            factor[block, past] = cross.T
            values[block] = cross.T @ normals[past]
        factor[block, block] = np.linalg.cholesky(own)
        values[block] += factor[block, block] @ normals[block]
    return values


def _kernel(left: Floats, right: Floats) -> Floats:
    squares = (np.subtract.outer(x, y) ** 2 for x, y in zip(left, right))
    return np.exp(-0.5 * sum(squares, start=np.zeros(1)))
