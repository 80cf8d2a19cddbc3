"""Many independent fits: in this process, in others of this machine, or on a Dask cluster."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from numpy.random import SeedSequence
from threadpoolctl import threadpool_limits

from acyclic.errors import InputError, MissingExtraError
from acyclic.trust.fitting import time_left
from acyclic.types import Callback, Progress

Payload = TypeVar("Payload")
Task = Callable[[Payload, SeedSequence, float | None], Any]
"""Takes what all draws share, the seed of one, and the deadline; None stands for a draw that time cut short."""

_TRIES_TOGETHER = 2
_GRACE = 0.5


@dataclass(frozen=True)
class Plan:
    """Where and for how long to compute.

    Attributes
    ----------
    n_jobs : int or None
        Processes, as joblib counts them.
    cluster : str or distributed.Client, optional
        A Dask scheduler, which then takes the place of local processes.
    time_limit : float, optional
        Seconds.
    callback : callable, optional
        Called with a `Progress` after each draw; a true answer ends the run.
    """

    n_jobs: int | None = None
    cluster: Any = None
    time_limit: float | None = None
    callback: Callback | None = None
    started: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"time_limit has to be a number of seconds, at least 0; got {self.time_limit}")
        if self.n_jobs is not None and (isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, int)):
            raise InputError(f"n_jobs is {self.n_jobs!r}; give a number of processes, -1 for all processors, or None")
        if self.n_jobs == 0:
            raise InputError("n_jobs is 0; give a number of processes, -1 for all processors, or None")

    @property
    def deadline(self) -> float | None:
        """When the time is up, on the clock of `time.time`."""
        return None if self.time_limit is None else self.started + self.time_limit

    def ends_after(self, done: int, total: int, what: str = "draw") -> bool:
        """Tell the callback how far the run is; whether it asks for the end."""
        if self.callback is None:
            return False
        seconds = time.time() - self.started
        stage = f"{what} {done} of {total}"
        return bool(self.callback(Progress(stage, done, done, np.nan, np.nan, np.nan, 0, seconds)))


@dataclass(frozen=True)
class Harvest:
    """Answers by draw in the order of the draws, why others were lost, and why the run ended early, if it did."""

    answers: Mapping[int, Any]
    lost: Mapping[int, str]
    ended: str = ""


def run(task: Task[Payload], payload: Payload, seeds: list[SeedSequence], plan: Plan) -> Harvest:
    """Compute every draw, each answer a function of payload and seed alone.

    A draw whose process dies is computed again; if that fails too it is lost, and only that one. Time limit, callback
    and Ctrl-C end the run with what is there.
    """
    answers: dict[int, Any] = {}
    lost: dict[int, str] = {}
    stream = outcomes(partial(_guarded, task), payload, seeds, plan)
    ended = ""
    try:
        for draw, answer, failure in stream:
            if failure:
                lost[draw] = failure
            elif answer is not None:
                answers[draw] = answer
            if plan.ends_after(len(answers), len(seeds)):
                ended = "the callback asked for the end"
                break
    except KeyboardInterrupt:
        ended = "it was interrupted"
    finally:
        stream.close()
    if not ended and len(answers) + len(lost) < len(seeds):
        ended = f"the time limit of {plan.time_limit:g} s was reached"
    return Harvest(dict(sorted(answers.items())), dict(sorted(lost.items())), ended)


Outcome = tuple[int, Any, str]
Outcomes = Generator[Outcome, None, None]


def outcomes(job: Callable[..., Outcome], payload: Any, items: Sequence[Any], plan: Plan) -> Outcomes:
    """Answers as they come: `job(payload, number, item, deadline)` gives (number, answer, failure) for each item.

    A job whose process dies is done again; if that fails too its failure is told, and only that one.
    """
    stream = _on_cluster if plan.cluster is not None else _on_this_machine
    return stream(job, payload, items, plan)


def _guarded(task: Task[Payload], payload: Payload, draw: int, seed: SeedSequence, deadline: float | None) -> Outcome:
    """One draw on one BLAS thread, which keeps its bits the same wherever it runs."""
    if time_left(deadline) == 0:
        return draw, None, ""
    try:
        with threadpool_limits(1):
            return draw, task(payload, seed, deadline), ""
    except Exception as error:  # whatever a learner raises costs this draw, not the others
        return draw, None, f"{type(error).__name__}: {error}"


def _on_this_machine(job: Callable[..., Outcome], payload: Any, items: Sequence[Any], plan: Plan) -> Outcomes:
    if effective_n_jobs(plan.n_jobs) == 1:
        for number, item in enumerate(items):
            yield job(payload, number, item, plan.deadline)
        return
    waiting = dict(enumerate(items))
    while waiting:
        for _ in range(_TRIES_TOGETHER):
            try:
                with closing(_pooled(job, payload, dict(waiting), plan)) as stream:
                    for outcome in stream:
                        del waiting[outcome[0]]
                        yield outcome
                return
            except BrokenProcessPool:
                continue
        # Some job kills its process: alone in a pool, each can harm only itself. It is among the first, for joblib has
        # no more than two for each process under way.
        for number in list(waiting)[: 2 * effective_n_jobs(plan.n_jobs)]:
            alone = {number: waiting.pop(number)}
            try:
                yield from _pooled(job, payload, alone, plan)
            except BrokenProcessPool as error:
                yield number, None, f"its process died: {error}".splitlines()[0]


def _pooled(
    job: Callable[..., Outcome], payload: Any, items: Mapping[int, Any], plan: Plan
) -> Generator[Outcome, None, None]:
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=plan.n_jobs, return_as="generator_unordered", batch_size=1)
    stream = parallel(delayed(job)(payload, number, item, plan.deadline) for number, item in items.items())
    try:
        for outcome in stream:  # noqa: UP028 - closed below, where the warning is silenced
            yield outcome
    finally:
        with warnings.catch_warnings():
            # To close the stream early is how a run ends before its time, not an oversight to warn of.
            warnings.simplefilter("ignore", UserWarning)
            stream.close()


def _on_cluster(job: Callable[..., Outcome], payload: Any, items: Sequence[Any], plan: Plan) -> Outcomes:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingExtraError("cluster=…", "distributed", "cluster") from error
    own = not isinstance(plan.cluster, Client)
    client = _connected(plan.cluster) if own else plan.cluster
    futures: dict[Any, int] = {}
    try:
        with warnings.catch_warnings():
            # Rows may be large. As the result of a task they are made again when the workers that hold them are gone,
            # which data that were scattered to them, as the warning advises, are not.
            warnings.simplefilter("ignore", UserWarning)
            shared = client.submit(_same, payload, pure=False)
        given = {"job": job, "payload": shared, "deadline": plan.deadline}
        submitted = client.map(_remote, range(len(items)), items, pure=False, retries=1, **given)
        futures = {future: number for number, future in enumerate(submitted)}
        left = time_left(plan.deadline)
        for future in as_completed(futures, loop=client.loop, timeout=None if left is None else left + _GRACE):
            number = futures[future]
            yield future.result() if future.status == "finished" else (number, None, _failure(future))
    except TimeoutError:
        return
    finally:
        client.cancel([future for future in futures if not future.done()])
        if own:
            client.close()


def _remote(number: int, item: Any, *, job: Callable[..., Outcome], payload: Any, deadline: float | None) -> Outcome:
    return job(payload, number, item, deadline)


def _same(payload: Payload) -> Payload:
    return payload


def _failure(future: Any) -> str:
    error = future.exception() if future.status == "error" else None
    return f"{type(error).__name__}: {error}" if error else f"its task was {future.status}"


def _connected(address: Any) -> Any:
    from distributed import Client

    if not isinstance(address, str):
        raise InputError(f"cluster is {address!r}; give the address of a Dask scheduler such as 'tcp://host:8786'")
    try:
        return Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r}: {error}") from error
