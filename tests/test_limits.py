"""Limits and Ctrl-C end all of a run, whatever it is at; what was computed is judged, written, and gone on with."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import acyclic
from acyclic.cli import main
from acyclic.deadline import allow_interrupts, hold_interrupts
from acyclic.errors import InputError
from acyclic.facts import Ended, Remark
from acyclic.files import collect_leftovers
from acyclic.learners import base
from acyclic.report import folder as folders
from acyclic.trust import workers
from acyclic.trust.bootstrap import bootstrap
from acyclic.trust.effects import total_effects

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends itself signals")
DATA = acyclic.simulate(n_nodes=6, n=200, random_state=3)


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def pressing(function, times=1):
    """The function, during whose first call Ctrl-C is pressed so often."""
    left = [times]

    def pressed(*given, **named):
        while left[0]:
            left[0] -= 1
            press_ctrl_c()
        return function(*given, **named)

    return pressed


@pytest.fixture
def table(tmp_path, monkeypatch):
    pytest.importorskip("cyclopts", reason="the command line needs the extra cli")
    pytest.importorskip("polars", reason="reading files needs the extra files")
    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", DATA.X, delimiter=",", header=",".join(DATA.names), comments="")
    return "t.csv"


class TestCtrlC:
    def test_the_first_waits_and_the_second_does_not(self):
        with hold_interrupts() as ctrl_c:
            press_ctrl_c()
            assert ctrl_c.pressed
            with pytest.raises(KeyboardInterrupt):
                press_ctrl_c()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_work_inside_answers_at_once_and_one_that_waited_is_answered_by_the_next_work(self):
        reached = []
        with hold_interrupts(), pytest.raises(KeyboardInterrupt), allow_interrupts():
            press_ctrl_c()
        with hold_interrupts(), hold_interrupts() as inner:
            press_ctrl_c()
            with pytest.raises(KeyboardInterrupt), allow_interrupts():
                reached.append("work")
            assert inner.pressed and not reached

    def test_another_handler_is_left_alone(self):
        seen = []
        before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        try:
            with hold_interrupts() as ctrl_c, allow_interrupts():
                press_ctrl_c()
            assert seen == [1] and not ctrl_c.pressed
        finally:
            signal.signal(signal.SIGINT, before)

    def test_while_the_answer_is_judged_it_loses_nothing(self, monkeypatch):
        monkeypatch.setattr(base, "judge", pressing(base.judge))
        result = acyclic.learn(DATA.X)
        assert result.ended is Ended.INTERRUPTED
        assert (result.graph.adjacency == acyclic.learn(DATA.X).graph.adjacency).all()

    def test_while_the_class_is_found_it_loses_nothing(self, monkeypatch):
        monkeypatch.setattr("acyclic.findings.list_versions", pressing(dict))
        assert acyclic.learn(DATA.X).ended is Ended.INTERRUPTED

    @pytest.mark.parametrize("where", ["acyclic.learners.base.judge", "acyclic.report.folder.report"])
    def test_the_command_writes_what_it_has_and_begins_nothing_more(self, table, tmp_path, monkeypatch, where):
        room, name = where.rsplit(".", 1)
        original = getattr(base if room.endswith("base") else folders, name)
        monkeypatch.setattr(where, pressing(original))
        assert main(["learn", table, "--bootstrap", "2", "--audit", "--out", "run", "--quiet"]) == 130
        result = acyclic.load(tmp_path / "run" / "result.json")
        assert (result.confidence is None) == room.endswith("base")

    def test_a_second_one_ends_at_once_and_leaves_nothing(self, table, tmp_path, monkeypatch, capsys):
        (tmp_path / "run").mkdir()
        monkeypatch.setattr(folders, "report", pressing(folders.report, times=2))
        assert main(["learn", table, "--out", "run"]) == 130
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["run", table]
        assert "interrupted; nothing was written" in capsys.readouterr().err

    def test_in_a_draw_it_ends_the_draws_and_the_cut_one_does_not_count(self, monkeypatch, tmp_path):
        calls = []

        def learner(table):
            calls.append(1)
            return acyclic.learn(table, callback=lambda progress: press_ctrl_c() if len(calls) == 4 else None)

        found = bootstrap(learner, DATA.X, 9)
        assert found.end.kind is Ended.INTERRUPTED and found.draws == 2 and len(calls) == 4

    def test_in_the_effects_it_gives_those_of_the_draws_so_far(self):
        step = []
        found = total_effects(
            DATA.graph, DATA.X, 50, callback=lambda _: press_ctrl_c() if step.append(1) or len(step) == 5 else None
        )
        assert found.draws == 5 and Remark.CUT_SHORT in [note.kind for note in found.notes]


class TestTimeLimit:
    def test_what_was_asked_for_is_what_is_said(self, monkeypatch):
        """Also where a part of the run was given what was left of it."""
        X = acyclic.simulate(n_nodes=8, n=30, random_state=0).X
        late, clock = [0.0], time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: clock() + late[0])

        def callback(progress):
            late[0] = {"equal-variance order": 5.0, "continuous search": 6.0}.get(progress.stage, 50.0)

        end = acyclic.learn(X, time_limit=20.0, callback=callback).verdict.end
        assert late[0] == 50.0 and end.kind is Ended.TIME_LIMIT and end["seconds"] == 20.0

    def test_a_limit_that_has_passed_starts_no_process(self, monkeypatch):
        monkeypatch.setattr(workers, "Parallel", lambda *_, **__: pytest.fail("it started processes"))
        found = bootstrap("equal-variance", DATA.X, 5, n_jobs=2, time_limit=0)
        assert found.draws == 0 and found.end.kind is Ended.TIME_LIMIT

    def test_effects_keep_to_it(self):
        found = total_effects(DATA.graph, DATA.X, 50, time_limit=0)
        assert found.draws == 1 and Remark.CUT_SHORT in [note.kind for note in found.notes]

    def test_a_process_of_this_machine_gains_no_time_by_waiting(self):
        deadline = acyclic.deadline.Deadline(60.0)
        told = []
        workers._local(os.getpid(), (deadline.at, deadline.limit), lambda *given: told.append(given[-1]), None, 0, None)
        assert told[0].at == deadline.at and told[0].limit == 60.0


class TestKeptDraws:
    def same(self, one, other):
        for name in ("edge", "weight", "lower", "upper"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
        assert one.to_dict() == other.to_dict()

    @pytest.mark.parametrize("learner", ["auto", "golem", "ges"])
    @pytest.mark.parametrize("how", ["ask", "interrupt"])
    def test_a_stopped_run_goes_on_to_the_same_bits(self, learner, how, tmp_path):
        path = tmp_path / "draws"

        def stop(progress):
            if progress.step == 3 and how == "interrupt":
                press_ctrl_c()
            return progress.step == 3

        cut = bootstrap(learner, DATA.X, 8, callback=stop, checkpoint=path)
        assert cut.draws == 3 and cut.end.kind.stopped
        steps = []
        found = bootstrap(learner, DATA.X, 8, callback=lambda p: steps.append(p.step), checkpoint=path)
        assert steps == [4, 5, 6, 7, 8]
        self.same(found, bootstrap(learner, DATA.X, 8))

    @pytest.mark.slow
    def test_for_any_number_of_jobs(self, tmp_path):
        path = tmp_path / "draws"
        bootstrap("golem", DATA.X, 12, n_jobs=2, callback=lambda p: p.step == 5, checkpoint=path)
        self.same(bootstrap("golem", DATA.X, 12, checkpoint=path), bootstrap("golem", DATA.X, 12, n_jobs=2))

    def test_more_draws_go_on_from_fewer(self, tmp_path):
        path = tmp_path / "draws"
        bootstrap("auto", DATA.X, 3, checkpoint=path)
        self.same(bootstrap("auto", DATA.X, 6, checkpoint=path), bootstrap("auto", DATA.X, 6))
        self.same(bootstrap("auto", DATA.X, 2, checkpoint=path), bootstrap("auto", DATA.X, 2))

    def test_draws_of_another_run_are_refused_and_stay(self, tmp_path):
        path = tmp_path / "draws"
        bootstrap("golem", DATA.X, 2, checkpoint=path)
        before = path.read_bytes()
        others = {
            "l1 was the default, here it is 0.3": lambda: bootstrap(acyclic.Golem(l1=0.3), DATA.X, 2, checkpoint=path),
            "the table was another one": lambda: bootstrap("golem", DATA.X[1:], 2, checkpoint=path),
            "random_state of the draws was": lambda: bootstrap("golem", DATA.X, 2, random_state=1, checkpoint=path),
            "warm_start was": lambda: bootstrap("golem", DATA.X, 2, warm_start=False, checkpoint=path),
            "what a function does cannot be compared": lambda: bootstrap(acyclic.learn, DATA.X, 2, checkpoint=path),
        }
        for told, call in others.items():
            with pytest.raises(InputError, match=told):
                call()
        assert path.read_bytes() == before

    def test_a_disk_that_is_full_costs_no_draw(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("acyclic.files.Journal.append", full)
        with pytest.warns(RuntimeWarning, match="No space left on device"):
            found = bootstrap("auto", DATA.X, 3, checkpoint=tmp_path / "draws")
        self.same(found, bootstrap("auto", DATA.X, 3))


class TestFolder:
    def test_a_place_that_cannot_be_written_is_found_before_any_work(self, table, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr("acyclic.cli.settings.Run.read", lambda _: pytest.fail("it read the table"))
        (tmp_path / "file").touch()
        assert main(["learn", table, "--out", "file/run"]) == 1
        assert len(capsys.readouterr().err.splitlines()) == 1

    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MemoryError()])
    def test_a_result_that_cannot_be_written_there_goes_elsewhere(self, table, tmp_path, monkeypatch, capsys, error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr("acyclic.files.NewFolder.write", fail)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
        (tmp_path / "elsewhere").mkdir()
        assert main(["learn", table, "--out", "run", "--quiet"]) == 1
        [place] = (tmp_path / "elsewhere").iterdir()
        assert str(place) in capsys.readouterr().err
        assert acyclic.load(place / "result.json").graph == acyclic.learn(table).graph
        assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", table]

    @pytest.mark.slow
    @pytest.mark.parametrize("megabytes", [600, 1000])
    def test_too_little_memory_harms_no_earlier_run(self, tmp_path, megabytes):
        """Some of these end in another library, by force or never: what it leaves is gone after the next start."""
        import resource

        limit = megabytes * 2**20
        X = acyclic.simulate(n_nodes=300, n=1000, random_state=1).X
        np.savetxt(tmp_path / "t.csv", X, delimiter=",", header=",".join(f"x{i}" for i in range(300)), comments="")
        folders.write_files(dict.fromkeys(folders.FILES, "earlier"), tmp_path / "run")
        command = [sys.executable, "-m", "acyclic", "learn", "t.csv", "--out", "run", "--force", "--quiet", "--quick"]
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                _, said = process.communicate(timeout=30)
            except subprocess.TimeoutExpired:  # threads of Polars that could not be started are waited for in vain
                process.kill()
                _, said = process.communicate()
        assert process.returncode != 1 or len(said.splitlines()) == 1, said
        earlier = {path.read_text() == "earlier" for path in (tmp_path / "run").iterdir()}
        assert earlier == {process.returncode != 0}
        collect_leftovers(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "t.csv"]

    def test_draws_are_kept_until_the_folder_is_written(self, table, tmp_path, monkeypatch):
        seen = []

        def stop(job, model, data, draws, callback=None, checkpoint=None):
            found = bootstrap(model, data, draws, first=model, checkpoint=checkpoint, callback=lambda p: p.step == 2)
            seen.append(checkpoint)
            return found

        with monkeypatch.context() as patched:
            patched.setattr("acyclic.cli.settings.Run.bootstrap_edges", stop)
            assert main(["learn", table, "--bootstrap", "4", "--out", "run", "--quiet"]) == 0
        assert seen[0].exists() and acyclic.load("run/result.json").confidence["draws"] == 2
        steps = []
        monkeypatch.setattr(workers, "_guarded", count_calls(workers._guarded, steps))
        assert main(["learn", table, "--bootstrap", "4", "--out", "run", "--quiet", "--force"]) == 0
        assert len(steps) == 2 and acyclic.load("run/result.json").confidence["draws"] == 4
        assert sorted(path.name for path in tmp_path.iterdir()) == ["run", table]


def count_calls(function, calls):
    def counted(*given):
        calls.append(given)
        return function(*given)

    return counted
