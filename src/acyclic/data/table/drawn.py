"""Some rows of another table: drawn, sampled, or without those far from all others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from acyclic.data.columns import column_notes
from acyclic.data.moments import Moments
from acyclic.data.table.origin import OF_MOMENTS, Origin, hash_step
from acyclic.facts import Fact, Note
from acyclic.types import Bools, Floats, Integers

__all__ = ["Drawn", "Inliers", "Sampled"]


class Drawn(Origin):
    """Some rows of another table, by their positions, each as often as it is drawn."""

    def __init__(self, base: Origin, drawn: Integers) -> None:
        super().__init__(base.names, len(drawn), base.kinds, None, base.codings)
        self._base, self._positions = base, drawn
        own = float(np.square(np.bincount(drawn), dtype=float).sum()) / len(drawn)
        self.repeats = own + (base.repeats - 1) * len(drawn) / base.n_rows

    def _find_moments(self) -> Moments:
        rows = self._base.rows()
        return Moments.from_array(rows, self.names, np.bincount(self._positions, minlength=len(rows)))

    def take(self, positions: Integers) -> Floats:
        """See Origin."""
        return self._base.take(self._positions)[positions]

    def _make_rows(self) -> Floats:
        return self._base.take(self._positions)

    def refilled(self, positions: Integers) -> Origin | None:
        """See Origin."""
        return self._base.refilled(self._positions[positions])

    def _hash(self) -> str:
        return hash_step(self._base, "rows", hashlib.sha256(self._positions.astype("<i8").data).hexdigest())


class Inliers(Drawn):
    """The rows of another table without those that are far from all others."""

    def __init__(self, base: Origin, far: Bools, columns: Bools) -> None:
        super().__init__(base, np.flatnonzero(~far))
        names = np.array(base.names, dtype=object)[columns]
        found = {"count": int(far.sum()), "rows": len(far), "first": int(far.argmax())}
        self._said = Fact.of(Note.OUTLIERS, **found, columns=len(names), column=str(names[0]))
        self.exponents = base.exponents

    def _note(self) -> Sequence[Fact[Note]]:
        rest = [note for note in self._base.notes if note.kind not in OF_MOMENTS]
        return (*rest, *column_notes(self.moments), self._said)


class Sampled(Origin):
    """Some rows of another table, which may be elsewhere, each once."""

    def __init__(self, base: Origin, positions: Integers) -> None:
        super().__init__(base.names, len(positions), base.kinds, None, base.codings)
        self._base, self._positions, self.repeats = base, positions, base.repeats

    def _find_moments(self) -> Moments:
        return Moments.from_array(self.rows(), self.names)

    def _make_rows(self) -> Floats:
        return self._base.take(self._positions)

    def _note(self) -> Sequence[Fact[Note]]:
        first = [note for note in self._base.notes if note.kind not in OF_MOMENTS]
        return (*first, Fact.of(Note.SAMPLED, rows=self.n_rows, of=self._base.n_rows), *column_notes(self.moments))

    def _hash(self) -> str:
        return hash_step(self._base, "sampled", self.n_rows)
