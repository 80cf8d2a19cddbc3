"""Many independent fits: in this process, in others of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from numpy.random import SeedSequence
from threadpoolctl import threadpool_limits

from acyclic.data.cluster import connected
from acyclic.data.dask_engine import as_they_come
from acyclic.deadline import Deadline, Stopped, allow_interrupts
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact
from acyclic.files import Journal
from acyclic.running import Key, Monitor, check_key
from acyclic.types import Callback, Progress

Payload = TypeVar("Payload")
Task = Callable[[Payload, Any, Deadline], Any]
"""Takes what all draws share, the seed of one or what it is made of, and the deadline.

None stands for a draw that time cut short.
"""

# A process may die once by chance, for want of memory; a job that kills it does so again.
_TRIES_TOGETHER = 2
# Seconds for the answers of workers that heed the deadline themselves to arrive.
_GRACE = 0.5
# Jobs that a cluster has at a time, for each of its threads: Dask does what it was asked for first, so that what others
# ask for would wait for the end of all that is there.
_AHEAD = 4


@dataclass(frozen=True)
class Resources:
    """Where and for how long to compute.

    Attributes
    ----------
    n_jobs : int or None
        Processes, as joblib counts them.
    cluster : str, Scheduler or distributed.Client, optional
        A Dask scheduler, which then takes the place of local processes.
    time_limit : float, optional
        Seconds.
    callback : callable, optional
        Called with a `Progress` after each draw; a true answer ends the run.
    """

    n_jobs: int | None = None
    cluster: Any = None
    time_limit: float | Deadline | None = None
    callback: Callback | None = None
    started: float = field(default_factory=time.monotonic)
    deadline: Deadline = field(init=False)

    def __post_init__(self) -> None:
        given = self.time_limit
        object.__setattr__(self, "deadline", given if isinstance(given, Deadline) else Deadline(given))

    @contextmanager
    def connected(self) -> Iterator[Resources]:
        """These with the client of their cluster, so that one that does not answer is found before any work."""
        with connected(self.cluster) as client:
            yield replace(self, cluster=client, time_limit=self.deadline)

    def ends_after(self, done: int, total: int, what: str = "draw") -> bool:
        """Tell the callback how far the run is; whether it asks for the end."""
        if self.callback is None:
            return False
        seconds = time.monotonic() - self.started
        stage = f"{what} {done} of {total}"
        return bool(self.callback(Progress(stage, done, done, np.nan, np.nan, np.nan, 0, seconds)))


@dataclass(frozen=True)
class Harvest:
    """Answers by draw in the order of the draws, why others were lost, and how the run ended."""

    answers: Mapping[int, Any]
    lost: Mapping[int, str]
    end: Fact[Ended]


class Kept:
    """Draws that are written as they come, and found again by a run that goes on from them.

    Parameters
    ----------
    path : path
    key : Key
        What the draws depend on; a file of other draws is refused.
    """

    FORMAT = "acyclic draws 1"

    def __init__(self, path: str | os.PathLike[str], key: Key) -> None:
        head = {"format": self.FORMAT, "key": dict(key)}
        self._journal, self._synced = Journal(path, head), time.monotonic()
        try:
            if self._journal.head.get("format") != self.FORMAT:
                raise InputError(f"{path} holds no draws of this version of acyclic; name another file")
            check_key(path, self._journal.head.get("key", {}), key)
        except BaseException:
            self.close()
            raise
        self.draws: dict[int, Any] = {int(draw): plain for draw, plain in self._journal.entries}

    def add(self, draw: int, plain: Any) -> None:
        """Write a draw; a disk that is full now must not cost the others."""
        try:
            self._journal.append([draw, plain])
            if time.monotonic() - self._synced > Monitor.every:
                self._journal.sync()
                self._synced = time.monotonic()
        except OSError as error:
            said = f"draws could not be kept in {self._journal.path} ({error.strerror or error}); the run goes on"
            warnings.warn(said, RuntimeWarning, stacklevel=2)

    def close(self) -> None:
        """Let go of the file."""
        self._journal.close()


def run_draws(
    task: Task[Payload],
    payload: Payload,
    seeds: Sequence[Any],
    resources: Resources,
    answers: Mapping[int, Any] | None = None,
    keep: Callable[[int, Any], None] = lambda draw, answer: None,
    only: Collection[int] | None = None,
) -> Harvest:
    """Compute every draw, each answer a function of payload and seed alone.

    A draw whose process dies is computed again; if that fails too it is lost, and only that one. Time limit, callback
    and Ctrl-C end the run with what is there. Draws whose ``answers`` are known are not computed, nor others than
    ``only``; ``keep`` is told each new one. Whatever a draw is made of may stand in the place of its seed.
    """
    known = {draw: answer for draw, answer in (answers or {}).items() if draw < len(seeds)}
    waiting = [draw for draw in (range(len(seeds)) if only is None else sorted(only)) if draw not in known]
    lost: dict[int, str] = {}
    end = Fact.of(Ended.COMPLETE)
    stream = compute_answers(partial(_guarded, task), payload, [seeds[draw] for draw in waiting], resources)
    try:
        with allow_interrupts():
            for number, answer, failure in stream:
                if failure:
                    lost[waiting[number]] = failure
                elif answer is not None:
                    known[waiting[number]] = answer
                    keep(waiting[number], answer)
                if resources.ends_after(len(known), len(seeds)):
                    end = Fact.of(Ended.CALLBACK)
                    break
    except KeyboardInterrupt:
        end = Fact.of(Ended.INTERRUPTED)
    finally:
        stream.close()
    if end.kind.converged and any(draw not in known and draw not in lost for draw in waiting):
        end = resources.deadline.end()
    return Harvest(dict(sorted(known.items())), dict(sorted(lost.items())), end)


Answer = tuple[int, Any, str]
Answers = Generator[Answer, None, None]


def compute_answers(job: Callable[..., Answer], payload: Any, items: Sequence[Any], resources: Resources) -> Answers:
    """Answers as they come: `job(payload, number, item, deadline)` gives (number, answer, failure) for each item.

    A job whose process dies is done again; if that fails too its failure is told, and only that one. Processes of this
    machine end soon after the one that started them. After the deadline nothing is begun.
    """
    if not items or resources.deadline.passed():
        return _nothing()
    stream = _on_cluster if resources.cluster is not None else _on_this_machine
    return stream(job, payload, items, resources)


def _nothing() -> Answers:
    yield from ()


def _guarded(task: Task[Payload], payload: Payload, draw: int, seed: Any, deadline: Deadline) -> Answer:
    """One draw on one BLAS thread, which keeps its bits the same wherever it runs."""
    if deadline.passed():
        return draw, None, ""
    try:
        with threadpool_limits(1):
            return draw, task(payload, seed, deadline), ""
    except Exception as error:  # whatever a learner raises costs this draw, not the others
        return draw, None, f"{type(error).__name__}: {error}"


def _on_this_machine(job: Callable[..., Answer], payload: Any, items: Sequence[Any], resources: Resources) -> Answers:
    if effective_n_jobs(resources.n_jobs) == 1:
        for number, item in enumerate(items):
            yield job(payload, number, item, resources.deadline)
        return
    waiting = dict(enumerate(items))
    while waiting:
        for _ in range(_TRIES_TOGETHER):
            try:
                with closing(_pooled(job, payload, dict(waiting), resources)) as stream:
                    for answer in stream:
                        del waiting[answer[0]]
                        yield answer
                return
            except BrokenProcessPool:
                continue
        # Some job kills its process: alone in a pool, each can harm only itself. It is among the first, for joblib has
        # no more than two for each process under way.
        for number in list(waiting)[: 2 * effective_n_jobs(resources.n_jobs)]:
            alone = {number: waiting.pop(number)}
            try:
                yield from _pooled(job, payload, alone, resources)
            except BrokenProcessPool as error:
                yield number, None, f"its process died: {error}".splitlines()[0]


def _pooled(
    job: Callable[..., Answer], payload: Any, items: Mapping[int, Any], resources: Resources
) -> Generator[Answer, None, None]:
    with _processes():
        parallel = Parallel(n_jobs=resources.n_jobs, return_as="generator_unordered", batch_size=1)
    # What waits for a process of this machine must not gain time by it: the moment is sent, not the seconds left.
    until = resources.deadline.at, resources.deadline.limit
    stream = parallel(delayed(_local)(os.getpid(), until, job, payload, number, item) for number, item in items.items())
    try:
        for answer in stream:  # noqa: UP028 - closed below, where the warning is silenced
            yield answer
    finally:
        with warnings.catch_warnings():
            # To close the stream early is how a run ends before its time, not an oversight to warn of.
            warnings.simplefilter("ignore", UserWarning)
            stream.close()


def _processes() -> Any:
    """Where joblib starts processes: on one thread each, and watching this one from their first moment."""
    try:
        return parallel_config(backend="loky", inner_max_num_threads=1, initializer=_follow, initargs=(os.getpid(),))
    except TypeError:  # joblib before 1.5; they watch from their first job on
        return parallel_config(backend="loky", inner_max_num_threads=1)


def _local(
    parent: int, until: tuple[float, float | None], job: Callable[..., Answer], payload: Any, number: int, item: Any
) -> Answer:
    _follow(parent)
    return job(payload, number, item, Deadline.at_moment(*until))


@cache
def _follow(parent: int) -> None:
    """End this process soon after its parent: nobody else would take its answers."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    if hasattr(os, "getppid") and os.getpid() != parent:
        threading.Thread(target=watch, name="acyclic-parent", daemon=True).start()


