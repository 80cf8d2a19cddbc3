"""Stopping at any time, and checkpoints: what was stopped or killed goes on to the same bits."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from functools import cache
from inspect import Signature, signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.data.table import Table
from acyclic.deadline import Stopped
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact
from acyclic.graphs.cycles import is_acyclic
from acyclic.learners.golem import Golem
from acyclic.learners.notears import Notears
from acyclic.running import Checkpoint, Monitor, State, digest
from acyclic.types import Progress

LEARNERS = {
    "proximal-newton": Notears(),
    "quadratic penalty": Notears(solver="quadratic-penalty"),
    "central path": Notears(solver="central-path"),
    "lbfgs": Notears(inner="lbfgs", solver="central-path"),
    "golem": Golem(),
    "golem unequal": Golem(noise="unequal"),
    "golem adam": Golem(inner="adam", steps=150, rate=0.01),
    "golem adam single": Golem(inner="adam", steps=150, rate=0.01, precision="single"),
    "golem lbfgs": Golem(inner="lbfgs"),
}
learners = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
may_fall_short = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def X():
    return simulate(6, 200, random_state=4).X


def changed(learner, **parameters):
    return type(learner)(**{**learner.get_params(), **parameters})


@pytest.fixture(scope="module")
def undisturbed(X):
    """From a learner to its fit without a stop and the number of its callbacks; each learner is fitted once."""

    @cache
    def fit(learner):
        calls = []
        return changed(learner, callback=calls.append).fit(X), len(calls)

    return fit


def stop_at(step, how):
    """A callback that stops the fit once, at the given call."""
    seen = []

    def callback(progress):
        seen.append(progress)
        if len(seen) == step and how == "interrupt":
            raise KeyboardInterrupt
        return len(seen) == step

    return callback


def assert_stopped(fit, ended):
    assert is_acyclic(fit.adjacency_matrix_) and np.isfinite(fit.adjacency_matrix_).all()
    assert fit.solution_.end.kind is ended and fit.verdict_.end == fit.solution_.end


@learners
def test_a_time_limit_of_zero_ends_after_one_step(learner, X):
    fit = changed(learner, time_limit=0).fit(X)
    assert_stopped(fit, Ended.TIME_LIMIT)
    assert fit.solution_.steps == 1 and fit.solution_.weights.any()


@learners
@pytest.mark.parametrize(("how", "ended"), [("ask", Ended.CALLBACK), ("interrupt", Ended.INTERRUPTED)])
def test_a_callback_ends_the_fit(learner, how, ended, X):
    fit = changed(learner, callback=stop_at(3, how)).fit(X)
    assert_stopped(fit, ended)
    assert fit.solution_.steps <= 3


def test_other_exceptions_of_a_callback_come_through(X):
    def callback(progress):
        raise ZeroDivisionError

    for inner in ("proximal-newton", "lbfgs"):
        with pytest.raises(ZeroDivisionError):
            Notears(inner=inner, callback=callback).fit(X)


@learners
@may_fall_short
def test_progress_tells_what_happens(learner, X):
    seen = []
    fit = changed(learner, callback=seen.append).fit(X)
    assert all(isinstance(progress, Progress) for progress in seen)
    steps, seconds = [p.step for p in seen], [p.seconds for p in seen]
    assert steps == sorted(steps) and seconds == sorted(seconds) and steps[-1] == fit.solution_.steps
    assert all(np.isfinite([p.objective, p.h, p.penalty]).all() for p in seen)
    assert all(0 <= p.edges <= 30 for p in seen)
    assert fit.solution_.trace and set(fit.solution_.trace) <= set(seen)
    assert seen[-1].objective == pytest.approx(fit.solution_.objective, rel=1e-12)


@pytest.mark.slow
@learners
@may_fall_short
@pytest.mark.parametrize(("how", "share"), [("ask", 0.01), ("interrupt", 0.6), ("ask", 1.0)])
def test_a_stopped_fit_goes_on_to_the_same_bits(learner, how, share, X, undisturbed, tmp_path):
    whole, calls = undisturbed(learner)
    path = tmp_path / "run.npz"
    stop = max(1, round(share * calls))
    stopped = changed(learner, callback=stop_at(stop, how), checkpoint=path).fit(X)
    assert stopped.solution_.end.kind.stopped
    resumed = changed(learner, checkpoint=path).fit(X)
    assert_same(resumed, whole)


def assert_same(one, other):
    assert one.solution_.weights.tobytes() == other.solution_.weights.tobytes()
    assert one.adjacency_matrix_.tobytes() == other.adjacency_matrix_.tobytes()
    for name in ("end", "objective", "h", "steps"):
        assert getattr(one.solution_, name) == getattr(other.solution_, name), name
    timeless = [[(p.stage, p.round, p.step, p.objective, p.h) for p in fit.solution_.trace] for fit in (one, other)]
    assert timeless[0] == timeless[1]
    assert one.verdict_ == other.verdict_


@learners
@may_fall_short
def test_a_finished_fit_is_returned_at_once(learner, X, tmp_path):
    path = tmp_path / "run.npz"
    first = changed(learner, checkpoint=path).fit(X)
    again = changed(learner, checkpoint=path, callback=lambda progress: pytest.fail("it made a step")).fit(X)
    assert_same(again, first)


@may_fall_short
def test_a_fit_that_ran_out_of_rounds_stays_so(X, tmp_path):
    learner = Notears(max_rounds=2, checkpoint=tmp_path / "run.npz")
    assert_same(learner.fit(X), Notears(max_rounds=2).fit(X))
    assert_same(learner.fit(X), Notears(max_rounds=2).fit(X))


KILLED = """
import os, signal, sys
from acyclic import Golem, Notears, simulate
from acyclic.running import Monitor

