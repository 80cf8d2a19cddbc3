"""Packages that add methods and constraints: found by name, loaded late, harmless to others when they are broken."""

import sys

import pytest

import acyclic
from acyclic import plugins
from acyclic.errors import AcyclicError, InputError
from acyclic.learners import LEARNERS, list_methods

CODE = """
import numpy as np
import acyclic

class Chain:
    def __init__(self, weight=1.0):
        self.weight = weight
    def fit(self, X):
        self.adjacency_matrix_ = self.weight * np.eye(X.shape[1], k=1)

class Greedy(acyclic.Ges):
    method = "greedy"

class Walks(acyclic.Constraint):
    name = "walks"
    def evaluate_block(self, B, size):
        return acyclic.Evaluation(float(B.trace()), np.eye(len(B)))

NOTHING = 3
"""
DATA = acyclic.simulate(5, 100, random_state=0)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of so many entry points, as pip would leave it: a module, and its metadata beside it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(package, learners=None, constraints=None, code=CODE):
        module = package.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(code)
        folder = tmp_path / f"{module}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = []
        for group, entries in (("learners", learners), ("constraints", constraints)):
            lines += [f"[acyclic.{group}]", *(f"{name} = {module}:{what}" for name, what in (entries or {}).items())]
        (folder / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.delitem(sys.modules, module, raising=False)
        return module

    return install


def test_methods_and_constraints_of_others_go_by_name(install):
    module = install("theirs", {"chain": "Chain", "greedy": "Greedy"}, {"walks": "Walks"})
    assert {"chain", "greedy"} <= set(list_methods())
    assert module not in sys.modules
    found = acyclic.learn(DATA.X, method="chain", weight=0.5)
    assert found.verdict.method == "chain" and found.graph.edges()[0] == ("x0", "x1", 0.5)
    assert acyclic.learn(DATA.X, method="greedy", penalty="ebic").verdict.method == "greedy"
    assert acyclic.bootstrap("chain", DATA.X, draws=2).draws == 2
    assert acyclic.constraint("walks").name == "walks"
    assert acyclic.Notears(constraint="walks", max_rounds=1)._check_parameters() is None
    with pytest.raises(InputError, match="chain has no setting 'l1'; it takes weight"):
        acyclic.learn(DATA.X, method="chain", l1=1)


def test_a_broken_package_is_named_and_harms_nobody_else(install):
    install("broken", {"shaky": "Chain"}, {"shaky-too": "Walks"}, code="import no_such_module_at_all")
    install("sound", {"chain": "Chain"})
    assert acyclic.learn(DATA.X, method="chain").graph.n_edges == 4
    with pytest.raises(AcyclicError, match=r"'shaky' .* of the package broken 1.0 cannot be loaded .*no_such_module"):
        acyclic.learn(DATA.X, method="shaky")
    with pytest.raises(AcyclicError, match="package broken 1"):
        acyclic.constraint("shaky-too")


def test_names_of_ours_are_refused(install):
    install("bold", {"notears": "Chain"}, {"fast-tmpi": "Walks", "analytic-3": "Walks"})
    assert type(acyclic.make_learner("notears")) is acyclic.Notears
    assert "Walks" not in type(acyclic.constraint("fast-tmpi")).__name__
    (plugin,) = plugins.list_plugins(plugins.LEARNERS, LEARNERS)
    assert plugin.refused and plugin.name not in plugins.name_plugins(plugins.LEARNERS, LEARNERS)
    with pytest.raises(AcyclicError, match=r"bold 1\.0 is refused"):
        plugin.load()


def test_a_name_that_two_packages_offer_is_refused(install):
    install("first", {"chain": "Chain"})
    install("second", {"chain": "Chain"})
    with pytest.raises(AcyclicError, match=r"first 1\.0 and second 1\.0 both offer"):
        acyclic.learn(DATA.X, method="chain")


@pytest.mark.parametrize("what", ["NOTHING", "Walks", "Greedy", "Missing"])
def test_what_is_no_learner_of_that_name_is_refused(install, what):
    install("odd", {"strange": what})
    with pytest.raises(AcyclicError, match="package odd 1"):
        acyclic.make_learner("strange")


@pytest.mark.parametrize("what", ["NOTHING", "Chain", "Walks"])
def test_what_is_no_constraint_of_that_name_is_refused(install, what):
    install("odd", constraints={"strange": what})
    with pytest.raises(AcyclicError, match="package odd 1"):
        acyclic.constraint("strange")


def test_a_plan_may_name_a_method_of_another_package(install, tmp_path):
    from acyclic.experiments.plans import load_plan
    from acyclic.experiments.runner import compute

    install("theirs", {"chain": "Chain", "greedy": "Greedy"})
    text = """
title = "t"
paper = "none"
about = "words"
measure = "fit"
drawing = "row"
runs = 1
[data]
sem = "linear"
graph = "ER1"
n_nodes = 5
n = 50
[methods."Chain"]
learner = "chain"
weight = 2.0
[methods."Greedy"]
learner = "greedy"
[methods."Ours"]
learner = "Ges"
"""
    (tmp_path / "mine.toml").write_text(text)
    cases = load_plan(str(tmp_path / "mine.toml")).cases()
    records = [compute(case) for case in cases]
    assert [record.status for record in records] == ["done"] * 3
    assert records[0].values["n_edges"] == 4
    # Another version of the package is another case: its results are not taken for those of this one.
    assert [dict(case.method).get("package") for case in cases] == ["theirs 1.0", "theirs 1.0", None]
    (tmp_path / "odd.toml").write_text(text.replace("weight = 2.0", "height = 2.0"))
    with pytest.raises(InputError, match="gives height, which chain does not have"):
        load_plan(str(tmp_path / "odd.toml"))
    (tmp_path / "figure-2.toml").write_text(text)
    with pytest.raises(InputError, match="rename it"):
        load_plan(str(tmp_path / "figure-2.toml"))
