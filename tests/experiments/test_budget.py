"""A budget of time goes where a claim is undecided, until all are decided or the time is spent."""

from dataclasses import replace

import pytest

from acyclic.deadline import Deadline
from acyclic.experiments import acceptance, budget, runner
from acyclic.experiments.budget import next_cases, spend, undecided
from acyclic.experiments.claims import Check, Claim, Standing, Where
from acyclic.experiments.pace import GROWTH, Pace
from acyclic.experiments.store import Record, Store
from experiments import made_up

UNDECIDED = Standing.UNDECIDED
# What the learners of the plan find, whatever the data: errors around these, one up and one down.
LEVEL = {"exponential": 10.0, "fast-tmpi": 4.0}


@pytest.fixture
def plan():
    return made_up.plan()


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


@pytest.fixture
def computed(monkeypatch):
    """Cases are answered at once, and listed."""
    asked = []

    def compute(case):
        asked.append(case)
        level = LEVEL.get(dict(case.method).get("constraint"), 0.0)
        shd = level * (1.5 if case.run % 2 else 0.5)
        return Record(case, "done", {"shd": shd}, "", 2.0, 1.0)

    monkeypatch.setattr(runner, "compute", compute)
    return asked


def level(d, constraint, low, high, enough=4):
    where = Where("small", {"n_nodes": d}, {"learner": "Notears", "constraint": constraint})
    return Claim(f"{constraint} at {d}", where, (low, high), enough=enough)


@pytest.fixture
def claim(monkeypatch):
    def claim(*some):
        monkeypatch.setattr(acceptance, "claims", lambda plans: list(some))

    return claim


def test_runs_are_added_until_the_claims_are_decided(plan, store, computed, claim):
    claim(level(10, "exponential", 8.0, 12.0), level(30, "fast-tmpi", 0.0, 1.0))
    told = []
    spent = spend([plan], store, Deadline(60), callback=lambda check, cases: told.append((check.claim, cases)))
    assert [check.standing for check in spent.checks] == [Standing.MET, Standing.NOT_MET]
    # Errors of 5 and 15 in turn: with n runs the 95 % interval is about ±2·5/√n, below ±2 from 32 runs on.
    assert told[:2] == [("exponential at 10", 4), ("fast-tmpi at 30", 4)] and told[-1] == ("exponential at 10", 16)
    assert not spent.interrupted and spent.computed == len(computed) == len(store)
    counts = {key: sum(case.setting == key for case in computed) for key in {case.setting for case in computed}}
    assert len(counts) == 2 and max(counts.values()) == 32
    again = spend([plan], store, Deadline(60))
    assert again.computed == 0 and again.checks == spent.checks


def test_the_widest_interval_across_its_bound_comes_first(plan, store, computed, claim):
    narrow, wide = level(10, "exponential", 0.0, 11.0), level(30, "exponential", 0.0, 10.1)
    claim(narrow, wide)
    for where, values in ((narrow, [9, 13] * 4), (wide, [1, 19] * 4)):
        setting = where.ours.find({"small": dict.fromkeys(plan.settings(), ())})
        for run, shd in enumerate(values):
            store.add(made_up.record(setting, run, shd=shd))
    found = undecided(acceptance.checks([(plan, plan.records(store))]), store)
    assert [check.claim for check in found] == ["exponential at 30", "exponential at 10"]
    assert found[0].width > found[1].width
    assert [case.run for case in next_cases(found[0], [plan], store)] == list(range(8, 16))


def test_the_order_of_need(plan, store):
    by_key = settings_of(plan)
    slow, fast = by_key["MSE + exponential", 30], by_key["MSE + exponential", 10]
    empty, endless = by_key["MSE + TMPI", 10], by_key["MSE + TMPI", 30]
    for setting, seconds in ((slow, 50.0), (fast, 1.0), (endless, 1.0)):
        for run in range(4):
            store.add(made_up.record(setting, run, shd=1, cpu_seconds=seconds))

    def check(name, setting, width, standing=UNDECIDED):
        return Check(name, "", standing, (("small", setting),), width, 4)

    found = [
        check("endless", endless, float("inf")),
        check("slow", slow, 0.5),
        check("fast", fast, 0.5),
        check("wide", fast, 0.9),
        check("no runs", empty, float("inf")),
        check("met", fast, 0.0, Standing.MET),
        Check("nothing of it is planned", "", UNDECIDED),
    ]
    names = [one.claim for one in undecided(found, store)]
    assert names == ["no runs", "wide", "fast", "slow", "endless"]
    # A record has twice the wall seconds of its processor seconds here.
    assert "slow" not in [one.claim for one in undecided(found, store, left=99.0)]
    assert [one.claim for one in undecided(found, store, nodes=(30,))] == ["slow", "endless"]


def settings_of(plan):
    return {(s.label, s.data["n_nodes"]): s for s in plan.settings()}


