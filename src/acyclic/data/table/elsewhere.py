"""Tables in partitions that are elsewhere, and draws of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.random import Generator, SeedSequence

from acyclic.data.moments import Moments
from acyclic.data.partials import RowWeights
from acyclic.data.table.here import Read
from acyclic.data.table.origin import Origin, explain_no_rows, hash_step
from acyclic.deadline import Deadline
from acyclic.errors import InputError
from acyclic.facts import Fact, NoRows
from acyclic.types import Floats, Integers

__all__ = ["Elsewhere", "Redrawn"]


class Elsewhere(Read):
    """A table in partitions that are not here: sums come, and rows only where they are few or a sample."""

    _samples: dict[int, Floats]
    _counted: tuple[Integers, Integers] | None

    def sample(self, most: int) -> Floats:
        """See Origin."""
        known: dict[int, Floats] = self.__dict__.setdefault("_samples", {})
        if most not in known:
            known[most] = super().sample(most)
        return known[most]

    def count_codes(self) -> tuple[Integers, Integers] | None:
        """See Origin."""
        if self.has_rows:
            return super().count_codes()
        if "_counted" not in self.__dict__:
            assert self._reading is not None
            found = self._reading.count_codes([self.codings[name] for name in self.names])
            whole = found.codes is not None and int(found.counts.sum()) <= np.iinfo(np.int32).max
            self._counted = (found.codes, found.counts) if found.codes is not None and whole else None
        return self._counted

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        """See Origin."""
        if self._reading is None:
            raise InputError(*explain_no_rows(Fact.of(NoRows.ELSEWHERE, rows=self.n_rows)))
        law: Literal["rows", "partitions"] = "partitions" if partitions else "rows"
        return self._reading.redraw([RowWeights(seed, law) for seed in seeds], deadline)

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Origin:
        """See Origin."""
        known = self.__dict__.get("_samples", {})
        return Redrawn(self, moments, seed, known[max(known)] if known else None)

    def folds(self, count: int, rng: Generator) -> list[Moments]:
        """See Origin."""
        if self.has_rows or not self.has_sample or self._reading is None:
            return super().folds(count, rng)
        seed = SeedSequence(int(rng.integers(2**63)))
        return self._reading.redraw([RowWeights(seed, "fold", fold, count) for fold in range(count)])

    def __getstate__(self) -> dict[str, Any]:
        if self.has_rows:
            return super().__getstate__()
        return {**self.__dict__, "_reading": None}


class Redrawn(Origin):
    """A draw of a table that is elsewhere: moments of all its rows drawn again, and a draw of a sample of them."""

    def __init__(self, base: Origin, moments: Moments, seed: SeedSequence, sample: Floats | None) -> None:
        n = int(moments.n)
        why = Fact.of(NoRows.MOMENTS_ONLY) if sample is None else Fact.of(NoRows.ELSEWHERE, rows=n)
        super().__init__(base.names, n, base.kinds, why, base.codings)
        self._given, self._seed, self._base, self._known = moments, seed, base, sample
        # As many rows drawn of the sample as it has come twice on average; fewer less often.
        self.repeats = 2.0 if sample is None else 1 + n / len(sample)

    def _find_moments(self) -> Moments:
        return self._given

    def take(self, positions: Integers) -> Floats:
        """See Origin."""
        if self._known is None:
            raise InputError(*explain_no_rows(Fact.of(NoRows.MOMENTS_ONLY)))
        size = min(len(positions), len(self._known))
        return np.asarray(self._known[np.random.default_rng(self._seed).integers(len(self._known), size=size)])

    def count_codes(self) -> tuple[Integers, Integers] | None:
        """See Origin."""
        counted = self._base.count_codes()
        if counted is None:
            return None
        # Rows that are equal need not be drawn one by one.
        codes, counts = counted
        drawn = np.random.default_rng(self._seed).multinomial(int(counts.sum()), counts / counts.sum())
        return codes[drawn > 0], drawn[drawn > 0]

    def _make_rows(self) -> Floats:
        raise InputError(*explain_no_rows(Fact.of(NoRows.ELSEWHERE, rows=self.n_rows)))

    def _hash(self) -> str:
        return hash_step(self._base, "redrawn", str(self._seed.entropy), list(self._seed.spawn_key))
