"""The score of a column given parents that enter as blocks of features: linear, curved, by level; noise of any shape.

    s(j, Pa) = n log det Σ̂(R_j | Φ_Pa) + prices − 2 m max(J_j − price of a shape / 2m, 0)

in the units of `scores.local`: for linear parents and normal noise it is the Gaussian BIC. R_j are the features that
column j is as a child, Φ_i those with which i enters. The features of a curve have a normal prior whose variance falls
with their roughness, b_k ~ N(0, σ² τ_k): it adds the ridge 1 / n τ_k to their moments and costs log(1 + n τ_k), against
log n for a coefficient without a prior; that an edge is curved at all costs 2 log d, as in the extended BIC. J is the
negentropy of the residual in nats (Hyvärinen 1998), over m rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import log
from typing import Literal, Self, TypeAlias, TypeVar

import numpy as np
from scipy.linalg import lapack

from acyclic._native import BlockCriterion
from acyclic.data.dependence import DEPENDENT, EXPLAINED
from acyclic.data.features import Curves, Features
from acyclic.data.parts import Waves
from acyclic.scores.local import LocalScore, PenaltyRule, price_of_parent
from acyclic.types import Floats, Integers

__all__ = [
    "BlockScore", "Family", "Mechanisms", "NoiseShape", "choose_by_turns", "draw_rows", "negentropy", "solve",
]  # fmt: skip

Mechanisms: TypeAlias = Literal["linear", "curved", "joint"]
NoiseShape: TypeAlias = Literal["gaussian", "any"]
Rows = TypeVar("Rows", Floats, Integers)

# The k-th feature of a curve is expected to explain 3 k⁻³ of what the noise leaves: measured on Gaussian processes,
# where decays from 2 to 3 and factors from 1 to 3 do about equally well.
_PRIOR, _DECAY = 3.0, 3.0
# Rows beyond which the shape of the noise is told by a sample.
MOST_SHAPE_ROWS = 10_000
# Two moments tell the shape of the noise: as many further parameters for each column.
_SHAPE_PARAMETERS = 2
# The mean e of log cosh x of standard normal numbers; of normal ones with a variance v < 1, v = 2 e p(e) up to 2e-4.
_LOG_COSH, _NARROWED = 0.374567207491438, (1.0, 0.98953513, -0.40118385, 0.39033468)
# All combinations of levels are tried up to so many.
_MOST_COMBINATIONS = 27


def negentropy(u: Floats) -> float:
    """How far numbers are from normal, in nats: about 0 for normal ones, whatever their mean and variance.

    It is that of Hyvärinen (1998), from the means of log cosh x and of x exp(−x²/2), unless tails are heavy. Then it
    would grow with the square of what a few wild numbers leave to the others, faster than any likelihood: it is what it
    would be worth to know that all but these few are normal with a variance v of their own, −log(v) / 2, v such that
    the mean of log cosh is the same. That is 0.063 for Laplace's law, whose negentropy is 0.072, and 0.16 for t₃
    (0.19); the square would be 0.10 and 0.60.

    >>> z = np.random.default_rng(0).normal(size=1000)
    >>> negentropy(z) < 0.005 < negentropy(np.sign(z))
    True
    """
    centred = u - u.mean()
    variance = float(np.mean(centred**2))
    if not variance > EXPLAINED:
        return 0.0
    x = centred / np.sqrt(variance)
    mean = float(np.mean(np.abs(x) + np.log1p(np.exp(-2 * np.abs(x)))) - log(2))
    even = 79.047 * (mean - _LOG_COSH) ** 2
    if 0 < mean < _LOG_COSH:
        even = min(even, -0.5 * log(2 * mean * float(np.polynomial.polynomial.polyval(mean, _NARROWED))))
    return even + 7.4129 * float(np.mean(x * np.exp(-0.5 * x**2))) ** 2


@dataclass(frozen=True, eq=False)
class Family:
    """A column with its parents: how they enter, with which coefficients, and the parts of its score."""

    parents: tuple[int, ...]
    levels: tuple[int, ...]
    coefficients: Floats
    """(features of the parents, responses), one parent after the other."""
    misfit: float
    shape: float
    price: float
    together: Waves | None = None
    """The function of all parents, where these do not add up; there are no levels and coefficients then."""

    @property
    def score(self) -> float:
        """All three."""
        return self.misfit + self.shape + self.price


@dataclass(frozen=True, eq=False)
class BlockScore(LocalScore):
    """See the module.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> score = BlockScore.of(np.column_stack([x, x**2 + rng.normal(size=500)]))
    >>> score.family(1, [0]).levels, score.score(1, [0]) < score.score(0, [1])
    ((10,), True)
    """

    features: Features
    moments: Floats
    prices: Floats
    cost: float
    rows: Floats | None
    shape_price: float

    @classmethod
    def of(
        cls,
        rows: Floats,
        counts: Sequence[int] | None = None,
        *,
        mechanisms: Mechanisms = "curved",
        noise: NoiseShape = "gaussian",
        penalty: PenaltyRule = "ebic",
        weights: Floats | None = None,
    ) -> Self:
        """The score of rows (n, d); ``counts[j]`` is the number of levels of a category whose rows are codes, or 0."""
        features = Features.of(rows, counts, curved=mechanisms == "curved", weights=weights)
        return cls.on(features, rows if noise == "any" else None, penalty)

    @classmethod
    def on(
        cls, features: Features, rows: Floats | None, penalty: PenaltyRule = "ebic", *, repeats: float = 1.0
    ) -> Self:
        """The score on features at hand; rows tell the shape of the noise.

        Of rows drawn with replacement ``repeats`` is `Table.repeats`: by chance curves and shapes explain so many times
        as much of them, and cost as much more.
        """
        n, d = features.n, len(features.maps)
        G, prices = features.G.copy(), []
        for i, own in enumerate(features.maps):
            prior = np.full(own.size, np.inf)
            if isinstance(own, Curves):
                prior[1:] = _PRIOR * np.arange(2.0, own.size + 1) ** -_DECAY
            places = np.arange(features.at[i], features.at[i + 1])
            G[places, places] += 1 / (n * prior)
            price = np.where(np.isinf(prior), log(n), repeats * np.log1p(n * np.minimum(prior, 1.0)))
            if isinstance(own, Curves):
                price[1:2] += 2 * log(d)  # which of so many edges are curved is chosen, as in the extended BIC
            prices.append(np.cumsum(price))
        sample = None if rows is None else np.ascontiguousarray(features(draw_rows(rows, MOST_SHAPE_ROWS)).T)
        cost = price_of_parent(penalty, n, d)
        return cls(features, G, np.concatenate(prices), cost, sample, repeats * _SHAPE_PARAMETERS * log(n))

    @property
    def n_nodes(self) -> int:  # type: ignore[override]
        """Of the columns."""
        return len(self.features.maps)

    @property
    def is_equivalent(self) -> bool:
        """Whether equivalent graphs have the same score: with lines, levels and normal noise they do."""
        return self.rows is None and all(len(levels) == 1 for levels in self.features.levels)

    @property
    def shape_rows(self) -> int:
        """Rows that tell the shape of the noise."""
        return 0 if self.rows is None else self.rows.shape[1]

    @cached_property
    def criterion(self) -> BlockCriterion:
        """The same as the kernel reads it."""
        features = self.features
        starts = np.concatenate([[0], np.cumsum([len(levels) for levels in features.levels])])
        return BlockCriterion(
            features.at,
            starts.astype(np.int32),
            np.concatenate(features.levels).astype(np.int32),
            features.responses(),
            np.array([isinstance(own, Curves) for own in features.maps], dtype=np.int32),
            np.array(features.shaped, dtype=np.int32),
            self.moments,
            self.prices,
            features.n,
            self.cost,
            self.rows,
            self.shape_price,
        )

    def score(self, node: int, parents: Collection[int]) -> float:
        """See LocalScore: with the levels that cost least."""
        return self.family(node, sorted(parents)).score

    def gains(self, node: int, given: Collection[int]) -> Floats:
        """See LocalScore."""
        now = self.score(node, given)
        others = set(range(self.n_nodes)) - {node, *given}
        return np.array([now - self.score(node, {*given, x}) if x in others else -np.inf for x in range(self.n_nodes)])

    def family(self, node: int, parents: Sequence[int], *, most: float = _MOST_COMBINATIONS) -> Family:
        """A column with these parents, each at its best level: of at most so many combinations, else by turns."""
        offered = [self.offered(node, i) for i in parents]
        if np.prod([len(levels) for levels in offered], dtype=float) <= most:
            return min((self.fit(node, parents, levels) for levels in product(*offered)), key=lambda f: f.score)
        return self.fit(node, parents, choose_by_turns(offered, lambda levels: self.fit(node, parents, levels).score))

    def offered(self, node: int, parent: int) -> tuple[int, ...]:
        """With how many of its features a parent may enter: a category has its levels from a line.

        Curves are for numbers, lest the two directions be scored unlike.
        """
        return self.features.levels[parent][: None if isinstance(self.features.maps[node], Curves) else 1]

    def fit(self, node: int, parents: Sequence[int], levels: Sequence[int]) -> Family:
        """A column with parents that enter at given levels."""
        features, G = self.features, self.moments
        response = np.arange(features.at[node], features.at[node] + features.responses()[node])
        own = self.columns_of(parents, levels)
        R = features.G[np.ix_(response, response)]
        if len(own):
            cross = G[np.ix_(own, response)]
            beta = solve(G[np.ix_(own, own)], cross)
            R = R - cross.T @ beta
        else:
            beta = np.empty((0, len(response)))
        values = np.maximum(np.linalg.eigvalsh(R), EXPLAINED)
        price = self.price(parents, levels, len(response))
        shape = 0.0
        if self.rows is not None and features.shaped[node]:
            residual = self.rows[response[0]] - beta[:, 0] @ self.rows[own]
            shape = -max(2 * self.shape_rows * negentropy(residual) - self.shape_price, 0.0)
        misfit = features.n * float(np.log(values).sum())
        return Family(tuple(parents), tuple(levels), beta, misfit, shape, price)

    def residual(self, node: int, family: Family, rows: Floats) -> Floats:
        """What the parents leave of a number (n,), in its deviations; rows are over the same columns."""
        own = self.columns_of(family.parents, family.levels)
        Z = self.features(rows)
        return np.asarray(Z[:, self.features.at[node]] - Z[:, own] @ family.coefficients[:, 0])

    def left_by(self, parents: Sequence[int], levels: Sequence[int]) -> Floats:
        """What parents leave of the variance of each number (d,), all at once."""
        own, first = self.columns_of(parents, levels), self.features.at[:-1]
        cross = self.moments[own[:, None], first]
        explained = (cross * solve(self.moments[own[:, None], own], cross)).sum(axis=0) if len(own) else 0.0
        return np.asarray(self.features.G[first, first] - explained)

    def price(self, parents: Sequence[int], levels: Sequence[int], responses: int = 1) -> float:
        """What parents cost that enter at given levels."""
        at, prices = self.features.at, self.prices
        extra = (responses * prices[at[i] + level - 1] - prices[at[i]] for i, level in zip(parents, levels))
        return float(sum(self.cost + each for each in extra))

    def columns_of(self, parents: Sequence[int], levels: Sequence[int]) -> Integers:
        """Places of the features with which parents enter."""
        at = self.features.at
        return np.concatenate(
            [np.empty(0, dtype=np.intp), *(np.arange(at[i], at[i] + level) for i, level in zip(parents, levels))]
        ).astype(np.intp)


def choose_by_turns(offered: Sequence[tuple[int, ...]], score: Callable[[tuple[int, ...]], float]) -> tuple[int, ...]:
    """The levels of parents with a low score: from the lowest of all, one parent after the other takes its best."""
    best = tuple(levels[0] for levels in offered)
    least, k, unchanged = score(best) if offered else 0.0, 0, 0
    while unchanged < len(offered):
        kept = best
        for level in offered[k]:
            other = (*kept[:k], level, *kept[k + 1 :])
            if other != kept and (value := score(other)) < least:
                best, least = other, value
        k, unchanged = (k + 1) % len(offered), unchanged + 1 if best is kept else 1
    return best


def solve(A: Floats, b: Floats) -> Floats:
    """A⁻¹b for moments A, the shortest of many where columns determine each other."""
    factor, failed = lapack.dpotrf(A, lower=1)
    if failed or factor.diagonal().min() ** 2 < DEPENDENT:
        return np.asarray(np.linalg.lstsq(A, b, rcond=DEPENDENT)[0])
    return np.asarray(lapack.dpotrs(factor, b, lower=1)[0])


def draw_rows(rows: Rows, most: int) -> Rows:
    """At most so many rows, the same ones for the same table."""
    if len(rows) <= most:
        return rows
    return rows[np.sort(np.random.default_rng(0).choice(len(rows), most, replace=False))]
