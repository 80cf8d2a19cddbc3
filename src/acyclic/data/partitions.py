"""A table in partitions that stay where they are: work goes to them, and small results that can be merged come back.

Hides on which engine the work is done. An engine performs a job on each partition and merges what they give in a tree
that is fixed by the numbers of the partitions: the bits of the result do not depend on who did what, nor on when.
"""

from __future__ import annotations

import copy
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol, Self, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from acyclic.data.cells import Evidence, Reason
from acyclic.data.kinds import Told
from acyclic.data.sources import FrameSource, Place, block_rows, is_missing, sample_rows
from acyclic.deadline import Deadline
from acyclic.errors import AcyclicError, InputError, Part
from acyclic.facts import Fact, Note
from acyclic.types import Floats

__all__ = [
    "Engine",
    "Job",
    "PartSource",
    "PartedSource",
    "Partition",
    "Result",
    "merge_levels",
    "merge_results",
    "perform",
]

# So many results are merged at once.
FAN_IN: Final = 8
# Of text with more different cells only so many are counted one by one: the first in the order of their characters.
_MOST_CELLS: Final = 4000


class Mergeable(Protocol):
    """What a job gives: small, and to be merged with what it gives for the partitions that follow."""

    def merge(self, later: Any) -> None:
        """Add what the partitions that follow gave, which is left as it is."""


class Partition(Protocol):
    """Some rows of a table."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    def begin(self, count: int) -> Any:
        """An eager frame of its first rows, with all columns."""

    def frames(self, columns: Sequence[Any]) -> Iterator[Any]:
        """Eager frames of the columns, by the names that they have there, in that order."""


Work = TypeVar("Work", bound=Mergeable)
Job = Callable[[int, Partition, Any], Work]
"""Takes the number of a partition, the partition, and what is meant for it alone."""


class Engine(Protocol):
    """Where the partitions of a table are, and who works on them."""

    @property
    def count(self) -> int:
        """How many partitions there are."""

    def reduce(
        self,
        job: Job[Work],
        given: Mapping[int, Any] | None = None,
        *,
        keep: str = "",
        deadline: Deadline | None = None,
    ) -> Work:
        """Perform a job on each partition, or on those for which something is ``given``, and merge the results.

        Where the engine has a folder for partial results those of a job to ``keep`` under this name go there. Raises
        Stopped when the deadline passes.
        """


@dataclass(frozen=True)
class Failure:
    """Why a job could not be done: the message and kind of an error, which not every engine brings home whole."""

    kind: type[AcyclicError]
    parts: tuple[Part, ...]

    def merge(self, later: Any) -> None:
        """The first failure counts."""


Result = Mergeable | Failure


def perform(job: Job[Work], number: int, partition: Partition, given: Any = None) -> Work | Failure:
    """Do a job on one BLAS thread, which keeps its bits the same wherever it runs; whatever fails names the place."""
    try:
        with _one_blas_thread:
            return job(number, partition, given)
    except AcyclicError as error:
        return Failure(type(error), error.parts)
    except Exception as error:
        said = str(error).strip().splitlines() or [""]
        return Failure(InputError, (f"{partition.name} cannot be read: {type(error).__name__}: {said[0]}",))


def merge_results(results: Sequence[Result]) -> Result:
    """One result of several, in their order; they stay as they are, for an engine may need them again."""
    for one in results:
        if isinstance(one, Failure):
            return one
    merged = copy.deepcopy(results[0])
    for later in results[1:]:
        merged.merge(later)
    return merged


def merge_levels(count: int, most: int) -> Iterator[list[range]]:
    """The levels of the tree in which results are merged, until at most so many are left: which ones go together.

    >>> [list(map(list, level)) for level in merge_levels(10, 1)]
    [[[0, 1, 2, 3, 4, 5, 6, 7], [8, 9]], [[0, 1]]]
    """
    while count > most:
        level = [range(start, min(start + FAN_IN, count)) for start in range(0, count, FAN_IN)]
        yield level
        count = len(level)


def conclude(results: Sequence[Any]) -> Any:
    """The one result of what is left at the top of the tree, or the error that it tells."""
    for level in merge_levels(len(results), 1):
        results = [merge_results([results[at] for at in group]) for group in level]
    [found] = results
    if isinstance(found, Failure):
        raise found.kind(*found.parts)
    return found


class _OneThread:
    """One BLAS thread in this process, for as long as any of its threads is inside."""

    def __init__(self) -> None:
        self._lock, self._users, self._limits = threading.Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            self._limits = self._limits or threadpool_limits(1)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None


_one_blas_thread = _OneThread()


@dataclass(frozen=True, eq=False)
class _Formed:
    """What sources have in common whose columns are known from elsewhere."""

    form: FrameSource

    @property
    def names(self) -> tuple[str, ...]:
        """See Source."""
        return self.form.names

    @property
    def refused(self) -> Mapping[str, Reason]:
        """See Source."""
        return self.form.refused

    @property
    def facts(self) -> tuple[Fact[Note], ...]:
        """See Source."""
        return self.form.facts

    @property
    def booleans(self) -> frozenset[str]:
        """See Source."""
        return self.form.booleans

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Those of all partitions."""
        return self.form.labels

    @property
    def ordered(self) -> frozenset[str]:
        """See Source."""
        return self.form.ordered


