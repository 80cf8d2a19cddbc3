"""From what a learner found to a `Model`: a mechanism for each column, in one form whatever was learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from acyclic.data.features import Curves, Indicators
from acyclic.data.kinds import Coding
from acyclic.data.model import Model
from acyclic.data.parts import Category, Counted, Curve, Mechanism, Normal, Number, Shaped, Steps, Term
from acyclic.data.table import Table
from acyclic.discrete.categorical import Distributions
from acyclic.discrete.fitted import Fitted, encode_rows
from acyclic.scores.additive import AdditiveModel
from acyclic.scores.blocks import draw_rows, negentropy
from acyclic.types import Bools, Floats, Kind

__all__ = ["Learned", "Logit", "fit_model"]

# Rows that tell the shape of noise and the log-odds of categories; those of a table so large are not read for it.
MOST_ROWS, MOST_READ = 10_000, 30_000_000
# Fewer rows tell next to nothing of a shape; of so many columns each test would find some by chance.
_FEWEST_FOR_SHAPE, _MOST_SHAPED = 100, 1000
# A column that the rows determine exactly would make every other row impossible.
_LEAST_NOISE = 1e-12
# Coefficients of log-odds, of numbers in units of their deviation, are expected to be within some tens: that is next to
# nothing, but keeps them finite where levels are told apart exactly.
_RIDGE: Final = 1e-2
_FEW_VALUES: Final = 10


@dataclass(frozen=True, eq=False)
class Learned:
    """What a model is made of.

    Attributes
    ----------
    table : Table
    edges : ndarray of bool (d, d)
    weights : ndarray (d, d)
        Coefficients of lines, where there are no other mechanisms.
    mechanisms : Fitted, Distributions, AdditiveModel or None
    variances : ndarray (d,)
        Of what the parents leave of each column.
    sees_levels : bool
        Whether the learner used categories of several levels as such, not as numbers.
    """

    table: Table
    edges: Bools
    weights: Floats
    mechanisms: Fitted | Distributions | AdditiveModel | None
    variances: Floats
    sees_levels: bool

    @cached_property
    def codings(self) -> tuple[Coding | None, ...]:
        """Of the columns that are categories in the model."""
        kinds = dict(zip(self.table.names, self.table.kinds))
        return tuple(
            coding
            if self.has_rows
            and kinds[name] is Kind.CATEGORICAL
            and (coding := self.table.codings.get(name)) is not None
            and (self.sees_levels or len(coding.levels) == 2)
            else None
            for name in self.table.names
        )

    @property
    def has_rows(self) -> bool:
        """Whether rows are there, and few enough to be read, or read already."""
        table = self.table
        if table.is_elsewhere:
            return table.has_sample and self.mechanisms is not None
        return table.has_rows and (self.mechanisms is not None or table.n_rows * len(table.names) <= MOST_READ)

    @cached_property
    def rows(self) -> Floats | None:
        """Some rows, with codes in the place of categories."""
        if not self.has_rows:
            return None
        if self.table.is_elsewhere:
            return encode_rows(self.table.sample(MOST_ROWS), self.codings)
        return encode_rows(draw_rows(self.table.rows(), MOST_ROWS), self.codings)

    def parents(self, j: int) -> tuple[int, ...]:
        """Of a column."""
        return tuple(np.flatnonzero(self.edges[:, j]).tolist())


def fit_model(learned: Learned) -> Model:
    """The model of what was learned."""
    table = learned.table
    floor = _LEAST_NOISE * max(float(learned.variances.max(initial=0.0)), np.finfo(float).tiny)
    deviations = np.sqrt(np.maximum(learned.variances, max(floor, np.finfo(float).tiny)))
    mechanisms = tuple(_fit_column(learned, j, float(deviations[j])) for j in range(len(table.names)))
    text = {name: one for name, one in table.codings.items() if one.nominal or _is_ordered_text(table, name)}
    own = {name: one for name, one in zip(table.names, learned.codings) if one is not None}
    exponents = () if table.exponents is None else tuple(table.exponents.tolist())
    return Model(table.names, mechanisms, {**text, **own}, exponents)


def _is_ordered_text(table: Table, name: str) -> bool:
    return table.kinds[table.names.index(name)] is Kind.ORDINAL


def _fit_column(learned: Learned, j: int, deviation: float) -> Mechanism:
    coding, parents = learned.codings[j], learned.parents(j)
    if coding is not None:
        assert learned.rows is not None
        return _fit_category(learned, j, parents, len(coding.levels))
    if (plain := _read_together(learned, j, deviation)) is None:
        plain = _read_terms(learned, j, parents, deviation)
    rows = learned.rows
    if rows is None or len(learned.edges) > _MOST_SHAPED:
        return plain
    residual = rows[:, j] - plain.expect(rows)
    return replace(plain, noise=Shaped.of(residual)) if _has_shape(rows[:, j], residual) else plain


def _read_together(learned: Learned, j: int, deviation: float) -> Number | None:
    """A number that is a joint function of its parents."""
    if not isinstance(learned.mechanisms, Fitted) or not learned.mechanisms.together[j]:
        return None
    own, family = learned.mechanisms.features.maps[j], learned.mechanisms.families[j]
    assert isinstance(own, Curves)
    return Number(family.parents, (), own.mean, Normal(deviation), family.together)


def _read_terms(learned: Learned, j: int, parents: tuple[int, ...], deviation: float) -> Number:
    offset, terms = _find_terms(learned, j, parents)
    steps = tuple(_on_codes(term, learned.codings[i]) for i, term in zip(parents, terms))
    return Number(parents, steps, offset, Normal(deviation))


def _has_shape(x: Floats, residual: Floats) -> bool:
    """Whether the noise is not normal, by as much as two further parameters cost; few values show no shape."""
    n = len(residual)
    if n < _FEWEST_FOR_SHAPE or not residual.std() > 0 or len(np.unique(x)) <= _FEW_VALUES:
        return False
    return 2 * n * negentropy(residual / residual.std()) > 2 * log(n)


def _find_terms(learned: Learned, j: int, parents: Sequence[int]) -> tuple[float, list[Term]]:
    """Offset of a number, and what each of its parents adds."""
    mechanisms, mean = learned.mechanisms, learned.table.moments.mean
    if isinstance(mechanisms, Fitted) and isinstance(mechanisms.features.maps[j], Curves):
        return _read_blocks(mechanisms, j)
    if isinstance(mechanisms, AdditiveModel):
        return _read_splines(mechanisms, j)
    return float(mean[j]), [Curve.line(float(mean[i]), [float(learned.weights[i, j])]) for i in parents]


def _read_blocks(fitted: Fitted, j: int) -> tuple[float, list[Term]]:
    own, family = fitted.features.maps[j], fitted.families[j]
    assert isinstance(own, Curves)
    terms: dict[int, Term] = {}
    start = 0
    for i, level in zip(family.parents, family.levels):
        beta = family.coefficients[start : start + level] * own.deviation
        terms[i] = block_term(fitted.features.maps[i], beta)
        start += level
    return own.mean, [terms[i] for i in sorted(terms)]


def block_term(features: Curves | Indicators, beta: Floats) -> Term:
    """What the first features of a column, with coefficients (level, r), amount to."""
    if isinstance(features, Indicators):
        return Steps(features.weights[:, : len(beta)] @ beta)
    deviation, curved = features.deviation or 1.0, beta[1:]
    if not len(curved) or not len(features.knots):
        return Curve.line(features.mean, beta[0] / deviation)
    splines, of_z, of_one = features.weights[:-2], features.weights[-2], features.weights[-1]
    k = len(curved)
    slope = (beta[0] + of_z[:k] @ curved) / deviation
    # All splines together are 1 everywhere: a constant is one more on each coefficient.
    return Curve(features.mean, slope, features.knots, 3, splines[:, :k] @ curved + of_one[:k] @ curved)


def _read_splines(model: AdditiveModel, j: int) -> tuple[float, list[Term]]:
    beta, start = model.coefficients[j], 1
    terms: list[Term] = []
    for spline in model.splines[j]:
        if not spline.high > spline.low:
            terms.append(Curve.line(spline.low, [0.0]))
            continue
        size = len(spline.knots) - spline.degree - 2
        own = np.concatenate([[0.0], beta[start : start + size]])[:, None]
        knots = spline.low + (spline.high - spline.low) * spline.knots
        terms.append(Curve(spline.low, np.zeros(1), knots, spline.degree, own))
        start += size
    return float(beta[0]), terms


def level_numbers(coding: Coding) -> Floats:
    """The number (q,) that stands for each level, the mean of those that were pooled."""
    return np.array(
        [np.mean([v for v, c in zip(coding.values, coding.codes) if c == k]) for k in range(len(coding.levels))]
    )


def _on_codes(term: Term, coding: Coding | None) -> Term:
    """The same for a parent whose rows hold codes."""
    return term if coding is None or isinstance(term, Steps) else Steps(term(level_numbers(coding)))


def _fit_category(learned: Learned, j: int, parents: tuple[int, ...], q: int) -> Mechanism:
    """Shares in a table where all parents are categories, unless log-odds that add up are cheaper; else log-odds."""
    mechanisms, rows = learned.mechanisms, learned.rows
    assert rows is not None
    if isinstance(mechanisms, Distributions):
        # By no parents it holds the rows of all, too.
        table = {key: counts for key, counts in mechanisms.tables[j].items() if len(key) == len(parents)}
        keys = np.array([*table], dtype=np.intp).reshape(len(table), len(parents))
        return Counted(parents, keys, np.array([*table.values()]))
    if any(learned.codings[i] is None for i in parents):
        return Logit.fit(rows, j, parents, learned.codings, q).category
    counted = count_rows(rows, j, parents, q)
    if not parents:
        return counted
    sizes = [len(learned.codings[i].levels) for i in parents]  # type: ignore[union-attr]
    logit, price = Logit.fit(rows, j, parents, learned.codings, q).category, log(len(rows)) * (q - 1)
    by_table = -2 * float(counted.log_likelihood(rows, j).sum()) + price * (np.prod(sizes, dtype=float) - 1)
    by_logit = -2 * float(logit.log_likelihood(rows, j).sum()) + price * sum(size - 1 for size in sizes)
    return counted if by_table <= by_logit else logit


def count_rows(rows: Floats, j: int, parents: tuple[int, ...], q: int) -> Counted:
    """The table of a category given categories."""
    codes = rows.astype(np.intp)
    keys, places = np.unique(codes[:, list(parents)], axis=0, return_inverse=True)
    counts = np.bincount(places.ravel() * q + codes[:, j], minlength=len(keys) * q).reshape(len(keys), q)
    return Counted(parents, keys, counts.astype(float))


@dataclass(frozen=True, eq=False)
class Logit:
    """A multinomial logit of a category on parents of any kind, fitted to rows.

    Attributes
    ----------
    coefficients : ndarray (p, q)
        Of the constant, then of the parents' features: a standardised number, or the indicators of all levels.
    """

    parents: tuple[int, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    sizes: tuple[int, ...]
    coefficients: Floats

    @classmethod
    def fit(cls, rows: Floats, j: int, parents: tuple[int, ...], codings: Sequence[Coding | None], q: int) -> Logit:
        """Fit it to coded rows by maximum likelihood, next to."""
        sizes = tuple(0 if (own := codings[i]) is None else len(own.levels) for i in parents)
        centres = tuple(float(rows[:, i].mean()) for i in parents)
        scales = tuple(float(rows[:, i].std()) or 1.0 for i in parents)
        blank = cls(parents, centres, scales, sizes, np.empty((0, q)))
        X, codes = blank.design(rows), rows[:, j].astype(np.intp)
        Y = np.eye(q)[codes]
        ridge = np.full((X.shape[1], 1), _RIDGE)
        ridge[0] = 1e-6

        def cost(flat: Floats) -> tuple[float, Floats]:
            theta = flat.reshape(-1, q)
            logs = log_softmax(X @ theta, axis=1)
            value = -float((Y * logs).sum()) + 0.5 * float((ridge * theta**2).sum())
            return value / len(X), ((X.T @ (np.exp(logs) - Y) + ridge * theta) / len(X)).ravel()

        start = np.zeros((X.shape[1], q))
        start[0] = np.log(Y.mean(axis=0) + 1e-3)
        optimise: Any = minimize
        found = optimise(cost, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-7})
        return cls(parents, centres, scales, sizes, np.asarray(found.x).reshape(-1, q))

    @classmethod
    def of(cls, category: Category, rows: Floats, codings: Sequence[Coding | None]) -> Logit:
        """The same as was fitted; rows and codings are those of the parents, in their order."""
        sizes = tuple(0 if own is None else len(own.levels) for own in codings)
        scales = tuple(float(column.std()) or 1.0 for column in rows.T)
        centres = tuple(term.centre if isinstance(term, Curve) else 0.0 for term in category.terms)
        parts = [
            term.slope[None] * scale if isinstance(term, Curve) else term.effects
            for term, scale in zip(category.terms, scales)
        ]
        return cls(category.parents, centres, scales, sizes, np.vstack([category.offset[None], *parts]))

    @property
    def blocks(self) -> list[slice]:
        """Where the features of each parent are."""
        ends = np.cumsum([1, *(size or 1 for size in self.sizes)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    def design(self, rows: Floats) -> Floats:
        """The constant and the features of the parents (n, p)."""
        columns = [np.ones((len(rows), 1))]
        for i, centre, scale, size in zip(self.parents, self.centres, self.scales, self.sizes):
            x = rows[:, i]
            columns.append(np.eye(size)[x.astype(np.intp)] if size else ((x - centre) / scale)[:, None])
        return np.hstack(columns)

    @property
    def category(self) -> Category:
        """The same as a part of a model."""
        terms: list[Term] = []
        for block, centre, scale, size in zip(self.blocks, self.centres, self.scales, self.sizes):
            own = self.coefficients[block]
            terms.append(Steps(own) if size else Curve.line(centre, own[0] / scale))
        return Category(self.parents, tuple(terms), self.coefficients[0])

    def covariance(self, rows: Floats) -> Floats:
        """Of the coefficients, flat: the inverse of the curvature at the optimum."""
        X, P = self.design(rows), self.category.probabilities(rows)
        p, q = self.coefficients.shape
        H = np.zeros((p, q, p, q))
        for k in range(q):
            for m in range(k, q):
                weight = P[:, k] * ((k == m) - P[:, m])
                H[:, k, :, m] = (X * weight[:, None]).T @ X
                H[:, m, :, k] = H[:, k, :, m]
        ridge = np.full((p, q), _RIDGE)
        ridge[0] = 1e-6
        return np.asarray(np.linalg.inv(H.reshape(p * q, p * q) + np.diag(ridge.ravel())))
