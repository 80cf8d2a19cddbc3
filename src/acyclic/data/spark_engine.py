"""Partitions of a PySpark frame: jobs run in its executors, and partial results come back as bytes.

The frame is not cached here: what it is made of is computed again in each pass, unless the user has cached it. Spark
numbers the partitions; where the rows come in another order each time, as after a shuffle without a sort, the digest of
the table is another one each time. Results come as pickles: executors are trusted, as in all of PySpark.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

from acyclic.data.partitions import FAN_IN, Job, Work, conclude, merge_levels, merge_results, perform
from acyclic.deadline import Deadline
from acyclic.errors import InputError

__all__ = ["SparkEngine", "is_spark_frame"]

# At most so many results come to the driver.
_MOST_AT_TOP: Final = 64
_SCHEMA: Final = "number long, result binary"


def is_spark_frame(source: Any) -> bool:
    """Whether it is a PySpark data frame."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "mapInArrow")


@dataclass(frozen=True)
class _Batches:
    """A partition of a Spark frame: record batches that pass by once."""

    name: str
    batches: Iterator[Any]

    def begin(self, count: int) -> Any:
        """See Partition; of one without rows a table without columns."""
        import pyarrow

        first = next((batch for batch in self.batches if batch.num_rows), None)
        return pyarrow.table({}) if first is None else pyarrow.Table.from_batches([first.slice(0, count)])

    def frames(self, columns: Sequence[Any]) -> Iterator[Any]:
        """See Partition."""
        import pyarrow

        for batch in self.batches:
            yield pyarrow.Table.from_batches([batch]).select(list(columns))


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """The partitions of a PySpark frame."""

    frame: Any

    @cached_property
    def count(self) -> int:
        """See Engine."""
        return int(self.frame.rdd.getNumPartitions())

    def reduce(
        self,
        job: Job[Work],
        given: Mapping[int, Any] | None = None,
        *,
        keep: str = "",
        deadline: Deadline | None = None,
    ) -> Work:
        """See Engine; what is lost with an executor Spark computes again."""
        from pyspark.cloudpickle import dumps

        numbers = list(range(self.count)) if given is None else sorted(given)
        asked = {number: (at, None if given is None else given[number]) for at, number in enumerate(numbers)}
        found = self.frame.mapInArrow(partial(_perform, dumps(job), dumps(asked)), _SCHEMA)
        for _ in merge_levels(len(numbers), _MOST_AT_TOP):
            # The number of a group is that of its result on the next level.
            group = (found["number"] / FAN_IN).cast("long")
            found = found.withColumn("group", group).groupBy("group").applyInArrow(_merge, _SCHEMA)
        try:
            rows = found.collect()
        except Exception as error:
            said = str(error).strip().splitlines() or [""]
            raise InputError(f"Spark could not read the table: {said[0][:300]}") from error
        results = {int(row["number"]): pickle.loads(bytes(row["result"])) for row in rows}
        answer: Work = conclude([results[at] for at in sorted(results)])
        return answer

    def __getstate__(self) -> dict[str, Any]:
        raise InputError("the rows of this table are in partitions elsewhere, which cannot be sent to other processes")


def _perform(job: bytes, asked: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    from pyspark import TaskContext

    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    places = pickle.loads(asked)
    if number in places:
        at, given = places[number]
        result = perform(pickle.loads(job), number, _Batches(f"partition {number}", batches), given)
        yield _as_batch(at, result)


def _merge(table: Any) -> Any:
    import pyarrow

    rows = sorted(zip(table.column("number").to_pylist(), table.column("result").to_pylist()))
    merged = merge_results([pickle.loads(result) for _, result in rows])
    return pyarrow.Table.from_batches([_as_batch(rows[0][0] // FAN_IN, merged)])


def _as_batch(number: int, result: Any) -> Any:
    import pyarrow

    types = pyarrow.schema([("number", pyarrow.int64()), ("result", pyarrow.binary())])
    return pyarrow.RecordBatch.from_pylist([{"number": number, "result": pickle.dumps(result)}], schema=types)
