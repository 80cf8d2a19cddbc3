"""Computes stored fits again: whether the code of today, on this machine, still gives what the pages say."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from scipy.special import stdtrit

from acyclic.deadline import Deadline
from acyclic.experiments.runner import compute_all
from acyclic.experiments.store import Record, Store
from acyclic.experiments.summary import Mean

LEVEL = 0.999
"""Confidence at which a change counts: a check on every commit is wrong about code that is right once in a thousand."""

DEAREST = 1 / 20
"""Share of the time that a single fit may have taken, so that one alone does not use it up."""


@dataclass(frozen=True)
class Pair:
    """A fit as it was stored, and computed again."""

    stored: Record
    again: Record

    @property
    def same(self) -> bool:
        """Whether the graphs are the same; larger ones are not stored edge by edge, but by their errors."""
        known = [name for name in ("edges", "n_edges", "shd", "tpr") if name in self.stored.values]
        return self.again.status == "done" and all(self.stored.values[m] == self.again.values.get(m) for m in known)


@dataclass(frozen=True)
class Recheck:
    """What came out: the pairs, and whether Ctrl-C ended it."""

    pairs: tuple[Pair, ...]
    interrupted: bool

    @cached_property
    def others(self) -> list[Pair]:
        """Those with another graph. Rounding differs from CPU to CPU, and turns an edge at the threshold."""
        return [pair for pair in self.pairs if not pair.same]

    @property
    def failed(self) -> list[Pair]:
        """Those that broke down."""
        return [pair for pair in self.pairs if pair.again.status == "failed"]

    @cached_property
    def change(self) -> Mean | None:
        """Of the structural Hamming distance, over all pairs."""
        done = [pair for pair in self.pairs if pair.again.status == "done" and "shd" in pair.stored.values]
        return Mean.over(float(pair.again.values["shd"]) - float(pair.stored.values["shd"]) for pair in done)

    @property
    def stale(self) -> bool:
        """Whether the stored fits are no longer those of the code: some break down, or errors moved to one side."""
        change = self.change
        if self.failed or change is None or change.runs < 2:
            return bool(self.failed)
        return abs(change.value) > float(stdtrit(change.runs - 1, (1 + LEVEL) / 2)) * change.error


def choose(records: Iterable[Record], seconds: float, random: Random) -> list[Record]:
    """One finished fit of every setting, of those that are not too dear, in random order."""
    settings: dict[str, list[Record]] = {}
    for record in records:
        whole = record.case.measure == "fit" and record.status == "done" and not record.ended_by_limit
        if whole and record.cpu_seconds <= seconds * DEAREST:
            settings.setdefault(record.case.setting, []).append(record)
    chosen = [random.choice(some) for some in settings.values()]
    random.shuffle(chosen)
    return chosen


def recheck(records: Sequence[Record], seconds: float, random: Random | None = None, **how: Any) -> Recheck:
    """Compute fits again until the time is spent or each setting had one; what is stored stays as it is.

    Parameters
    ----------
    records : sequence of Record
        What is stored.
    seconds : float
    random : Random, optional
        Which fits are taken, and in which order: others each time by default.
    **how
        As for `acyclic.experiments.runner.compute_all`.
    """
    chosen = choose(records, seconds, random or Random())
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "again.sqlite") as store:
        tally = compute_all([record.case for record in chosen], store, deadline=Deadline(seconds), **how)
        again = {record.case.key: record for record in store.records(keys=[record.case.key for record in chosen])}
    found = [(record, again.get(record.case.key)) for record in chosen]
    return Recheck(tuple(Pair(record, other) for record, other in found if other), tally.interrupted)
