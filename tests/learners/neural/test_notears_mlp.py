"""NotearsMlp: written-out gradients against autograd, two minimisers on one problem, prior knowledge, checkpoints."""

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from acyclic._native import elastic_net
from acyclic.constraints.catalogue import constraint
from acyclic.continuous.problem import Penalty
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.facts import Caution, Ended, Fact, Orientation
from acyclic.graphs.cycles import is_acyclic
from acyclic.graphs.metrics import shd
from acyclic.running import Monitor, State

torch = pytest.importorskip("torch")
from acyclic.learners.neural.notears_mlp.learner import NotearsMlp  # noqa: E402
from acyclic.learners.neural.notears_mlp.minimisers import (  # noqa: E402
    HIDDEN,
    NotFiniteError,
    OnwardLagrangian,
    lbfgs,
    proximal_newton,
    within_sight,
)
from acyclic.learners.neural.notears_mlp.networks import Perceptrons  # noqa: E402
from acyclic.learners.neural.notears_mlp.problem import NonlinearProblem  # noqa: E402
from acyclic.learners.neural.notears_mlp.sobolev import Sobolev  # noqa: E402

CPU = torch.device("cpu")
MINIMISERS = {"proximal-newton": proximal_newton, "lbfgs": lbfgs}
may_fall_short = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    return simulate(5, 500, graph="ER1", sem="mlp", random_state=5)


@pytest.fixture(scope="module")
def small():
    return simulate(4, 80, graph="ER1", sem="mim", random_state=1).X


def naive_network(p, X, j, hidden):
    """Network j written plainly: flat parameters p of the node, rows X."""
    signal, at, below = X, 0, X.shape[1]
    for above in (*hidden, 1):
        W = p[at : at + above * below].reshape(above, below)
        at += above * below
        b = p[at : at + above]
        at += above
        signal = (signal if at == above * below + above else torch.sigmoid(signal)) @ W.T + b
        below = above
    return signal[:, 0]


def naive_objective(parameters, X, hidden, l1, l2, penalty, name):
    """The objective of the definition, node by node, with autograd; constraint by a sum of powers."""
    n, d = X.shape
    X = X - X.mean(dim=0)
    total, columns = 0.0, []
    for j in range(d):
        p = parameters[j]
        total = total + ((naive_network(p, X, j, hidden) - X[:, j]) ** 2).sum() / (2 * n)
        first = p[: hidden[0] * d].reshape(hidden[0], d)
        total = total + l1 * first.abs().sum()
        at, below = 0, d
        for above in (*hidden, 1):
            total = total + 0.5 * l2 * (p[at : at + above * below] ** 2).sum()
            at, below = at + above * below + above, above
        columns.append((first**2).sum(dim=0))
    A = torch.stack(columns, dim=1)
    h = sum(torch.linalg.matrix_power(A, i).trace() for i in range(1, d + 1))
    if name == "exponential":
        h = torch.linalg.matrix_exp(A).trace() - d
    return total + 0.5 * penalty.rho * h * h + penalty.alpha * h


def random_point(problem, seed=0, scale=0.4):
    p = np.random.default_rng(seed).uniform(-scale, scale, problem.shape)
    return np.where(problem.free, p, 0.0)


def gradient_of(problem, point):
    smooth = point.prediction.tangent().gradient + (2 * point.ridge + problem.mechanisms.ridge) * point.parameters
    return smooth + problem.l1 * np.sign(point.parameters)


