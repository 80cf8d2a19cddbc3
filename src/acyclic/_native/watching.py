"""Long kernels in a thread of their own, watched by the thread that asked for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from acyclic._native.library import address, check_status
from acyclic.deadline import Deadline, allow_interrupts

Flag = NDArray[np.int32]
Answer = TypeVar("Answer")
Part = TypeVar("Part")
Kernel = Callable[[int | None], int]

LONG = 8 * 10**6
"""From how many entries on work is watched: d² for each column, which 200 columns of 200 nodes reach. That takes 20 ms
or more, beside which what another thread costs, up to half a millisecond with its cold cache, is nothing."""

_GLANCE = 0.05
"""Seconds between looks at a deadline, and at Ctrl-C where a lock cannot be interrupted (Windows)."""


def run_watched(call: Callable[[Flag], Answer], deadline: Deadline | None = None) -> Answer:
    """Call ``call(flag)`` in another thread while this one waits; set the flag at Ctrl-C or when the time is up.

    The call hands the flag to kernels, which end soon after it is set. This thread waits for that, then lets the
    KeyboardInterrupt go on, or raises Stopped with the deadline's end. An exception of the call is raised here. Where
    nothing can end the work, outside of the main thread and without a deadline, it is called directly.

    Examples
    --------
    >>> run_watched(lambda flag: int(flag[0]), Deadline(60))
    0
    """
    if deadline is None and threading.current_thread() is not threading.main_thread():
        return call(np.zeros(1, dtype=np.int32))
    if deadline is not None:
        deadline.check()
    work = _Work(call)
    try:
        with allow_interrupts():
            threading.Thread(target=work.run, name="acyclic-kernel").start()
            work.wait(deadline)
    except BaseException:
        work.cancel()
        raise
    return work.answer()


def run_kernel(call: Kernel, *, size: int, purpose: str, deadline: Deadline | None = None) -> int:
    """What a kernel returns, called with the address of its flag: watched from `LONG` entries on, else without one."""
    if size < LONG:
        return check_status(call(None), purpose)
    return run_watched(lambda flag: check_status(call(address(flag)), purpose), deadline)


def run_parts(
    call: Callable[[Part, int | None], int],
    parts: Sequence[Part],
    *,
    size: int,
    purpose: str,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> None:
    """As `run_kernel`, for the parts of one work, on so many threads."""

    def run(flag: int | None) -> int:
        if threads <= 1 or len(parts) == 1:
            return min(call(part, flag) for part in parts)
        with ThreadPoolExecutor(min(threads, len(parts))) as pool:
            return min(pool.map(lambda part: call(part, flag), parts))

    run_kernel(run, size=size, purpose=purpose, deadline=deadline)


class _Work(Generic[Answer]):
    """One call in a thread. Its flag is its own: whoever else works under the same deadline does not notice it."""

    def __init__(self, call: Callable[[Flag], Answer]) -> None:
        self.call, self.flag = call, np.zeros(1, dtype=np.int32)
        self.begun, self.done = threading.Lock(), threading.Event()
        self.results: list[Answer] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        """What the thread does."""
        if not self.begun.acquire(blocking=False):
            return
        try:
            self.results.append(self.call(self.flag))
        except BaseException as error:  # whatever it is, it is for the thread that waits
            self.error = error
        finally:
            self.done.set()

    def wait(self, deadline: Deadline | None) -> None:
        """Return when the call has; raise when it has to end."""
        while True:
            left = None if deadline is None else deadline.left()
            if self.done.wait(_GLANCE if left is None else min(left, _GLANCE)):
                return
            if deadline is not None:
                deadline.check()

    def cancel(self) -> None:
        """Have the call end, and return when it has: its arrays are free for others then."""
        self.flag[0] = 1
        # Ctrl-C may come before the thread has begun, which it then never does.
        if self.begun.acquire(blocking=False):
            return
        while not self.done.is_set():
            try:
                self.done.wait(_GLANCE)
            except KeyboardInterrupt:
                continue

    def answer(self) -> Answer:
        """What the call returned or raised."""
        if self.error is not None:
            raise self.error
        return self.results[0]