@dataclass(frozen=True, eq=False)
class PartSource(_Formed):
    """A partition as a source of rows, read as all the others are."""

    partition: Partition

    @property
    def in_memory(self) -> bool:
        """As good as that: whoever reads a partition keeps none of its rows."""
        return True

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """See Source."""
        import narwhals.stable.v2 as nw

        start, step = 0, block_rows(len(columns))
        for native in self.partition.frames([self.form.natives[name] for name in columns]):
            frame = nw.from_native(native, eager_only=True)
            for first in range(0, len(frame), step):
                piece = frame[first : first + step]
                place = partial(_row_of, self.partition.name, start)
                start += len(piece)
                yield self.form.to_floats(piece, columns, place), place


def _row_of(partition: str, start: int, row: int) -> str:
    return f"row {start + row} of {partition}"


@dataclass(frozen=True, eq=False)
class PartedSource(_Formed):
    """A table in partitions on an engine, as a source; `form` knows its columns and has no rows."""

    engine: Engine

    @classmethod
    def open(cls, engine: Engine, told: Mapping[str, Told] | None = None) -> Self:
        """Look at the first rows, and at all text that may be categories."""
        import narwhals.stable.v2 as nw

        frames: list[Any] = []
        number, wanted = 0, sample_rows(0)
        while number < engine.count and (not frames or sum(map(len, frames)) < wanted):
            some = range(number, min(2 * number + 1, engine.count))
            frames += [nw.from_native(frame) for frame in engine.reduce(Begin(wanted), dict.fromkeys(some)).frames]
            wanted, number = max(sample_rows(len(frame.columns)) for frame in frames), some.stop
        # A partition without rows may not know the types of its columns.
        filled = [frame for frame in frames if len(frame)] or frames[:1]
        if not filled:
            raise InputError("the table has no partitions")
        alike = [frame for frame in filled if frame.schema == filled[0].schema]
        sample = nw.concat(alike, how="vertical") if len(alike) > 1 else alike[0]
        tally = partial(_tally_on, engine)
        form = FrameSource.judge(None, sample.collect_schema(), sample.head(wanted), None, told, tally)
        return cls(form, engine)

    @property
    def in_memory(self) -> bool:
        """Never: the rows are not here."""
        return False

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Bring all rows here, one partition after the other; what can be done where they are is done there."""
        for number in range(self.engine.count):
            found = self.engine.reduce(BringRows(self.form, columns), {number: None})
            yield found.rows, found.place


@dataclass
class BringRows:
    """The rows of a partition."""

    form: FrameSource
    columns: tuple[str, ...]

    def __call__(self, number: int, partition: Partition, given: Any) -> _Brought:
        parts = [rows for rows, _ in PartSource(self.form, partition).blocks(self.columns)]
        rows = np.concatenate(parts) if parts else np.empty((0, len(self.columns)))
        return _Brought(rows, partition.name)


@dataclass
class _Brought:
    rows: Floats
    name: str

    def place(self, row: int) -> str:
        return _row_of(self.name, 0, row)

    def merge(self, later: _Brought) -> None:
        self.rows = np.concatenate([self.rows, later.rows])


@dataclass
class Begin:
    """The first rows of partitions, as frames."""

    count: int

    def __call__(self, number: int, partition: Partition, given: Any) -> _Beginning:
        return _Beginning([partition.begin(self.count)])


@dataclass
class _Beginning:
    frames: list[Any]

    def merge(self, later: _Beginning) -> None:
        self.frames = self.frames + later.frames


def _tally_on(engine: Engine, keys: Sequence[Any]) -> dict[Any, Evidence]:
    """What the cells of columns of text show, all partitions together."""
    if not keys:
        return {}
    found = engine.reduce(CountCells(tuple(keys)))
    return {key: cells.evidence() for key, cells in zip(keys, found.columns)}


@dataclass
class CountCells:
    """How often each cell of columns of text or categories comes."""

    keys: tuple[Any, ...]

    def __call__(self, number: int, partition: Partition, given: Any) -> _Tallies:
        import narwhals.stable.v2 as nw

        counts: list[Counter[str]] = [Counter() for _ in self.keys]
        for native in partition.frames(list(self.keys)):
            frame = nw.from_native(native, eager_only=True)
            for key, count in zip(self.keys, counts):
                cells = frame.get_column(key).cast(nw.String).to_list()
                count.update(cell.strip() for cell in cells if not is_missing(cell))
        return _Tallies([_Cells.of(count) for count in counts])


@dataclass
class _Tallies:
    columns: list[_Cells]

    def merge(self, later: _Tallies) -> None:
        for one, other in zip(self.columns, later.columns):
            one.merge(other)


@dataclass
class _Cells:
    """Counts of the first cells in the order of their characters, exact, and the evidence of all others together."""

    counts: Counter[str] = field(default_factory=Counter)
    rest: Evidence = field(default_factory=lambda: Evidence(unit="row"))

    @classmethod
    def of(cls, counts: Counter[str]) -> _Cells:
        one = cls(counts)
        one._cut()
        return one

    def merge(self, later: _Cells) -> None:
        self.counts = self.counts + later.counts
        self.rest = self.rest.joined(later.rest)
        self._cut()

    def _cut(self) -> None:
        for cell in sorted(self.counts)[_MOST_CELLS:]:
            self.rest.add_cell(cell, 0, self.counts.pop(cell))

    def evidence(self) -> Evidence:
        found = Evidence(unit="row")
        for cell, count in sorted(self.counts.items()):
            found.add_cell(cell, 0, count)
        return found.joined(self.rest)