@pytest.mark.parametrize("hidden", [(1,), (3,), (4, 3), (3, 2, 2)])
@pytest.mark.parametrize("name", ["geometric", "exponential"])
def test_objective_and_gradient_are_those_of_autograd(hidden, name, small):
    penalty = Penalty(rho=3.0, alpha=0.7)
    mask = Mask.unrestricted(4)
    problem = NonlinearProblem(Perceptrons(small, hidden, 0.02, CPU), constraint(name), 0.03, mask)
    p = random_point(problem)
    point = problem.at(p, penalty)
    leaf = torch.from_numpy(p).requires_grad_()
    expected = naive_objective(leaf, torch.from_numpy(np.array(small)), hidden, 0.03, 0.02, penalty, name)
    expected.backward()
    assert point.total == pytest.approx(expected.item(), rel=1e-12)
    found = gradient_of(problem, point)
    np.testing.assert_allclose(found[problem.free], leaf.grad.numpy()[problem.free], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("basis", ["mlp", "deep", "sobolev"])
def test_gradient_is_that_of_finite_differences(basis, small):
    mechanisms = {
        "mlp": lambda: Perceptrons(small, (3,), 0.02, CPU),
        "deep": lambda: Perceptrons(small, (3, 2), 0.02, CPU),
        "sobolev": lambda: Sobolev(small, 3, 0.02, CPU),
    }[basis]()
    problem = NonlinearProblem(mechanisms, constraint("inverse-trace"), 0.03, Mask.unrestricted(4))
    penalty = Penalty(rho=2.0, alpha=0.5)
    start, free = random_point(problem, seed=3, scale=0.2), problem.free.ravel()

    def parameters(x):
        full = np.zeros(problem.free.size)
        full[free] = x
        return full.reshape(problem.shape)

    def value(x):
        return problem.at(parameters(x), penalty).total

    def gradient(x):
        return gradient_of(problem, problem.at(parameters(x), penalty)).ravel()[free]

    x = start.ravel()[free]
    assert check_grad(value, gradient, x) < 1e-5 * np.linalg.norm(gradient(x))


def test_the_sobolev_objective_is_that_of_its_definition(small):
    basis, l2 = Sobolev(small, 4, 0.05, CPU), 0.05
    problem = NonlinearProblem(basis, constraint("tmpi"), 0.01, Mask.unrestricted(4))
    p = random_point(problem, seed=5)
    expected = 0.0
    for j in range(4):
        predicted = np.zeros(len(small))
        for i in range(4):
            for k in range(4):
                mu = 2 / ((2 * k + 1) * np.pi)
                predicted += p[j, k * 4 + i] * mu * np.sin(small[:, i] / mu)
        expected += 0.5 * np.mean((predicted - small[:, j]) ** 2) + 0.5 * l2 * np.mean(predicted**2)
    assert problem.at(p, Penalty()).objective == pytest.approx(expected + 0.01 * np.abs(p).sum(), rel=1e-12)
    for i, j in np.ndindex(4, 4):
        assert problem.squares(p)[i, j] == pytest.approx((p[j].reshape(4, 4)[:, i] ** 2).sum())


@pytest.mark.parametrize("hidden", [(3,), (3, 2)])
def test_the_curvature_is_that_of_the_jacobian(hidden, small):
    mechanisms = Perceptrons(small, hidden, 0.02, CPU)
    problem = NonlinearProblem(mechanisms, constraint("tmpi"), 0.03, Mask.unrestricted(4))
    p = random_point(problem)
    X = torch.from_numpy(small - small.mean(axis=0))
    tangent, later = mechanisms.predict(p).tangent(), np.arange(hidden[0] * 4, problem.shape[1])
    for node, first in ((0, [1, 2, 5, 11]), (3, []), (2, range(12))):
        which = np.concatenate([np.asarray(first, dtype=int), later])
        J = torch.autograd.functional.jacobian(
            lambda q, node=node: naive_network(q, X, node, hidden), torch.from_numpy(p[node])
        ).numpy()[:, which]
        np.testing.assert_allclose(tangent.gram(node, which), J.T @ J / len(X), rtol=1e-9, atol=1e-12)


def test_tensors_serve_again_only_when_nobody_needs_what_they_hold(small):
    def fresh():
        return Perceptrons(small, (3, 2), 0.02, CPU)

    shared, which = fresh(), np.arange(len(fresh().ridge))
    problem = NonlinearProblem(shared, constraint("tmpi"), 0.0, Mask.unrestricted(4))
    points = [random_point(problem, seed) for seed in range(4)]
    place = shared.predict(points[3]).activations[0].data_ptr()
    kept, tangent = shared.predict(points[0]), shared.predict(points[1]).tangent()
    assert kept.activations[0].data_ptr() == place
    shared.predict(points[2]).tangent().gram(0, which)
    for mine, own in ((kept.tangent(), points[0]), (tangent, points[1])):
        alone = fresh().predict(own).tangent()
        np.testing.assert_array_equal(mine.gradient, alone.gradient)
        for node in range(4):
            np.testing.assert_array_equal(mine.gram(node, which), alone.gram(node, which))


def test_nodes_can_be_taken_from_another_prediction(small):
    for mechanisms in (Perceptrons(small, (3, 2), 0.0, CPU), Sobolev(small, 3, 0.1, CPU)):
        problem = NonlinearProblem(mechanisms, constraint("tmpi"), 0.0, Mask.unrestricted(4))
        one, other = random_point(problem, 1), random_point(problem, 2)
        mixed = one.copy()
        mixed[[0, 2]] = other[[0, 2]]
        taken, expected = mechanisms.predict(one), mechanisms.predict(mixed)
        taken.take(mechanisms.predict(other), np.array([0, 2]))
        np.testing.assert_array_equal(taken.losses, expected.losses)
        np.testing.assert_array_equal(taken.tangent().gradient, expected.tangent().gradient)
        for node in range(4):
            which = np.arange(problem.shape[1])
            np.testing.assert_array_equal(taken.tangent().gram(node, which), expected.tangent().gram(node, which))


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_the_elastic_net_meets_its_optimality_conditions(seed, size):
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((size + 2, size))
    Q, linear, l1, ridge = J.T @ J, rng.standard_normal(size), rng.uniform(0, 1, size), rng.uniform(0, 1, size)
    ends = np.full(size, np.inf)
    b = elastic_net(Q, linear, l1, ridge, -ends, ends, np.zeros(size), 1e-12)
    slope = Q @ b + linear + 2 * ridge * b
    np.testing.assert_allclose(slope[b != 0], -(l1 * np.sign(b))[b != 0], atol=1e-8)
    assert (np.abs(slope[b == 0]) <= l1[b == 0] + 1e-8).all()


def minimised(problem, inner, start, penalty, **options):
    state = State(problem.start(start))
    return MINIMISERS[inner](problem, penalty, state, Monitor(), "test", **options)


def test_a_start_that_hides_the_loss_is_halved_and_any_other_left_alone():
    X = np.random.default_rng(0).standard_normal((20, 30))
    for name, changed in (("fast-tmpi", True), ("exponential", False)):
        problem = NonlinearProblem(Perceptrons(X, (10,), 0.01, CPU), constraint(name), 0.01, Mask.unrestricted(30))
        start = problem.start(problem.mechanisms.start(np.random.default_rng(1), edges=True))
        found, before = (flat.reshape(problem.shape) for flat in (within_sight(problem, start), start))
        first = slice(problem.first)
        np.testing.assert_array_equal(found[:, first], before[:, first] / 2 if changed else before[:, first])
        np.testing.assert_array_equal(found[:, problem.first :], before[:, problem.first :])
        point = problem.at(found, Penalty(rho=1.0))
        assert 0.5 * point.h**2 * HIDDEN <= point.objective


def ordered_mask(graph):
    """Only edges along the graph's order: the constraint is zero everywhere."""
    names = [graph.names[i] for i in graph.order]
    return Knowledge(tiers=[[name] for name in names]).compile(graph.names)


def test_both_minimisers_find_the_minimum_of_a_convex_problem(data):
    mask = ordered_mask(data.graph)
    problem = NonlinearProblem(Sobolev(data.X, 5, 0.01, CPU), constraint("fast-tmpi"), 0.05, mask)
    start, penalty = np.zeros(problem.shape), Penalty(alpha=1.0)
    fast = minimised(problem, "proximal-newton", start, penalty, tolerance=1e-10)
    slow = minimised(problem, "lbfgs", start, penalty)
    assert fast.h == slow.h == 0.0
    assert fast.total == pytest.approx(slow.total, rel=1e-5) and fast.total <= slow.total * (1 + 1e-9)
    slope = fast.prediction.tangent().gradient
    zero = problem.free & (fast.parameters == 0)
    assert zero.any() and (np.abs(slope[zero]) <= 0.05 + 1e-4).all()


def test_both_minimisers_agree_on_networks_in_a_known_order(data):
    mask = ordered_mask(data.graph)
    problem = NonlinearProblem(Perceptrons(data.X[:200], (3,), 0.05, CPU), constraint("fast-tmpi"), 0.05, mask)
    start = problem.mechanisms.start(np.random.default_rng(0), edges=True)
    fast = minimised(problem, "proximal-newton", start, Penalty(alpha=1.0))
    slow = minimised(problem, "lbfgs", start, Penalty(alpha=1.0))
    assert fast.total <= 1.005 * slow.total


@pytest.mark.parametrize("basis", ["mlp", "sobolev"])
def test_whole_fits_end_at_the_same_objective_or_a_lower_one(basis):
    ratios = []
    for seed in (1, 2, 3):
        X = simulate(4, 80, graph="ER1", sem="mim", standardize=True, random_state=seed).X
        fast, slow = (NotearsMlp(basis=basis, hidden=3, l1=0.05, inner=inner).fit(X).solution_ for inner in MINIMISERS)
        assert fast.converged and slow.converged
        ratios.append(fast.objective / slow.objective)
    # Both end in one of several minima of the whole problem.
    assert np.mean(ratios) <= 1.005 and np.max(ratios) <= 1.02


def test_steps_descend_and_end_where_little_is_promised(small):
    problem = NonlinearProblem(Perceptrons(small, (4,), 0.01, CPU), constraint("fast-tmpi"), 0.01, Mask.unrestricted(4))
    start = problem.mechanisms.start(np.random.default_rng(0), edges=False)
    seen, state = [], State(problem.start(start), h=0.0)
    penalty = Penalty(rho=10.0, alpha=1.0)
    monitor = Monitor(callback=lambda p: seen.append(p.objective + penalty.value(p.h)))
    end = proximal_newton(problem, penalty, state, monitor, "test", tolerance=1e-4, max_steps=1000)
    assert state.steps == len(seen) < 1000 and not state.shortfall
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(seen))
    further = proximal_newton(problem, penalty, State(end.weights, h=0.0), Monitor(), "test", max_steps=2000)
    assert further.total >= end.total * 0.97


