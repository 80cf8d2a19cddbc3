"""What a table was made from: the part of it that depends on where its rows are and on what was done with them."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.random import Generator, SeedSequence

from acyclic.data.columns import DIGEST, column_notes
from acyclic.data.kinds import Coding
from acyclic.data.moments import Moments
from acyclic.data.reading import ROWS_LIMIT, too_large
from acyclic.deadline import Deadline
from acyclic.errors import Argument, InputError, Part
from acyclic.facts import Fact, NoRows, Note
from acyclic.types import Floats, Integers, Kind

__all__ = ["OF_MOMENTS", "Origin", "draw_positions", "explain_no_rows", "hash_step"]

OF_MOMENTS: Final = (Note.CONSTANT, Note.DUPLICATE, Note.COLLINEAR, Note.FEW_ROWS_COLLINEAR)
"""Notes that are made of moments, and made again where these change."""


class Origin(ABC):
    """What stands behind a `Table`, which documents the members of the same names."""

    exponents: Integers | None = None
    repeats: float = 1.0

    def __init__(
        self,
        names: tuple[str, ...],
        n_rows: int,
        kinds: tuple[Kind, ...],
        why_no_rows: Fact[NoRows] | None,
        codings: Mapping[str, Coding] | None = None,
    ) -> None:
        self.names, self.n_rows, self.kinds, self.why_no_rows = names, n_rows, kinds, why_no_rows
        self.codings: Mapping[str, Coding] = codings or {}

    @cached_property
    def moments(self) -> Moments:
        """Row count, mean and covariance."""
        return self._find_moments()

    @cached_property
    def notes(self) -> tuple[Fact[Note], ...]:
        """Remarks on the columns."""
        return tuple(self._note())

    @cached_property
    def digest(self) -> str:
        """What identifies the content."""
        return self._hash()

    @property
    def has_rows(self) -> bool:
        """Whether `rows` will give them."""
        return self.why_no_rows is None

    @property
    def has_sample(self) -> bool:
        """Whether `sample` and `take` will give some of the rows, also where these are too many or not here."""
        return self.why_no_rows is None or self.why_no_rows.kind in (NoRows.TOO_LARGE, NoRows.ELSEWHERE)

    def rows(self, limit: int = ROWS_LIMIT) -> Floats:
        """The rows (n, d), if they are no more than the limit of values."""
        why = self.why_no_rows
        if why is None or why.kind is NoRows.TOO_LARGE:
            why = too_large(self.n_rows, len(self.names), limit)
        if why is not None:
            raise InputError(*explain_no_rows(why))
        return self._rows

    def take(self, positions: Integers) -> Floats:
        """Rows (k, d) by their positions in rising order."""
        return np.asarray(self.rows()[positions])

    def sample(self, most: int) -> Floats:
        """At most so many rows (k, d), in their order."""
        n = int(self.moments.n)
        return self.rows() if n <= most and self.has_rows else self.take(draw_positions(n, most))

    def count_codes(self) -> tuple[Integers, Integers] | None:
        """Different rows of codes (m, d) and how often each comes; None of very many."""
        codings = [self.codings[name] for name in self.names]
        rows = self.rows()
        codes = np.column_stack([coding.encode(rows[:, k]) for k, coding in enumerate(codings)])
        return codes, np.ones(len(codes), dtype=np.int64)

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        """Moments of draws of all rows, made where these are."""
        raise InputError("only rows that are elsewhere are drawn all at once; resampled(…) draws from those here")

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Origin:
        """A draw, of what `redraw` gave for the seed."""
        raise InputError("only rows that are elsewhere are drawn all at once; resampled(…) draws from those here")

    def refilled(self, positions: Integers) -> Origin | None:
        """Rows by their positions, each as often as it is named, with missing cells filled anew; None if none were."""
        return None

    def folds(self, count: int, rng: Generator) -> list[Moments]:
        """Moments of ``count`` parts of the rows, of sizes that differ by one at most."""
        if not self.has_rows:
            choose = Argument("criterion", "ebic")
            raise InputError("cross-validation needs rows, but only moments were given; choose ", choose)
        n = int(self.moments.n)
        if not 2 <= count <= n // 2:
            raise InputError(f"folds = {count!r}; give a number from 2 to {n // 2}, half of the rows")
        part = rng.permutation(n) % count
        return [Moments.from_array(self.rows(), self.names, part == k) for k in range(count)]

    @cached_property
    def _rows(self) -> Floats:
        rows = np.ascontiguousarray(self._make_rows())
        rows.flags.writeable = False
        return rows

    @abstractmethod
    def _find_moments(self) -> Moments: ...

    @abstractmethod
    def _make_rows(self) -> Floats: ...

    @abstractmethod
    def _hash(self) -> str: ...

    def _note(self) -> Sequence[Fact[Note]]:
        return column_notes(self.moments)


def draw_positions(n: int, most: int) -> Integers:
    """At most so many of n positions, in rising order: always the same ones."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def explain_no_rows(fact: Fact[NoRows]) -> tuple[Part, ...]:
    """Say why a table has no rows, and what to do, in the parts of an error."""
    if fact.kind is NoRows.TOO_LARGE:
        size = f"{fact['rows']} rows of {fact['columns']} columns"
        return (f"{size} are more than the limit of {fact['limit']} values; sample the rows, or raise the limit",)
    if fact.kind is NoRows.ELSEWHERE:
        return (
            f"the {fact['rows']} rows are in partitions on a cluster, and stay there; table.sampled(1000) has some",
        )
    if fact.kind is NoRows.WEIGHTED:
        return "the rows have weights, which only moments can express; leave out ", Argument("weights")
    if fact.kind is NoRows.INCOMPLETE:
        ways = Argument("missing", "impute"), " or ", Argument("missing", "drop-rows")
        return "some rows have missing cells; only ", *ways, " gives complete rows"
    return ("there are no rows behind moments; pass the table itself to methods that need rows",)


def hash_step(base: Origin, *step: Any) -> str:
    """The digest of what was made of a table by a step."""
    return DIGEST + hashlib.sha256(json.dumps([base.digest, *step]).encode()).hexdigest()
