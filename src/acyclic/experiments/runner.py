"""Computes the cases that a store does not hold yet, here or on a cluster, and writes each as it ends."""

from __future__ import annotations

import signal
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from threadpoolctl import threadpool_limits

from acyclic.deadline import Deadline
from acyclic.experiments.cases import Case
from acyclic.experiments.measures import MEASURES, processor_time
from acyclic.experiments.store import Record, Store
from acyclic.findings.origin import list_versions
from acyclic.trust.workers import Answer, Resources, compute_answers

# Work that does not listen to its limit is ended by force when so much more has passed.
HARD_FACTOR, HARD_GRACE = 1.5, 10.0


@dataclass(frozen=True)
class Advance:
    """How far a run is: cases written out of all, failures among them, and the share of the work by past times."""

    done: int
    total: int
    failed: int
    share: float


@dataclass(frozen=True)
class Tally:
    """How a run ended.

    Attributes
    ----------
    computed : int
        Cases written in this run, failures included.
    failures : tuple of Record
        Those of this run.
    left : int
        Cases that this run did not come to.
    interrupted : bool
        Whether Ctrl-C or the callback ended it.
    """

    computed: int
    failures: tuple[Record, ...]
    left: int
    interrupted: bool


def run(
    cases: Sequence[Case],
    store: Store,
    *,
    n_jobs: int | None = 1,
    cluster: Any = None,
    retry_failed: bool = False,
    deadline: Deadline | None = None,
    callback: Callable[[Advance], bool | None] | None = None,
) -> Tally:
    """Compute what the store does not hold, each answer a function of its case alone.

    Only this process writes. If it is killed, the cases under way are lost and no other; a worker that is killed costs
    nothing. Ctrl-C, or a true answer of the callback, ends the run with what is there.

    Parameters
    ----------
    cases : sequence of Case
        Of one or several plans; the same case twice is computed once, under the longer limit.
    store : Store
    n_jobs : int or None
        Processes, as joblib counts them.
    cluster : str or distributed.Client, optional
        A Dask scheduler in the place of local processes. In its threads only the limit that learners heed holds; work
        that does not listen goes on.
    retry_failed : bool
        Compute cases again that failed.
    callback : callable, optional
        Called with an `Advance` after each case.
    deadline : Deadline, optional
        When it has passed no further case is begun.
    """
    waiting = store.missing(merged(cases), retry_failed)
    return compute_all(waiting, store, n_jobs=n_jobs, cluster=cluster, deadline=deadline, callback=callback)


def compute_all(
    waiting: Sequence[Case],
    store: Store,
    *,
    n_jobs: int | None = 1,
    cluster: Any = None,
    deadline: Deadline | None = None,
    callback: Callable[[Advance], bool | None] | None = None,
) -> Tally:
    """As `run`, for cases that are known to be missing from the store, each of them once."""
    forecast = _Forecast(waiting, store.seconds())
    failures: list[Record] = []
    computed, interrupted = 0, False
    stream = compute_answers(_job, None, waiting, Resources(n_jobs, cluster))
    try:
        for number, record, failure in stream:
            found = record or _failed(waiting[number], failure, failure)
            store.add(found)
            computed += 1
            failures += [found] if found.status == "failed" else []
            forecast.note(found)
            if callback and callback(Advance(computed, len(waiting), len(failures), forecast.share)):
                interrupted = True
                break
            if deadline and deadline.passed():
                break
    except KeyboardInterrupt:
        interrupted = True
    finally:
        stream.close()
    return Tally(computed, tuple(failures), len(waiting) - computed, interrupted)


def merged(cases: Sequence[Case]) -> list[Case]:
    """Each case once, where it stands first, with the largest of its limits."""
    first: dict[str, Case] = {}
    for case in cases:
        first[case.key] = first.get(case.key, case).widened(case)
    return list(first.values())


def compute(case: Case) -> Record:
    """One case on one thread; whatever it raises is in the record."""
    wall, cpu = time.perf_counter(), processor_time()
    try:
        with warnings.catch_warnings(), threadpool_limits(1), _interruptible(), _hard_end(case.time_limit):
            warnings.simplefilter("ignore")
            outcome = MEASURES[case.measure].compute(case)
    except _TimeUp as error:
        failed = replace(_failed(case, f"time limit: {error}", traceback.format_exc()), values={"stopped_early": True})
    except Exception as error:  # a failure costs this case, not the others
        failed = _failed(case, f"{type(error).__name__}: {error}", traceback.format_exc())
    else:
        told = outcome.values, outcome.verdict, outcome.seconds, outcome.cpu_seconds
        return Record(case, "done", *told, versions=_versions(), finished=_now())
    return replace(failed, seconds=time.perf_counter() - wall, cpu_seconds=processor_time() - cpu)


def _job(_: None, number: int, case: Case, deadline: Deadline) -> Answer:
    return number, compute(case), ""


def _failed(case: Case, verdict: str, trace: str) -> Record:
    return Record(case, "failed", {}, verdict, 0.0, 0.0, versions=_versions(), traceback=trace, finished=_now())


def _versions() -> dict[str, str]:
    torch = {"torch": str(sys.modules["torch"].__version__)} if "torch" in sys.modules else {}
    return {**list_versions(), "scikit-learn": metadata.version("scikit-learn"), **torch}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class _TimeUp(BaseException):
    """Not an Exception: a learner that catches those must not go on."""


@contextmanager
def _hard_end(limit: float | None) -> Iterator[None]:
    """End a block by force some time after its limit, where the system has alarms and this is the main thread."""
    if limit is None or not _in_main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    seconds = HARD_FACTOR * limit + HARD_GRACE

    def ring(*_: object) -> None:
        raise _TimeUp(f"{limit:g} s were given, and it did not end by itself within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    # Once more every few seconds: an exception is lost where Python has nobody to tell it to.
    signal.setitimer(signal.ITIMER_REAL, seconds, 5.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the run: a learner that answers it with the best so far must not pass for one that is done."""
    if not _in_main_thread():
        yield
        return
    pressed = False

    def interrupt(*_: object) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class _Forecast:
    """The share of the work that is done, by the mean time of each setting, or of all where there is none yet."""

    def __init__(self, waiting: Sequence[Case], known: Mapping[str, tuple[int, float]]) -> None:
        self.settings = {case.key: case.setting for case in waiting}
        self.left = Counter(self.settings.values())
        self.done: Counter[str] = Counter()
        self.times = {setting: known[setting] for setting in self.left if setting in known}

    def note(self, record: Record) -> None:
        """Count a case that has ended."""
        setting = self.settings[record.case.key]
        count, total = self.times.get(setting, (0, 0.0))
        self.times[setting] = count + 1, total + record.seconds
        self.left[setting] -= 1
        self.done[setting] += 1

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        # A little for each case: what takes no time at all counts too.
        means = {setting: total / count + 1e-3 for setting, (count, total) in self.times.items()}
        typical = sum(means.values()) / len(means)
        spent = sum(number * means[setting] for setting, number in self.done.items())
        ahead = sum(number * means.get(setting, typical) for setting, number in self.left.items())
        return spent / (spent + ahead)
