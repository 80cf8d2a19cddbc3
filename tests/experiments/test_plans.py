"""Plans: every shipped one loads, and a mistake in a file is named."""

import re

import pytest

from acyclic.errors import InputError, MissingExtraError
from acyclic.experiments.measures import MEASURES, OTHERS, make_estimator
from acyclic.experiments.plans import Setting, load_plan, plan_names, read_plan
from acyclic.experiments.store import Record, Store

TEXT = """
title = "A title"
paper = "Figure 0"
about = "Words."
measure = "fit"
drawing = "row"
runs = 3
time_limit = 60
evaluations = 9_000

[data]
sem = "linear"
graph = ["ER1", "SF1"]
n_nodes = [5, 8]
n = 100

[methods."TMPI"]
learner = "Notears"
constraint = "fast-tmpi"
l1 = 0.1

[methods."Search"]
learner = "Notears"
constraint = "exponential"
then = "kkt_search"
only = { graph = "ER1", n_nodes = [8] }
time_limit = 5
evaluations = 700

[methods."Empty"]
learner = "empty"
runs = 1

[quick]
runs = 2
time_limit = 7
data = { n_nodes = 5 }
methods = ["TMPI", "Empty"]

[[published]]
method = "TMPI"
data = { graph = "ER1", n_nodes = [5, 8] }
metric = "shd"
value = [1, 2.5]
source = "A paper"

[[published]]
method = "Empty"
metric = "shd"
value = 3
error = 0.5
source = "Another"
"""


@pytest.fixture
def read(tmp_path):
    def read(text=TEXT, quick=False):
        path = tmp_path / "made-up.toml"
        path.write_text(text)
        return read_plan(path, quick)

    return read


def test_the_parts_of_a_plan(read):
    plan = read()
    assert (plan.name, plan.title, plan.paper, plan.runs, plan.time_limit) == ("made-up", "A title", "Figure 0", 3, 60)
    assert plan.data == {"sem": ("linear",), "graph": ("ER1", "SF1"), "n_nodes": (5, 8), "n": (100,)}
    assert list(plan.methods) == ["TMPI", "Search", "Empty"] and not plan.quick
    assert [(p.method, p.data, p.value, p.error) for p in plan.published] == [
        ("TMPI", {"graph": "ER1", "n_nodes": 5}, 1.0, None),
        ("TMPI", {"graph": "ER1", "n_nodes": 8}, 2.5, None),
        ("Empty", {}, 3.0, 0.5),
    ]


def test_settings_are_all_combinations_less_what_a_method_leaves_out(read):
    settings = read().settings()
    assert [(s.label, s.data["graph"], s.data["n_nodes"]) for s in settings] == [
        ("TMPI", "ER1", 5),
        ("Empty", "ER1", 5),
        ("TMPI", "ER1", 8),
        ("Search", "ER1", 8),
        ("Empty", "ER1", 8),
        ("TMPI", "SF1", 5),
        ("Empty", "SF1", 5),
        ("TMPI", "SF1", 8),
        ("Empty", "SF1", 8),
    ]
    assert len({setting.key for setting in settings}) == len(set(settings)) == 9
    assert settings[3].method == {"learner": "Notears", "constraint": "exponential", "then": "kkt_search"}
    with pytest.raises(TypeError):
        settings[0].data["n"] = 1


def test_cases_come_run_by_run_with_the_limits_and_runs_of_their_methods(read):
    cases = read().cases()
    assert [case.run for case in cases] == [0] * 9 + [1] * 5 + [2] * 5
    fits = [case for case in cases if dict(case.method).get("constraint")]
    limits = {dict(case.method)["constraint"]: (case.time_limit, case.evaluations) for case in fits}
    assert limits == {"fast-tmpi": (60, 9000), "exponential": (5, 700)}
    assert [case.setting for case in cases[:9]] == [setting.key for setting in read().settings()]


def test_runs_nodes_and_limit_of_the_caller(read):
    cases = read().cases(runs=1, nodes=[8], time_limit=3.0)
    assert len(cases) == 5 and {dict(case.data)["n_nodes"] for case in cases} == {8}
    assert {case.time_limit for case in cases} == {3.0}
    assert {case.time_limit for case in read().cases(time_limit=100.0)} == {100.0, 5.0}
    assert read().cases(nodes=[7]) == [] and len(read().cases(runs=9)) == 9 + 8 * 5


def test_the_quick_form_is_a_part_of_the_full_one(read):
    quick, full = read(quick=True), read()
    assert quick.quick and quick.runs == 2 and list(quick.methods) == ["TMPI", "Empty"]
    assert {case.key for case in quick.cases()} < {case.key for case in full.cases()}
    assert {case.time_limit for case in quick.cases()} == {7}