def test_a_small_nonlinear_graph_is_found(data):
    fit = NotearsMlp().fit(data.X)
    assert fit.solution_.converged and fit.solution_.h <= 1e-8
    assert shd(data.graph, fit.causal_graph_) <= 1
    W = fit.solution_.weights
    assert W.shape == (5, 5) and (W >= 0).all() and (W.diagonal() == 0).all()
    assert (fit.adjacency_matrix_[fit.adjacency_matrix_ != 0] >= 0.3).all()
    described = {"constraint": "fast-tmpi", "basis": "mlp", "hidden": "10", "l1": 0.01, "l2": 0.01}
    assert fit.verdict_.method == "notears-mlp" and fit.verdict_.settings == described
    assert fit.verdict_.orientation is Orientation.CURVATURE


def test_a_sum_of_sines_is_found_by_the_sobolev_basis():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    X[:, 1] += 3 * np.sin(2 * X[:, 0])
    X[:, 2] += 2 * np.sin(X[:, 1]) + np.sin(3 * X[:, 0])
    fit = NotearsMlp(basis="sobolev", l1=0.02).fit(X)
    assert fit.adjacency_matrix_.astype(bool).tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert fit.verdict_.settings["basis"] == "sobolev" and fit.verdict_.settings["hidden"] == "10"


