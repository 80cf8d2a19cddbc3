"""Mechanisms that were fitted: each column as a sum of functions of its parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from acyclic.data.features import Curves, Features, Indicators
from acyclic.data.kinds import Coding
from acyclic.data.parts import Waves
from acyclic.scores.blocks import BlockScore, Family, Mechanisms, NoiseShape
from acyclic.types import Bools, Floats, Integers

__all__ = ["LINEAR", "Fitted", "World", "encode_rows", "in_own_order"]

# A curve whose line explains less of it than this has no trend.
_NO_TREND = 0.01


class World(NamedTuple):
    """How columns depend on their parents, and what is assumed of the noise."""

    mechanisms: Mechanisms = "linear"
    noise: NoiseShape = "gaussian"


LINEAR = World()


@dataclass(frozen=True, eq=False)
class Fitted:
    """The mechanisms of a graph: each column as a sum of functions of its parents.

    Attributes
    ----------
    features : Features
        Of the columns in their own order.
    families : tuple of Family
        One for each column.
    codings : tuple of Coding or None
        The levels of the columns that are categories.
    """

    features: Features
    families: tuple[Family, ...]
    codings: tuple[Coding | None, ...]

    @property
    def adjacency(self) -> Bools:
        """The edges (d, d)."""
        d = len(self.families)
        edges = np.zeros((d, d), dtype=bool)
        for j, family in enumerate(self.families):
            edges[list(family.parents), j] = True
        return edges

    @property
    def world(self) -> World:
        """The simplest world that the families need."""
        mechanisms: Mechanisms = "joint" if self.together.any() else "curved" if self.curved.any() else "linear"
        return World(mechanisms, "any" if any(family.shape for family in self.families) else "gaussian")

    @property
    def curved(self) -> Bools:
        """The edges (d, d) that are curves of numbers, or have a part in a joint function."""
        d = len(self.families)
        edges = np.zeros((d, d), dtype=bool)
        for j, family in enumerate(self.families):
            bent = [i for i, level in zip(family.parents, family.levels) if level > 1 and not self._has_levels(i)]
            edges[bent, j] = True
            if self.together[j]:
                edges[list(family.parents), j] = True
        return edges

    @property
    def together(self) -> Bools:
        """The columns (d,) that are joint functions of their parents."""
        return np.array([family.together is not None for family in self.families])

    def refitted(self, rows: Floats, edges: Bools) -> Fitted:
        """The mechanisms of another graph on the same rows, as smooth as the score likes best."""
        score = BlockScore.on(self.features, None)
        families = (
            family
            if set(family.parents) == set(parents := np.flatnonzero(edges[:, j]).tolist())
            else score.family(j, parents)
            for j, family in enumerate(self.families)
        )
        return Fitted(self.features, tuple(families), self.codings)

    def predict(self, rows: Floats) -> Floats:
        """Expectation (n, d) of each column given its parents; of a category that of the number of its level."""
        coded = encode_rows(rows, self.codings)
        return np.column_stack([self._offset(j) + self._sum(j, coded) for j in range(self.d)])

    def _sum(self, j: int, coded: Floats) -> Floats:
        family = self.families[j]
        if family.together is not None:
            return family.together(coded[:, list(family.parents)])
        return sum(self.parts(j, coded), np.zeros(len(coded)))

    def parts(self, j: int, coded: Floats) -> list[Floats]:
        """What each parent adds to the expectation of a column, in its units: (n,) each."""
        scale = self._scale(j)
        return [part @ scale for part in self._contributions(j, coded)]

    def slopes(self, rows: Floats) -> Floats:
        """The average slope (d, d) of each edge: that of the line through its function, in the columns' units.

        For a linear edge it is the coefficient. Where there is no line, for a category of several levels or a curve
        without a trend, it has no sign: it is the deviation of what the parent adds, as a share of the child's.
        """
        coded = encode_rows(rows, self.codings)
        weights = np.zeros((self.d, self.d))
        deviations = rows.std(axis=0)
        for j, family in enumerate(self.families):
            if family.together is not None:
                weights[list(family.parents), j] = _average_slopes(family.together, rows[:, list(family.parents)])
                continue
            scale, many = self._scale(j), self.features.responses()[j] > 1
            for i, part in zip(family.parents, self._contributions(j, coded)):
                if not deviations[i] > 0:
                    continue  # a constant that has to be a parent
                x, added = rows[:, i] - rows[:, i].mean(), part @ scale
                slope = float(x @ added) / float(x @ x)
                spread = np.sqrt(part.var(axis=0).mean()) * deviations[j] if many else added.std()
                level = many or self._has_levels(i) or abs(slope) * deviations[i] < _NO_TREND * spread
                weights[i, j] = spread / deviations[i] if level else slope
        return weights

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.families)

    def _contributions(self, j: int, coded: Floats) -> list[Floats]:
        """What each parent adds to the features that a column is as a child: (n, r) each."""
        family, found, start = self.families[j], [], 0
        for i, level in zip(family.parents, family.levels):
            found.append(self.features.maps[i](coded[:, i])[:, :level] @ family.coefficients[start : start + level])
            start += level
        return found

    def _has_levels(self, i: int) -> bool:
        own = self.features.maps[i]
        return isinstance(own, Indicators) and own.size > 1

    def _scale(self, j: int) -> Floats:
        """The column in terms of the features that it is as a child: (r,)."""
        own = self.features.maps[j]
        return np.array([own.deviation]) if isinstance(own, Curves) else self._level_values(j)[1:]

    def _offset(self, j: int) -> float:
        own = self.features.maps[j]
        return own.mean if isinstance(own, Curves) else float(self._level_values(j)[0])

    def _level_values(self, j: int) -> Floats:
        """Offset and coefficients that give the number of a level from its features."""
        own, coding = self.features.maps[j], self.codings[j]
        assert isinstance(own, Indicators)
        assert coding is not None
        values = np.array([coding.values[coding.codes.index(code)] for code in range(len(coding.levels))])
        return np.asarray(np.linalg.lstsq(np.column_stack([np.ones(len(values)), own.weights]), values)[0])


def _average_slopes(function: Waves, X: Floats) -> Floats:
    """The average derivative (p,) by each number; where it has no trend, the deviation of what it changes."""
    slopes = function.slopes(X)
    average, spread = slopes.mean(axis=0), np.sqrt((slopes**2).mean(axis=0))
    return np.asarray(np.where(np.abs(average) < _NO_TREND * spread, spread, average))


def encode_rows(rows: Floats, codings: Sequence[Coding | None]) -> Floats:
    """The rows with the codes of categories in the place of their numbers."""
    if not any(codings):
        return rows
    coded = np.array(rows)
    for j, coding in enumerate(codings):
        if coding is not None:
            coded[:, j] = coding.encode(rows[:, j])
    return coded


def in_own_order(
    features: Features, families: Sequence[Family], canon: Integers, back: Integers
) -> tuple[Features, tuple[Family, ...]]:
    """Features and families with the columns as they were."""
    maps = tuple(features.maps[k] for k in back)
    levels = tuple(features.levels[k] for k in back)
    at = np.concatenate([[0], np.cumsum([own.size for own in maps])]).astype(np.int32)
    places = np.concatenate([np.arange(features.at[k], features.at[k + 1]) for k in back])
    renamed = []
    for k in back:
        family = families[k]
        parents = tuple(int(canon[i]) for i in family.parents)
        if family.together is not None:  # its numbers are in the order of its parents
            by_column = np.argsort(parents)
            together = family.together.permuted(by_column)
            family, parents = replace(family, together=together), tuple(parents[i] for i in by_column)
        renamed.append(replace(family, parents=parents))
    shaped = tuple(features.shaped[k] for k in back)
    G = features.G[np.ix_(places, places)]
    return Features(maps, at, levels, shaped, features.n, G), tuple(renamed)
