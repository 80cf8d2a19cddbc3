"""Another table with some of its columns, or in other units."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike

from acyclic.data.columns import column_notes
from acyclic.data.moments import Moments
from acyclic.data.table.here import OfMoments
from acyclic.data.table.origin import OF_MOMENTS, Origin, hash_step
from acyclic.deadline import Deadline
from acyclic.facts import Fact, Note
from acyclic.types import Floats, Integers

__all__ = ["Scaled", "Selected", "Standardized"]

_OF_READING = (
    *(Note.ENCODING, Note.ZERO_BYTES, Note.COMMENTS, Note.HEADER_OF_NUMBERS, Note.NO_HEADER, Note.RENAMED),
    *(Note.WRITTEN, Note.LEFT_OUT, Note.ONE_LEVEL, Note.MIXED, Note.DROPPED, Note.RESCALED, Note.LOG, Note.WEIGHTS),
)


class Selected(Origin):
    """Some columns of another table, in another order."""

    def __init__(self, base: Origin, names: Sequence[str]) -> None:
        chosen = base.moments.select(names).names
        kinds = dict(zip(base.names, base.kinds))
        codings = {name: base.codings[name] for name in chosen if name in base.codings}
        super().__init__(chosen, base.n_rows, tuple(kinds[name] for name in chosen), base.why_no_rows, codings)
        self._base, self.repeats = base, base.repeats

    def _find_moments(self) -> Moments:
        return self._base.moments.select(self.names)

    def _make_rows(self) -> Floats:
        return self._base.rows()[:, self._columns]

    @property
    def _columns(self) -> list[int]:
        return [self._base.names.index(name) for name in self.names]

    def take(self, positions: Integers) -> Floats:
        """See Origin."""
        return self._base.take(positions)[:, self._columns]

    def sample(self, most: int) -> Floats:
        """See Origin."""
        return self._base.sample(most)[:, self._columns]

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        """See Origin."""
        return self._base.redraw(seeds, partitions=partitions, deadline=deadline)

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Origin:
        """See Origin."""
        return Selected(self._base.redrawn(moments, seed), self.names)

    def refilled(self, positions: Integers) -> Origin | None:
        """See Origin."""
        base = self._base.refilled(positions)
        return None if base is None else Selected(base, self.names)

    def _hash(self) -> str:
        return hash_step(self._base, "select", list(self.names))


class Rescaled(Origin):
    """The rows of another table in other units."""

    def __init__(self, base: Origin) -> None:
        super().__init__(base.names, base.n_rows, base.kinds, base.why_no_rows)
        self._base, self.repeats = base, base.repeats
        self.codings = {
            name: coding.in_units(partial(self._change, column=base.names.index(name)))
            for name, coding in base.codings.items()
        }

    @abstractmethod
    def _again(self, base: Origin) -> Origin:
        """A draw of the base, in the new units."""

    @abstractmethod
    def _change(self, values: Floats, column: int | slice = slice(None)) -> Floats:
        """Values of the base, of one column or (n, d) of all, in the new units."""

    def _make_rows(self) -> Floats:
        return self._change(self._base.rows())

    def take(self, positions: Integers) -> Floats:
        """See Origin."""
        return self._change(self._base.take(positions))

    def sample(self, most: int) -> Floats:
        """See Origin."""
        return self._change(self._base.sample(most))

    def count_codes(self) -> tuple[Integers, Integers] | None:
        """See Origin."""
        return self._base.count_codes()

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        """See Origin."""
        return self._base.redraw(seeds, partitions=partitions, deadline=deadline)

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Origin:
        """See Origin."""
        return self._again(self._base.redrawn(moments, seed))

    def refilled(self, positions: Integers) -> Origin | None:
        """See Origin."""
        base = self._base.refilled(positions)
        return None if base is None else self._again(base)

    def _note(self) -> Sequence[Fact[Note]]:
        # What moments tell of columns is told in the new units; the rest is about the values that were read.
        rest = [note for note in self._base.notes if note.kind not in OF_MOMENTS]
        return (*rest, *column_notes(self.moments))


class Standardized(Rescaled):
    """The rows of another table with every column at mean 0 and variance 1."""

    def _again(self, base: Origin) -> Origin:
        return Scaled(
            base, 1 / np.where(self._base.moments.constant, 1.0, np.sqrt(np.diag(self._base.moments.covariance)))
        )

    def _find_moments(self) -> Moments:
        return self._base.moments.standardized()

    def _change(self, values: Floats, column: int | slice = slice(None)) -> Floats:
        moments = self._base.moments
        deviation = np.where(moments.constant, np.inf, np.sqrt(np.diag(moments.covariance)))
        return np.asarray((values - moments.mean[column]) / deviation[column])

    def _note(self) -> Sequence[Fact[Note]]:
        # Relations are those between the columns as they were read, for the same columns are constant or determined.
        first = [note for note in self._base.notes if note.kind in _OF_READING]
        rest = [note for note in self._base.notes if note.kind not in (*_OF_READING, Note.STANDARDIZED)]
        return (*first, Fact.of(Note.STANDARDIZED), *rest)

    def _hash(self) -> str:
        if isinstance(self._base, OfMoments):
            return self.moments.digest()
        return hash_step(self._base, "standardized")


class Scaled(Rescaled):
    """The rows of another table with every column multiplied by a number."""

    def __init__(self, base: Origin, factors: ArrayLike) -> None:
        self._scaled = base.moments.scaled(factors)
        self._factors = np.array(factors, dtype=np.float64)
        super().__init__(base)

    def _find_moments(self) -> Moments:
        return self._scaled

    def _again(self, base: Origin) -> Origin:
        return Scaled(base, self._factors)

    def _change(self, values: Floats, column: int | slice = slice(None)) -> Floats:
        return np.asarray(values * self._factors[column])

    def _hash(self) -> str:
        return hash_step(self._base, "scaled", *self._factors.tolist())
