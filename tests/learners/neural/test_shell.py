"""What all neural learners share: the missing extra, rows, devices, seeds, knowledge, residuals."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import acyclic
from acyclic.errors import InputError, MissingExtraError
from acyclic.facts import Caution, Ended, Fact

QUICK = {
    "NotearsMlp": {"hidden": 3, "max_rounds": 2},
    "DagGnn": {"epochs": 3, "max_rounds": 2},
    "GranDag": {"max_iterations": 400},
}
NAMES = list(QUICK)
DATA = acyclic.simulate(n_nodes=4, n=120, graph="ER1", sem="mlp", random_state=3)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def quick(name, **settings):
    return getattr(acyclic, name)(**QUICK[name], **settings)


@pytest.mark.parametrize("name", NAMES)
def test_without_torch_the_extra_is_named(name, monkeypatch):
    monkeypatch.setattr("acyclic.learners.neural.base.find_spec", lambda package: None)
    with pytest.raises(MissingExtraError) as caught:
        getattr(acyclic, name)()
    assert str(caught.value) == f"acyclic.{name} needs torch; install it with: pip install 'acyclic[neural]'"


def test_torch_is_not_loaded_before_a_fit():
    code = "import acyclic as a, sys; a.GranDag(); a.NotearsMlp(); a.DagGnn(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", NAMES)
def test_moments_are_not_enough(name):
    with pytest.raises(InputError, match=f"{name} needs rows"):
        quick(name).fit(acyclic.Moments.from_array(DATA.X))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("device", ["cuda:99", "teapot", 3.5])
def test_a_device_that_is_not_there(name, device):
    with pytest.raises(InputError, match=r"device .* cannot be used|device has to be the name of a device"):
        quick(name, device=device).fit(DATA.X)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [-1, 1.5, True, "a"])
def test_a_seed_that_is_none(name, seed):
    with pytest.raises(InputError, match="random_state has to be"):
        quick(name, random_state=seed).fit(DATA.X)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_decides_everything(name):
    first, again, other = (quick(name, random_state=seed).fit(DATA.X) for seed in (5, 5, 6))
    assert np.array_equal(first.solution_.weights, again.solution_.weights)
    assert not np.array_equal(first.solution_.weights, other.solution_.weights)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_stays_as_it_was_and_decides_nothing(name):
    import torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        two = quick(name).fit(DATA.X)
        assert torch.get_num_threads() == 2
        torch.set_num_threads(1)
        one = quick(name).fit(DATA.X)
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(one.solution_.weights, two.solution_.weights)


@pytest.mark.parametrize("name", NAMES)
def test_bounds_are_not_used_and_the_verdict_says_so(name):
    knowledge = acyclic.Knowledge(required=[("x0", "x1")], signs={("x0", "x1"): "-"})
    model = quick(name, knowledge=knowledge).fit(DATA.X)
    assert model.causal_graph_.adjacency[0, 1]
    assert Fact.of(Caution.BOUNDS_UNUSED) in model.verdict_.cautions


@pytest.mark.parametrize("name", NAMES)
def test_strengths_are_not_negative(name):
    model = quick(name).fit(DATA.X)
    assert (model.adjacency_matrix_ >= 0).all() and (model.solution_.weights >= 0).all()


def test_residuals_are_those_of_the_parents_in_the_graph():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 800)
    X = np.column_stack([x, np.sin(2 * x) + 0.1 * rng.standard_normal(800)])
    knowledge = acyclic.Knowledge(required=[("x0", "x1")])
    model = quick("DagGnn", knowledge=knowledge).fit(X)
    residuals = model.transform(X)
    np.testing.assert_allclose(residuals[:, 0], x - x.mean(), atol=1e-12)
    assert residuals[:, 1].var() == pytest.approx(0.01, rel=0.15)
    np.testing.assert_allclose(model.noise_variances_, (residuals**2).mean(axis=0))
    scores = -0.5 * (residuals**2 / model.noise_variances_ + np.log(2 * np.pi * model.noise_variances_)).sum(axis=1)
    # The noise of x0 is uniform, which the model knows: under normal noise rows are less likely.
    assert model.score(X) > scores.mean()


METHODS = {"notears-mlp": "NotearsMlp", "dag-gnn": "DagGnn", "gran-dag": "GranDag"}


@pytest.mark.parametrize("method", METHODS)
def test_learn_by_name_from_a_file(method, tmp_path):
    path = tmp_path / "table.csv"
    np.savetxt(path, DATA.X, delimiter=",", header="a,b,c,d", comments="")
    result = acyclic.learn(path, method=method, random_state=2, **QUICK[METHODS[method]])
    assert result.graph.names == ("a", "b", "c", "d")
    # So few iterations of GraN-DAG end before its first subproblem does.
    assert (result.curve is None) == (method == "gran-dag")
    assert result.provenance["settings"]["method"] == method
    same = quick(METHODS[method], random_state=2).fit(DATA.X)
    assert result.graph.weights.tobytes() == same.adjacency_matrix_.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_bootstrap_gives_rows(name):
    found = acyclic.bootstrap(quick(name), DATA.X, 2, random_state=1)
    assert found.draws == 2 and found.names == ("x0", "x1", "x2", "x3")
    by_function = acyclic.bootstrap(partial(acyclic.learn, method=quick(name)), DATA.X, 2, random_state=1)
    np.testing.assert_array_equal(by_function.edge, found.edge)


def test_bootstrap_by_name_gives_rows():
    found = acyclic.bootstrap("notears-mlp", DATA.X[:, 1:3], 2)
    same = acyclic.bootstrap(acyclic.NotearsMlp(), DATA.X[:, 1:3], 2)
    assert found.draws == 2 and np.array_equal(found.edge, same.edge)


@pytest.mark.parametrize("name", NAMES)
def test_audit_gives_rows(name):
    audited = acyclic.audit(DATA.X, learner=quick(name), rescalings=1)
    assert audited.refits == 2 and audited.end.kind is Ended.COMPLETE
    assert audited.graph == quick(name).fit(DATA.X).causal_graph_
    edges = {(source, target) for source, target, _ in audited.graph.edges()}
    assert {*audited.surviving, *audited.turning, *audited.undetermined, *audited.vanishing} == edges
    # A learner that claims more than a class leaves no direction open.
    assert audited.undetermined == ()