def test_the_reported_objective_is_that_of_the_parameters(data):
    fit = NotearsMlp(hidden=2, callback=lambda p: p.round == 1 and p.step > 60).fit(data.X)
    assert fit.solution_.trace[0].edges <= 20 and fit.solution_.trace[0].stage == "augmented Lagrangian"
    h = constraint("fast-tmpi").value_and_gradient(fit.solution_.weights**2)[0]
    assert fit.solution_.h == pytest.approx(h, rel=1e-9, abs=1e-15)


# One that is a series, one with a domain, one by an eigenvector, one that is set for the point.
@pytest.mark.parametrize("name", ["exponential", "log-det", "spectral-radius", "adaptive"])
@may_fall_short
def test_every_kind_of_constraint_works_by_name(name, data):
    settings = {"h_tol": 1e-2} if name in ("spectral-radius", "single-term") else {}
    fit = NotearsMlp(constraint=name, hidden=3, **settings).fit(data.X[:150])
    assert is_acyclic(fit.adjacency_matrix_) and np.isfinite(fit.solution_.objective)
    assert fit.verdict_.settings["constraint"] == constraint(name).name and shd(data.graph, fit.causal_graph_) <= 4
    assert fit.solution_.converged


def test_more_layers_work(data):
    fit = NotearsMlp(hidden=(4, 3)).fit(data.X[:200])
    assert fit.solution_.converged and shd(data.graph, fit.causal_graph_) <= 4
    assert fit.verdict_.settings["hidden"] == "4×3"


