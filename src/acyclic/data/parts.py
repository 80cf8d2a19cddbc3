"""The parts of a fitted model: functions of one parent, laws of the noise, and the mechanism of one column.

Mechanisms read *coded* rows (n, d): numbers as they are, and codes 0, 1, … in the place of categories. Each part can be
stored: ``to_dict`` gives plain values, of which `SHAPE` is the form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy.interpolate import BSpline
from scipy.special import log_softmax, logsumexp

from acyclic.data.categories import invert
from acyclic.ranges import Range, each, number, record, whole
from acyclic.types import Floats, Integers

__all__ = [
    "SHAPE",
    "Category",
    "Counted",
    "Curve",
    "Mechanism",
    "Normal",
    "Number",
    "Shaped",
    "Steps",
    "Waves",
    "read_mechanism",
]

_NUMBERS: Final = each(number())
_TERM: Final = record(
    {},
    {
        "centre": number(),
        "slope": _NUMBERS,
        "knots": _NUMBERS,
        "degree": whole(least=1, most=5),
        "coefficients": each(_NUMBERS),
        "effects": each(_NUMBERS),
    },
    closed=True,
)
_WAVES: Final = record(
    {"centre": _NUMBERS, "frequencies": each(_NUMBERS), "weights": each(_NUMBERS), "constant": number()},
    {},
    closed=True,
)
SHAPE: Final[Range] = record(
    {"parents": each(whole(least=0))},
    {
        "terms": each(_TERM),
        "together": _WAVES,
        "offset": number() | _NUMBERS,
        "deviation": number(least=0),
        "points": _NUMBERS,
        "widths": each(number(above=0)),
        "keys": each(each(whole(least=0))),
        "counts": each(each(number(least=0))),
    },
    closed=True,
)
# Quantiles that tell the shape of a column's noise, at most, and rows for each of them.
_MOST_POINTS, _ROWS_FOR_POINT = 101, 10
# On each side the normal of a point reaches over so many others; less would follow chance, more would blur the shape.
_REACH = 2


@dataclass(frozen=True, eq=False)
class Curve:
    """A function of a number: slope·(x − centre), plus a spline that is constant beyond its outer knots, if any.

    ``slope`` is (r,) and ``coefficients`` (m, r): one function for each of r responses.
    """

    centre: float
    slope: Floats
    knots: Floats
    degree: int
    coefficients: Floats

    @classmethod
    def line(cls, centre: float, slope: Sequence[float] | Floats) -> Self:
        """A function without a spline."""
        slopes = np.asarray(slope, dtype=float)
        return cls(float(centre), slopes, np.empty(0), 1, np.empty((0, len(slopes))))

    @property
    def is_line(self) -> bool:
        """Whether there is no spline."""
        return not len(self.knots)

    def __call__(self, x: Floats) -> Floats:
        """Values (n, r)."""
        total = np.multiply.outer(x - self.centre, self.slope)
        if self.is_line:
            return np.asarray(total)
        inside = np.clip(x, self.knots[0], self.knots[-1])
        return np.asarray(total + BSpline.design_matrix(inside, self.knots, self.degree) @ self.coefficients)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        line = {"centre": self.centre, "slope": self.slope.tolist()}
        if self.is_line:
            return line
        spline = {"knots": self.knots.tolist(), "degree": self.degree, "coefficients": self.coefficients.tolist()}
        return {**line, **spline}


@dataclass(frozen=True, eq=False)
class Steps:
    """A function of a category: effects (q, r) of its levels on r responses."""

    effects: Floats

    @property
    def is_line(self) -> bool:
        """It is none."""
        return False

    def __call__(self, codes: Floats) -> Floats:
        """Values (n, r)."""
        return np.asarray(self.effects[codes.astype(np.intp)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"effects": self.effects.tolist()}


Term: TypeAlias = Curve | Steps


@dataclass(frozen=True, eq=False)
class Waves:
    """A function of several numbers together: Σ_k a_k cos(w_k·(x − centre)) + b_k sin(w_k·(x − centre)) + constant.

    ``frequencies`` are (m, p), ``weights`` the a and b (2, m).

    Examples
    --------
    >>> product = Waves(np.zeros(2), np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([[0.5, -0.5], [0.0, 0.0]]), 0.0)
    >>> bool(np.isclose(product(np.array([[0.3, 0.4]]))[0], np.sin(0.3) * np.sin(0.4)))
    True
    """

    centre: Floats
    frequencies: Floats
    weights: Floats
    constant: float

    def __call__(self, X: Floats) -> Floats:
        """Values (n,) at points (n, p)."""
        phase = (X - self.centre) @ self.frequencies.T
        return np.asarray(np.cos(phase) @ self.weights[0] + np.sin(phase) @ self.weights[1] + self.constant)

    def permuted(self, order: Integers) -> Waves:
        """The same function of its numbers in another order."""
        return replace(self, centre=self.centre[order], frequencies=self.frequencies[:, order])

    def slopes(self, X: Floats) -> Floats:
        """Derivatives (n, p) at points."""
        phase = (X - self.centre) @ self.frequencies.T
        return np.asarray((np.cos(phase) * self.weights[1] - np.sin(phase) * self.weights[0]) @ self.frequencies)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        lists = {name: getattr(self, name).tolist() for name in ("centre", "frequencies", "weights")}
        return {**lists, "constant": self.constant}


@dataclass(frozen=True)
class Normal:
    """Normal noise."""

    deviation: float

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draws (n,)."""
        return self.deviation * rng.standard_normal(n)

    def log_density(self, u: Floats) -> Floats:
        """Of residuals."""
        return np.asarray(-0.5 * (u / self.deviation) ** 2 - np.log(self.deviation) - 0.5 * np.log(2 * np.pi))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"deviation": self.deviation}