def callback(progress):
    if progress.step == {step}:
        os.kill(os.getpid(), signal.SIGKILL)

Monitor.every = 0.0
{learner}.set_params(callback=callback, checkpoint=sys.argv[1]).fit(simulate(6, 200, random_state=4).X)
"""


def child(script, *arguments):
    """Run a script in a process of its own, with this one's modules and threads."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@may_fall_short
def test_a_killed_process_goes_on_to_the_same_bits(X, tmp_path):
    learner, path = LEARNERS["lbfgs"], tmp_path / "run.npz"
    whole = learner.fit(X)
    process = child(KILLED.format(step=whole.solution_.steps // 2, learner=repr(learner)), path)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    on_disk = json.loads(str(np.load(path)["header"]))
    assert 0 < on_disk["steps"] < whole.solution_.steps and on_disk["end"] is None
    assert_same(changed(learner, checkpoint=path).fit(X), whole)


INTERRUPTED = """
import json
from acyclic import Notears, simulate

def callback(progress):
    if progress.step == 3:
        print("running", flush=True)

fit = Notears(l1=0.01, inner="lbfgs", callback=callback).fit(simulate(30, 300).X)
print(json.dumps(fit.verdict_.to_dict()))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_returns_the_best_so_far():
    process = child(INTERRUPTED)
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert json.loads(output)["end"]["kind"] == "interrupted"


def test_a_checkpoint_is_written_on_the_way(X, tmp_path, monkeypatch):
    path, found = tmp_path / "run.npz", []
    monkeypatch.setattr(Monitor, "every", 0.0)
    Notears(checkpoint=path, callback=lambda p: found.append(path.exists())).fit(X)
    assert not found[0] and all(found[1:])
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    path.unlink()
    found.clear()
    monkeypatch.setattr(Monitor, "every", 1e9)
    Notears(checkpoint=path, callback=lambda p: found.append(path.exists())).fit(X)
    assert not any(found) and path.exists()


def test_a_checkpoint_of_other_data_or_settings_is_refused(X, tmp_path):
    path = tmp_path / "run.npz"
    names = [f"x{i}" for i in range(6)]
    base = {"checkpoint": path, "time_limit": 0}
    Notears(**base).fit(X)
    others = {
        "l1 was the default, here it is 0.2": Notears(**base, l1=0.2),
        "constraint was the default, here it is exponential": Notears(**base, constraint="exponential"),
        "solver was the default, here it is 'central-path'": Notears(**base, solver="central-path"),
        "the start was another one": Notears(**base, start=np.full((6, 6), 0.1)),
        "the prior knowledge was another one": Notears(**base, knowledge=Knowledge(forbidden=[("x0", "x1")])),
        "method was notears, here it is golem": Golem(**base),
    }
    for told, other in others.items():
        with pytest.raises(InputError) as refusal:
            other.fit(X)
        assert told in str(refusal.value)
        assert str(refusal.value).endswith("Name another file for this run") and "delete" not in str(refusal.value)
    for data in (X[1:], X * 2, X[:, ::-1], Moments.from_array(X, [*names[:-1], "y"])):
        with pytest.raises(InputError, match="belongs to another run: the table was another one"):
            Notears(**base).fit(data)
    # What does not touch the solution may differ.
    Notears(checkpoint=path, n_jobs=2, knowledge=Knowledge(), constraint=Notears().constraint).fit(np.asfortranarray(X))


def test_a_checkpoint_outlives_other_processors_and_versions(X, tmp_path, monkeypatch):
    """Neither the bits of the moments, which depend on the CPU, nor the package's version are part of its key."""
    path = tmp_path / "run.npz"
    Notears(checkpoint=path, time_limit=0).fit(X)
    original = Moments.__init__

    def rounded_otherwise(self, n, mean, covariance, names=None):
        original(self, n, mean, np.asarray(covariance) * (1 + 2**-52), names)

    monkeypatch.setattr(Moments, "__init__", rounded_otherwise)
    monkeypatch.setattr("acyclic._version.__version__", "99.0")
    seen = []
    Notears(checkpoint=path, callback=seen.append).fit(X)
    assert seen[0].step == 2


def test_another_version_of_a_method_is_told(X, tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    Notears(checkpoint=path, time_limit=0).fit(X)
    now = Notears.version
    monkeypatch.setattr(Notears, "version", now + 1)
    with pytest.raises(InputError, match=f"method version was {now}, here it is {now + 1}"):
        Notears(checkpoint=path).fit(X)


def test_a_setting_that_a_later_version_adds_changes_no_key(X):
    class Later(Notears):
        def __init__(self, *, momentum=0.5, **others):
            super().__init__(**others)
            self.momentum = momentum

        @classmethod
        def _get_param_names(cls):
            return sorted([*Notears._get_param_names(), "momentum"])

    both = [*signature(Notears).parameters.values(), *signature(Later).parameters.values()]
    Later.__signature__ = Signature([entry for entry in both if entry.kind is entry.KEYWORD_ONLY])
    table = Table.open(X)
    assert Later().describe_run(table) == Notears().describe_run(table) == Notears(l1=Notears().l1).describe_run(table)
    assert Later(momentum=1).describe_run(table) == {**Notears().describe_run(table), "momentum": "1"}


@may_fall_short
def test_a_checkpoint_that_cannot_be_written_costs_nothing(X, tmp_path, monkeypatch):
    monkeypatch.setattr(Monitor, "every", 0.0)
    path = tmp_path / "run.npz"
    full = lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))  # noqa: E731
    monkeypatch.setattr(Checkpoint, "save", full)
    with pytest.warns(RuntimeWarning, match="could not be written .No space left on device.; the run goes on"):
        found = Notears(checkpoint=path).fit(X)
    assert_same(found, Notears().fit(X))


def test_a_checkpoint_that_cannot_be_written_is_refused_before_any_work(X, tmp_path, monkeypatch):
    def read_only(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("acyclic.files._make_scratch", read_only)
    with pytest.raises(OSError, match="Read-only"):
        Notears(checkpoint=tmp_path / "run.npz", callback=lambda progress: pytest.fail("it made a step")).fit(X)


def test_rows_that_share_their_moments_do_not_share_a_checkpoint(tmp_path):
    both = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    path = tmp_path / "run.npz"
    Notears(loss="logistic", checkpoint=path, time_limit=0).fit(both)
    mirrored = 1 - both
    assert Moments.from_array(both) == Moments.from_array(mirrored)
    with pytest.raises(InputError, match="the table was another one"):
        Notears(loss="logistic", checkpoint=path).fit(mirrored)


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"PK\x03\x04", "array", "other archive", "other format", "truncated", "folder"],
)
def test_a_file_that_is_no_checkpoint_is_refused(content, X, tmp_path):
    path = tmp_path / "run.npz"
    if content == "array":
        with path.open("wb") as file:
            np.save(file, X)
    elif content == "other archive":
        np.savez(path, weights=X)
    elif content == "other format":
        np.savez(path, header=np.array(json.dumps({"format": "acyclic checkpoint 99"})), weights=X)
    elif content == "truncated":
        Notears(checkpoint=path, time_limit=0).fit(X)
        path.write_bytes(path.read_bytes()[:-100])
    elif content == "folder":
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"is not a checkpoint of this acyclic .*; name another file"):
        Notears(checkpoint=path).fit(X)