@pytest.mark.parametrize("inner", MINIMISERS)
@may_fall_short
def test_knowledge_is_obeyed(inner, data):
    names, edges = data.names, [(s, t) for s, t, _ in data.graph.edges()]
    absent = next((s, t) for s in names for t in names if s != t and not {(s, t), (t, s)} & set(edges))
    knowledge = Knowledge(forbidden=[edges[0]], required=[absent])
    fit = NotearsMlp(hidden=3, inner=inner, knowledge=knowledge, time_limit=3).fit(data.X[:200])
    assert knowledge.compile(names).check(fit.adjacency_matrix_) == []
    i, j = (names.index(name) for name in edges[0])
    assert fit.solution_.weights[i, j] == 0.0
    i, j = (names.index(name) for name in absent)
    assert fit.adjacency_matrix_[i, j] != 0


def test_true_order_gives_the_true_graph(data):
    order = [data.names[i] for i in data.graph.order]
    fit = NotearsMlp(knowledge=Knowledge(tiers=[[name] for name in order])).fit(data.X)
    assert fit.solution_.converged and shd(data.graph, fit.causal_graph_) <= 1


def test_bounds_of_weights_are_said_to_be_unused(data):
    x, y = data.names[:2]
    fit = NotearsMlp(hidden=2, knowledge=Knowledge(signs={(x, y): "-"}), time_limit=1).fit(data.X[:60])
    assert Fact.of(Caution.BOUNDS_UNUSED) in fit.verdict_.cautions


def test_same_seed_same_bytes(small):
    fits = [NotearsMlp(hidden=3, random_state=seed).fit(small) for seed in (4, 4, 5)]
    assert fits[0].solution_.weights.tobytes() == fits[1].solution_.weights.tobytes()
    assert fits[0].solution_.weights.tobytes() != fits[2].solution_.weights.tobytes()


def test_the_place_of_zero_does_not_matter_to_networks(small):
    shifted, plain = (NotearsMlp(hidden=3).fit(X) for X in (small + 1000.0, small))
    np.testing.assert_allclose(shifted.solution_.objective, plain.solution_.objective, rtol=1e-3)


def test_units_do_not_matter_once_standardised(small):
    fits = [NotearsMlp(hidden=3, standardize=True).fit(X) for X in (small, small * [1.0, 4.0, 0.25, 2.0])]
    assert fits[0].solution_.weights.tobytes() == fits[1].solution_.weights.tobytes()


LEARNERS = {
    "mlp": NotearsMlp(hidden=3),
    "deep": NotearsMlp(hidden=(3, 2)),
    "sobolev": NotearsMlp(basis="sobolev", hidden=3),
    "lbfgs": NotearsMlp(hidden=1, inner="lbfgs", max_rounds=1, l1=0.1),
}
learners = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


def changed(learner, **parameters):
    return clone(learner).set_params(**parameters)


@pytest.fixture(scope="module")
def undisturbed(small):
    """From a learner to its fit without a stop and the number of its callbacks; each learner is fitted once."""

    @cache
    def fit(learner):
        calls = []
        return changed(learner, callback=calls.append).fit(small), len(calls)

    return fit


def stop_at(step, how):
    seen = []

    def callback(progress):
        seen.append(progress)
        if len(seen) == step and how == "interrupt":
            raise KeyboardInterrupt
        return len(seen) == step

    return callback