def test_a_method_with_a_measure_of_its_own(read):
    plan = read(TEXT + '[methods."Along the way"]\nmeasure = "truncation"\nconstraint = "fast-tmpi"\nmax_rounds = 2\n')
    assert [case.measure for case in plan.cases(runs=1)].count("truncation") == 4


def test_records_of_a_plan(read, tmp_path):
    plan = read()
    with Store(tmp_path / "results.sqlite") as store:
        for case in plan.cases()[::-2]:
            store.add(Record(case, "done", {"shd": case.run}, "", 0.0, 0.0))
        store.add(Record(load_plan("figure-2").cases(runs=1)[0], "done", {}, "", 0.0, 0.0))
        found = plan.records(store)
    assert list(found) == plan.settings() and all(isinstance(setting, Setting) for setting in found)
    assert sum(map(len, found.values())) == 10
    for setting, records in found.items():
        runs = [record.case.run for record in records]
        assert runs == sorted(runs) and {record.case.setting for record in records} <= {setting.key}


MISTAKES = {
    "unknown at the top": (
        'paper = "Figure 0"',
        'papers = "Figure 0"',
        "papers is unknown in the file; .*title, paper",
    ),
    "missing": ('title = "A title"', "", "title is missing"),
    "type of a text": ('title = "A title"', "title = 1", "title is 1; give a string"),
    "measure": ('measure = "fit"', 'measure = "guess"', "measure is 'guess'; give one of fit, gradient-norms"),
    "drawing": ('drawing = "row"', 'drawing = "pie"', "drawing is 'pie'; give one of grid"),
    "runs": ("runs = 3", "runs = 0", "runs is 0; give a whole number"),
    "runs, a word": ("runs = 3", "runs = true", "runs is True; give a whole number"),
    "limit": ("time_limit = 60", "time_limit = -1", "time_limit is -1; give a number of seconds above 0"),
    "cap": ("evaluations = 9_000", "evaluations = 0.5", "evaluations is 0.5; give a whole number, at least 1"),
    "option": ("l1 = 0.1", "eps2 = 0.1", '"TMPI" gives eps2, which Notears does not have; .*pruning.*, eps, loop'),
    "data": ("n = 100", "rows = 100", r"rows is unknown in \[data\]; .*graph.*n_nodes"),
    "no value": ("n_nodes = [5, 8]", "n_nodes = []", r"data.n_nodes is \[\]"),
    "a value twice": ("n_nodes = [5, 8]", "n_nodes = [5, 5.0]", "data.n_nodes .* names a value twice"),
    "learner": ('learner = "empty"', 'learner = "Emty"', "\"Empty\" has the learner 'Emty'; give one of .*Notears"),
    "no learner": ('learner = "empty"', "", '"Empty" has the learner None'),
    "setting": ("l1 = 0.1", "lambda1 = 0.1", '"TMPI" gives lambda1, which Notears does not have; .*constraint'),
    "reserved": ("l1 = 0.1", "random_state = 1", '"TMPI" gives random_state, which Notears'),
    "setting of none": ("runs = 1", "l1 = 1", '"Empty" gives l1, which empty does not have; it takes nothing'),
    "setting, a list": ("l1 = 0.1", "l1 = [0.1]", r'"TMPI" gives l1 = \[0.1\]'),
    "search": ('then = "kkt_search"', 'then = "luck"', "is followed by 'luck'; .*kkt_search-published"),
    "only": ('only = { graph = "ER1"', 'only = { sort = "ER1"', "sort is unknown in .*only"),
    "measure of a method": ("runs = 1\n", 'measure = "x"\n', "measure is 'x'"),
    "quick": ("[quick]\nruns", "[quick]\nrun", r"run is unknown in \[quick\]; .*runs, time_limit, evaluations, data"),
    "quick label": ('methods = ["TMPI", "Empty"]', 'methods = ["Full"]', "quick.methods is 'Full'; give one of TMPI"),
    "quick data": ("data = { n_nodes = 5 }", "data = { noise = 5 }", r"noise is unknown in \[quick.data\]"),
    "published label": ('method = "Empty"', 'method = "None"', "published.method is 'None'; give one of TMPI"),
    "published key": ("error = 0.5", "errors = 0.5", r"errors is unknown in \[\[published\]\]"),
    "published numbers": ("value = [1, 2.5]", "value = [1]", "1 numbers for 2 combinations"),
    "published text": ("value = 3", 'value = "3"', "published.value is '3'; give a number"),
    "no source": ('source = "Another"', "", "published.source is missing"),
    "no TOML": ("runs = 3", "runs = ", "is not a TOML file"),
}


