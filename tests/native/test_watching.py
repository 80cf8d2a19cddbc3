"""Long kernels end at Ctrl-C, at a deadline and at a flag; what is not stopped has the same bits as without a watch."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from acyclic._native import elastic_nets, run_watched, watching
from acyclic._native.library import STOPPED, address, library
from acyclic.deadline import Deadline, Stopped
from acyclic.facts import Ended
from native.long_work import LONG_WORK, dependent_columns, run_elastic_nets

# A kernel ends within milliseconds of its flag; a machine that is busy otherwise may take this long to say so.
SOON = 20.0


def is_at_work():
    return any(thread.name == "acyclic-kernel" for thread in threading.enumerate())


def wait_for_rest():
    """The thread's last instructions come after it has said that it is done."""
    end = time.monotonic() + SOON
    while is_at_work() and time.monotonic() < end:
        time.sleep(0.01)
    return not is_at_work()


@contextmanager
def later(seconds, action):
    timer = threading.Timer(seconds, action)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends itself a signal")
@pytest.mark.parametrize("work", LONG_WORK)
def test_ctrl_c_ends_a_kernel(work):
    begun = time.monotonic()
    with later(0.5, press_ctrl_c), pytest.raises(KeyboardInterrupt):
        work()
    assert time.monotonic() - begun < SOON
    assert wait_for_rest()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends itself a signal")
def test_ctrl_c_ends_all_threads_of_a_work():
    with later(0.5, press_ctrl_c), pytest.raises(KeyboardInterrupt):
        run_elastic_nets(threads=3)
    assert wait_for_rest()


@pytest.mark.slow
@pytest.mark.parametrize("work", LONG_WORK)
def test_a_deadline_ends_a_kernel(work):
    begun = time.monotonic()
    with pytest.raises(Stopped) as stop:
        work(Deadline(0.3))
    assert stop.value.end.kind is Ended.TIME_LIMIT and stop.value.end["seconds"] == 0.3
    assert time.monotonic() - begun < SOON
    assert wait_for_rest()


def test_a_deadline_is_kept_in_any_thread():
    ends = []

    def work():
        try:
            run_elastic_nets(Deadline(0.2))
        except Stopped as stop:
            ends.append(stop.end.kind)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(SOON)
    assert ends == [Ended.TIME_LIMIT]


def test_work_that_is_late_is_not_begun():
    begun = []
    with pytest.raises(Stopped):
        run_watched(begun.append, Deadline(0))
    assert not begun


def test_an_error_of_the_work_is_raised_where_it_was_asked_for():
    def fail(_):
        raise MemoryError("none")

    with pytest.raises(MemoryError, match="none"):
        run_watched(fail, Deadline(60))


def test_short_work_takes_no_thread(monkeypatch):
    monkeypatch.setattr(watching, "run_watched", None)
    d = 20
    limit, zero = np.broadcast_to(np.inf, (d, d)), np.zeros((d, d))
    elastic_nets(np.eye(d), np.ones(d), zero, zero, zero, -limit, limit, zero, 1e-9, deadline=Deadline(0))


def test_being_watched_changes_no_bit(monkeypatch):
    d = 40
    R = dependent_columns(d, 200)
    limit, zero = np.broadcast_to(np.inf, (d, d)), np.zeros((d, d))
    given = R, np.ones(d), -R, np.broadcast_to(0.01, (d, d)), zero, -limit, limit, zero, 1e-9
    plain = elastic_nets(*given, loops=False)
    monkeypatch.setattr(watching, "LONG", 0)
    for deadline in (None, Deadline(600)):
        assert elastic_nets(*given, loops=False, deadline=deadline).tobytes() == plain.tobytes()


D = 12
SET = np.ones(1, dtype=np.int32)


def start():
    rng = np.random.default_rng(2)
    return dependent_columns(D, 60), rng.standard_normal((D, D)), np.zeros((D, D)), np.full((D, D), np.inf)


def test_an_elastic_net_told_to_stop_keeps_its_start():
    R, B, zero, limit = start()
    before = B.copy()
    arrays = [address(array) for array in (R, np.ones(D), zero, zero, zero, -limit, limit, B)]
    assert library().elastic_net(D, 0, D, *arrays, 1e-9, 100, 0, 1, 0, address(SET)) == STOPPED
    np.testing.assert_array_equal(B, before)


def test_a_selection_told_to_stop_keeps_its_rows():
    R, slopes, _, _ = start()
    before, left = slopes.copy(), np.ones(D)
    rules = address(R), 60.0, 4.0, None, None, None, D, 5
    assert library().select_parents(D, 0, D, *rules, address(slopes), address(left), address(SET)) == STOPPED
    np.testing.assert_array_equal(slopes, before)


def test_a_polish_told_to_stop_keeps_its_order():
    R, *_ = start()
    L, order, weight = np.linalg.cholesky(R), np.arange(D, dtype=np.int32), np.ones(D)
    before = L.copy()
    given = *(address(array) for array in (L, order, weight)), None, D, 100, 1e-9
    assert library().polish_order(D, *given, address(SET)) == STOPPED
    np.testing.assert_array_equal(order, np.arange(D))
    np.testing.assert_array_equal(L, before)


def test_an_exact_search_told_to_stop_says_so():
    R, *_ = start()
    best, total = np.empty((D, 2 ** (D - 1))), np.empty(2**D)
    rules = address(R), 60.0, 4.0, None, None, None, D
    assert library().exact_scores(D, 0, D, *rules, address(best), address(SET)) == STOPPED
    assert library().exact_scores(D, 0, D, *rules, address(best), None) == 0
    assert library().exact_orders(D, address(best), 0, address(total), address(SET)) == STOPPED
    parents = np.zeros(D, dtype=np.uint32)
    tables = address(best), address(total), address(total), address(parents)
    scores = [np.empty((D,) * k) for k in (2, 2, 3)] + [np.empty((D,) * k, dtype=np.uint32) for k in (3, 3, 4)]
    results = *(address(array) for array in scores), address(SET)
    assert library().exact_margins(D, 0, D, *rules, *tables, 0.0, 1e-7, *results) == STOPPED
