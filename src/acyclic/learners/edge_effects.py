"""What each edge does: its slope, its share of what the child varies, and its curve or the effects of its levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np

from acyclic.data.features import Curves, Indicators
from acyclic.data.kinds import Coding
from acyclic.data.model import Model
from acyclic.data.parts import Category, Counted, Number, Steps, Waves
from acyclic.discrete.fitted import Fitted
from acyclic.learners.modelling import Learned, Logit, count_rows, level_numbers
from acyclic.ranges import NONE, SHARE, TEXT, Range, each, member, number, record
from acyclic.scores.additive import AdditiveModel
from acyclic.scores.blocks import BlockScore, draw_rows
from acyclic.types import Floats

__all__ = ["SHAPE", "EdgeEffect", "Form", "describe_edges"]

POINTS: Final = 41
# Rows over which probabilities are averaged, and on which log-odds are fitted without a parent.
_AVERAGED, _REFITTED = 400, 4000
# Values of a parent over which a joint function is averaged.
_PLACES: Final = 15
# Levels of a category that are told of, those that change most; coefficients beyond which errors are not.
_MOST_LEVELS, _MOST_COEFFICIENTS = 6, 400
# Between these quantiles of its rows a number is told of: beyond them curves are constant.
_ENDS: Final = (0.005, 0.995)
# Parents that nearly determine each other have no effects of their own.
_RANK: Final = 1e-10


class Form(StrEnum):
    """What an edge does to its child."""

    LINE = "line"
    CURVE = "curve"
    LEVELS = "levels"
    """The source is a category: each level has an effect."""


_ROWS: Final = each(each(number()))
SHAPE: Final[Range] = record(
    {"form": member(Form), "share": SHARE},
    {"slope": number() | NONE, "error": number(least=0) | NONE, "at": each(number() | TEXT), "of": each(TEXT)}
    | {"values": _ROWS, "errors": each(each(number(least=0)))},
    closed=True,
)


@dataclass(frozen=True)
class EdgeEffect:
    """What an edge does to its child, given the child's other parents.

    Attributes
    ----------
    form : Form
    share : float
        By how much less of the child's variance is explained when the edge is left out and the other parents are
        fitted again, as a share of that variance. Of a category it is the same with the deviance, −2 log-likelihood.
    slope : float or None
        The average slope between columns of variance 1: that of the line through what the source adds. For a child of
        two levels it is that of the probability of the second one. None where an end has more levels.
    error : float or None
        The standard error of the slope of a line.
    at : tuple of float or str
        Where the effect is told: values of a number, or levels of a category; none for a line between numbers.
    of : tuple of str
        The levels of the child whose probabilities are told, those that change most; none for a number.
    values, errors : tuple of tuple of float
        Of a number: what the source adds to it at each place, 0 on average, and the standard error. Of a category: for
        each level of `of` its probability with the source set there, averaged over the rows.
    """

    form: Form
    share: float
    slope: float | None = None
    error: float | None = None
    at: tuple[float | str, ...] = ()
    of: tuple[str, ...] = ()
    values: tuple[tuple[float, ...], ...] = ()
    errors: tuple[tuple[float, ...], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values of the form `SHAPE`."""
        known = {name: getattr(self, name) for name in ("slope", "error") if getattr(self, name) is not None}
        lists = {name: getattr(self, name) for name in ("at", "of", "values", "errors") if getattr(self, name)}
        return {"form": self.form.value, "share": self.share, **known, **lists}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> EdgeEffect:
        """The inverse of `to_dict`; a ValueError where lists differ in length."""
        values, errors = (tuple(map(tuple, plain.get(name, ()))) for name in ("values", "errors"))
        at, of = tuple(plain.get("at", ())), tuple(plain.get("of", ()))
        rows = max(len(of), 1) if at else 0
        if any(len(one) not in (0, rows) for one in (values, errors)) or any(
            len(r) != len(at) for r in values + errors
        ):
            raise ValueError("values and errors have to be as many as there are places")
        slope, error = plain.get("slope"), plain.get("error")
        return cls(Form(plain["form"]), plain["share"], slope, error, at, of, values, errors)


def describe_edges(learned: Learned, model: Model) -> dict[tuple[int, int], EdgeEffect]:
    """The effect of each edge, by the positions of its ends."""
    found = {}
    scene = _Scene(learned, model)
    for j, mechanism in enumerate(model.mechanisms):
        if not mechanism.parents:
            continue
        told = scene.describe_number(j) if isinstance(mechanism, Number) else scene.describe_category(j)
        found.update({(i, j): effect for i, effect in zip(mechanism.parents, told)})
    return found