@pytest.mark.parametrize(("old", "new", "complaint"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_file(read, old, new, complaint):
    assert old in TEXT
    with pytest.raises(InputError, match=complaint) as caught:
        read(TEXT.replace(old, new, 1))
    assert "made-up.toml" in str(caught.value)


def test_a_mistake_in_the_quick_form_is_found_when_the_full_one_is_read(read):
    with pytest.raises(InputError, match="quick"):
        read(TEXT.replace("runs = 2", "runs = 'two'"), quick=False)


def test_unknown_names():
    with pytest.raises(InputError, match=r"there is no plan 'figure-9'.*; choose one of figure-1, .*all, or a"):
        load_plan("figure-9")


def test_every_figure_and_table_of_the_paper_has_a_plan():
    figures = {f"figure-{i}" for i in range(1, 5)} | {"table-1", "table-2", "nonlinear"}
    figures |= {"figure-2-published", "figure-3-published", "analytic", "analytic-large"}
    appendix = {"metrics", "sf2", "n200", "500-nodes", "kkts", "er6", "truncation"}
    assert set(plan_names()) == figures | {f"appendix-{name}" for name in appendix}
    assert plan_names()[0] == "figure-1" and plan_names()[-1].startswith("appendix")


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", plan_names())
def test_shipped_plans_load_and_their_learners_can_be_made(name, quick):
    plan = load_plan(name, quick)
    assert plan.quick is quick and plan.title and plan.paper and len(plan.about) > 80
    cases = plan.cases(runs=1)
    assert cases and len({case.key for case in cases}) == len(cases)
    assert {case.measure for case in cases} <= set(MEASURES) and not any(case.time_limit for case in cases)
    assert all(case.evaluations or case.measure == "products" for case in cases)
    for setting in plan.settings():
        for theirs in plan.published:
            assert theirs.data.items() <= {**setting.data, **theirs.data}.items()
        if "learner" in setting.method:
            pytest.importorskip("torch") if setting.method["learner"] in ("NotearsMlp", "DagGnn", "GranDag") else None
            learner = make_estimator(setting.method, 1.0, 3)
            assert learner is None if setting.method["learner"] in OTHERS else learner.time_limit == 1.0
    assert all(any(theirs.method == setting.label for setting in plan.settings()) for theirs in plan.published) or quick


@pytest.mark.parametrize("name", plan_names())
def test_quick_cases_that_differ_from_the_full_ones_differ_in_data_only(name):
    full = {
        (label, method.measure, *sorted(method.settings.items())) for label, method in load_plan(name).methods.items()
    }
    quick = load_plan(name, quick=True)
    assert {(label, m.measure, *sorted(m.settings.items())) for label, m in quick.methods.items()} <= full
    assert quick.settings()


@pytest.mark.parametrize("name", ["figure-1", "appendix-metrics", "appendix-kkts"])
def test_fits_are_shared_with_figures_2_and_3(name):
    sources = ("figure-2", "figure-3", "figure-2-published")
    known = {case.key for source in sources for case in load_plan(source).cases(runs=1)}
    plan = load_plan(name)
    new = {dict(case.method).get("then", case.measure) for case in plan.cases(runs=1) if case.key not in known}
    assert new <= {"kkt_search", "kkt_search-published", "gradient-norms"}


PUBLISHED = {
    "figure-2-published": {
        "Notears": {"inner": "lbfgs"},
        "NoCurl": {"inner": "lbfgs", "lambda1": 1000, "lambda2": 1000},
    },
    "figure-3-published": {"Golem": {"inner": "adam", "steps": 100_000, "rate": 0.001, "l1": 0.02, "h_weight": 5}},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_procedures_are_the_published_ones(name):
    plan = load_plan(name)
    for label, method in plan.methods.items():
        wanted = PUBLISHED[name].get(method.settings["learner"], {})
        assert wanted.items() <= method.settings.items(), label
        # Adam evaluates the constraint once for each step, and once at the end.
        assert plan.evaluations > method.settings.get("steps", 0) + 1
        if method.settings.get("constraint") == "spectral-radius":
            assert method.settings["bound"] == "nobears"
        if method.settings["learner"] in ("Mmpc", "Mmhc"):
            assert make_estimator(method.settings) is None or make_estimator(method.settings).max_conditioning is None


@pytest.mark.parametrize("name", plan_names())
def test_the_detour_of_golem_is_named_where_it_is_taken(name):
    plan = load_plan(name)
    for label, method in plan.methods.items():
        if method.settings.get("learner") == "Golem":
            learner = make_estimator(method.settings)
            assert ("detour" in label.replace("no detour", "")) is (learner._detour() > 1), label
            assert "detour" in plan.about


def test_learners_that_need_an_extra_say_so_before_anything_is_computed(read, monkeypatch):
    monkeypatch.setattr("acyclic.learners.neural.base.find_spec", lambda name: None)
    plan = read(re.sub('learner = "Notears"\nconstraint = "fast-tmpi"', 'learner = "NotearsMlp"', TEXT))
    with pytest.raises(MissingExtraError, match=r"acyclic\[neural\]"):
        plan.check_installed()