@dataclass(frozen=True, eq=False)
class Shaped:
    """Noise of any shape: a mixture of normals around quantiles, with widths that follow how far apart they are.

    The widths grow where quantiles are sparse, so that tails are as long as those of the rows, as in a kernel estimate
    with a bandwidth for each point (Abramson 1982). Mean and variance are those of the residuals.
    """

    points: Floats
    widths: Floats

    @classmethod
    def of(cls, residuals: Floats) -> Self:
        """The shape of residuals, which vary."""
        count = int(np.clip(len(residuals) // _ROWS_FOR_POINT, 2 * _REACH + 1, _MOST_POINTS))
        deviation = float(residuals.std())
        points = np.quantile(residuals, (np.arange(count) + 0.5) / count)
        points -= points.mean()
        after = np.minimum(np.arange(count) + _REACH, count - 1)
        before = np.maximum(np.arange(count) - _REACH, 0)
        # Where many rows have one value the noise would be no density.
        widths = np.maximum((points[after] - points[before]) / 2, 1e-3 * deviation)
        stretch = deviation / np.sqrt(points.var() + np.mean(widths**2))
        return cls(_shorten(stretch * points), _shorten(stretch * widths))

    @property
    def deviation(self) -> float:
        """Of the noise."""
        return float(np.sqrt(self.points.var() + np.mean(self.widths**2)))

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draws (n,)."""
        chosen = rng.integers(len(self.points), size=n)
        return np.asarray(self.points[chosen] + self.widths[chosen] * rng.standard_normal(n))

    def log_density(self, u: Floats) -> Floats:
        """Of residuals."""
        far = -0.5 * ((u[:, None] - self.points) / self.widths) ** 2 - np.log(self.widths)
        return np.asarray(logsumexp(far, axis=1) - np.log(len(self.points)) - 0.5 * np.log(2 * np.pi))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"points": self.points.tolist(), "widths": self.widths.tolist()}


@dataclass(frozen=True, eq=False)
class Number:
    """A number: an offset, plus a function of each parent or one of all of them together, plus noise."""

    parents: tuple[int, ...]
    terms: tuple[Term, ...]
    offset: float
    noise: Normal | Shaped
    together: Waves | None = None

    @property
    def is_linear(self) -> bool:
        """Whether all functions are lines."""
        return self.together is None and all(term.is_line for term in self.terms)

    def expect(self, coded: Floats) -> Floats:
        """Its mean (n,) given its parents."""
        if self.together is not None:
            return self.offset + self.together(coded[:, list(self.parents)])
        return np.asarray(self.offset + _add_up(self.parents, self.terms, coded, 1)[:, 0])

    def draw(self, coded: Floats, rng: Generator) -> Floats:
        """A value for each row (n,)."""
        return self.expect(coded) + self.noise.draw(len(coded), rng)

    def log_likelihood(self, coded: Floats, own: int) -> Floats:
        """Of its values (n,), which are a column of the rows."""
        return self.noise.log_density(coded[:, own] - self.expect(coded))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        terms = [term.to_dict() for term in self.terms]
        together = {} if self.together is None else {"together": self.together.to_dict()}
        return {"parents": list(self.parents), "terms": terms, **together, "offset": self.offset} | self.noise.to_dict()


class _Levels:
    """What categories share, however their probabilities are found."""

    is_linear = False

    def log_probabilities(self, coded: Floats) -> Floats:
        """Of the levels (n, q) given the parents."""
        raise NotImplementedError

    def probabilities(self, coded: Floats) -> Floats:
        """Of the levels (n, q) given the parents."""
        return np.exp(self.log_probabilities(coded))

    def draw(self, coded: Floats, rng: Generator) -> Floats:
        """A code for each row (n,)."""
        return invert(self.probabilities(coded), rng.random(len(coded)))

    def log_likelihood(self, coded: Floats, own: int) -> Floats:
        """Of its codes (n,), which are a column of the rows."""
        codes = coded[:, own].astype(np.intp)
        return np.asarray(np.take_along_axis(self.log_probabilities(coded), codes[:, None], axis=1)[:, 0])


@dataclass(frozen=True, eq=False)
class Category(_Levels):
    """A category whose log-odds are an offset (q,) plus functions of the parents: a multinomial logit."""

    parents: tuple[int, ...]
    terms: tuple[Term, ...]
    offset: Floats

    def log_probabilities(self, coded: Floats) -> Floats:
        """See `_Levels`."""
        logits = self.offset + _add_up(self.parents, self.terms, coded, len(self.offset))
        return np.asarray(log_softmax(logits, axis=1))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        terms = [term.to_dict() for term in self.terms]
        return {"parents": list(self.parents), "terms": terms, "offset": self.offset.tolist()}


@dataclass(frozen=True, eq=False)
class Counted(_Levels):
    """A category given categories: rows of a table (k, q), by the codes (k, p) of the parents.

    To each row of it one row of all, spread as the levels are there, is added: no level is impossible, and parents that
    were never seen together leave the column as it is in all rows.
    """

    parents: tuple[int, ...]
    keys: Integers
    counts: Floats

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        return {tuple(key): place for place, key in enumerate(self.keys.tolist())}

    @cached_property
    def _log_table(self) -> Floats:
        """Log-probabilities (k + 1, q) of the levels; the last row is for parents that were never seen together."""
        share = self.counts.sum(axis=0) + 1e-9
        share /= share.sum()
        whole = np.vstack([self.counts, np.zeros(len(share))]) + share
        return np.asarray(np.log(whole / whole.sum(axis=1, keepdims=True)))

    def rows_of(self, keys: Integers) -> Floats:
        """How many rows (m,) have each of these codes (m, p) of the parents."""
        whole = self.counts.sum(axis=1)
        places = [self._places.get(tuple(key)) for key in keys.tolist()]
        return np.array([0.0 if place is None else whole[place] for place in places])

    def log_probabilities(self, coded: Floats) -> Floats:
        """See `_Levels`."""
        if not self.parents:
            return np.broadcast_to(self._log_table[0], (len(coded), self.counts.shape[1]))
        found, back = np.unique(coded[:, list(self.parents)].astype(np.intp), axis=0, return_inverse=True)
        places = np.array([self._places.get(tuple(key), -1) for key in found.tolist()], dtype=np.intp)
        return np.asarray(self._log_table[places[back.ravel()]])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"parents": list(self.parents), "keys": self.keys.tolist(), "counts": self.counts.tolist()}


Mechanism: TypeAlias = Number | Category | Counted


def read_mechanism(plain: Mapping[str, Any]) -> Mechanism:
    """The inverse of ``to_dict`` of a mechanism, of the form `SHAPE`; a ValueError or KeyError where parts differ."""
    parents = tuple(map(int, plain["parents"]))
    if "counts" in plain:
        counts = np.array(plain["counts"], dtype=float)
        keys = np.array(plain["keys"], dtype=np.intp).reshape(len(counts), len(parents))
        if counts.ndim != 2 or not counts.size or not counts.sum() > 0:
            raise ValueError("counts has to be a table with rows")
        return Counted(parents, keys, counts)
    offset = np.array(plain["offset"], dtype=float)
    if "together" in plain:
        return Number(parents, (), float(offset), _read_noise(plain), _read_waves(plain["together"], len(parents)))
    terms = tuple(_read_term(term, offset.size) for term in plain["terms"])
    if len(terms) != len(parents) or not offset.size:
        raise ValueError("terms and parents have to be as many")
    if offset.ndim:
        return Category(parents, terms, offset)
    return Number(parents, terms, float(offset), _read_noise(plain))


def _read_noise(plain: Mapping[str, Any]) -> Normal | Shaped:
    if "points" not in plain:
        if not plain["deviation"] > 0:
            raise ValueError("deviation has to be above 0")
        return Normal(float(plain["deviation"]))
    points, widths = np.array(plain["points"], dtype=float), np.array(plain["widths"], dtype=float)
    if len(points) != len(widths) or not len(points):
        raise ValueError("points and widths have to be as many")
    return Shaped(points, widths)


def _read_waves(plain: Mapping[str, Any], size: int) -> Waves:
    centre, frequencies, weights = (np.array(plain[k], dtype=float) for k in ("centre", "frequencies", "weights"))
    if centre.shape != (size,) or frequencies.shape != (len(frequencies), size):
        raise ValueError(f"frequencies and centre have to be of {size} parents")
    if weights.shape != (2, len(frequencies)):
        raise ValueError("weights have to be two for each frequency")
    return Waves(centre, frequencies, weights, float(plain["constant"]))


def _read_term(plain: Mapping[str, Any], responses: int) -> Term:
    if "effects" in plain:
        effects = np.array(plain["effects"], dtype=float)
        if effects.ndim != 2 or effects.shape[1] != responses:
            raise ValueError(f"effects have to be of {responses} responses")
        return Steps(effects)
    term = Curve.line(plain["centre"], plain["slope"])
    if "knots" in plain:
        knots, degree = np.array(plain["knots"], dtype=float), int(plain["degree"])
        coefficients = np.array(plain["coefficients"], dtype=float).reshape(-1, responses)
        if len(coefficients) != len(knots) - degree - 1 or (np.diff(knots) < 0).any():
            raise ValueError("knots and coefficients do not belong together")
        term = Curve(term.centre, term.slope, knots, degree, coefficients)
    if len(term.slope) != responses:
        raise ValueError(f"slope has to be of {responses} responses")
    return term


def _add_up(parents: Sequence[int], terms: Sequence[Term], coded: Floats, responses: int) -> Floats:
    total = np.zeros((len(coded), responses))
    for i, term in zip(parents, terms):
        total += term(coded[:, i])
    return total


def _shorten(values: Floats) -> Floats:
    """Six digits, which a file may hold and no shape needs more of."""
    return np.array([float(f"{value:.6g}") for value in values.tolist()])