@dataclass(frozen=True, eq=False)
class _Regression:
    """A number on blocks of features of its parents: second moments, and the features of new values."""

    M: Floats
    cross: Floats
    variance: float
    n: float
    sizes: Sequence[int]
    features: Sequence[Callable[[Floats], Floats]]
    scale: float = 1.0

    @cached_property
    def inverse(self) -> Floats:
        return np.asarray(np.linalg.pinv(self.M, rcond=_RANK, hermitian=True), dtype=float)

    @cached_property
    def blocks(self) -> list[slice]:
        ends = np.concatenate([[0], np.cumsum(self.sizes)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    @cached_property
    def noise(self) -> float:
        """The variance that is left, over the degrees of freedom."""
        left = self.variance - float(self.cross @ self.inverse @ self.cross)
        return max(left, 0.0) * self.n / max(self.n - len(self.M) - 1, 1.0)

    def shares(self) -> list[float]:
        """By how much less is explained without each parent, as a share of the variance."""
        beta, shares = self.inverse @ self.cross, []
        for block in self.blocks:
            lost = float(beta[block] @ np.linalg.pinv(self.inverse[block, block], hermitian=True) @ beta[block])
            shares.append(_round(min(max(lost / self.variance, 0.0), 1.0)) if self.variance > 0 else 0.0)
        return shares

    def errors(self, k: int, x: Floats) -> Floats:
        """The standard errors (m,) of what the k-th parent adds at places."""
        block = self.blocks[k]
        Phi = self.features[k](x)
        spread = np.einsum("ma,ab,mb->m", Phi, self.inverse[block, block], Phi)
        return np.asarray(self.scale * np.sqrt(np.maximum(self.noise * spread, 0.0) / max(self.n, 1.0)))


class _Scene:
    """What the edges of one model are told from."""

    def __init__(self, learned: Learned, model: Model) -> None:
        self.learned, self.model = learned, model
        moments = learned.table.moments
        self.mean, self.n = moments.mean, float(moments.n)
        self.deviations = np.sqrt(np.maximum(np.diag(moments.covariance), 0.0))

    @cached_property
    def score(self) -> BlockScore:
        assert isinstance(self.learned.mechanisms, Fitted)
        return BlockScore.on(self.learned.mechanisms.features, None)

    def describe_number(self, j: int) -> list[EdgeEffect]:
        mechanism = self.model.mechanisms[j]
        assert isinstance(mechanism, Number)
        if mechanism.together is not None:
            return [
                self._describe_part(mechanism.together, mechanism.parents, k, j) for k in range(len(mechanism.parents))
            ]
        regression = self._regression(j)
        shares = regression.shares()
        told = []
        for k, (i, term) in enumerate(zip(mechanism.parents, mechanism.terms)):
            coding = self.learned.codings[i]
            if coding is None and term.is_line:
                error = self._standardised(float(regression.errors(k, self.mean[i : i + 1] + 1.0)[0]), i, j)
                told.append(EdgeEffect(Form.LINE, shares[k], self._standardised(_slope_of(term), i, j), error))
                continue
            numbers, places = self._places(i, getattr(term, "knots", None))
            values = term(places)[:, 0]
            own = self._rows_of(i)
            added = term(own)[:, 0]
            x = level_numbers(coding)[own.astype(np.intp)] if coding is not None else own
            slope = None if coding is not None and len(coding.levels) > 2 else self._standardised(_line(x, added), i, j)
            told.append(
                EdgeEffect(
                    Form.CURVE if coding is None else Form.LEVELS,
                    shares[k],
                    slope,
                    at=self._called(i, places),
                    values=(_list(values - added.mean()),),
                    errors=(_list(regression.errors(k, numbers)),),
                )
            )
        return told

    def _describe_part(self, function: Waves, parents: tuple[int, ...], k: int, j: int) -> EdgeEffect:
        """A parent in a joint function: its curve with the others at their means, and what it changes at all places."""
        assert self.learned.rows is not None
        i, X = parents[k], draw_rows(self.learned.rows, _AVERAGED)[:, list(parents)]
        places, own = self._places(i)[0], X[:, k]

        def at(values: Floats) -> Floats:
            moved = np.tile(self.mean[list(parents)], (len(values), 1))
            moved[:, k] = values
            return function(moved)

        moved = np.repeat(X, _PLACES, axis=0)
        moved[:, k] = np.tile(np.quantile(own, (np.arange(_PLACES) + 0.5) / _PLACES), len(X))
        changed = function(X) - function(moved).reshape(len(X), _PLACES).mean(axis=1)
        variance = self.deviations[j] ** 2
        return EdgeEffect(
            Form.CURVE,
            _round(min(float((changed**2).mean()) / variance, 1.0)) if variance > 0 else 0.0,
            self._standardised(float(function.slopes(X)[:, k].mean()), i, j),
            at=self._called(i, places),
            values=(_list(at(places) - at(own).mean()),),
        )

    def _regression(self, j: int) -> _Regression:
        mechanisms, parents = self.learned.mechanisms, list(self.model.mechanisms[j].parents)
        if isinstance(mechanisms, Fitted) and isinstance(own := mechanisms.features.maps[j], Curves):
            family = mechanisms.families[j]
            levels = dict(zip(family.parents, family.levels))
            sizes = [levels[i] for i in parents]
            places, response = self.score.columns_of(parents, sizes), int(mechanisms.features.at[j])
            G = mechanisms.features.G
            return _Regression(
                self.score.moments[np.ix_(places, places)],
                G[places, response],
                float(G[response, response]),
                mechanisms.features.n,
                sizes,
                [_Block(mechanisms.features.maps[i], levels[i]) for i in parents],
                own.deviation,
            )
        if isinstance(mechanisms, AdditiveModel):
            return self._additive(mechanisms, j, parents)
        C = self.learned.table.moments.covariance
        lines = [_Centred(lambda x: x[:, None], self.mean[i : i + 1]) for i in parents]
        ones = [1] * len(parents)
        return _Regression(C[np.ix_(parents, parents)], C[parents, j], float(C[j, j]), self.n, ones, lines)

    def _additive(self, model: AdditiveModel, j: int, parents: list[int]) -> _Regression:
        rows = draw_rows(self.learned.table.rows(), _REFITTED)
        features = [_Centred(spline, spline(rows[:, i]).mean(axis=0)) for i, spline in zip(parents, model.splines[j])]
        blocks = [feature(rows[:, i]) for i, feature in zip(parents, features)]
        Phi, y = np.hstack(blocks), rows[:, j] - rows[:, j].mean()
        sizes = [block.shape[1] for block in blocks]
        return _Regression(Phi.T @ Phi / len(y), Phi.T @ y / len(y), float(y @ y) / len(y), self.n, sizes, features)

    def _standardised(self, slope: float, i: int, j: int) -> float:
        return _round(slope * self.deviations[i] / self.deviations[j]) if self.deviations[j] > 0 else 0.0

    def _rows_of(self, i: int) -> Floats:
        assert self.learned.rows is not None  # only lines are told without
        return self.learned.rows[:, i]

    def _places(self, i: int, knots: Floats | None = None) -> tuple[Floats, Floats]:
        """Where the effect of a column is told: its numbers in the rows of the table, and in coded rows."""
        coding = self.learned.codings[i]
        if coding is not None:
            return level_numbers(coding), np.arange(float(len(coding.levels)))
        ends = knots[[0, -1]] if knots is not None and len(knots) else np.quantile(self._rows_of(i), _ENDS)
        grid = np.linspace(float(ends[0]), float(ends[1]), POINTS)
        return grid, grid

    def _called(self, i: int, places: Floats) -> tuple[float | str, ...]:
        coding = self.learned.codings[i]
        return _list(places) if coding is None else coding.levels

    def describe_category(self, j: int) -> list[EdgeEffect]:
        mechanism, coding = self.model.mechanisms[j], self.learned.codings[j]
        assert coding is not None
        assert not isinstance(mechanism, Number)
        shares = self._deviance_shares(j, len(coding.levels))
        return [
            self._average(mechanism, j, k, share, coding) for k, share in zip(range(len(mechanism.parents)), shares)
        ]

    def _deviance_shares(self, j: int, q: int) -> list[float]:
        mechanism, rows, codings = self.model.mechanisms[j], self.learned.rows, self.learned.codings
        assert rows is not None
        some, parents = draw_rows(rows, _REFITTED), mechanism.parents

        def deviance(among: tuple[int, ...]) -> float:
            if isinstance(mechanism, Counted) or not among:
                fitted: Counted | Category = count_rows(some, j, among, q)
            else:
                fitted = Logit.fit(some, j, among, codings, q).category
            return -2 * float(fitted.log_likelihood(some, j).sum())

        nothing, everything = deviance(()), deviance(parents)
        without = [deviance(tuple(i for i in parents if i != other)) for other in parents]
        return [_round(min(max((one - everything) / nothing, 0.0), 1.0)) if nothing > 0 else 0.0 for one in without]

    def _average(self, mechanism: Category | Counted, j: int, k: int, share: float, coding: Coding) -> EdgeEffect:
        """The probabilities of the child's levels with one parent set, averaged over rows."""
        i, rows = mechanism.parents[k], self.learned.rows
        assert rows is not None
        numbers, places = self._places(i)
        few = draw_rows(rows, _AVERAGED)[:, list(mechanism.parents)]
        moved = np.tile(few, (len(places), 1))
        moved[:, k] = np.repeat(places, len(few))
        inside = replace(mechanism, parents=tuple(range(len(mechanism.parents))))
        shares = inside.probabilities(moved).reshape(len(places), len(few), -1)
        values, errors = shares.mean(axis=1).T, self._errors(mechanism, inside, moved, shares)
        kept = [1] if len(coding.levels) == 2 else np.sort(np.argsort(-np.ptp(values, axis=1))[:_MOST_LEVELS]).tolist()
        slope, own = None, self.learned.codings[i]
        if len(coding.levels) == 2 and (own is None or len(own.levels) == 2):
            x = self._rows_of(i) if own is None else level_numbers(own)[self._rows_of(i).astype(np.intp)]
            in_code = self._standardised(_line(x, np.interp(x, np.sort(numbers), values[1][np.argsort(numbers)])), i, j)
            # The deviation of the column is in its own numbers, which need not be 0 and 1.
            slope = _round(in_code * float(np.ptp(level_numbers(coding))))
        return EdgeEffect(
            Form.LEVELS if own is not None else Form.CURVE,
            share,
            slope,
            at=self._called(i, places),
            of=tuple(coding.levels[level] for level in kept),
            values=tuple(_list(values[level]) for level in kept),
            errors=() if errors is None else tuple(_list(errors[level]) for level in kept),
        )

    def _errors(
        self, mechanism: Category | Counted, inside: Category | Counted, moved: Floats, shares: Floats
    ) -> Floats | None:
        """Standard errors (q, m) of average probabilities."""
        m, r, q = shares.shape
        if isinstance(inside, Counted):
            return _errors_of_counts(inside, moved, shares)
        rows = self.learned.rows
        assert rows is not None
        codings = [self.learned.codings[i] for i in mechanism.parents]
        few = draw_rows(rows, _REFITTED)[:, list(mechanism.parents)]
        logit = Logit.of(inside, few, codings)
        if logit.coefficients.size > _MOST_COEFFICIENTS:
            return None
        covariance = logit.covariance(few) * len(few) / len(rows)
        X = logit.design(moved).reshape(m, r, -1)
        # How the average probability of level k moves with the coefficients of level l.
        slopes = np.stack(
            [
                np.einsum("mr,mrl,mrp->mpl", shares[:, :, k], np.eye(q)[k] - shares, X).reshape(m, -1) / r
                for k in range(q)
            ]
        )
        return np.asarray(np.sqrt(np.maximum(np.einsum("kma,ab,kmb->km", slopes, covariance, slopes), 0.0)))


@dataclass(frozen=True, eq=False)
class _Centred:
    features: Callable[[Floats], Floats]
    mean: Floats

    def __call__(self, x: Floats) -> Floats:
        return np.asarray(self.features(x) - self.mean)


@dataclass(frozen=True, eq=False)
class _Block:
    """The first features of a column, of its numbers in the rows."""

    features: Curves | Indicators
    level: int

    def __call__(self, x: Floats) -> Floats:
        # Of a category all levels are told, in the order of their codes.
        return self.features(np.arange(float(len(x))) if isinstance(self.features, Indicators) else x)[:, : self.level]


def _errors_of_counts(table: Counted, moved: Floats, shares: Floats) -> Floats:
    """Each combination of parents is a sample of its own; combinations are as frequent as they are."""
    m, r = shares.shape[:2]
    keys, back = np.unique(moved.astype(np.intp), axis=0, return_inverse=True)
    rows = table.rows_of(keys)
    place = np.repeat(np.arange(m), r)
    weight = np.zeros((m, len(keys)))
    np.add.at(weight, (place, back.ravel()), 1 / r)
    p = table.probabilities(keys.astype(float))
    return np.asarray(np.sqrt(weight**2 @ (p * (1 - p) / (rows[:, None] + 1)))).T


def _slope_of(term: Any) -> float:
    return 0.0 if isinstance(term, Steps) else float(term.slope[0])


def _line(x: Floats, y: Floats) -> float:
    """The slope of the line through y over x."""
    centred = x - x.mean()
    square = float(centred @ centred)
    return float(centred @ y) / square if square > 0 else 0.0


def _round(value: float) -> float:
    return float(f"{value:.6g}")


def _list(values: Floats) -> tuple[float, ...]:
    return tuple(float(f"{value:.5g}") for value in values.tolist())
