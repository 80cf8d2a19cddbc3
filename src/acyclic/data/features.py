"""What columns offer to their children: blocks of features, and their moments.

A number offers itself and curves of it, a category the indicators of its levels. Features of one column have mean 0 and
variance 1 over the rows and do not correlate; the first feature of a number is the number itself, the further ones are
ever rougher. A parent that enters with the first feature only is linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from acyclic.types import Floats

__all__ = ["Curves", "Features", "Indicators"]

# Fewer rows tell next to nothing of a curve.
FEWEST_ROWS_FOR_CURVES = 100
# With so many inner knots a curve has as many turns as some thousand rows can show.
_KNOTS = 10
_ROWS_FOR_KNOT = 25
# Beyond these shares of the rows a curve is constant: one wild row must not bend it.
_CLIP = 0.005
# With how many features a number may enter: linear, curved, and curved as roughly as rows can show.
LEVELS = (1, 4, 10)
# A direction with less than this share of the variance of the others is rounding.
_RANK = 1e-6


@dataclass(frozen=True, eq=False)
class Curves:
    """The features of a number: the number, standardised, and cubic splines of it in the order of their roughness.

    The splines have knots at quantiles; their roughness is that of their coefficients, as in P-splines, and the
    functions are those of Demmler and Reinsch, but for the linear one.
    """

    mean: float
    deviation: float
    knots: Floats
    weights: Floats
    """(m, p - 1): the curved features in terms of the splines and, in the last two rows, of x and 1."""

    @classmethod
    def of(cls, x: Floats, size: int, weights: Floats | None = None) -> Self:
        """Features of a column, at most ``size`` of them; of one that hardly varies, the number itself only."""
        mean = float(np.average(x, weights=weights))
        deviation = float(np.sqrt(np.average((x - mean) ** 2, weights=weights)))
        linear = cls(mean, deviation, np.empty(0), np.empty((2, 0)))
        if size < 2 or not deviation > 0:
            return linear
        low, high = np.quantile(x, [_CLIP, 1 - _CLIP])
        inner = np.unique(np.quantile(x, np.linspace(_CLIP, 1 - _CLIP, min(_KNOTS, len(x) // _ROWS_FOR_KNOT) + 2)))
        inner = inner[(inner > low) & (inner < high)]
        if not low < high or not len(inner):
            return linear
        knots = np.concatenate([[low] * 4, inner, [high] * 4])
        B = _splines(x, knots)
        z = (x - mean) / deviation
        share = np.full(len(x), 1 / len(x)) if weights is None else weights / weights.sum()
        centre, slope = share @ B, (share * z) @ B
        rest = B - centre - z[:, None] * slope
        values, vectors = np.linalg.eigh((rest * share[:, None]).T @ rest)
        kept = values > _RANK * values[-1]
        whiten = vectors[:, kept] / np.sqrt(values[kept])
        rough = np.diff(np.eye(B.shape[1]), 2, axis=0) @ whiten
        turn = whiten @ np.linalg.eigh(rough.T @ rough)[1][:, : size - 1]
        # Which of a function and its mirror image is meant is settled: rounding must not choose.
        turn *= np.where(np.take_along_axis(turn, np.abs(turn).argmax(axis=0)[None], 0)[0] < 0, -1.0, 1.0)
        return cls(mean, deviation, knots, np.vstack([turn, -slope @ turn, -centre @ turn]))

    @property
    def size(self) -> int:
        """How many features there are."""
        return 1 + int(self.weights.shape[1])

    def __call__(self, x: Floats) -> Floats:
        """Features (n, p) of new values; beyond the clipped range the splines are constant."""
        z = (x - self.mean) / (self.deviation or 1.0)
        if not len(self.knots):
            return np.asarray(z[:, None])
        curved = _splines(x, self.knots) @ self.weights[:-2] + z[:, None] * self.weights[-2] + self.weights[-1]
        return np.column_stack([z, curved])


def _splines(x: Floats, knots: Floats) -> Floats:
    inside = np.clip(x, knots[0], knots[-1])
    return np.asarray(BSpline.design_matrix(inside, knots, 3).toarray())


@dataclass(frozen=True, eq=False)
class Indicators:
    """The features of a category: the indicators of all its levels but the commonest, made orthonormal."""

    weights: Floats
    """(q, q - 1): row c holds the features of level c."""

    @classmethod
    def of(cls, codes: Floats, count: int, weights: Floats | None = None) -> Self:
        """Features of a column of codes 0, …, count − 1."""
        share = np.bincount(codes.astype(np.intp), weights, minlength=count)
        share = share / share.sum()
        commonest = int(share.argmax())
        others = np.delete(np.eye(count), commonest, axis=1)[:, share[np.arange(count) != commonest] > 0]
        centred = others - share @ others
        L = np.linalg.cholesky((centred * share[:, None]).T @ centred)
        return cls(np.linalg.solve(L, centred.T).T)

    @property
    def size(self) -> int:
        """How many features there are."""
        return int(self.weights.shape[1])

    def __call__(self, codes: Floats) -> Floats:
        """Features (n, q − 1) of codes."""
        return np.asarray(self.weights[codes.astype(np.intp)])


@dataclass(frozen=True, eq=False)
class Features:
    """The features of all columns, and their moments over the rows.

    Attributes
    ----------
    maps : tuple of Curves or Indicators
        One for each column.
    at : ndarray (d + 1,)
        Where the features of each column begin.
    levels : tuple of tuple of int
        With how many of its features each column may enter as a parent.
    shaped : tuple of bool
        Whether a column can tell the shape of its noise: a number with more than a few values.
    n : float
    G : ndarray (F, F)
        Their second moments.
    seen : tuple of ndarray (n, d) and (n, F), optional
        The rows of which these are the moments, and their features, where rows are few.
    """

    maps: tuple[Curves | Indicators, ...]
    at: NDArray[np.int32]
    levels: tuple[tuple[int, ...], ...]
    shaped: tuple[bool, ...]
    n: float
    G: Floats
    seen: tuple[Floats, Floats] | None = None

    @classmethod
    def of(
        cls,
        rows: Floats,
        counts: Sequence[int] | None = None,
        *,
        curved: bool = True,
        weights: Floats | None = None,
        offered: Sequence[int] = LEVELS,
    ) -> Self:
        """Features of rows (n, d); ``counts[j]`` is how many levels a category has, whose rows are codes, or 0."""
        n, d = rows.shape
        counts = counts or [0] * d
        size = max(offered) if curved and n >= FEWEST_ROWS_FOR_CURVES else 1
        maps = tuple(
            Indicators.of(rows[:, j], counts[j], weights) if counts[j] else Curves.of(rows[:, j], size, weights)
            for j in range(d)
        )
        at = np.concatenate([[0], np.cumsum([each.size for each in maps])]).astype(np.int32)
        levels = tuple(
            (each.size,) if counts[j] else tuple(sorted({min(level, each.size) for level in offered}))
            for j, each in enumerate(maps)
        )
        shaped = tuple(not counts[j] and _has_many_values(rows[:, j]) for j in range(d))
        G, Z = _moments(rows, maps, weights)
        seen = (rows, Z) if n <= _CHUNK else None
        return cls(maps, at, levels, shaped, float(n if weights is None else weights.sum()), G, seen)

    def __call__(self, rows: Floats) -> Floats:
        """Rows of the features (n, F)."""
        return self.seen[1] if self.seen is not None and self.seen[0] is rows else _map_rows(self.maps, rows)

    def responses(self) -> NDArray[np.int32]:
        """How many of its first features a column is as a child."""
        return np.array([each.size if isinstance(each, Indicators) else 1 for each in self.maps], dtype=np.int32)

    @property
    def is_linear(self) -> bool:
        """Whether no column offers curves or levels."""
        return all(levels == (1,) for levels in self.levels)


_CHUNK = 20_000
# The residual of a column with so few values is as discrete as the column: its entropy says nothing.
_FEW_VALUES = 10


def _has_many_values(x: Floats) -> bool:
    return len(np.unique(x)) > _FEW_VALUES


def _map_rows(maps: Sequence[Curves | Indicators], rows: Floats) -> Floats:
    return np.hstack([each(rows[:, j]) for j, each in enumerate(maps)])


def _moments(rows: Floats, maps: Sequence[Curves | Indicators], weights: Floats | None) -> tuple[Floats, Floats]:
    """Second moments, and the features of the last chunk of rows."""
    G = np.zeros(2 * (sum(each.size for each in maps),))
    for start in range(0, len(rows), _CHUNK):
        Z = _map_rows(maps, rows[start : start + _CHUNK])
        G += Z.T @ (Z if weights is None else Z * weights[start : start + _CHUNK, None])
    G /= len(rows) if weights is None else weights.sum()
    # A constant column is related to none, and explained by none.
    np.fill_diagonal(G, np.where(G.diagonal() > 0, G.diagonal(), 1.0))
    return G, Z
