"""How the independencies that a graph implies are tested: by lines, curves and levels, by counts, or by moments."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations, islice
from math import log
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from acyclic.data.dependence import EXPLAINED
from acyclic.data.features import FEWEST_ROWS_FOR_CURVES, Features, Indicators
from acyclic.data.kinds import Coding
from acyclic.data.table import Table
from acyclic.discrete.fitted import encode_rows
from acyclic.learners.categorical import can_count, read_codes
from acyclic.scores.blocks import BlockScore, draw_rows
from acyclic.scores.independence import (
    Dependence,
    Given,
    combine_dependences,
    compare_alike,
    compare_correlations,
    compare_counts,
    compare_products,
)
from acyclic.scores.levels import level_probabilities
from acyclic.scores.regression import least_squares
from acyclic.scores.smoothing import find_alike, leave_out, smooth_out
from acyclic.types import Bools, Floats, Integers, Kind

__all__ = ["Examiner", "Mechanisms", "make_examiner"]

Mechanisms: TypeAlias = Literal["linear", "curved", "counts"]

# With so many of its first features a curve is looked for; the rest of them would cost more power than they see.
_SMOOTH = 4
# Of so many features of each parent products with those of another parent are given too.
_CROSSED = 2
# As many rows as this are left for each feature that is given.
_ROWS_PER_FEATURE = 5
# Curves have to gain so many times log n over lines, as where the world of a table is chosen.
_CONVINCING = 3
# Beyond so many columns, curves take too long.
_LARGEST_CURVED = 200
# Claims times rows, some seconds of work: more rows are sampled, then more claims.
_MOST_WORK = {"linear": 3e9, "curved": 3e8, "counts": 3e8}
_FEWEST_ROWS = 2000
# Nodes with several parents, times rows: functions of all of them together take as long.
_JOINT_WORK = 1e5
# A row that alone decides a function of all parents still says something.
_LEAST_LEFT = 0.1
# Pairs of rows times claims: these tell what rows with like parents say, up to so many rows, and from so many on.
_ALIKE_WORK, _MOST_ALIKE, _FEWEST_ALIKE = 5e8, 1500, 500


class Examiner(Protocol):
    """Tests claims by one kind of statistic.

    Attributes
    ----------
    mechanisms : "linear", "curved" or "counts"
    n : float
        Rows that it tests on.
    """

    mechanisms: Mechanisms
    n: float

    def compare(self, node: int, others: Integers, parents: Integers) -> list[Dependence]:
        """Whether a column is independent of each of the others given its parents."""

    def compare_residuals(self, pairs: Integers) -> list[Dependence]:
        """Whether what their parents leave of the two columns of each pair (k, 2) is independent."""


def make_examiner(table: Table, adjacency: Bools, mechanisms: Mechanisms | None, claims: int) -> Examiner:
    """The examiner that fits a table: counts for categories, curves where the edges are curved, else lines."""
    if not table.has_rows:
        return _OfMoments(table, adjacency)
    chosen: Mechanisms = mechanisms or ("counts" if can_count(table) else "linear")
    if chosen == "counts":
        return _OfCounts(table, adjacency, _affordable(chosen, claims))
    numbers = _OfProducts(table, adjacency, chosen, claims)
    if mechanisms is None and numbers.looks_curved():
        return _OfProducts(table, adjacency, "curved", claims)
    return numbers


def most_claims(examiner: Examiner) -> int:
    """How many claims there is time for."""
    return int(_MOST_WORK[examiner.mechanisms] / examiner.n)


def _affordable(mechanisms: Mechanisms, claims: int) -> int:
    return max(int(_MOST_WORK[mechanisms] / max(claims, 1)), _FEWEST_ROWS)


class _OfProducts:
    """Numbers, and categories by their indicators: products of residuals."""

    def __init__(self, table: Table, adjacency: Bools, mechanisms: Mechanisms, claims: int) -> None:
        self.table, self.adjacency, self.mechanisms = table, adjacency, mechanisms
        most = _affordable(mechanisms, claims)
        if mechanisms == "curved":
            joint = int((adjacency.sum(axis=0) > 1).sum())
            most = min(most, max(int(_JOINT_WORK / joint), _FEWEST_ROWS)) if joint else most
        codings = [_nominal(table, name) for name in table.names]
        self.counts = [0 if coding is None else len(coding.levels) for coding in codings]
        self.rows = encode_rows(draw_rows(table.rows(), most), codings)
        self.n = float(len(self.rows))
        self.features = Features.of(self.rows, self.counts, curved=mechanisms == "curved")
        self._values: dict[int, Floats] = {}
        self._left: dict[int, Floats] = {}
        self._looks: dict[int, list[Floats]] = {}
        rows = int((_ALIKE_WORK / max(claims, 1)) ** 0.5)
        curved = mechanisms == "curved" and rows >= _FEWEST_ALIKE
        self.alike = _Alike(self.features, draw_rows(self.rows, min(rows, _MOST_ALIKE)), adjacency) if curved else None

    def looks_curved(self) -> bool:
        """Whether curves explain more along the edges than lines do."""
        if self.n < FEWEST_ROWS_FOR_CURVES or len(self.counts) > _LARGEST_CURVED:
            return False
        curved = BlockScore.on(Features.of(self.rows, self.counts), None)
        linear = BlockScore.on(self.features, None)
        parents = [np.flatnonzero(column).tolist() for column in self.adjacency.T]
        gains = [linear.score(j, those) - curved.score(j, those) for j, those in enumerate(parents) if those]
        return sum(gains) > _CONVINCING * log(self.n)

    def compare(self, node: int, others: Integers, parents: Integers) -> list[Dependence]:
        looks = [look for i in others for look in self._look_at(i)]
        at = np.concatenate([[0], np.cumsum([look.shape[1] for look in looks])]).tolist()
        one, rest, given = self._leave(node, parents, np.hstack(looks))
        told = iter(compare_products(one, rest, at, given))
        return [
            combine_dependences([*islice(told, len(self._look_at(i))), *self._where_alike(node, i)]) for i in others
        ]

    def _look_at(self, j: int) -> list[Floats]:
        """Functions of a column, and of its parents, whose products with residuals of another are tested: (n, k) each.

        Its features, and what its own parents leave of it, in which less noise hides a common cause. Parents of a
        column that is no descendant are none either: the claim holds of functions of all of them.
        """
        if j not in self._looks:
            looks, left = [self._of(j)[:, : None if self.counts[j] else _SMOOTH]], self._residual(j)
            if self.adjacency[:, j].any() or left.shape[1] < looks[0].shape[1]:
                looks.append(left)
            self._looks[j] = looks
        return self._looks[j]

    def _residual(self, j: int) -> Floats:
        """What its own parents leave of a column."""
        if j not in self._left:
            self._left[j] = self._leave(j, np.flatnonzero(self.adjacency[:, j]), np.empty((len(self.rows), 0)))[0]
        return self._left[j]

    def _where_alike(self, node: int, other: int) -> list[Dependence]:
        """What products of residuals say in rows whose parents are alike; these may turn the dependence round."""
        if self.alike is None or self.counts[node] or self.counts[other]:
            return []
        return self.alike.compare(node, other)

    def compare_residuals(self, pairs: Integers) -> list[Dependence]:
        left, found = {j: self._residual(j) for j in np.unique(pairs).tolist()}, []
        free = Given(np.empty((len(self.rows), 0)))
        free.left[:] = 1.0  # these have lost what their own parents explain, and the products are as they are
        for i in np.unique(pairs[:, 0]):
            others = pairs[pairs[:, 0] == i, 1]
            at = np.concatenate([[0], np.cumsum([left[j].shape[1] for j in others])]).tolist()
            told = compare_products(left[i], np.hstack([left[j] for j in others]), at, free)
            found += [combine_dependences([one, *self._where_alike(i, j)]) for one, j in zip(told, others)]
        return found

    def _leave(self, node: int, parents: Integers, others: Floats) -> tuple[Floats, Floats, Given]:
        """What the parents leave of a column and of features of others; where curves meet, functions of all of them.

        The bias of the products is that of one misfit times the other's: both sides get the same functions.
        """
        given, own = self._given(parents, node), self._as_child(node)
        left = given.residuals(np.hstack([own, others]))
        if self.mechanisms == "curved" and len(parents) > 1:
            together = np.hstack([self._as_child(i) for i in parents])
            left, added = smooth_out(given.basis, together, left)
            given.left = np.maximum(given.left - added[:, : own.shape[1]].mean(axis=1), given.left * _LEAST_LEFT)
        return left[:, : own.shape[1]], left[:, own.shape[1] :], given

    def _of(self, i: int) -> Floats:
        if i not in self._values:
            self._values[i] = self.features.maps[i](self.rows[:, i])
        return self._values[i]

    def _as_child(self, j: int) -> Floats:
        return self._of(j)[:, : None if self.counts[j] else 1]

    def _given(self, parents: Integers, child: int) -> Given:
        """The parents: smooth curves of each, products of pairs, rough curves; as many as there are rows for.

        For a category also the probabilities of its levels, which are no sum of functions of the parents.
        """
        all_of = [self._of(i) for i in parents]
        smooth = [values[:, : None if self.counts[i] else _SMOOTH] for i, values in zip(parents, all_of)]
        rough = [values[:, _SMOOTH:] for i, values in zip(parents, all_of) if not self.counts[i]]
        crossed: list[Floats] = []
        if self.mechanisms == "curved" or any(self.counts[i] for i in parents):
            crossed = [_multiply(one[:, :_CROSSED], other[:, :_CROSSED]) for one, other in combinations(smooth, 2)]
        kept, room = [np.empty((len(self.rows), 0))], len(self.rows) // _ROWS_PER_FEATURE
        levels = self._levels(child, smooth)
        for block in [
            *levels,
            *(values[:, :1] for values in smooth),
            *(values[:, 1:] for values in smooth),
            *crossed,
            *rough,
        ]:
            if block.shape[1] <= room or len(kept) <= len(levels) + len(all_of):
                kept.append(block)
                room -= block.shape[1]
        return Given(np.hstack(kept))

    def _levels(self, child: int, smooth: list[Floats]) -> list[Floats]:
        """Probabilities of the levels of a child with few of them, given sums of functions of its parents."""
        codes = np.unique(self.rows[:, child], return_inverse=True)[1]
        count = int(codes.max()) + 1
        if not smooth or not (self.counts[child] or count == 2):
            return []
        features = np.hstack(smooth)
        room = len(codes) // (_ROWS_PER_FEATURE * count)
        return [level_probabilities(features[:, :room], codes, count)]


class _Alike:
    """Products of what smooth functions of their parents leave of two numbers, in rows whose parents are alike."""

    def __init__(self, features: Features, rows: Floats, adjacency: Bools) -> None:
        self.adjacency, self.rows = adjacency, rows
        # The first feature of a number is the number, standardised; a category has the indicators of its levels.
        self.own = [
            values(rows[:, i])[:, : None if isinstance(values, Indicators) else 1]
            for i, values in enumerate(features.maps)
        ]
        self._left: dict[int, Floats] = {}
        self._like: dict[int, NDArray[np.float32]] = {}
        self._told: dict[frozenset[int], Dependence] = {}

    def compare(self, node: int, other: int) -> list[Dependence]:
        """The test of a pair; none where neither has parents."""
        pair = frozenset((node, other))
        if not self.adjacency[:, [node, other]].any():
            return []
        if pair not in self._told:
            products, like = self._residual(node) * self._residual(other), [self._alike(i) for i in pair]
            self._told[pair] = compare_alike(products, like[0] * like[1])
        return [self._told[pair]]

    def _residual(self, j: int) -> Floats:
        if j not in self._left:
            self._left[j] = leave_out(self._parents(j), self.rows[:, j])
        return self._left[j]

    def _alike(self, j: int) -> NDArray[np.float32]:
        if j not in self._like:
            self._like[j] = find_alike(self._parents(j))
        return self._like[j]

    def _parents(self, j: int) -> Floats:
        return np.hstack([np.empty((len(self.rows), 0)), *(self.own[i] for i in np.flatnonzero(self.adjacency[:, j]))])


class _OfCounts:
    """Categories: the rows in each combination of levels."""

    mechanisms: Mechanisms = "counts"

    def __init__(self, table: Table, adjacency: Bools, most: int) -> None:
        codes, rows = read_codes(table)
        self.codes, self.adjacency = codes[draw_rows(np.repeat(np.arange(len(codes)), rows), most)], adjacency
        self.n = float(len(self.codes))
        self._strata: dict[tuple[int, ...], Integers] = {}
        self._told: dict[tuple[int, int], Dependence] = {}

    def compare(self, node: int, others: Integers, parents: Integers) -> list[Dependence]:
        """See Examiner: within the levels of the parents, and of the parents of both.

        Those of the other column are no descendants either, so that the claim holds given them too. Where they turn the
        dependence round, or add much to the other column, it shows only then; where they split rows too finely, only
        without them.
        """
        return [self._compare(node, i, parents) for i in others]

    def _compare(self, node: int, other: int, parents: Integers) -> Dependence:
        told = [compare_counts(self.codes[:, node], self.codes[:, other], self._stratum(parents))]
        both = np.union1d(parents, np.flatnonzero(self.adjacency[:, other]))
        if len(both) > len(parents):
            told.append(self._compare_within(min(node, other), max(node, other), both))
        return combine_dependences(told)

    def _compare_within(self, one: int, other: int, given: Integers) -> Dependence:
        if (one, other) not in self._told:
            self._told[one, other] = compare_counts(self.codes[:, one], self.codes[:, other], self._stratum(given))
        return self._told[one, other]

    def compare_residuals(self, pairs: Integers) -> list[Dependence]:
        left, free = self._left, Given(np.empty((len(self.codes), 0)))
        free.left[:] = 1.0
        return [compare_products(left[i], left[j], [0, left[j].shape[1]], free)[0] for i, j in pairs]

    @cached_property
    def _left(self) -> list[Floats]:
        """Indicators of all levels but the first, less their shares among the rows with the same parents."""
        found = []
        for j, column in enumerate(self.adjacency.T):
            stratum = self._stratum(np.flatnonzero(column))
            size = np.bincount(stratum)
            levels = (self.codes[:, j, None] == np.arange(1, self.codes[:, j].max() + 1)).astype(float)
            shares = [np.bincount(stratum, level) / size for level in levels.T]
            found.append(levels - np.column_stack([np.empty((len(stratum), 0)), *(share[stratum] for share in shares)]))
        return found

    def _stratum(self, parents: Integers) -> Integers:
        """The number of the combination of levels that the parents have in each row."""
        key = tuple(parents.tolist())
        if key not in self._strata:
            place = np.zeros(len(self.codes), dtype=np.int64)
            for i in parents:
                place = np.unique(place * (int(self.codes[:, i].max()) + 1) + self.codes[:, i], return_inverse=True)[1]
            self._strata[key] = place
        return self._strata[key]


class _OfMoments:
    """Numbers without rows: partial correlations, with a column and with what its own parents leave of it."""

    mechanisms: Mechanisms = "linear"

    def __init__(self, table: Table, adjacency: Bools) -> None:
        S, self.n, self.adjacency = table.moments.covariance, float(table.moments.n), adjacency
        rest = np.eye(len(S)) - least_squares(S, adjacency)
        # What is left of a column that its parents explain is rounding.
        rest[:, np.einsum("ij,ij->j", rest, S @ rest) <= EXPLAINED * np.diag(S)] = 0.0
        # Columns, and after them the residuals of each.
        both = np.hstack([np.eye(len(S)), rest])
        self.covariance = both.T @ S @ both

    def compare(self, node: int, others: Integers, parents: Integers) -> list[Dependence]:
        d = len(self.adjacency)
        told = compare_correlations(self.covariance, self.n, node, np.concatenate([others, others + d]), parents)
        pairs = zip(others, told, told[len(others) :])
        return [combine_dependences([one, *([left] if self.adjacency[:, i].any() else [])]) for i, one, left in pairs]

    def compare_residuals(self, pairs: Integers) -> list[Dependence]:
        left, none = len(self.adjacency), np.array([], dtype=np.intp)
        return [
            compare_correlations(self.covariance, self.n, left + i, np.array([left + j]), none)[0]
            for i, j in pairs.tolist()
        ]


def _multiply(one: Floats, other: Floats) -> Floats:
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)


def _nominal(table: Table, name: str) -> Coding | None:
    """The levels of a category; one of two levels is as well a number."""
    coding = table.codings.get(name)
    is_category = table.kinds[table.names.index(name)] is Kind.CATEGORICAL
    return coding if coding is not None and is_category and len(coding.levels) > 2 else None