def test_time_that_was_never_measured_is_that_of_the_nearest_kind(store):
    methods = {
        "slow": made_up.method({"learner": "Notears", "constraint": "exponential"}),
        "same minimiser": made_up.method({"learner": "Notears", "constraint": "fast-tmpi"}),
        "adam": made_up.method({"learner": "Golem", "inner": "adam"}),
        "fast": made_up.method({"learner": "EqualVariance"}),
    }
    plan = made_up.plan(methods=methods, data={"graph": ("ER2",), "n_nodes": (10, 40, 160), "n": (1000,)})
    find = settings_of(plan)
    assert Pace(store).seconds(find["slow", 10]) == 0.0
    # Records have twice the wall seconds of their processor seconds: 2 and 128, a power of 3 of the number of nodes.
    for label, nodes, seconds in (("slow", 10, 1.0), ("slow", 40, 64.0), ("fast", 10, 0.01)):
        store.add(made_up.record(find[label, nodes], 0, shd=1, cpu_seconds=seconds))
    pace = Pace(store)
    assert pace.seconds(find["slow", 40]) == 128
    assert pace.seconds(find["slow", 160]) == pytest.approx(128 * 4**3)
    assert pace.seconds(find["same minimiser", 160]) == pytest.approx(128 * 4**3)
    assert pace.seconds(find["fast", 40]) == pytest.approx(0.02 * 4**GROWTH)
    # Of a minimiser that nobody tried, the slowest of all that ran.
    assert pace.seconds(find["adam", 40]) == 128


def test_claims_that_never_ran_come_cheapest_first_and_only_if_they_fit(plan, store):
    plan = made_up.plan(data={**plan.data, "n_nodes": (10, 30, 500)})
    find = settings_of(plan)
    store.add(made_up.record(find["MSE + TMPI", 10], 0, shd=1, cpu_seconds=1.0))
    found = [
        Check(f"{label} at {nodes}", "", UNDECIDED, (("small", find[label, nodes]),), float("inf"), 4)
        for label, nodes in [("MSE + exponential", 500), ("MSE + exponential", 30), ("MSE + TMPI", 10)]
    ]
    found[2] = replace(found[2], width=0.5)
    names = [one.claim for one in undecided(found, store)]
    assert names == ["MSE + TMPI at 10", "MSE + exponential at 30", "MSE + exponential at 500"]
    # 2 s at 10 nodes make 9.8 hours at 500.
    assert [one.claim for one in undecided(found, store, left=7200.0)] == names[:2]


def test_no_time_computes_nothing(plan, store, computed, claim):
    claim(level(10, "exponential", 8.0, 12.0))
    assert spend([plan], store, Deadline(0)).computed == 0 and not computed


def test_time_that_runs_out_ends_it_after_the_case_under_way(plan, store, computed, claim, monkeypatch):
    claim(level(10, "exponential", 8.0, 12.0))
    deadline = Deadline(60)
    monkeypatch.setattr(deadline, "passed", lambda: len(computed) >= 3)
    spent = spend([plan], store, deadline)
    assert spent.computed == 3 == len(store) and not spent.interrupted and spent.checks[0].standing is UNDECIDED


def test_a_limit_of_seconds_holds_for_the_cases_of_a_budget(plan, store, computed, claim):
    claim(level(10, "exponential", 8.0, 12.0))
    spend([plan], store, Deadline(60), time_limit=7.5)
    assert {case.time_limit for case in computed} == {7.5}


def test_ctrl_c_keeps_the_rows(plan, store, computed, claim, monkeypatch):
    claim(level(10, "exponential", 8.0, 12.0))
    answer = runner.compute

    def interrupted(case):
        if case.run == 6:
            raise KeyboardInterrupt
        return answer(case)

    monkeypatch.setattr(runner, "compute", interrupted)
    spent = spend([plan], store, Deadline(60))
    assert spent.interrupted and spent.computed == 6 == len(store)


def test_claims_whose_runs_are_all_cut_do_not_keep_others_waiting(plan, store, claim, monkeypatch, computed):
    claim(level(10, "exponential", 8.0, 12.0), level(10, "fast-tmpi", 3.0, 5.0))
    answer = runner.compute

    def compute(case):
        found = answer(case)
        if dict(case.method)["constraint"] == "exponential":
            return Record(case, "done", {**found.values, "stopped_early": True}, "", 2.0, 1.0)
        return found

    monkeypatch.setattr(runner, "compute", compute)
    deadline = Deadline(60)
    monkeypatch.setattr(deadline, "passed", lambda: len(computed) >= 200)
    spent = spend([plan], store, deadline)
    assert [check.standing for check in spent.checks] == [UNDECIDED, Standing.MET]


def test_budget_is_of_this_room():
    assert budget.run is runner.run
