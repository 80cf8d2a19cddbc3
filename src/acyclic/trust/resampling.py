"""Tables drawn again: rows with replacement or in halves, or moments from their own sampling distribution."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from acyclic.data.moments import Moments, as_moments
from acyclic.data.resampling import wishart
from acyclic.data.sources import is_frame
from acyclic.data.table import Table, read_table
from acyclic.errors import InputError

__all__ = ["PARAMETRIC", "Source", "draw_seeds", "wishart"]

PARAMETRIC = (
    "the draws are parametric, since there are no rows to draw from: each takes mean and covariance from their "
    "sampling distribution under Gaussian rows (Wishart)"
)


@dataclass(frozen=True, eq=False)
class Source:
    """What is drawn from: moments, and the rows behind them where they are in memory.

    Attributes
    ----------
    moments : Moments
    rows : ndarray (n, d) or None
    reason : str
        Why there are no rows, where a table could not give them.
    """

    moments: Moments
    rows: NDArray[Any] | None
    reason: str = ""

    @classmethod
    def of(cls, table: Any) -> Source:
        """Moments stay as they are; arrays, frames, paths and what `read_table` returns are checked once."""
        if isinstance(table, Source):
            return table
        if isinstance(table, str | os.PathLike):
            table = read_table(table)
        if isinstance(table, Table):
            return cls._of_table(table)
        moments = as_moments(table)
        return cls(moments, None if isinstance(table, Moments) else _rows(table))

    @classmethod
    def _of_table(cls, table: Table) -> Source:
        try:
            return cls(table.moments, table.rows())
        except InputError as error:
            return cls(table.moments, None, str(error))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of the draws."""
        if self.rows is not None:
            return ()
        return (f"{PARAMETRIC}; {self.reason}",) if self.reason else (PARAMETRIC,)

    def resampled(self, rng: Generator) -> Moments:
        """Moments of as many rows drawn with replacement, by counting how often each row was drawn."""
        if self.rows is None:
            return wishart(self.moments, self.moments.n, rng)
        n = len(self.rows)
        return self._weighted(np.bincount(rng.integers(n, size=n), minlength=n))

    def resampled_rows(self, rng: Generator) -> NDArray[Any]:
        """As many rows drawn with replacement."""
        rows = self.all_rows()
        return rows[rng.integers(len(rows), size=len(rows))]

    def all_rows(self) -> NDArray[Any]:
        """The rows, which the caller cannot do without."""
        if self.rows is None:
            raise InputError("rows are needed, but only moments were given; give the table itself")
        return self.rows

    def halved(self, rng: Generator) -> Moments:
        """Moments of half of the rows, drawn without replacement."""
        if self.rows is None:
            return wishart(self.moments, max(self.moments.n / 2, 2.0), rng)
        n = len(self.rows)
        chosen = np.zeros(n)
        chosen[rng.permutation(n)[: max(n // 2, 2)]] = 1.0
        return self._weighted(chosen)

    def folds(self, count: int, rng: Generator) -> list[Moments]:
        """Moments of `count` parts of the rows, of sizes that differ by one at most."""
        if self.rows is None:
            raise InputError("cross-validation needs rows, but only moments were given; choose criterion='ebic'")
        n = len(self.rows)
        if not 2 <= count <= n // 2:
            raise InputError(f"folds = {count!r}; give a number from 2 to {n // 2}, half of the rows")
        part = rng.permutation(n) % count
        return [self._weighted((part == k).astype(float)) for k in range(count)]

    def _weighted(self, weights: NDArray[Any]) -> Moments:
        return Moments.from_array(self.all_rows(), self.moments.names, weights)


def draw_seeds(random_state: int | SeedSequence, count: int) -> list[SeedSequence]:
    """One independent seed per draw, so that a draw is the same wherever and whenever it is computed."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise InputError(f"draws = {count!r}; give a number of draws, at least 1")
    if isinstance(random_state, SeedSequence):
        # Spawning from the caller's own object would change it, and the next call with it.
        return SeedSequence(random_state.entropy, spawn_key=(*random_state.spawn_key, 0)).spawn(count)
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InputError(f"random_state is {random_state!r}; give an integer >= 0 or a SeedSequence")
    return SeedSequence(int(random_state)).spawn(count)


def _rows(table: Any) -> NDArray[Any]:
    if not is_frame(table):
        return np.asarray(table)
    import narwhals.stable.v2 as nw

    frame: Any = nw.from_native(table, eager_only=True)
    return np.asarray(frame.select(nw.all().cast(nw.Float64)).to_numpy())
