"""Tables whose missing cells were filled, and draws of their rows, which fill them anew."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from acyclic.data.columns import column_notes
from acyclic.data.imputing import choose_rows, impute
from acyclic.data.moments import Moments
from acyclic.data.table.drawn import Drawn
from acyclic.data.table.here import Read
from acyclic.data.table.origin import OF_MOMENTS, Origin, hash_step
from acyclic.errors import Argument, InputError
from acyclic.facts import Fact, NoRows, Note
from acyclic.types import Bools, Floats, Integers, Kind

__all__ = ["Imputed"]


class Imputed(Origin):
    """The fullest rows of a table with missing cells, these filled with values of rows that resemble theirs."""

    def __init__(self, base: Read) -> None:
        if base.why_no_rows is not None:
            weighted = base.why_no_rows.kind is NoRows.WEIGHTED
            why = "rows with weights" if weighted else "a table whose rows are not all in memory"
            ways = Argument("missing", "em"), " or ", Argument("missing", "drop-rows")
            raise InputError(f"missing cells of {why} cannot be filled; say ", *ways)
        super().__init__(base.names, base.n_rows, base.kinds, None, base.codings)
        self._base, self.exponents = base, base.exponents

    @cached_property
    def gaps(self) -> Bools:
        """Which cells (n, d) of the rows were filled."""
        return np.isnan(self._base.rows()[self._chosen])

    @cached_property
    def _chosen(self) -> Integers:
        return choose_rows(~np.isnan(self._base.rows()))

    def fill(self, rows: Floats, seed: int, start: Floats | None = None) -> Floats:
        """Fill the NaN in some of the rows (k, d)."""
        codes = [
            self.codings[name].encode(rows[:, k]) if kind is Kind.CATEGORICAL and name in self.codings else None
            for k, (name, kind) in enumerate(zip(self.names, self.kinds))
        ]
        return impute(rows, self.names, codes, seed, start)

    def _make_rows(self) -> Floats:
        # Rows that are too incomplete to count still tell how columns go together.
        rows = self._base.rows()
        some = np.flatnonzero(~np.isnan(rows).all(axis=1))
        return self.fill(rows[some], 0)[np.searchsorted(some, self._chosen)]

    def _find_moments(self) -> Moments:
        return Moments.from_array(self.rows(), self.names)

    def refilled(self, positions: Integers) -> Origin:
        """See Origin."""
        return _Refilled(self, positions)

    def _note(self) -> Sequence[Fact[Note]]:
        rest = [note for note in self._base.notes if note.kind not in OF_MOMENTS]
        counts = {"cells": int(self.gaps.sum()), "rows": len(self._chosen), "of": self._base.n_rows}
        return (*rest, *column_notes(self.moments), Fact.of(Note.IMPUTED, **counts))

    def _hash(self) -> str:
        return hash_step(self._base, "imputed")


class _Refilled(Drawn):
    """Some rows of a table with missing cells, filled from each other: draws differ by what is not known, too."""

    _base: Imputed

    def _find_moments(self) -> Moments:
        return Moments.from_array(self.rows(), self.names)

    def take(self, positions: Integers) -> Floats:
        """See Origin."""
        return np.asarray(self.rows()[positions])

    def _make_rows(self) -> Floats:
        before = self._base.rows()[self._positions]
        gaps = self._base.gaps[self._positions]
        # A column may have lost all that was seen of it: it keeps what was filled before.
        gaps &= ~gaps.all(axis=0)
        seed = int.from_bytes(hashlib.sha256(self._positions.astype("<i8").data).digest()[:8], "little")
        return self._base.fill(np.where(gaps, np.nan, before), seed, before)

    def refilled(self, positions: Integers) -> Origin:
        """See Origin."""
        return _Refilled(self._base, self._positions[positions])
