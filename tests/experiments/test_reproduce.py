"""acyclic reproduce: what it says, writes and returns."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from acyclic.cli import main
from acyclic.cli.reproduction import _seconds, duration
from acyclic.experiments import plans, rechecking, runner
from acyclic.experiments.plans import load_plan, plan_names
from acyclic.experiments.store import Store

TEXT = """
title = "Two methods"
paper = "Figure 0"
about = "Words enough for a caption."
measure = "fit"
drawing = "row"
runs = 2
time_limit = 60

[data]
sem = "linear"
graph = "ER1"
noise = "gaussian"
n_nodes = [5, 8]
n = 100

[methods."TMPI"]
learner = "Notears"

[methods."Order"]
learner = "EqualVariance"

[quick]
runs = 1
data = { n_nodes = 5 }
"""


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """Put one small plan in the place of the shipped ones; writes other texts of it too."""
    folder = tmp_path / "plans"
    folder.mkdir()
    monkeypatch.setattr(plans, "_folder", lambda: folder)

    def write(text=TEXT, name="small"):
        (folder / f"{name}.toml").write_text(text)

    write()
    return write


@pytest.fixture
def undrawn(monkeypatch):
    """Draw nothing: most tests need no pictures, which take seconds."""
    from acyclic.experiments import acceptance, figures

    drawn = []
    monkeypatch.setattr(figures, "draw", lambda plan, records, folder: drawn.append(plan.name))
    monkeypatch.setattr(acceptance, "write_summary", lambda evidence, folder: drawn.append("summary"))
    return drawn


@pytest.fixture
def sketched(monkeypatch):
    """Write the tables, and a picture of nothing."""
    from acyclic.experiments import figures

    def sketch(plan, records, folder):
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        (folder / "figures" / f"{plan.name}.svg").touch()
        (folder / f"{plan.name}.md").write_text(figures.page(plan, records))

    return lambda: monkeypatch.setattr(figures, "draw", sketch)


@pytest.fixture
def call(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments):
        code = main(["reproduce", *map(str, arguments), "--out", str(tmp_path / "out")])
        text = capsys.readouterr()
        return code, text.out, text.err

    return call


def test_the_list_names_everything(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["reproduce", "--list"]) == 0
    text = capsys.readouterr().out
    for name in plan_names():
        plan = load_plan(name)
        assert name in text and plan.title in text and plan.paper in text
    assert main(["reproduce", "--list", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["plans"]] == plan_names()


def test_compute_draw_and_have_nothing_left(plan, call, tmp_path, monkeypatch, sketched):
    code, out, err = call("small")
    assert code == 0
    assert "8 cases; 0 of them are stored, 8 to compute." in out and "8 cases are stored" in out
    assert "computing: 8 of 8 cases, 0 s left" in err and "drawing small" in err
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"results.sqlite", "figures", "small.md", "summary.md"} <= written
    assert not any(name.endswith(("-wal", "-shm")) for name in written)
    monkeypatch.setattr(runner, "compute", None)
    sketched()
    code, out, err = call("small")
    assert code == 0 and "8 of them are stored, 0 to compute" in out and "computing" not in err


def test_parts_of_a_plan(plan, call, undrawn, tmp_path):
    assert "2 to compute" in call("small", "--quick")[1]
    assert "4 cases; 1 of them are stored" not in call("small", "--runs", "1", "--nodes", "5", "8")[1]
    assert "4 cases; 2 of them are stored, 2 to compute" in call("small", "--nodes", "8")[1]
    with Store(tmp_path / "out" / "results.sqlite") as store:
        assert len(store) == 6
    code, out, _ = call("small", "--runs", "3", "--json")
    assert code == 0 and json.loads(out)["stored"] == 12 and json.loads(out)["computed"] == 6


def test_plans_share_their_cases_in_one_pool(plan, call, undrawn):
    plan(
        TEXT.replace('[methods."Order"]\nlearner = "EqualVariance"', '[methods."Nothing"]\nlearner = "empty"'), "other"
    )
    code, out, _ = call("all")
    assert code == 0 and "12 cases; 0 of them are stored" in out
    assert undrawn == ["other", "small", "summary"]


def test_drawing_alone_computes_nothing(plan, call, tmp_path, monkeypatch, sketched):
    sketched()
    code, _, err = call("small", "--draw")
    assert code == 1 and "there are no results in" in err and "without --draw" in err
    assert not (tmp_path / "out").exists()
    call("small", "--runs", "1")
    (tmp_path / "out" / "figures" / "small.svg").unlink()
    monkeypatch.setattr(runner, "compute", None)
    code, out, _ = call("small", "--draw")
    assert code == 0 and (tmp_path / "out" / "figures" / "small.svg").exists() and "4 cases are stored" in out


def test_failures_are_shown_and_retried_on_request(plan, call, undrawn):
    plan(TEXT.replace('"ER1"', '["ER1", "ER3"]'))
    code, out, _ = call("small", "--runs", "1")
    assert code == 1 and "2 failed" in out and "--retry-failed" in out
    assert "InputError" in out and "ER3" in out
    code, out, _ = call("small", "--runs", "1")
    assert code == 1 and "0 to compute" in out and "2 failed" in out
    assert "2 to compute" in call("small", "--runs", "1", "--retry-failed")[1]


def test_limits_are_told(plan, call, undrawn):
    plan(TEXT.replace("[5, 8]", "12").replace("n_nodes = 5", "n_nodes = 12"))
    assert "4 of them cut by a limit" in call("small", "--time-limit", "1e-9")[1]
    assert "4 to compute" in call("small", "--time-limit", "60")[1]


def test_a_budget_is_spent_on_claims(plan, call, undrawn, monkeypatch, tmp_path):
    from acyclic.experiments import acceptance
    from acyclic.experiments.claims import Claim, Where

    tmpi = {"learner": "Notears"}
    some = [Claim(f"at {d}", Where("small", {"n_nodes": d}, tmpi), (0.0, 90.0), enough=3) for d in (5, 8)]
    monkeypatch.setattr(acceptance, "claims", lambda plans: some)
    code, out, err = call("small", "--budget", "5min", "--nodes", "8")
    assert code == 0 and "Of 2 claims: 1 met, 0 not met, 1 undecided." in out and "3 cases are stored" in out
    assert "at 8: 3 cases" in err and (tmp_path / "out" / "results.parquet").exists()
    code, out, _ = call("small", "--budget", "1h 30min", "--json")
    assert code == 0 and json.loads(out)["computed"] == 3 and json.loads(out)["stored"] == 6


@pytest.mark.parametrize(("text", "seconds"), [("2h", 7200), ("1h30min", 5400), ("0.5h", 1800), ("90 s", 90)])
def test_budgets(text, seconds):
    assert _seconds("--budget", text) == seconds


def test_a_check_finds_nothing_where_nothing_changed(plan, call, undrawn):
    assert call("small")[0] == 0
    code, out, _ = call("small", "--check", "1min")
    assert code == 0 and "4 stored fits were computed again; 0 of them" in " ".join(out.split())
    code, out, _ = call("small", "--check", "1min", "--nodes", "8", "--json")
    told = json.loads(out)
    assert code == 0 and told["checked"] == told["same"] == 2 and not told["differing"] and not told["stale"]


def test_a_check_of_the_fits_of_another_program(plan, call, undrawn, monkeypatch):
    call("small", "--runs", "1")
    kept = rechecking.compute_all

    def other(cases, store, **how):
        tally = kept(cases, store, **how)
        for record in store.records(keys=[case.key for case in cases]):
            store.add(replace(record, values={**record.values, "shd": record.values["shd"] + 3}))
        return tally

    monkeypatch.setattr(rechecking, "compute_all", other)
    code, out, _ = call("small", "--check", "1min")
    assert code == 1 and "4 of them have another graph" in " ".join(out.split()) and "Errors moved" in out
    code, out, _ = call("small", "--check", "1min", "--json")
    told = json.loads(out)
    assert code == 1 and told["stale"] and told["same"] == 0
    assert all(one["shd"] == one["stored_shd"] + 3 for one in told["differing"])
    assert {one["method"] for one in told["differing"]} == {"TMPI", "Order"}


def test_a_check_of_what_breaks_down(plan, call, undrawn, monkeypatch):
    call("small", "--runs", "1")
    monkeypatch.setattr(runner, "compute", lambda case: runner._failed(case, "ValueError: new", "trace"))
    code, out, _ = call("small", "--check", "1min")
    assert code == 1 and "4 broke down, the first by ValueError: new" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--check", "1min"], "there are no results in"),
        (["--check", "soon"], "--check is 'soon'; give hours"),
        (["--check", "1min", "--runs", "3"], "--check decides on the runs by itself; leave --runs away"),
        (["--check", "1min", "--budget", "1h"], "--check decides on the runs by itself; leave --budget away"),
        (["--check", "1min", "--draw"], "--check decides on the runs by itself; leave --draw away"),
    ],
)
def test_wrong_usage_of_a_check(plan, call, arguments, complaint):
    code, _, err = call("small", *arguments)
    assert code == 1 and complaint in " ".join(err.split())


def test_a_check_in_too_little_time(plan, call, undrawn):
    call("small", "--runs", "1")
    code, _, err = call("small", "--check", "0.000001s")
    assert code == 1 and "give a longer --check" in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name one or more of small, all, or a"),
        (["large"], "there is no plan 'large'; choose one of small, all, or a"),
        (["small", "--nodes", "7"], "nothing here has graphs of 7 nodes"),
        (["small", "--runs", "0"], "--runs has to be a whole number, at least 1"),
        (["small", "--budget", "soon"], "--budget is 'soon'; give hours, minutes or seconds, such as 2h"),
        (["small", "--budget", "2h", "--runs", "3"], "--budget decides on the runs by itself; leave --runs away"),
        (["small", "--budget", "2h", "--draw"], "leave --draw away"),
        (["small", "--time-limit", "0"], "--time-limit has to be above 0"),
        (["small", "--jobs", "0"], "--jobs has to be"),
        (["small", "--cluster", "nowhere"], "no Dask scheduler answers at 'nowhere'"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_wrong_usage(plan, call, arguments, complaint):
    code, _, err = call(*arguments)
    assert code == 1 and complaint in " ".join(err.split())


def test_plans_that_need_an_extra_are_left_out_of_all_but_not_when_named(plan, call, undrawn, monkeypatch):
    from acyclic.errors import MissingExtraError

    plan(TEXT.replace("Two methods", "Far away"), "far")

    def check(self):
        if self.name == "far":
            raise MissingExtraError("acyclic.Far", "torch", "neural")

    monkeypatch.setattr(plans.Plan, "check_installed", check)
    code, out, _ = call("all", "--quick")
    assert code == 0 and "far is left out: acyclic.Far needs torch" in out
    code, _, err = call("far")
    assert code == 1 and "acyclic[neural]" in err


def test_ctrl_c_says_what_is_left_and_how_to_go_on(tmp_path):
    command = [sys.executable, "-m", "acyclic", "reproduce", "figure-4", "--nodes", "10", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    try:
        with Store(tmp_path / "results.sqlite") as store:
            while len(store) < 2:
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            stored = len(store)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    said = " ".join(err.split())
    assert f"{stored} cases were computed and stored, {400 - stored} are left" in said
    assert "The same command goes on" in said and "Traceback" not in err


def test_durations():
    assert [duration(seconds) for seconds in (0, 59.4, 60, 3599, 3600, 90_000)] == [
        "0 s", "59 s", "1 min", "1 h 0 min", "1 h 0 min", "25 h 0 min",
    ]  # fmt: skip


def test_published_results_are_taken_over(plan, tmp_path, capsys, sketched):
    sketched()
    assert main(["reproduce", "small", "--out", str(tmp_path / "first"), "--quiet"]) == 0
    parquet = str(tmp_path / "first" / "results.parquet")
    assert main(["reproduce", "small", "--draw", "--from", parquet, "--out", str(tmp_path / "second")]) == 0
    assert "8 results were taken over" in capsys.readouterr().out
    first, second = ((tmp_path / name / "small.md").read_text() for name in ("first", "second"))
    assert first == second
    assert main(["reproduce", "small", "--from", str(tmp_path / "none.parquet"), "--out", str(tmp_path / "third")]) == 1
    assert "holds no results" in capsys.readouterr().err