def _on_cluster(job: Callable[..., Answer], payload: Any, items: Sequence[Any], resources: Resources) -> Answers:
    with connected(resources.cluster) as client:
        yield from _of_client(client, job, payload, items, resources)


def _of_client(
    client: Any, job: Callable[..., Answer], payload: Any, items: Sequence[Any], resources: Resources
) -> Answers:
    from distributed import as_completed

    left, waiting = resources.deadline.left(), deque(range(len(items)))
    futures: dict[Any, int] = {}
    try:
        with warnings.catch_warnings():
            # Rows may be large. As the result of a task they are made again when the workers that hold them are gone,
            # which data that were scattered to them, as the warning advises, are not.
            warnings.simplefilter("ignore", UserWarning)
            shared = client.submit(_same, payload, pure=False)
        given = {"job": job, "payload": shared, "deadline": resources.deadline}
        stream = as_completed([], loop=client.loop)

        def ask() -> None:
            room = _AHEAD * max(sum(client.nthreads().values()), 1) - len(futures)
            for number in [waiting.popleft() for _ in range(min(room, len(waiting)))]:
                future = client.submit(_remote, number, items[number], pure=False, retries=1, **given)
                futures[future] = number
                stream.add(future)

        ask()
        for future in as_they_come(client, stream, Deadline(None if left is None else left + _GRACE)):
            number = futures.pop(future)
            if future.status in ("lost", "pending"):
                # Its worker died with the answer before that was brought here; the scheduler has it computed again.
                with suppress(TimeoutError):
                    future.exception(timeout=resources.deadline.left())
            yield future.result() if future.status == "finished" else (number, None, _failure(future))
            if waiting:
                ask()
    except Stopped:
        return
    except OSError:
        for number in (*futures.values(), *waiting):
            yield number, None, "the scheduler of the cluster is gone"
    finally:
        if client.status == "running":
            client.cancel(list(futures))


def _remote(number: int, item: Any, *, job: Callable[..., Answer], payload: Any, deadline: Deadline) -> Answer:
    return job(payload, number, item, deadline)


def _same(payload: Payload) -> Payload:
    return payload


def _failure(future: Any) -> str:
    error = future.exception() if future.status == "error" else None
    return f"{type(error).__name__}: {error}" if error else f"its task was {future.status}"


def draw_seeds(random_state: int | SeedSequence, count: int) -> list[SeedSequence]:
    """One independent seed per draw, so that a draw is the same wherever and whenever it is computed."""
    if isinstance(random_state, SeedSequence):
        # Spawning from the caller's own object would change it, and the next call with it.
        return SeedSequence(random_state.entropy, spawn_key=(*random_state.spawn_key, 0)).spawn(count)
    return SeedSequence(int(random_state)).spawn(count)