@learners
def test_a_time_limit_of_zero_ends_after_one_step(learner, small):
    fit = changed(learner, time_limit=0).fit(small)
    assert fit.solution_.steps == 1 and fit.verdict_.end == Fact.of(Ended.TIME_LIMIT, seconds=0)
    assert not fit.verdict_.converged and is_acyclic(fit.adjacency_matrix_)


def assert_same(one, other):
    assert one.solution_.weights.tobytes() == other.solution_.weights.tobytes()
    for name in ("end", "objective", "h", "steps"):
        assert getattr(one.solution_, name) == getattr(other.solution_, name), name
    timeless = [[(p.round, p.step, p.objective, p.h, p.edges) for p in fit.solution_.trace] for fit in (one, other)]
    assert timeless[0] == timeless[1] and one.verdict_ == other.verdict_


@learners
@may_fall_short
@pytest.mark.parametrize(("how", "share"), [("ask", 0.01), ("interrupt", 0.3), ("ask", 0.8), ("ask", 1.0)])
def test_a_stopped_fit_goes_on_to_the_same_bits(learner, how, share, small, undisturbed, tmp_path):
    whole, calls = undisturbed(learner)
    path, stop = tmp_path / "run.npz", max(1, round(share * calls))
    stopped = changed(learner, callback=stop_at(stop, how), checkpoint=path).fit(small)
    assert is_acyclic(stopped.adjacency_matrix_)
    assert stopped.solution_.end.kind is {"ask": Ended.CALLBACK, "interrupt": Ended.INTERRUPTED}[how]
    assert_same(changed(learner, checkpoint=path).fit(small), whole)
    again = changed(learner, checkpoint=path, callback=lambda progress: pytest.fail("it made a step")).fit(small)
    assert_same(again, whole)


def die_at(step):
    """A callback that ends a fit as a kill would: nobody catches it, the checkpoint stays as last written."""

    def callback(progress):
        if progress.step == step:
            raise SystemExit

    return callback


def test_a_fit_that_was_killed_goes_on_to_the_same_bits(small, tmp_path, monkeypatch):
    monkeypatch.setattr(Monitor, "every", 0.0)
    path, whole = tmp_path / "run.npz", NotearsMlp(hidden=3).fit(small)
    with pytest.raises(SystemExit):
        NotearsMlp(hidden=3, callback=die_at(whole.solution_.steps // 2), checkpoint=path).fit(small)
    assert_same(NotearsMlp(hidden=3, checkpoint=path).fit(small), whole)


def test_a_checkpoint_of_other_settings_is_refused(small, tmp_path):
    path = tmp_path / "run.npz"
    NotearsMlp(hidden=2, time_limit=0, checkpoint=path).fit(small)
    with pytest.raises(InputError, match="belongs to another run"):
        NotearsMlp(hidden=3, checkpoint=path).fit(small)
    with pytest.raises(InputError, match="belongs to another run"):
        NotearsMlp(hidden=2, checkpoint=path).fit(small + 1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"constraint": "acyclic"},
        {"basis": "spline"},
        {"hidden": 0},
        {"hidden": ()},
        {"hidden": (3, -1)},
        {"hidden": 2.5},
        {"hidden": True},
        {"l1": -1.0},
        {"l2": np.nan},
        {"inner": "adam"},
        {"threshold": -0.1},
        {"pruning": "none"},
        {"time_limit": -1},
        {"random_state": -1},
        {"device": "nowhere"},
    ],
    ids=str,
)
def test_wrong_parameters_are_named(wrong, small):
    name, value = next(iter(wrong.items()))
    with pytest.raises(InputError, match=name) as caught:
        NotearsMlp(**wrong).fit(small)
    assert str(value) in str(caught.value)
    with pytest.raises(InputError, match="hidden has to be one number"):
        NotearsMlp(basis="sobolev", hidden=(3, 2)).fit(small)


def test_moments_are_not_enough(small):
    with pytest.raises(InputError, match="NotearsMlp needs rows"):
        NotearsMlp().fit(Moments.from_array(small))


def refused(learner, table):
    """Fit; the words of the error if there is one."""
    try:
        learner.fit(table)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("basis", ["mlp", "sobolev"])
