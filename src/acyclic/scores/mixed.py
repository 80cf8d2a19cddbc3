"""The score of a mixed table: every column by the likelihood of its own kind, given parents of any kind.

A number is the sum of functions of its parents and noise: `BlockScore`. A category of r levels has log-odds that are
sums of lines of numbers and effects of levels (multinomial logit), or, where all parents are categories, a distribution
for every combination of their levels, whichever costs less:

    −2 log-likelihood + 2 log-likelihood without parents + log n · parameters + c′ |parents|

with (r − 1) Σ p_i parameters of parents with p_i features, or (r − 1)(Π q_i − 1) of a table; c′ is what a parent costs
beyond its parameters. All of these are likelihoods of the same rows, so that they can be added and compared. Equivalent
graphs have other scores where a category and a number are joined.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log
from typing import TypeAlias

import numpy as np

from acyclic.scores.blocks import BlockScore, Family
from acyclic.scores.local import DearScore
from acyclic.types import Bools, Floats, Integers

__all__ = ["Known", "MixedScore", "logit_deviance"]

Known: TypeAlias = dict[tuple[int, tuple[int, ...]], float]

# Newton's steps end where one more would lower the deviance by less; where levels are separated each divides it by e.
_MOST_STEPS, _CLOSE = 25, 0.1
# A weak normal prior keeps the log-odds of separated levels finite.
_RIDGE = 1e-6
# Combinations of levels beyond these are never worth their price.
_MOST_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class MixedScore(DearScore):
    """See the module; what is asked for twice is computed once.

    Attributes
    ----------
    blocks : BlockScore
        The score of the numbers.
    rows : ndarray of shape (n, d)
        Numbers, and codes of categories.
    counts : tuple of int
        How many levels each category has; 0 of numbers.
    asked : ndarray of bool, shape (d, d), optional
        Entry (i, j): whether `gains` looks at i as a parent of j.
    known : dict
        Scores of categories: they are the same whatever the numbers are like, and take longest.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, level = rng.normal(size=500), rng.integers(3, size=500)
    >>> choice = (x + level + rng.logistic(size=500) > 1).astype(int)
    >>> rows, counts = np.column_stack([x, level, choice]), (0, 3, 2)
    >>> score = MixedScore(BlockScore.of(rows, counts, mechanisms="linear"), rows, counts)
    >>> score.score(2, []), score.score(2, [0, 1]) < score.score(2, [0]) < 0, score.score(1, [0]) > 0
    (0.0, True, True)
    """

    blocks: BlockScore
    rows: Floats
    counts: tuple[int, ...]
    asked: Bools | None = None
    known: Known = field(default_factory=dict)
    _numbers: dict[tuple[int, tuple[int, ...]], Family] = field(default_factory=dict)
    _near: dict[tuple[int, tuple[int, ...], int], float] = field(default_factory=dict)
    _features: dict[int, Floats] = field(default_factory=dict)

    @property
    def n_nodes(self) -> int:  # type: ignore[override]
        """Of the columns."""
        return len(self.counts)

    @property
    def n(self) -> int:
        """Of the rows."""
        return len(self.rows)

    @property
    def is_equivalent(self) -> bool:
        """Whether equivalent graphs have equal scores, where no category is joined with a number."""
        return self.blocks.is_equivalent

    def among(self, asked: Bools) -> MixedScore:
        """The same, asked for these pairs."""
        return replace(self, asked=asked)

    def score(self, node: int, parents: Collection[int]) -> float:
        """See LocalScore."""
        key = node, tuple(sorted(parents))
        if not self.counts[node]:
            return self._number(*key).score
        if key not in self.known:
            self.known[key] = self._category(*key)
        return self.known[key]

    def gains(self, node: int, given: Collection[int]) -> Floats:
        """See LocalScore; of a number at least so much, with the other parents as they enter without the new one."""
        now, found = self.score(node, given), np.full(self.n_nodes, -inf)
        for other in range(self.n_nodes) if self.asked is None else np.flatnonzero(self.asked[:, node]).tolist():
            if other != node and other not in given:
                found[other] = now - self._score_near(node, given, other)
        return found

    def losses(self, node: int, given: Collection[int]) -> Floats:
        """s(node, given) − s(node, given without x) for every x that is given, shape (d,), −inf for others.

        Of a number at least so much, as for `gains`.
        """
        now, found = self.score(node, given), np.full(self.n_nodes, -inf)
        for one in given:
            found[one] = now - self._score_near(node, given, one)
        return found

    def _number(self, node: int, parents: tuple[int, ...]) -> Family:
        key = node, parents
        if key not in self._numbers:
            self._numbers[key] = self.blocks.family(node, parents)
        return self._numbers[key]

    def _score_near(self, node: int, given: Collection[int], other: int) -> float:
        """The score with one parent more or less: of a number with the levels of all others as they are.

        The levels of all of them together take many times as many fits, and are looked for once a move is made.
        """
        before, toggled = tuple(sorted(given)), {other} ^ set(given)
        if self.counts[node] or (node, tuple(sorted(toggled))) in self._numbers:
            return self.score(node, toggled)
        key = node, before, other
        if key not in self._near:
            family = self._number(node, before)
            entered = dict(zip(family.parents, family.levels))
            parents = sorted(toggled)
            ways = (0,) if other in entered else self.blocks.offered(node, other)  # it enters in no way
            self._near[key] = min(
                self.blocks.fit(node, parents, [way if i == other else entered[i] for i in parents]).score
                for way in ways
            )
        return self._near[key]

    def _category(self, node: int, parents: tuple[int, ...]) -> float:
        if not parents:
            return 0.0
        n, r = len(self.rows), self.counts[node]
        codes = self.rows[:, node].astype(np.intp)
        extra = (self.blocks.cost - log(n)) * len(parents)
        least = inf
        if all(self.counts[i] for i in parents):
            least = self._table(codes, r, parents)
        price = log(n) * (r - 1) * sum(self.blocks.features.levels[i][0] for i in parents)
        # With one category as parent the two are the same; no misfit is below 0.
        if price < least and (len(parents) > 1 or not self.counts[parents[0]]):
            Z = np.hstack([np.ones((n, 1)), *(self._features_of(i) for i in parents)])
            least = min(least, logit_deviance(Z, codes, r) + price)
        return least - deviance_alone(codes, r) + extra

    def _table(self, codes: Integers, r: int, parents: Sequence[int]) -> float:
        """Deviance and price of a distribution for each combination of levels."""
        cells = int(np.prod([self.counts[i] for i in parents], dtype=float))
        if cells > _MOST_CELLS:
            return inf
        place = np.zeros(len(codes), dtype=np.intp)
        for i in parents:
            place = place * self.counts[i] + self.rows[:, i].astype(np.intp)
        N = np.bincount(place * r + codes, minlength=cells * r).reshape(cells, r)
        whole = np.maximum(N.sum(axis=1, keepdims=True), 1)
        return float(-2 * (N * np.log(np.maximum(N, 1) / whole)).sum()) + log(len(codes)) * (r - 1) * (cells - 1)

    def _features_of(self, i: int) -> Floats:
        if i not in self._features:
            features = self.blocks.features
            self._features[i] = features.maps[i](self.rows[:, i])[:, : features.levels[i][0]]
        return self._features[i]


def deviance_alone(codes: Integers, r: int) -> float:
    """−2 log-likelihood of a category without parents."""
    counts = np.bincount(codes, minlength=r)
    return float(-2 * (counts * np.log(np.maximum(counts, 1) / len(codes))).sum())


def logit_deviance(Z: Floats, codes: Integers, r: int) -> float:
    """−2 log-likelihood of a category of r levels whose log-odds against the first are linear in Z (n, p).

    >>> Z = np.column_stack([np.ones(200), np.repeat([0.0, 1.0], 100)])
    >>> codes = np.tile([0, 1, 1, 2], 50)
    >>> round(logit_deviance(Z, codes, 3) - deviance_alone(codes, 3), 1)
    0.0
    """
    p, k = Z.shape[1], r - 1
    wanted = (codes[:, None] == np.arange(1, r)).astype(float)
    B, step, least = np.zeros((p, k)), np.zeros((p, k)), inf
    for _ in range(_MOST_STEPS):
        odds = Z @ B
        top = np.maximum(odds.max(axis=1), 0.0)[:, None]
        powers = np.exp(odds - top)
        whole = powers.sum(axis=1, keepdims=True) + np.exp(-top)
        deviance = float(-2 * ((odds * wanted).sum() - (top + np.log(whole)).sum()))
        if deviance > least:  # the step was too long
            step = step / 2
            B = B - step
            continue
        least, shares = deviance, powers / whole
        uphill = Z.T @ (wanted - shares) - _RIDGE * B
        step = _newton_step(Z, shares, uphill)
        # By so much the deviance falls with this step where it is nearly quadratic.
        fall = float((step * uphill).sum())
        if fall < _CLOSE:
            return least - fall
        B = B + step
    return least


def _newton_step(Z: Floats, shares: Floats, uphill: Floats) -> Floats:
    p, k = uphill.shape
    H = np.empty((k, p, k, p))
    for a in range(k):
        for b in range(a, k):
            curvature = shares[:, a] * (float(a == b) - shares[:, b])
            H[a, :, b, :] = H[b, :, a, :] = (Z * curvature[:, None]).T @ Z
    flat = H.reshape(k * p, k * p) + _RIDGE * np.eye(k * p)
    return np.asarray(np.linalg.solve(flat, uphill.T.ravel()).reshape(k, p).T)
