"""The one clock: until when a run may go on, and how it is told to end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from numbers import Real
from typing import Any

from acyclic.errors import Argument, InputError
from acyclic.facts import Ended, Fact


class Stopped(Exception):  # noqa: N818 - not an error: it carries a wanted end to whoever runs the work
    """Raised inside a run when its time is up or its callback asks for the end; ``end`` says which."""

    def __init__(self, end: Fact[Ended]) -> None:
        super().__init__(end)
        self.end = end


class Shared(float):
    """Seconds that are left of a limit which other work shares: a fit that gets them may not use them up."""


class Deadline:
    """Until when a run may go on, by the monotonic clock of this machine.

    Sent to another process or machine it arrives as the seconds that were left, so that no two clocks are compared.

    Parameters
    ----------
    seconds : float, optional
        From now; None for no limit.
    limit : float, optional
        The limit that was asked for, as words mention it, where ``seconds`` are what is left of it.
    undivided : bool
        Whether all of it is for one fit, which may use it up, and nothing follows.

    Examples
    --------
    >>> Deadline(None).left() is None, Deadline(0).passed()
    (True, True)
    """

    def __init__(self, seconds: float | None = None, limit: float | None = None, undivided: bool = False) -> None:
        if seconds is not None and not is_time_limit(seconds):
            raise InputError(Argument("time_limit"), f" has to be a number of seconds, at least 0; got {seconds!r}")
        self.limit, self.undivided = seconds if limit is None else limit, undivided
        self.at = inf if seconds is None else time.monotonic() + float(seconds)

    @classmethod
    def at_moment(cls, at: float, limit: float | None) -> Deadline:
        """A deadline of another process of this machine, whose monotonic clock is the same."""
        deadline = cls(None)
        deadline.at, deadline.limit = at, limit
        return deadline

    def for_one_fit(self) -> Deadline:
        """The same moment, for a fit after which nothing else has to be done."""
        deadline = Deadline.at_moment(self.at, self.limit)
        deadline.undivided = self.at != inf
        return deadline

    def left(self) -> float | None:
        """Seconds that remain, at least 0; None without limit."""
        return None if self.at == inf else max(self.at - time.monotonic(), 0.0)

    def passed(self) -> bool:
        """Whether the time is up."""
        return self.at != inf and time.monotonic() >= self.at

    def check(self) -> None:
        """Raise Stopped if the time is up."""
        if self.passed():
            raise Stopped(self.end())

    def end(self) -> Fact[Ended]:
        """The fact that the time was up."""
        return Fact.of(Ended.TIME_LIMIT, seconds=self.limit)

    def sooner(self, other: Deadline | float | None) -> Deadline:
        """This deadline, or the other, which may be given as seconds from now, if that comes first."""
        other = other if isinstance(other, Deadline) else Deadline(other)
        return other if other.at < self.at else self

    def __reduce__(self) -> tuple[Callable[..., Deadline], tuple[Any, ...]]:
        return Deadline, (self.left(), self.limit, self.undivided)


class Patience:
    """Takes Ctrl-C in the place of Python: while something is finished the first press waits, a second never does."""

    def __init__(self) -> None:
        self.presses = 0
        self._waits = [True]

    @property
    def pressed(self) -> bool:
        """Whether Ctrl-C was pressed since."""
        return self.presses > 0

    def __call__(self, *_: object) -> None:
        """What the system calls at Ctrl-C."""
        self.presses += 1
        if self.presses > 1 or not self._waits[-1]:
            raise KeyboardInterrupt

    @contextmanager
    def _waiting(self, waits: bool) -> Iterator[None]:
        self._waits.append(waits)
        try:
            if self.pressed and not waits:
                raise KeyboardInterrupt
            yield
        finally:
            self._waits.pop()


@contextmanager
def hold_interrupts() -> Iterator[Patience]:
    """Let Ctrl-C wait while what was found is judged or written; pressed a second time it ends at once.

    What computes inside goes on to answer it with `allow_interrupts`. Outside of the main thread, and where somebody
    else than Python takes Ctrl-C, nothing is changed.
    """
    found = _current()
    if found is not None:
        with found._waiting(True):
            yield found
        return
    fresh = Patience()
    if not _in_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield fresh
        return
    signal.signal(signal.SIGINT, fresh)
    try:
        yield fresh
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def allow_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C in this block, also inside of `hold_interrupts`, and for one that waited."""
    found = _current()
    if found is None:
        yield
        return
    with found._waiting(False):
        yield


def _current() -> Patience | None:
    handler = signal.getsignal(signal.SIGINT) if _in_main_thread() else None
    return handler if isinstance(handler, Patience) else None


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def is_time_limit(seconds: Any) -> bool:
    """Whether it is a number of seconds, at least 0."""
    if not isinstance(seconds, Real) or isinstance(seconds, bool):
        return False
    try:
        return float(seconds) >= 0
    except OverflowError:
        return False
