"""The one clock: it is monotonic, travels as the seconds that are left, and no wall clock cuts a run short."""

import ast
import pickle
import time
from pathlib import Path
from unittest import mock

import pytest

import acyclic
from acyclic.deadline import Deadline, Stopped
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact, Remark
from acyclic.trust.audit import audit
from acyclic.trust.bootstrap import bootstrap

DATA = acyclic.simulate(n_nodes=6, n=200, random_state=3)
A_DAY = 86_400.0


def test_a_deadline_travels_as_the_seconds_that_are_left(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    deadline = Deadline(60.0)
    now[0] += 20.0
    sent = pickle.dumps(deadline)
    # The clock of another machine began at another time.
    now[0] = 5.0
    arrived = pickle.loads(sent)
    assert arrived.left() == 40.0 and not arrived.passed()
    assert arrived.end() == Fact.of(Ended.TIME_LIMIT, seconds=60.0)
    now[0] += 41.0
    assert arrived.passed() and arrived.left() == 0.0
    with pytest.raises(Stopped) as stopped:
        arrived.check()
    assert stopped.value.end == deadline.end()
    assert pickle.loads(pickle.dumps(Deadline())).left() is None
    assert not arrived.undivided and pickle.loads(pickle.dumps(deadline.for_one_fit())).undivided


def test_the_sooner_of_two_deadlines():
    short, long = Deadline(5.0), Deadline(50.0)
    assert long.sooner(short) is short and short.sooner(long) is short and short.sooner(None) is short
    assert Deadline().sooner(2.0).limit == 2.0
    for wrong in (-1, "soon", True, float("nan")):
        with pytest.raises(InputError, match="time_limit has to be"):
            Deadline(wrong)


def shifted(table, time_limit=None):
    """A learner on a machine whose wall clock is a day ahead."""
    with mock.patch("time.time", return_value=time.time() + A_DAY):
        return acyclic.learn(table, time_limit=time_limit)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_whose_wall_clock_is_ahead_lose_no_draw(n_jobs):
    found = bootstrap(shifted, DATA.X, 4, n_jobs=n_jobs, time_limit=300.0)
    assert found.draws == 4 and found.end.kind is Ended.COMPLETE
    assert [note.kind for note in found.notes] == [Remark.UNCALIBRATED]
    assert found.edge.tobytes() == bootstrap(acyclic.learn, DATA.X, 4).edge.tobytes()


@pytest.mark.parametrize("jump", [3600.0, A_DAY, -A_DAY])
def test_a_wall_clock_that_is_set_changes_nothing(monkeypatch, tmp_path, jump):
    clock, shift = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: clock() + shift[0])

    def set_clock(progress):
        shift[0] = jump

    settings = {"time_limit": 300.0, "callback": set_clock}
    found = bootstrap("auto", DATA.X, 4, **settings, checkpoint=tmp_path / "draws")
    assert shift[0] and found.draws == 4 and found.end.kind is Ended.COMPLETE
    shift[0] = 0.0
    model = acyclic.Golem(checkpoint=tmp_path / "run.npz", **settings).fit(DATA.X)
    assert shift[0] and model.verdict_.converged and (tmp_path / "run.npz").exists()
    shift[0] = 0.0
    assert acyclic.learn(DATA.X, **settings).verdict.converged and shift[0]
    shift[0] = 0.0
    judged = audit(DATA.X, **settings)
    assert shift[0] and judged.end.kind is Ended.COMPLETE and judged.refits == 4


def test_no_module_asks_the_wall_clock_for_seconds():
    for path in Path(acyclic.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            asked = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time"
            assert not (asked and node.attr in ("time", "time_ns")), path
            named = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            assert not (getattr(node, "module", "") == "time" and {"time", "time_ns"} & set(named)), path
