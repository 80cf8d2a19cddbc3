"""Partitions on Dask: those of a Dask frame, and Parquet files that the workers of a cluster see."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from acyclic.data.cluster import connected
from acyclic.data.kept_results import KeptResults
from acyclic.data.opening import cut_parquet, read_parquet_part
from acyclic.data.partitions import Job, Partition, Result, Work, conclude, merge_levels, merge_results, perform
from acyclic.deadline import Deadline, Stopped
from acyclic.errors import AcyclicError, Argument, InputError

__all__ = ["DaskEngine", "FilePart", "FramePart", "as_they_come", "is_dask_frame", "open_folder", "open_frame"]

# At most so many results come to the client, which is also in how many steps a run that was killed can go on.
_MOST_AT_TOP: Final = 64
# How often a result is asked for again whose workers died.
_TRIES: Final = 5
# Seconds without any worker after which nobody waits longer: a cluster that grows on demand takes minutes.
_PATIENCE: Final = 300.0
# Seconds between looks at results, and at who is there while no result comes.
_TICK: Final = 0.02
_LOOK: Final = 2.0


def is_dask_frame(source: Any) -> bool:
    """Whether it is a Dask data frame."""
    return type(source).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(source, "to_delayed")


@dataclass(frozen=True)
class FramePart:
    """A partition of a Dask frame: a pandas frame in the memory of a worker."""

    name: str
    frame: Any

    def begin(self, count: int) -> Any:
        """See Partition."""
        return self.frame.iloc[:count]

    def frames(self, columns: Sequence[Any]) -> Iterator[Any]:
        """See Partition."""
        yield self.frame[list(columns)]


@dataclass(frozen=True)
class FilePart:
    """A Parquet file, or some rows of it."""

    path: str
    start: int = 0
    count: int | None = None

    @property
    def name(self) -> str:
        """See Partition."""
        return self.path if self.count is None else f"{self.path} from row {self.start} on"

    def begin(self, count: int) -> Any:
        """See Partition."""
        return next(read_parquet_part(self.path, self.start, count, None))

    def frames(self, columns: Sequence[Any]) -> Iterator[Any]:
        """See Partition."""
        return read_parquet_part(self.path, self.start, self.count, columns)


@dataclass(frozen=True, eq=False)
class DaskEngine:
    """Partitions on Dask, each a `Partition` or, of a frame, what Dask computes it from.

    Parameters
    ----------
    parts : sequence
    cluster : str, Scheduler, distributed.Client or None
        Who works; None for the client of this process, if it has one, and else for its own threads.
    kept : KeptResults, optional
        Where partial results are kept, for a run that goes on.
    """

    parts: Sequence[Any]
    cluster: Any = None
    kept: KeptResults | None = None

    @property
    def count(self) -> int:
        """See Engine."""
        return len(self.parts)

    def reduce(
        self,
        job: Job[Work],
        given: Mapping[int, Any] | None = None,
        *,
        keep: str = "",
        deadline: Deadline | None = None,
    ) -> Work:
        """See Engine."""
        from dask.delayed import delayed

        numbers = range(self.count) if given is None else sorted(given)
        shared = delayed(job, pure=False, traverse=False)
        do, merge = delayed(_perform, pure=False), delayed(merge_results, pure=False)
        nodes = [do(shared, n, self.parts[n], None if given is None else given[n]) for n in numbers]
        for level in merge_levels(len(nodes), _MOST_AT_TOP):
            nodes = [merge([nodes[at] for at in group]) for group in level]
        known = self.kept.load(keep, len(nodes)) if self.kept is not None and keep else {}
        waiting = [at for at in range(len(nodes)) if at not in known]

        def found(at: int, result: Result) -> None:
            known[waiting[at]] = result
            if self.kept is not None and keep:
                self.kept.save(keep, waiting[at], result)

        with _client_of(self.cluster) as client:
            compute = _compute_here if client is None else _Asked(client, self, deadline or Deadline()).compute
            compute([nodes[at] for at in waiting], found)
        answer: Work = conclude([known[at] for at in range(len(nodes))])
        return answer

    def __getstate__(self) -> dict[str, Any]:
        raise InputError("the rows of this table are in partitions elsewhere, which cannot be sent to other processes")


def _perform(job: Job[Work], number: int, part: Any, given: Any) -> Any:
    partition: Partition = part if hasattr(part, "frames") else FramePart(f"partition {number}", part)
    return perform(job, number, partition, given)


@contextmanager
def _client_of(cluster: Any) -> Iterator[Any]:
    if cluster is None and "distributed" in sys.modules:
        from distributed import default_client

        try:
            cluster = default_client()
        except ValueError:
            cluster = None
    with connected(cluster) as client:
        yield client


def _compute_here(nodes: Sequence[Any], found: Callable[[int, Any], None]) -> None:
    """By the scheduler of this process, which uses its threads."""
    import dask.base

    compute: Any = dask.base.compute
    for at, result in enumerate(compute(*nodes)):
        found(at, result)


def as_they_come(client: Any, waiting: Any, deadline: Deadline) -> Iterator[Any]:
    """Futures of an `as_completed` as they are done, also those that are added meanwhile.

    Raises Stopped when the deadline passes, and InputError where nobody is there who works.
    """
    look, patience = Deadline(_LOOK), Deadline()
    while not waiting.is_empty():
        if waiting.has_ready():
            yield next(waiting)
            look, patience = Deadline(_LOOK), Deadline()
            continue
        deadline.check()
        if look.passed():
            look = Deadline(_LOOK)
            patience = Deadline() if client.nthreads() else patience.sooner(_PATIENCE)
        if patience.passed():
            raise InputError(f"the cluster has no workers, and none came in {_PATIENCE:g} seconds; start some")
        time.sleep(_TICK)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A client that is asked for results."""

    client: Any
    engine: DaskEngine
    deadline: Deadline

    def compute(self, nodes: Sequence[Any], found: Callable[[int, Any], None]) -> None:
        """Ask for all, and tell each as it comes; what is lost with its workers is asked for again."""
        from distributed import as_completed

        futures: dict[Any, int] = {}
        tries = dict.fromkeys(range(len(nodes)), 0)
        try:
            futures |= {future: at for at, future in enumerate(self.client.compute(list(nodes)))}
            waiting = as_completed(futures, loop=self.client.loop)
            for future in as_they_come(self.client, waiting, self.deadline):
                at = futures[future]
                if future.status == "finished":
                    found(at, future.result())
                    future.release()
                    continue
                error, tries[at] = self._why(future), tries[at] + 1
                if tries[at] >= _TRIES or not self._is_alive():
                    raise InputError(*self._tell(error)) from error
                future.retry()
                waiting.add(future)
        except (AcyclicError, Stopped):
            raise
        except Exception as error:  # whatever Dask raises when its scheduler is gone, of many kinds
            raise InputError(*self._tell(error)) from error
        finally:
            if self._is_alive():
                self.client.cancel([future for future in futures if not future.done()])

    @staticmethod
    def _why(future: Any) -> BaseException | None:
        try:
            error: BaseException | None = future.exception() if future.status == "error" else None
        except Exception as other:
            return other
        return error

    def _is_alive(self) -> bool:
        return bool(self.client.status == "running" and self.client.scheduler_comm is not None)

    def _tell(self, error: BaseException | None) -> tuple[Any, ...]:
        """What became of the cluster, and what is not lost."""
        # The client may not have noticed yet that nobody is at the other end.
        alive = self._is_alive() and type(error).__name__ != "CommClosedError"
        lost = "workers of the cluster died again and again" if alive else "the scheduler of the cluster is gone"
        said = f"{lost} ({type(error).__name__})" if error is not None else lost
        if self.engine.kept is not None and self.engine.kept.count:
            more = f"; {self.engine.kept.count} partial results are kept, and the same call goes on from them"
            return (said, more)
        return (f"{said}; nothing is kept unless there is a folder for it: ", Argument("partials", "folder"))


