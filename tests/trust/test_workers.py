"""Draws in other processes and on a Dask cluster: a killed worker costs its own draw at most."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.random import SeedSequence

import acyclic
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.errors import InputError, MissingExtraError
from acyclic.facts import Ended, Remark
from acyclic.trust import workers
from acyclic.trust.bootstrap import bootstrap
from acyclic.trust.workers import Resources, compute_answers, draw_seeds

DATA = acyclic.simulate(n_nodes=6, n=200, random_state=3)

pytestmark = pytest.mark.slow


def test_seeds_are_fixed_by_the_state_and_leave_it_unchanged():
    state = SeedSequence(7)
    once, again = draw_seeds(state, 3), draw_seeds(state, 3)
    assert [s.generate_state(2).tolist() for s in once] == [s.generate_state(2).tolist() for s in again]
    assert len({tuple(s.generate_state(2)) for s in draw_seeds(0, 50)}) == 50
    # More draws continue the first ones.
    assert draw_seeds(0, 5)[2].spawn_key == draw_seeds(0, 50)[2].spawn_key


def test_a_process_killed_once_costs_nothing(tmp_path):
    parent, flag = os.getpid(), tmp_path / "killed"

    def learner(table):
        if os.getpid() != parent and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return acyclic.learn(table)

    found = bootstrap(learner, DATA.X, 8, n_jobs=2)
    assert flag.exists() and found.draws == 8 and [note.kind for note in found.notes] == [Remark.UNCALIBRATED]
    assert found.edge.tobytes() == bootstrap(acyclic.learn, DATA.X, 8).edge.tobytes()


def test_a_draw_that_always_kills_its_process_is_lost_alone():
    parent = os.getpid()
    fatal = Table.open(DATA.X).resampled(np.random.default_rng(draw_seeds(0, 5)[2])).digest

    def learner(table):
        if os.getpid() != parent and table.digest == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return acyclic.learn(table)

    found = bootstrap(learner, DATA.X, 5, n_jobs=2)
    assert found.draws == 4 and found.requested == 5
    note, *_ = found.notes
    assert note.kind is Remark.LOST and note["count"] == 1 and found.end.kind is Ended.COMPLETE


def test_one_blas_thread_in_every_draw():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    seen = []

    def learner(table):
        seen.append({pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"})
        return DATA.graph

    bootstrap(learner, DATA.X, 2)
    assert seen[1:] == [{1}, {1}]


def test_a_cluster_needs_an_address_or_the_extra(monkeypatch):
    try:
        import distributed  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match="cluster"):
            bootstrap("equal-variance", DATA.X, 2, cluster="tcp://127.0.0.1:1")
    else:
        with pytest.raises(InputError, match="cluster is 5"):
            bootstrap("equal-variance", DATA.X, 2, cluster=5)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two worker processes of its own: its address, and the workers."""
    tmp_path = tmp_path_factory.mktemp("cluster")
    pytest.importorskip("distributed", reason="the Dask cluster needs the package distributed")
    file = tmp_path / "scheduler.json"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    common = ["--scheduler-file", str(file), "--no-dashboard"]

    def start(what, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *common, *options]
        return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path)

    processes = [start("scheduler", "--host", "127.0.0.1", "--port", "0")]
    options = "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"
    processes += [start("worker", *options, "--name", f"worker{i}") for i in range(2)]
    try:
        yield _address(file), processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _address(file):
    import json

    for _ in range(300):
        if file.exists() and (text := file.read_text()):
            return json.loads(text)["address"]
        time.sleep(0.1)
    raise AssertionError("the scheduler did not start")


def _wait_for(address, count):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_limits_hold_on_a_dask_cluster(cluster):
    address, _ = cluster
    _wait_for(address, 1)
    moments = Moments.from_array(DATA.X)
    ended = bootstrap("equal-variance", moments, 300, cluster=address, callback=lambda progress: progress.step == 7)
    assert ended.draws == 7 and ended.end.kind is Ended.CALLBACK
    late = bootstrap(acyclic.learn, moments, 1_000, cluster=address, time_limit=2.0)
    assert late.draws < 1_000 and late.end.kind is Ended.TIME_LIMIT


def _echo(payload, number, item, deadline):
    return number, item, ""


@pytest.mark.filterwarnings("ignore")
def test_who_comes_later_need_not_wait_for_all_others():
    distributed = pytest.importorskip("distributed", reason="the Dask cluster needs the package distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        long = compute_answers(_echo, None, range(30), Resources(cluster=client))
        # Answers come in the order in which they are done, which need not be the one in which they were asked for.
        _, first, _ = next(long)
        # The long run has asked for no more than a few, and asks for others when somebody takes its answers.
        short = list(compute_answers(_echo, None, ["a", "b"], Resources(cluster=client)))
        assert sorted(answer for _, answer, _ in short) == ["a", "b"]
        asked = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        # Each has what all its jobs share besides; what is done may not be forgotten yet.
        assert asked <= 2 * (1 + workers._AHEAD) < 30
        assert sorted([first, *(answer for _, answer, _ in long)]) == list(range(30))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_worker_killed_in_the_middle_costs_nothing(cluster):
    address, workers = cluster
    _wait_for(address, 2)
    killed = []

    def kill_one(progress):
        if progress.step == 5 and not killed:
            os.kill(workers[0].pid, signal.SIGKILL)
            killed.append(workers[0].wait())

    found = bootstrap(acyclic.learn, DATA.X, 60, cluster=address, callback=kill_one)
    assert killed == [-signal.SIGKILL]
    assert found.draws == 60 and Remark.LOST not in [note.kind for note in found.notes]
    local = bootstrap(acyclic.learn, DATA.X, 60)
    assert found.edge.tobytes() == local.edge.tobytes() and found.weight.tobytes() == local.weight.tobytes()
