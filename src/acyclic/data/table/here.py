"""Tables whose rows are here, or that are moments and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from acyclic.data.columns import column_notes
from acyclic.data.moments import Moments
from acyclic.data.reading import Content, Reading, join_rows
from acyclic.data.table.origin import Origin, explain_no_rows
from acyclic.errors import InputError
from acyclic.facts import Fact, NoRows, Note
from acyclic.types import Floats, Integers, Kind

__all__ = ["OfMoments", "Read"]


class Read(Origin):
    """A table that was read from rows."""

    def __init__(self, reading: Reading, content: Content) -> None:
        super().__init__(reading.columns, content.n_rows, content.kinds, content.why_no_rows, content.codings)
        self._reading: Reading | None = reading
        self.exponents = reading.exponents
        self._content = content

    def _find_moments(self) -> Moments:
        return self._content.moments

    def _hash(self) -> str:
        return self._content.digest

    def _note(self) -> Sequence[Fact[Note]]:
        return (*self._content.notes, *column_notes(self.moments), *self._content.absences)

    def _make_rows(self) -> Floats:
        kept = self._content.kept
        if kept is not None:
            rows, digest = join_rows(kept, len(self.names)), self._content.digest
            self._content = self._content._replace(kept=None)
        elif self._reading is not None:
            rows, digest = self._reading.read_rows()
        if digest != self._content.digest:
            raise InputError("the table has changed since its moments were read; read it again")
        keeps = self._content.keeps_gaps or len(rows) == self.moments.n
        return rows if keeps else rows[~np.isnan(rows).any(axis=1)]

    @property
    def has_gaps(self) -> bool:
        """Whether `rows` has missing cells, which somebody else has to fill."""
        return self._content.keeps_gaps

    def take(self, positions: Integers) -> Floats:
        """See Origin."""
        if self.why_no_rows is None or self._reading is None:
            return super().take(positions)
        if not self.has_sample:
            raise InputError(*explain_no_rows(self.why_no_rows))
        return self._reading.take_rows(positions, self._content.lengths)

    def __getstate__(self) -> dict[str, Any]:
        # Rows travel as an array, for frames of other libraries may not travel at all; what is too long is read again.
        if self.has_rows and self._reading is not None and (self._reading.source.in_memory or self._content.kept):
            self.rows()
        return {**self.__dict__, **({"_reading": None} if "_rows" in self.__dict__ else {})}


class OfMoments(Origin):
    """Moments that were given, or drawn, without rows."""

    def __init__(self, moments: Moments) -> None:
        kinds = (Kind.CONTINUOUS,) * len(moments.names)
        super().__init__(moments.names, int(moments.n), kinds, Fact.of(NoRows.MOMENTS_ONLY))
        self._given = moments

    def _find_moments(self) -> Moments:
        return self._given

    def _hash(self) -> str:
        return self._given.digest()

    def _make_rows(self) -> Floats:
        raise InputError(*explain_no_rows(Fact.of(NoRows.MOMENTS_ONLY)))