def open_frame(frame: Any, cluster: Any = None, partials: str | os.PathLike[str] | None = None) -> DaskEngine:
    """The partitions of a Dask frame."""
    parts = frame.to_delayed()
    kept = None if partials is None else KeptResults(partials, {"frame": str(parts[0].key), "count": str(len(parts))})
    return DaskEngine(parts, cluster, kept)


def open_folder(
    path: str | os.PathLike[str], cluster: Any, partials: str | os.PathLike[str] | None = None
) -> DaskEngine:
    """The Parquet files of a folder, or one such file, as the workers of a cluster see them."""
    with connected(cluster) as client:
        from distributed import as_completed

        # A path that only the workers know is none to this machine.
        whole = str(Path(path).absolute()) if Path(path).exists() else os.fspath(path)
        try:
            waiting = as_completed([client.submit(cut_parquet, whole, pure=False)], loop=client.loop)
            [found] = [future.result() for future in as_they_come(client, waiting, Deadline())]
        except InputError:
            raise
        except Exception as error:
            said = f"the workers of the cluster cannot list {whole}: {type(error).__name__}: {error}"
            raise InputError(said.splitlines()[0]) from error
    parts = [FilePart(file.path, file.start, file.rows) for file in found]
    kept = None if partials is None else KeptResults(partials, {"files": repr(found)})
    return DaskEngine(parts, cluster, kept)
