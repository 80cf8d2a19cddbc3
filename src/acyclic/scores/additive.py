"""Additive spline regression of each column on its parents, and the test of CAM for parents that explain nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg, stats
from scipy.interpolate import BSpline

from acyclic.data.dependence import DEPENDENT_ROWS
from acyclic.types import Bools, Floats

DEGREE = 3
LARGEST_BASIS = 10
# Rows for each coefficient, below which the basis is made smaller.
ROWS_PER_COEFFICIENT = 3
# The share of a sum of squares that is rounding.
ROUNDING = 1e-20


@dataclass(frozen=True, eq=False)
class Spline:
    """A B-spline basis of one variable on [low, high], scaled to [0, 1]; beyond, it is constant.

    Cubic with knots at quantiles; piecewise linear where only few functions are to be had, or where the variable has
    few values, with a knot at each: the basis then spans all functions of it.
    """

    low: float
    high: float
    knots: Floats
    degree: int

    @classmethod
    def of(cls, x: Floats, size: int) -> Self:
        """A basis of at most ``size`` functions, the constant not counted."""
        low, high = float(x.min()), float(x.max())
        values = np.unique(x)
        few = len(values) <= size + 1
        degree = 1 if few or size <= DEGREE else DEGREE
        places = values if few else np.quantile(x, np.linspace(0, 1, size - degree + 2))
        inner = np.unique(_scaled(places, low, high))
        ends = np.zeros(degree + 1), np.ones(degree + 1)
        return cls(low, high, np.concatenate([ends[0], inner[(inner > 0) & (inner < 1)], ends[1]]), degree)

    def __call__(self, x: Floats) -> Floats:
        """Values (n, size) of the basis functions; none for a variable that does not vary."""
        if not self.high > self.low:
            return np.empty((len(x), 0))
        scaled = _scaled(np.clip(x, self.low, self.high), self.low, self.high)
        # The first function is left out: together they sum to one, which the intercept stands for.
        return np.asarray(BSpline.design_matrix(scaled, self.knots, self.degree).toarray()[:, 1:])


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """E[x_j | parents] = c_j + Σ_i f_ij(x_i) with splines f_ij, fitted by least squares."""

    parents: tuple[tuple[int, ...], ...]
    splines: tuple[tuple[Spline, ...], ...]
    coefficients: tuple[Floats, ...]

    @classmethod
    def fit(cls, rows: Floats, adjacency: Bools) -> Self:
        """Regress every column of rows (n, d) on its parents: ``adjacency[i, j]`` is the edge i → j."""
        parents = tuple(tuple(int(i) for i in np.flatnonzero(column)) for column in np.asarray(adjacency).T)
        splines = tuple(_splines(rows, own) for own in parents)
        coefficients = tuple(
            _least_squares(_design(rows, own, bases), rows[:, j])
            for j, (own, bases) in enumerate(zip(parents, splines))
        )
        return cls(parents, splines, coefficients)

    def predict(self, rows: Floats) -> Floats:
        """Expectation (n, d) of each column given its parents."""
        columns = zip(self.parents, self.splines, self.coefficients)
        return np.stack([_design(rows, own, bases) @ beta for own, bases, beta in columns], axis=1)


def significance(rows: Floats, target: int, parents: tuple[int, ...]) -> Floats:
    """p-value of each parent: the F-test of the additive regression without it against the one with all.

    Under Gaussian noise it is exact for the spline model; one coefficient of a parent costs one degree of freedom. It
    is nan for a parent whose splines are sums of those of the others, and 1 where rows are too few for a test.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] += x[:, 0] ** 2
    >>> (significance(x, 2, (0, 1)) < 0.001).tolist()
    [True, False]
    """
    blocks = [spline(rows[:, i]) for i, spline in zip(parents, _splines(rows, parents))]
    design = _unit_columns(np.hstack([np.ones((len(rows), 1)), *blocks]))
    y = rows[:, target] - rows[:, target].mean()
    y /= float(np.abs(y).max()) or 1.0
    owner = np.repeat(np.arange(-1, len(parents)), [1, *(block.shape[1] for block in blocks)])
    residual, rank = _residual_sum(design, y)
    free = len(rows) - rank
    # Of a target that is determined exactly, rounding is all that is left.
    noise = max(residual, ROUNDING * float(y @ y)) / max(free, 1)
    own = [owner == k for k in range(len(parents))]
    gains = _gains(design, y, own) if rank == len(owner) else _slow_gains(design, y, own, residual, rank)
    return np.array([_tail(gain, freedom, noise, free) for gain, freedom in gains])


def prune_parents(rows: Floats, adjacency: Bools, cutoff: float = 0.001, required: Bools | None = None) -> Bools:
    """Keep the edges whose p-value is below ``cutoff``, and those required: the last step of CAM (Bühlmann 2014).

    Of parents that say the same, such as a column and its copy, the later ones go before the test.
    """
    kept = np.zeros_like(adjacency)
    shielded = kept if required is None else adjacency & required
    for j in range(len(adjacency)):
        parents = [int(i) for i in np.flatnonzero(adjacency[:, j])]
        values = significance(rows, j, tuple(parents))
        while doubled := [k for k, i in enumerate(parents) if np.isnan(values[k]) and not shielded[i, j]]:
            del parents[doubled[-1]]
            values = significance(rows, j, tuple(parents))
        kept[parents, j] = values < cutoff
    return kept | shielded


def _gains(design: Floats, y: Floats, blocks: list[Bools]) -> list[tuple[float, int]]:
    """What each parent takes off the residual sum of squares, bᵀC⁻¹b with its block C of (XᵀX)⁻¹, and its freedom."""
    Q, R = linalg.qr(design, mode="economic", check_finite=False)
    inverse = linalg.solve_triangular(R, np.eye(len(R)), check_finite=False)
    beta = inverse @ (Q.T @ y)
    forms = [(beta[own], inverse[own] @ inverse[own].T) for own in blocks]
    return [(float(b @ linalg.solve(C, b, assume_a="pos")) if len(b) else 0.0, len(b)) for b, C in forms]


def _slow_gains(design: Floats, y: Floats, blocks: list[Bools], full: float, rank: int) -> list[tuple[float, int]]:
    """The same where columns depend on each other, by a regression without each parent."""
    rest = (_residual_sum(design[:, ~own], y) for own in blocks)
    return [(residual - full, rank - smaller) for residual, smaller in rest]


def _tail(gain: float, freedom: int, noise: float, free: int) -> float:
    if freedom <= 0:
        return np.nan
    return float(stats.f.sf(gain / freedom / noise, freedom, free)) if free > 0 and noise > 0 else 1.0


def _unit_columns(design: Floats) -> Floats:
    lengths = np.linalg.norm(design, axis=0)
    return np.asarray(design / np.where(lengths > 0, lengths, 1.0))


def _scaled(x: Floats, low: float, high: float) -> Floats:
    return np.asarray((x / 2 - low / 2) / (high / 2 - low / 2) if high > low else np.zeros_like(x))


def _splines(rows: Floats, parents: tuple[int, ...]) -> tuple[Spline, ...]:
    size = min(LARGEST_BASIS, len(rows) // (ROWS_PER_COEFFICIENT * max(len(parents), 1)))
    return tuple(Spline.of(rows[:, i], max(size, 1)) for i in parents)


def _design(rows: Floats, parents: tuple[int, ...], splines: tuple[Spline, ...]) -> Floats:
    return np.hstack([np.ones((len(rows), 1)), *(spline(rows[:, i]) for i, spline in zip(parents, splines))])


def _least_squares(design: Floats, y: Floats) -> Floats:
    scale = float(np.abs(y).max()) or 1.0
    beta = linalg.lstsq(design, y / scale, DEPENDENT_ROWS, check_finite=False, lapack_driver="gelsy")[0]
    return np.asarray(beta * scale)


def _residual_sum(design: Floats, y: Floats) -> tuple[float, int]:
    beta, _, rank, _ = linalg.lstsq(design, y, DEPENDENT_ROWS, check_finite=False, lapack_driver="gelsy")
    return float(np.sum((y - design @ beta) ** 2)), int(rank)
