"""The one Table that everything is learned from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike

from acyclic.data.moments import Moments
from acyclic.data.outliers import find_outliers
from acyclic.data.reading import ROWS_LIMIT
from acyclic.data.resampling import wishart
from acyclic.data.table.changed import Scaled, Selected, Standardized
from acyclic.data.table.drawn import Drawn, Inliers, Sampled
from acyclic.data.table.here import OfMoments
from acyclic.data.table.origin import Origin, draw_positions
from acyclic.deadline import Deadline
from acyclic.errors import InputError, show_name
from acyclic.facts import Fact, NoRows, Note
from acyclic.types import Floats, Integers, Kind

__all__ = ["MOST_SAMPLED", "Table"]

# Of more values than this, 400 MB, nobody has to wait for a look at outliers.
MOST_VALUES = 5e7
MOST_SAMPLED = 100_000
"""The most rows that stand for a table whose rows are elsewhere, where a method needs rows."""


class Table:
    """What every learner sees of a table; `Table.open` and `read_table` make it from anything.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    n_rows : int
        Rows read, incomplete ones included, those of weight 0 not; ``moments.n`` is what they amount to.
    kinds : tuple of Kind
        What each column holds, in order; `acyclic.data.kinds` has the rules.
    codings : mapping of str to Coding
        Of categorical columns, and of ordinal ones that came as text: which number in the rows is which level. Numbers
        stay as they are in the rows, text is the position of its label; `codes` are 0, 1, … without gaps.
    levels : mapping of str to tuple of str
        The names of their levels, in the order of their codes.
    why_no_rows : Fact or None
        Why `rows` would fail, of a kind in `acyclic.facts.NoRows`.
    moments : Moments
        All that the linear learners need.
    exponents : ndarray (d,) or None
        By which powers of two the values that were read were multiplied, if they were near the ends of floats.
    repeats : float
        How often its row is there, for a row on average: 2 or nearly so if they were drawn with replacement.
    notes : tuple of Fact
        Remarks on columns, of kinds in `acyclic.facts.Note`; ``about`` is empty if the whole table is meant.
    digest : str
        SHA-256 of the names of the columns, hashes of their values and of the weights, and what was done with them: the
        same for the same content on every machine, whatever the kind of source and the parts that it was read in. It
        tells tables apart that differ by mistake; who wants to can make two of one digest.

    Examples
    --------
    >>> table = Table.open([[1.0, 2.0], [2.0, 4.0], [4.0, 9.0]], names=["dose", "effect"])
    >>> table
    Table(3 rows, d=2: dose, effect)
    >>> Table.open([["red", 1.0], ["blue", 2.0]] * 5, names=["colour", "size"])
    Table(10 rows, d=2: colour (2 levels), size (2 levels))
    >>> Table.open(table) is table, table.has_rows, table.rows().shape
    (True, True, (3, 2))
    """

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.names, self.n_rows, self.kinds, self.codings = origin.names, origin.n_rows, origin.kinds, origin.codings
        self.why_no_rows, self.exponents, self.repeats = origin.why_no_rows, origin.exponents, origin.repeats

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The names of the levels of each column that has some."""
        return {name: coding.levels for name, coding in self.codings.items()}

    def codes(self, name: str) -> Integers:
        """Codes (n,) of a column with levels, positions in ``levels[name]``; −1 where it is missing.

        >>> table = Table.open([["red", 1.5], ["blue", 2.5], ["red", 0.5]] * 4, names=["colour", "size"])
        >>> table.levels["colour"], table.codes("colour")[:3].tolist()
        (('blue', 'red'), [1, 0, 1])
        """
        if name not in self.codings:
            raise InputError(
                f"{name!r} has no levels; those with levels: {', '.join(map(repr, self.codings)) or 'none'}"
            )
        return self.codings[name].encode(self.rows()[:, self.names.index(name)])

    @classmethod
    def open(cls, source: Any, **options: Any) -> Table:
        """Make a table from anything, with the options of `read_table`; a Table stays the same object."""
        from acyclic.data.table.read import read_table

        return read_table(source, **options)

    @property
    def moments(self) -> Moments:
        """Row count, mean and covariance."""
        return self._origin.moments

    @property
    def notes(self) -> tuple[Fact[Note], ...]:
        """Remarks on the columns."""
        return self._origin.notes

    @property
    def digest(self) -> str:
        """What identifies the content."""
        return self._origin.digest

    @property
    def has_rows(self) -> bool:
        """Whether `rows` will give them."""
        return self._origin.has_rows

    def rows(self, *, limit: int = ROWS_LIMIT) -> Floats:
        """The rows (n, d) that the moments describe, read-only, row after row in memory.

        Parameters
        ----------
        limit : int
            The most values, n times d, that may be put in memory; 2 GiB of them if left out.
        """
        return self._origin.rows(limit)

    @property
    def has_sample(self) -> bool:
        """Whether `sample` and `take` will give some of the rows, also where these are too many or not here."""
        return self._origin.has_sample

    @property
    def is_elsewhere(self) -> bool:
        """Whether the rows are in partitions on a cluster, and too many to be brought here."""
        return self.why_no_rows is not None and self.why_no_rows.kind is NoRows.ELSEWHERE

    def take(self, positions: Integers) -> Floats:
        """Rows (k, d) by their positions in rising order; of a table that is elsewhere they are picked there."""
        return self._origin.take(positions)

    def sample(self, most: int) -> Floats:
        """At most so many rows (k, d), in their order; the same ones for the same table, wherever it is."""
        return self._origin.sample(most)

    def sampled(self, most: int) -> Table:
        """A table of at most so many rows, the same ones for the same table; notes say of how many they are."""
        n = int(self.moments.n)
        return self if n <= most and self.has_rows else Table(Sampled(self._origin, draw_positions(n, most)))

    def count_codes(self) -> tuple[Integers, Integers] | None:
        """Different rows of codes (m, d) of a table of categories and how often each comes; None of very many."""
        return self._origin.count_codes()

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        """Moments for `redrawn`: of all rows, each as often as a Poisson number with mean 1 says, for each seed.

        They are made where the rows are, all draws in one pass. With ``partitions`` all rows of a partition come as
        often as each other: right where partitions are alike, as those of shuffled rows, and nearly free.
        """
        return self._origin.redraw(seeds, partitions=partitions, deadline=deadline)

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Table:
        """A draw of a table whose rows are elsewhere, of what `redraw` gave for the seed.

        Whoever needs rows gets some of the sample that was taken of the table, if one was, drawn with replacement.
        """
        return Table(self._origin.redrawn(moments, seed))

    def resampled(self, rng: Generator) -> Table:
        """As many rows drawn with replacement; without rows, moments from their Wishart distribution.

        The moments are those of the rows weighted by how often each was drawn, the rows are made when asked for.
        """
        if not self.has_rows:
            return Table(OfMoments(wishart(self.moments, self.moments.n, rng)))
        n = int(self.moments.n)
        return self._drawn(rng.integers(n, size=n))

    def halved(self, rng: Generator) -> Table:
        """Half of the rows, drawn without replacement; without rows, moments of so many from their distribution."""
        if not self.has_rows:
            return Table(OfMoments(wishart(self.moments, max(self.moments.n / 2, 2.0), rng)))
        n = int(self.moments.n)
        return self._drawn(np.sort(rng.permutation(n)[: max(n // 2, 2)]))

    def split(self, rng: Generator) -> tuple[Table, Table]:
        """Two halves of the rows, drawn at random: one to learn from, one to test on."""
        order = rng.permutation(int(self.moments.n))
        half = len(order) // 2
        parts = np.sort(order[:half]), np.sort(order[half:])
        return self._drawn(parts[0]), self._drawn(parts[1])

    def _drawn(self, positions: Integers) -> Table:
        return Table(self._origin.refilled(positions) or Drawn(self._origin, positions))

    def folds(self, count: int, rng: Generator) -> list[Moments]:
        """Moments of ``count`` parts of the rows, of sizes that differ by one at most."""
        return self._origin.folds(count, rng)

    @cached_property
    def inliers(self) -> Table:
        """The table without rows that are far from all others, with a note on them; itself where there are none.

        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> X[3] = 1000.0
        >>> kept = Table.open(X).inliers
        >>> kept.n_rows, kept.notes[-1].kind.value, kept.inliers is kept
        (199, 'outliers', True)
        """
        numeric = np.array([kind is Kind.CONTINUOUS for kind in self.kinds])
        if isinstance(self._origin, Inliers):
            return self
        if not self.has_rows or not numeric.any() or self.n_rows * len(self.names) > MOST_VALUES:
            return self
        far, columns = find_outliers(self.rows(), numeric)
        return Table(Inliers(self._origin, far, columns)) if far.any() else self

    def select(self, names: Sequence[str]) -> Table:
        """The named columns, in that order."""
        return self if tuple(names) == self.names else Table(Selected(self._origin, names))

    def standardized(self) -> Table:
        """The same rows with every column at mean 0 and variance 1, 0 if it is constant."""
        return Table(Standardized(self._origin))

    def scaled(self, factors: ArrayLike) -> Table:
        """The same rows with column ``j`` multiplied by ``factors[j]``, shape (d,), none of them 0."""
        return Table(Scaled(self._origin, factors))

    def _describe(self, name: str, kind: Kind) -> str:
        if kind is Kind.CONTINUOUS:
            return show_name(name)
        levels = self.levels.get(name)
        said = kind.value if levels is None or kind is Kind.ORDINAL else f"{len(levels)} levels"
        return f"{show_name(name)} ({said})"

    def __repr__(self) -> str:
        shown = ", ".join(map(self._describe, self.names[:4], self.kinds)) + (", …" if len(self.names) > 4 else "")
        return f"Table({self.n_rows} rows, d={len(self.names)}: {shown})"
