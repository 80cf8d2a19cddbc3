"""The installed example: found by acyclic, and usable wherever a method of acyclic is."""

import json
from pathlib import Path

import acyclic_example
import numpy as np
from scipy.optimize import approx_fprime

import acyclic
from acyclic.cli import main

DATA = acyclic.simulate(6, 300, random_state=1)


def test_the_learner_goes_by_its_name():
    found = acyclic.learn(DATA.X, method="nearest", least=0.2)
    assert found.verdict.method == "nearest"
    assert found.verdict.settings["package"] == "acyclic_example 0.1.0"
    assert (found.graph.adjacency == acyclic_example.Nearest(least=0.2).fit(DATA.X).adjacency_matrix_).all()
    assert acyclic.bootstrap("nearest", DATA.X, draws=3, n_jobs=2).draws == 3
    assert acyclic.audit(DATA.X, learner="nearest").end.kind.converged


def test_the_constraint_goes_by_its_name():
    truth = DATA.graph.adjacency
    assert acyclic.compare(DATA.graph, acyclic.Notears(constraint="doubled").fit(DATA.X)).shd <= truth.sum()
    B = np.random.default_rng(0).uniform(size=(4, 4))
    h, G = acyclic.constraint("doubled").value_and_gradient(B)
    slopes = approx_fprime(B.ravel(), lambda b: acyclic.constraint("doubled").value_and_gradient(b.reshape(4, 4))[0])
    # Forward differences with steps of 1.5e-8: an error of that times the second derivative, which is 2 E's size.
    assert np.allclose(G.ravel(), slopes, rtol=1e-5)
    assert h > 0


def test_the_command_knows_both(tmp_path, capsys):
    assert main(["plugins", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["plugins"]
    assert {(row["name"], row["usable"]) for row in listed} >= {("nearest", True), ("doubled", True)}
    plan = Path(__file__).parents[1] / "my-plan.toml"
    assert main(["reproduce", str(plan), "--runs", "1", "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert (tmp_path / "out" / "my-plan.md").exists()