@may_fall_short
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 12),
    d=st.integers(1, 4),
    kind=st.sampled_from(["plain", "constant", "duplicate", "integers", "huge", "tiny", "outlier", "far", "frame"]),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_gives_a_dag_and_a_verdict_or_an_error_in_words(basis, seed, n, d, kind):
    X = np.random.default_rng(seed).standard_normal((n, d))
    if kind == "constant":
        X[:, 0] = 3.0
    elif kind == "duplicate":
        X[:, 0] = X[:, -1]
    elif kind == "outlier":
        X[0, 0] = 1e8
    scale = {"huge": 1e100, "tiny": 1e-100}.get(kind, 1.0)
    X = X * scale + (1e12 if kind == "far" else 0.0)
    table = np.round(X).astype(int) if kind == "integers" else X
    if kind == "frame":
        table = pd.DataFrame(X.astype(np.float32), columns=[f"c{i}" for i in range(d)])
    fit = NotearsMlp(basis=basis, hidden=2, time_limit=0.5)
    if "constant" in (refusal := refused(fit, table)) or "rescale" in refusal:
        return
    assert not refusal
    assert is_acyclic(fit.adjacency_matrix_) and np.isfinite(fit.solution_.weights).all()
    assert np.isfinite(fit.transform(table)).all() and str(fit.verdict_)


def test_a_loss_that_overflows_ends_in_words(small, monkeypatch):
    problem = NonlinearProblem(Sobolev(small * 1e160, 2, 0.0, CPU), constraint("tmpi"), 0.1, Mask.unrestricted(4))
    for minimise in MINIMISERS.values():
        with np.errstate(over="ignore", invalid="ignore"), pytest.raises(NotFiniteError):
            minimise(problem, Penalty(1.0), State(np.zeros(problem.free.size)), Monitor(), "test")

    def overflow(*_):
        raise NotFiniteError

    monkeypatch.setattr(NotearsMlp, "_minimiser", lambda self: overflow)
    with pytest.warns(ConvergenceWarning, match="rescale or standardise the columns"):
        fit = NotearsMlp(hidden=2).fit(small)
    assert fit.verdict_.end == Fact.of(Ended.NOT_FINITE, steps=0)
    assert np.isfinite(fit.solution_.weights).all() and not fit.verdict_.converged


def test_a_larger_penalty_goes_on_from_where_the_smaller_one_ended():
    class Point:
        objective = 1.0

        def __init__(self, h, weights):
            self.h, self.weights = h, np.array([weights])

    class Anywhere:
        def starting_at(self, weights):
            return self

    script = iter([(4.0, 1.0), (2.0, 2.0), (0.9, 3.0), (0.5, 4.0), (1e-9, 5.0)])
    seen = []

    def minimise(problem, penalty, state, monitor, stage):
        seen.append((penalty.rho, penalty.alpha, state.weights[0]))
        return Point(*next(script))

    state = State(np.zeros(1))
    OnwardLagrangian()(Anywhere(), minimise, Monitor(), state)
    assert seen == [(1.0, 0.0, 0.0), (1.0, 4.0, 1.0), (10.0, 4.0, 2.0), (10.0, 13.0, 3.0), (100.0, 13.0, 4.0)]
    assert (
        state.end.kind is Ended.CONSTRAINT_MET
        and state.round == 3
        and state.weights[0] == 5.0
        and state.alpha == pytest.approx(13 + 1e-7)
    )


def test_a_fit_without_enough_steps_says_so(small, monkeypatch):
    problem = NonlinearProblem(Perceptrons(small, (3,), 0.01, CPU), constraint("tmpi"), 0.01, Mask.unrestricted(4))
    start = problem.mechanisms.start(np.random.default_rng(0), edges=False)
    state = State(problem.start(start))
    proximal_newton(problem, Penalty(1.0), state, Monitor(), "test", max_steps=2)
    assert state.shortfall.kind is Ended.STEPS_SPENT and state.shortfall["steps"] == 2


@parametrize_with_checks([NotearsMlp(hidden=1, max_rounds=1), NotearsMlp(basis="sobolev", hidden=1, max_rounds=1)])
@may_fall_short
def test_scikit_learn_checks(estimator, check):
    check(estimator)
