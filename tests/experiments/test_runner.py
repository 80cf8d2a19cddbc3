"""The runner: nothing is lost by a killed process, nothing is computed twice, and the answers are always the same."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from types import MappingProxyType

import pytest

from acyclic.experiments import measures, runner
from acyclic.experiments.cases import Case, pairs
from acyclic.experiments.measures import Measure, Outcome
from acyclic.experiments.runner import compute, merged, run
from acyclic.experiments.store import Store

DATA = {"sem": "linear", "graph": "ER1", "n_nodes": 6, "n": 100}


def cases(count, learner="EqualVariance", **data):
    return [Case("fit", pairs({**DATA, **data}), pairs({"learner": learner}), number) for number in range(count)]


MANY = 40
BAD = Case("fit", pairs({**DATA, "graph": "ER9"}), pairs({"learner": "EqualVariance"}), 0)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


def told(store, asked):
    """What the store holds, without times."""
    found = store.records(keys=[case.key for case in asked])
    return {record.case.key: (record.status, dict(record.values), record.verdict) for record in found}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What an undisturbed run in one process gives."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), cases(MANY, "NoCurl"))


def undisturbed(folder, asked):
    with Store(folder / "undisturbed.sqlite") as store:
        assert run(asked, store).computed == len(asked)
        return told(store, asked)


def test_a_second_run_has_nothing_to_do(store, monkeypatch):
    tally = run(cases(3), store)
    assert (tally.computed, tally.failures, tally.left, tally.interrupted) == (3, (), 0, False)
    monkeypatch.setattr(runner, "compute", None)
    assert run(cases(3), store).computed == 0
    assert len(store) == 3


def test_a_row_says_how_it_was_made(store):
    run(cases(1), store)
    (record,) = store.records(keys=[cases(1)[0].key])
    assert {"acyclic", "numpy", "scipy", "scikit-learn", "python"} <= set(record.versions)
    assert record.threads == 1 and record.seconds > 0 and record.cpu_seconds > 0
    assert record.finished.endswith("+00:00") and record.status == "done" and not record.traceback


def test_one_blas_thread(monkeypatch):
    from threadpoolctl import threadpool_info

    def look(case):
        threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return Outcome({"threads": threads}, "", 0.0, 0.0)

    use(monkeypatch, look)
    found = compute(cases(1)[0]).values["threads"]
    assert found and set(found) == {1}


def use(monkeypatch, work):
    """Let every case do this work."""
    monkeypatch.setattr(runner, "MEASURES", MappingProxyType({"fit": Measure((), lambda _: None, work)}))


def test_the_same_case_twice_is_computed_once_under_the_longer_limit():
    first, second = cases(2)
    short, long = (Case(first.measure, first.data, first.method, first.run, limit) for limit in (5.0, 60.0))
    found = merged([short, second, long])
    assert found == [short, second] and found[0].time_limit == 60.0 and found[1].time_limit is None
    assert merged([long, short])[0].time_limit == 60.0 and merged([long, first])[0].time_limit is None
    few, many = (Case(first.measure, first.data, first.method, first.run, None, cap) for cap in (50, 900))
    assert merged([few, many])[0].evaluations == 900 and merged([few, first])[0].evaluations is None


def test_a_failure_is_stored_with_its_traceback_and_retried_on_request(store, monkeypatch):
    asked = [*cases(2), BAD]
    tally = run(asked, store)
    assert tally.computed == 3 and [record.case for record in tally.failures] == [BAD]
    (failed,) = store.records(keys=[BAD.key])
    assert failed.status == "failed" and failed.values == {} and failed.verdict.startswith("InputError: ")
    assert "Traceback" in failed.traceback and "simulate" in failed.traceback
    assert run(asked, store).computed == 0
    use(monkeypatch, lambda case: Outcome({"shd": 0}, "fine now", 0.0, 0.0))
    again = run(asked, store, retry_failed=True)
    assert (again.computed, again.failures) == (1, ())
    assert told(store, [BAD])[BAD.key] == ("done", {"shd": 0}, "fine now")


def test_work_that_does_not_listen_is_ended_by_force(store, monkeypatch):
    monkeypatch.setattr(runner, "HARD_GRACE", 0.2)

    def deaf(case):
        while True:
            try:
                time.sleep(60)
            except Exception:  # what a learner may do, and must not get away with
                continue

    use(monkeypatch, deaf)
    limited = [Case(case.measure, case.data, case.method, case.run, 0.1) for case in cases(2)]
    started = time.monotonic()
    tally = run(limited, store)
    assert time.monotonic() - started < 30 and len(tally.failures) == 2
    assert tally.failures[0].status == "failed" and tally.failures[0].values == {"stopped_early": True}
    assert tally.failures[0].ended_by_limit and tally.failures[0].seconds >= 0.3
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert not store.missing(limited) and len(store.missing(cases(2))) == 2


def test_a_longer_limit_computes_again_what_the_shorter_ended(store):
    spectral = pairs({"learner": "Notears", "constraint": "spectral-radius", "max_rounds": 3})
    short, long = (Case("fit", pairs({**DATA, "n_nodes": 12}), spectral, 0, limit) for limit in (0.02, 60.0))
    run([short], store)
    assert store.records(keys=[short.key])[0].values["stopped_early"]
    assert run([short], store).computed == 0 and run([long], store).computed == 1
    (record,) = store.records(keys=[short.key])
    assert not record.values["stopped_early"] and record.case.time_limit == 60.0
    assert run([short], store).computed == 0


def test_more_evaluations_compute_again_what_fewer_ended(store):
    notears = pairs({"learner": "Notears", "constraint": "exponential"})
    few, many = (Case("fit", pairs(DATA), notears, 0, None, cap) for cap in (20, 100_000))
    run([few], store)
    (cut,) = store.records(keys=[few.key])
    assert cut.ended_by_limit and cut.values["ended"] == "evaluations-spent" and cut.case.evaluations == 20
    assert run([few], store).computed == 0 and run([many], store).computed == 1
    (whole,) = store.records(keys=[few.key])
    assert not whole.ended_by_limit and 20 < whole.values["evaluations"] < 100_000
    assert run([few], store).computed == 0


def test_progress_counts_cases_and_knows_which_take_long(store):
    slow, fast = cases(1, "Notears", n_nodes=20)[0], cases(4)
    seen = []
    run([slow, *fast, BAD], store, callback=lambda advance: seen.append(advance))
    assert [(advance.done, advance.total) for advance in seen] == [(i, 6) for i in range(1, 7)]
    assert [advance.failed for advance in seen] == [0] * 5 + [1]
    assert seen[-1].share == 1.0
    again = []
    later = [Case(case.measure, case.data, case.method, case.run + 10) for case in (*fast, slow)]
    run(later, store, callback=lambda advance: again.append(advance))
    assert again[3].share < 0.5 < again[4].share == 1.0


def test_the_callback_ends_a_run(store):
    tally = run(cases(9), store, callback=lambda advance: advance.done == 4)
    assert (tally.computed, tally.left, tally.interrupted) == (4, 5, True) and len(store) == 4
    assert run(cases(9), store).computed == 5


def test_an_interrupt_that_a_learner_answers_with_the_best_so_far_is_not_taken_for_an_answer(store, monkeypatch):
    def interrupted(case):
        if case.run == 2:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(10)
            except KeyboardInterrupt:
                pass
        return Outcome({"shd": case.run}, "", 0.0, 0.0)

    use(monkeypatch, interrupted)
    tally = run(cases(5), store)
    assert (tally.computed, tally.left, tally.interrupted) == (2, 3, True)
    assert sorted(record.case.run for record in store.records(keys=[case.key for case in cases(5)])) == [0, 1]


def script(folder, jobs, learner, pause):
    """A process that computes many cases, as a command would, and pauses after each."""
    return textwrap.dedent(
        f"""
        import sys, time
        sys.path[:0] = {[os.path.dirname(__file__)]!r}
        from test_runner import MANY, cases
        from acyclic.experiments.runner import run
        from acyclic.experiments.store import Store
        if __name__ == "__main__":
            with Store({str(folder / "results.sqlite")!r}) as store:
                tally = run(cases(MANY, {learner!r}), store, n_jobs={jobs}, callback=lambda _: time.sleep({pause}))
                print(tally.computed, tally.left, tally.interrupted)
        """
    )


def started(folder, jobs, learner, pause=0.0):
    file = folder / "job.py"
    file.write_text(script(folder, jobs, learner, pause))
    return subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, text=True)


def wait_for_rows(folder, process, count):
    with Store(folder / "results.sqlite") as reader:
        while len(reader) < count:
            assert process.poll() is None, "it ended too early"
            time.sleep(0.01)


def test_a_killed_run_goes_on_where_it_was(tmp_path, expected):
    process = started(tmp_path, 2, "NoCurl", pause=0.1)  # the fits alone could all be done before it is killed
    try:
        wait_for_rows(tmp_path, process, 5)
    finally:
        process.kill()
        # Its output ends when its workers have ended too.
        process.communicate(timeout=60)
    with Store(tmp_path / "results.sqlite") as store:
        asked = cases(MANY, "NoCurl")
        before = len(store)
        assert 5 <= before < MANY
        tally = run(asked, store)
        assert tally.computed == MANY - before and len(store) == MANY
        assert told(store, asked) == expected


def test_ctrl_c_leaves_a_store_to_go_on_from(tmp_path):
    """In one process it is the command's, in test_reproduce."""
    process = started(tmp_path, 2, "Notears")  # slow enough to be met in the middle of a fit
    try:
        wait_for_rows(tmp_path, process, 1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    computed, left, interrupted = output.split()
    asked = cases(MANY, "Notears")
    with Store(tmp_path / "results.sqlite") as store:
        assert interrupted == "True" and len(store) == int(computed) == MANY - int(left) < MANY
        found = told(store, asked)
    assert found == undisturbed(tmp_path, [case for case in asked if case.key in found])


def test_a_worker_killed_once_costs_nothing(store, tmp_path, monkeypatch, expected):
    flag, parent = tmp_path / "killed", os.getpid()

    def job(_, number, case, deadline):
        from acyclic.experiments.runner import compute

        if number == 7 and os.getpid() != parent and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number, compute(case), ""

    monkeypatch.setattr(runner, "_job", job)
    asked = cases(20, "NoCurl")
    tally = run(asked, store, n_jobs=2)
    assert flag.exists() and tally.computed == 20 and not tally.failures
    assert told(store, asked) == {case.key: expected[case.key] for case in asked}


def test_a_case_that_always_kills_its_worker_fails_alone(store, monkeypatch):
    parent = os.getpid()

    def job(_, number, case, deadline):
        from acyclic.experiments.store import Record  # eight processes are started: to learn, each would load SciPy

        if case.run == 4 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return number, Record(case, "done", {"shd": case.run}, "", 0.0, 0.0), ""

    monkeypatch.setattr(runner, "_job", job)
    tally = run(cases(16), store, n_jobs=2)
    assert tally.computed == 16 == len(store) and [record.case.run for record in tally.failures] == [4]
    assert tally.failures[0].traceback.startswith("its process died")


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two worker processes of its own: its address, and the workers."""
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

    from distributed import Client

    for _ in range(600):
        if file.exists() and (text := file.read_text()):
            address = json.loads(text)["address"]
            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(2, timeout=60)
            return address
        time.sleep(0.1)
    raise AssertionError("the scheduler did not start")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_gives_the_same_though_a_worker_is_killed(store, cluster, expected):
    address, workers = cluster
    killed = []

    def kill_one(advance):
        if advance.done == 6:
            os.kill(workers[0].pid, signal.SIGKILL)
            killed.append(workers[0].wait())

    asked = [*cases(MANY, "NoCurl"), BAD]
    tally = run(asked, store, cluster=address, callback=kill_one)
    assert killed == [-signal.SIGKILL]
    assert tally.computed == MANY + 1 == len(store)
    assert [(record.case, record.traceback) for record in tally.failures if record.case != BAD] == []
    assert [record.case for record in tally.failures] == [BAD]
    assert told(store, asked[:-1]) == expected
    assert "Traceback" in store.records(keys=[BAD.key])[0].traceback


def test_measures_of_the_runner_are_those_of_the_room():
    assert runner.MEASURES is measures.MEASURES