def test_a_checkpoint_needs_its_folder(X, tmp_path):
    with pytest.raises(InputError, match="no folder for the checkpoint"):
        Notears(checkpoint=tmp_path / "missing" / "run.npz").fit(X)


@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_a_flipped_bit_is_found_or_harmless(tmp_path_factory, position, bit):
    path = tmp_path_factory.mktemp("checkpoint") / "run.npz"
    state = State(np.arange(9.0).reshape(3, 3), rho=100.0, memory={"first": np.ones(3)})
    Checkpoint(path, {"table": "t"}).save(state)
    content = bytearray(path.read_bytes())
    content[int(position * len(content))] ^= 1 << bit
    path.write_bytes(bytes(content))
    try:
        found = Checkpoint(path, {"table": "t"}).load()
    except InputError:
        return
    np.testing.assert_array_equal(found.weights, state.weights)
    assert found.rho == 100.0


def test_a_checkpoint_holds_the_whole_state(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.npz", {"table": "t"})
    assert checkpoint.load() is None
    progress = Progress("stage", 1, 2, 0.1, float("inf"), 1e16, 3, 0.5)
    memory = {"first": np.ones(2), "before": np.array(np.inf)}
    state = State(
        np.eye(2) / 3,
        1e15,
        1 / 3,
        np.inf,
        4,
        5,
        6.5,
        np.ones((2, 2)),
        7,
        memory,
        Fact.of(Ended.STEPS_SPENT, minimiser="Adam", steps=3),
        [progress],
        Fact.of(Ended.ROUNDS_SPENT, round=4, h=np.inf),
    )
    checkpoint.save(state)
    found = checkpoint.load()
    for name, value in vars(state).items():
        if name == "memory":
            assert found.memory.keys() == value.keys()
            assert all((found.memory[key] == value[key]).all() for key in value)
        else:
            np.testing.assert_array_equal(getattr(found, name), value)


def test_a_failed_write_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "run.npz", {"table": "t"})
    checkpoint.save(State(np.zeros((2, 2)), rho=1.0))
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="full"):
        checkpoint.save(State(np.zeros((2, 2)), rho=2.0))
    assert checkpoint.load().rho == 1.0
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_seconds_add_up_over_resumed_runs(tmp_path):
    def loop(state):
        monitor.tick(state, "stage", 0.0, 0.0, 1.0, ended=True)

    for run in (1, 2):
        monitor = Monitor(0, checkpoint=Checkpoint(tmp_path / "run.npz", {"table": "t"}))
        monitor.started -= 100.0
        state = monitor.run(loop, State(np.zeros((2, 2))))
        assert 100 * run <= state.seconds < 100 * run + 5
    with pytest.raises(Stopped):
        monitor.tick(state, "stage", 0.0, 0.0, 1.0)


def test_digests_are_equal_for_equal_content_only():
    parts = [np.arange(3.0), "ab", 1]
    assert digest(*parts) == digest(np.arange(3.0), "ab", 1)
    different = [parts, [np.arange(3.0) + 1, "ab", 1], [np.arange(3.0), "a", "b", 1], [np.arange(3.0), "ab", 1.0]]
    assert len({digest(*each) for each in different}) == 4
