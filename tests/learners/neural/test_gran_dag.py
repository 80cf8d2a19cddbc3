"""GranDag: written-out gradients against torch's tape, the published schedule, knowledge, checkpoints, odd tables."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from acyclic.constraints.catalogue import constraint
from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.facts import Caution, Empty, Ended, Orientation, Removal
from acyclic.graphs.cycles import is_acyclic
from acyclic.graphs.metrics import shd
from acyclic.learners.neural.gran_dag.learner import GranDag
from acyclic.running import Monitor

torch = pytest.importorskip("torch")

from acyclic.constraints.autograd import dag_constraint  # noqa: E402
from acyclic.learners.neural.gran_dag.training import Networks, RmsProp, Schedule  # noqa: E402

FAST = {"rate": 1e-2, "max_iterations": 301, "trees": 5}
may_fall_short = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class NaiveNetwork(torch.nn.Module):
    """The network of one column, as torch's own layers with their tape."""

    def __init__(self, networks, j):
        super().__init__()
        parts = []
        for weight, bias in zip(networks.weights, networks.biases):
            layer = torch.nn.Linear(weight.shape[2], weight.shape[1], dtype=torch.float64)
            layer.weight.data, layer.bias.data = weight[j].clone(), bias[j, :, 0].clone()
            parts += [layer, torch.nn.LeakyReLU(0.01)]
        self.layers = torch.nn.Sequential(*parts[:-1])
        self.log_scale = torch.nn.Parameter(networks.log_scales[j].clone()) if networks.outputs == 1 else None
        self.j, self.inputs = j, networks.live[j].clone()

    def log_density(self, x):
        out = self.layers(x * self.inputs)
        log_scale = self.log_scale if self.log_scale is not None else out[:, 1]
        return torch.distributions.Normal(out[:, 0], log_scale.exp()).log_prob(x[:, self.j])

    def connectivity(self):
        """Sum over all paths from each input, divided by their number."""
        product, paths = torch.diag(self.inputs), torch.ones(1, 1, dtype=torch.float64)
        for layer in self.layers[::2]:
            product = layer.weight.abs() @ product
            paths = torch.ones_like(layer.weight[:, : len(paths)]) @ paths
        return product.sum(0) / paths.sum()


@pytest.fixture(params=[(1, 2), (2, 2), (1, 1), (2, 3)], ids=lambda p: f"{p[0]} outputs, {p[1]} layers")
def networks(request):
    """Four networks with trained-like parameters and two edges masked, next to a batch of seven rows (as columns)."""
    outputs, layers = request.param
    generator = torch.Generator().manual_seed(5)
    live = 1 - torch.eye(4, dtype=torch.float64)
    live[1, 3] = live[2, 0] = 0
    made = Networks(live, 3, layers, outputs)
    made.draw(generator)
    made.parameters += 0.1 * torch.randn(made.parameters.shape, generator=generator, dtype=torch.float64)
    made.clamp(live)
    return made, torch.randn(4, 7, generator=generator, dtype=torch.float64)


def naive_gradients(networks, value):
    """Gradient of a function of the list of naive networks, in the order of the flat vector."""
    naive = [NaiveNetwork(networks, j) for j in range(4)]
    value(naive).backward()

    def of(parameter):
        return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad

    stacked = [torch.stack([of(n.layers[k].weight) for n in naive]) for k in range(0, len(naive[0].layers), 2)]
    stacked += [torch.stack([of(n.layers[k].bias) for n in naive]) for k in range(0, len(naive[0].layers), 2)]
    if networks.outputs == 1:
        stacked.append(torch.stack([of(n.log_scale) for n in naive]))
    return torch.cat([part.flatten() for part in stacked])


def mean_loss(naive, rows):
    return -torch.stack([network.log_density(rows) for network in naive]).mean()


def test_the_loss_and_its_gradient_are_those_of_the_tape(networks):
    made, columns = networks
    naive = [NaiveNetwork(made, j) for j in range(4)]
    assert made.loss(columns) == pytest.approx(mean_loss(naive, columns.T).item(), abs=1e-12)
    made.loss_gradient(columns)
    expected = naive_gradients(made, lambda naive: mean_loss(naive, columns.T))
    torch.testing.assert_close(made.gradient, expected, rtol=0, atol=1e-12)


def test_the_loss_gradient_is_that_of_finite_differences(networks):
    made, columns = networks
    made.loss_gradient(columns)
    gradient, start, step = made.gradient.clone(), made.parameters.clone(), 1e-6
    live = torch.ones_like(start)
    live[: made.weights[0].numel()] = made.live.unsqueeze(1).expand_as(made.weights[0]).reshape(-1)
    for k in np.random.default_rng(0).choice(len(start), 25, replace=False).tolist():
        values = []
        for sign in (1, -1):
            made.parameters.copy_(start)
            made.parameters[k] += sign * step
            values.append(made.loss(columns))
        assert live[k] * (values[0] - values[1]) / (2 * step) == pytest.approx(gradient[k].item(), abs=1e-7)


@pytest.mark.parametrize("name", ["fast-tmpi", "exponential"])
def test_the_connectivity_and_the_penalty_gradient_are_those_of_the_tape(networks, name):
    made, columns = networks

    def penalty(naive):
        h = dag_constraint(torch.stack([network.connectivity() for network in naive], dim=1), name, of="matrix")
        return mean_loss(naive, columns.T) + 0.7 * h + 0.5 * 30.0 * h**2

    naive = [NaiveNetwork(made, j) for j in range(4)]
    expected = torch.stack([network.connectivity() for network in naive], dim=1)
    found = made.connectivity()
    torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=0)
    assert found[3, 1] == found[0, 2] == 0 and (found.diagonal() == 0).all()
    h, slopes = constraint(name).value_and_gradient(found.numpy())
    assert h > 0
    made.loss_gradient(columns)
    made.add_connectivity_gradient(torch.from_numpy(slopes), Schedule(30.0, multiplier=0.7).slope(h))
    torch.testing.assert_close(made.gradient, naive_gradients(made, penalty), rtol=0, atol=1e-11)


def test_paths_are_normalised():
    made = Networks(1 - torch.eye(3, dtype=torch.float64), 4, 2, 2)
    for weight in made.weights:
        weight.fill_(-1.0)
    made.clamp(1 - torch.eye(3))
    np.testing.assert_allclose(made.connectivity().numpy(), 1 - np.eye(3))


def test_the_first_weights_are_glorot_s():
    made = Networks(1 - torch.eye(30, dtype=torch.float64), 20, 2, 1)
    made.draw(torch.Generator().manual_seed(0))
    for weight in made.weights:
        bound = np.sqrt(2 / (1 + 0.01**2)) * np.sqrt(6 / (weight.shape[1] + weight.shape[2]))
        assert 0.97 * bound < weight.abs().max() <= bound and abs(weight.mean()) < 0.1 * bound
    assert all((bias == 0).all() for bias in made.biases) and (made.log_scales == 0).all()


def test_the_jacobian_is_that_of_the_tape(networks, monkeypatch):
    made, columns = networks
    expected = torch.zeros(4, 4, dtype=torch.float64)
    for j in range(4):
        rows = columns.T.clone().requires_grad_()
        (slopes,) = torch.autograd.grad(NaiveNetwork(made, j).log_density(rows).sum(), rows)
        expected[:, j] = slopes.abs().mean(0)
    off = ~torch.eye(4, dtype=torch.bool)
    torch.testing.assert_close(made.jacobian(columns)[off], expected[off], rtol=1e-10, atol=1e-12)
    monkeypatch.setattr("acyclic.learners.neural.gran_dag.training.CHUNK", 33)
    torch.testing.assert_close(made.jacobian(columns)[off], expected[off], rtol=1e-10, atol=1e-12)


def test_steps_are_those_of_torch_s_rmsprop():
    generator = torch.Generator().manual_seed(1)
    mine = torch.randn(20, generator=generator, dtype=torch.float64)
    theirs = torch.nn.Parameter(mine.clone())
    optimiser, reference = RmsProp(mine), torch.optim.RMSprop([theirs], lr=3e-3)
    for _ in range(5):
        theirs.grad = torch.randn(20, generator=generator, dtype=torch.float64)
        optimiser.step(theirs.grad, 3e-3)
        reference.step()
    torch.testing.assert_close(mine, theirs.detach(), rtol=1e-13, atol=0)


def test_the_schedule_follows_the_published_trace():
    schedule = Schedule()
    assert schedule.slope(0.5) == 5e-4 and schedule.cost(0.5) == 0.5 * 1e-3 * 0.25
    script = [  # iteration, validation loss, h, whether a subproblem ends, then λ, μ
        (0, 3.0, 0.5, False, 0.0, 1e-3),
        (100, 2.0, 0.5, False, 0.0, 1e-3),
        (200, 1.0, 0.5, False, 0.0, 1e-3),  # progress of 0.02 per iteration: goes on
        (300, 0.999, 0.5, False, 0.0, 1e-3),  # not a multiple of two windows
        (400, 0.998, 0.5, True, 5e-4, 1e-3),  # 2e-5 per iteration: solved; the first h has nothing to compare with
        (500, 0.9975, 0.48, False, 5e-4, 1e-3),
        (600, 0.9985, 0.48, False, 5e-4, 1e-3),  # up and down: no update
        (700, 0.999, 0.48, False, 5e-4, 1e-3),
        (800, 1.5, 0.48, True, 5e-4 + 0.48e-3, 1e-2),  # the loss grows: solved, and h fell too little: μ grows
        (900, 1.4999, 0.4, False, 5e-4 + 0.48e-3, 1e-2),
        (1000, 1.4998, 0.4, True, 5e-4 + 0.48e-3 + 0.4e-2, 1e-2),  # h fell enough
    ]
    for iteration, loss, h, ends, multiplier, penalty in script:
        before = schedule.cost(h)
        assert schedule.follow(iteration, loss, h) is ends, iteration
        assert schedule.multiplier == pytest.approx(multiplier) and schedule.penalty == pytest.approx(penalty)
        # The last value counts what the new penalty costs, so that its jump is no step back.
        assert schedule.values[-1] == pytest.approx(loss + schedule.cost(h))
        assert ends == (schedule.cost(h) != before)
    again = Schedule()
    again.unpack(schedule.pack())
    assert again == schedule and schedule.rounds == 3


def test_edges_below_the_clamp_go_for_good_but_for_required_ones():
    X = simulate(4, 200, sem="gp", graph="ER1", random_state=0).X
    names = ("x0", "x1", "x2", "x3")
    knowledge = Knowledge(required=[("x3", "x0")], forbidden=[("x1", "x2")])
    with pytest.warns(match="did not converge"):
        fit = GranDag(clamp=0.12, max_iterations=101, knowledge=knowledge, cam_cutoff=None).fit(X)
    assert not fit.candidates_[1, 2] and fit.connectivity_[1, 2] == 0 and fit.connectivity_[3, 0] > 0
    clamped = fit.candidates_ & (fit.connectivity_ == 0)
    assert 0 < clamped.sum() < fit.candidates_.sum() == 10
    assert fit.verdict_.details["edges clamped in training"] == clamped.sum()
    assert not fit.solution_.weights[clamped].any()
    assert knowledge.compile(names).check(fit.adjacency_matrix_) == []


@pytest.fixture(scope="module")
def data():
    return simulate(5, 1000, sem="gp", graph="ER1", random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    return GranDag(rate=5e-3, rho=1.0, tolerance=3e-3, window=50).fit(data.X)


def test_a_small_graph_is_recovered(data, fitted):
    assert fitted.verdict_.converged and fitted.solution_.steps < 15_000
    assert data.graph.n_edges == 5 and shd(data.graph, fitted.causal_graph_) <= 1


def test_the_strengths_are_jacobians_of_the_edges_that_every_step_kept(data, fitted):
    kept, details = fitted.adjacency_matrix_ != 0, fitted.verdict_.details
    np.testing.assert_array_equal(fitted.adjacency_matrix_[kept], fitted.solution_.weights[kept])
    assert (fitted.solution_.weights >= 0).all() and not fitted.solution_.weights[fitted.connectivity_ == 0].any()
    removed = Counter(fact.kind for fact in fitted.verdict_.removed)
    assert details["edges before training"] == 20 and removed.keys() <= {Removal.WEAKEST, Removal.F_TEST}
    assert 20 - details["edges clamped in training"] - removed.total() == fitted.causal_graph_.n_edges
    assert {fact["cutoff"] for fact in fitted.verdict_.removed if fact.kind is Removal.F_TEST} == {0.001}
    for fact in fitted.verdict_.removed:
        source, target = (data.names.index(name) for name in fact.about)
        assert fact["weight"] == fitted.solution_.weights[source, target] > 0 and not kept[source, target]
    assert [p.round for p in fitted.solution_.trace] == sorted(p.round for p in fitted.solution_.trace)
    assert fitted.solution_.trace[-1].h == fitted.solution_.h <= 1e-8


def test_the_weakest_edges_go_until_no_cycle_is_left(data):
    with pytest.warns(match="did not converge"):
        fit = GranDag(**FAST, cam_cutoff=None).fit(data.X)
    assert fit.verdict_.end.kind is Ended.STEPS_SPENT and fit.verdict_.end["steps"] == 301
    strengths = fit.solution_.weights
    assert not is_acyclic(strengths)
    order = np.unique(strengths)
    cut = next(t for t in order if is_acyclic(np.where(strengths > t + 1e-8, strengths, 0)))
    np.testing.assert_array_equal(fit.adjacency_matrix_, np.where(strengths > cut + 1e-8, strengths, 0))
    assert {fact.kind for fact in fit.verdict_.removed} == {Removal.WEAKEST}
    assert len(fit.verdict_.removed) == (strengths > 1e-8).sum() - fit.causal_graph_.n_edges > 0


def test_without_the_jacobian_strengths_are_connectivities(data):
    with pytest.warns(match="did not converge"):
        fit = GranDag(**FAST, jacobian=False).fit(data.X)
    np.testing.assert_array_equal(fit.solution_.weights, fit.connectivity_)


@may_fall_short
def test_a_network_for_the_scale_fits_changing_scales_better():
    rng = np.random.default_rng(2)
    cause = rng.standard_normal(1500)
    effect = np.sin(cause) + rng.standard_normal(1500) * np.exp(1.2 * np.tanh(2 * cause))
    X = np.column_stack([cause, effect])
    knowledge = Knowledge(required=[("x0", "x1")])
    losses = {
        variance: GranDag(variance=variance, knowledge=knowledge, rate=5e-3, max_iterations=3001, tolerance=0.0).fit(X)
        for variance in ("constant", "network")
    }
    assert losses["network"].solution_.objective < losses["constant"].solution_.objective - 0.15


@may_fall_short
# One that is a series, one with a domain, one by an eigenvector, one that is set for the point.
@pytest.mark.parametrize("name", ["exponential", "log-det", "spectral-radius", "adaptive"])
def test_every_kind_of_constraint_runs(name, data):
    fit = GranDag(**FAST, constraint=name).fit(data.X[:200])
    assert is_acyclic(fit.adjacency_matrix_) and fit.verdict_.settings["constraint"] == constraint(name).name
    assert fit.solution_.steps == 301 and 0 < fit.solution_.h < np.inf


def test_tiers_leave_the_order_to_no_one_and_training_still_takes_place(data):
    order = [data.names[i] for i in data.graph.order]
    fit = GranDag(knowledge=Knowledge(tiers=[[name] for name in order]), rate=1e-2).fit(data.X)
    assert fit.verdict_.converged and fit.solution_.steps > 200
    assert shd(data.graph, fit.causal_graph_) <= 1


@may_fall_short
def test_knowledge_is_obeyed_in_every_step(data, fitted):
    source, target, _ = next(iter(fitted.causal_graph_.edges()))
    apart = ~(data.graph.adjacency | data.graph.adjacency.T | np.eye(5, dtype=bool))
    absent = tuple(data.names[k] for k in np.argwhere(apart)[0])
    knowledge = Knowledge(forbidden=[(source, target)], required=[absent], signs={(target, source): "+"})
    for settings in ({}, {"jacobian": False}, {"neighbours": "trees", "pruning": "components"}):
        fit = GranDag(**FAST, knowledge=knowledge, **settings).fit(data.X)
        assert Knowledge(knowledge.forbidden, knowledge.required).compile(data.names).check(fit.adjacency_matrix_) == []
        assert [caution.kind for caution in fit.verdict_.cautions] == [Caution.BOUNDS_UNUSED]


@may_fall_short
def test_neighbourhoods_narrow_the_start(data, monkeypatch):
    fit = GranDag(**FAST, neighbours="trees").fit(data.X)
    assert 5 <= fit.candidates_.sum() < 20 and not fit.solution_.weights[~fit.candidates_].any()
    assert (fit.candidates_ | fit.candidates_.T)[data.graph.adjacency].all()
    assert GranDag(**FAST, neighbours="auto").fit(data.X).candidates_.sum() == 20
    monkeypatch.setattr("acyclic.learners.neural.gran_dag.learner.MANY", 5)
    np.testing.assert_array_equal(GranDag(**FAST, neighbours="auto").fit(data.X).candidates_, fit.candidates_)
    assert GranDag(**FAST).fit(data.X).candidates_.sum() == 20


@may_fall_short
def test_units_do_not_matter_when_columns_are_standardised(data):
    fits = [GranDag(**FAST).fit(data.X * scale + shift) for scale, shift in ((1, 0), (2.0**10, 2.0**12))]
    np.testing.assert_allclose(fits[0].adjacency_matrix_, fits[1].adjacency_matrix_, rtol=1e-6)
    raw = GranDag(**FAST, standardize=False).fit(data.X)
    assert not np.allclose(raw.solution_.weights, fits[0].solution_.weights, rtol=1e-3)


@may_fall_short
def test_the_same_seed_gives_the_same_bits_and_another_one_others(data):
    fits = [GranDag(**FAST, random_state=seed).fit(data.X).solution_.weights.tobytes() for seed in (0, 0, 1)]
    assert fits[0] == fits[1] != fits[2]


def stop_at(step, how):
    def callback(progress):
        if progress.step >= step and how == "interrupt":
            raise KeyboardInterrupt
        return progress.step >= step

    return callback


@pytest.mark.parametrize(
    ("settings", "ended"),
    [
        ({"time_limit": 0}, Ended.TIME_LIMIT),
        ({"callback": stop_at(201, "ask")}, Ended.CALLBACK),
        ({"callback": stop_at(201, "interrupt")}, Ended.INTERRUPTED),
        ({"neighbours": "trees", "callback": lambda p: p.stage == "neighbourhoods"}, Ended.CALLBACK),
    ],
    ids=["limit", "callback", "interrupt", "among the trees"],
)
def test_a_stop_returns_the_best_so_far(settings, ended, data):
    fit = GranDag(**settings).fit(data.X)
    assert is_acyclic(fit.adjacency_matrix_) and np.isfinite(fit.adjacency_matrix_).all()
    assert fit.verdict_.end.kind is ended and not fit.verdict_.converged
    assert fit.solution_.steps in (0, 1, 201)


@may_fall_short
@pytest.mark.parametrize("variance", ["constant", "network"])
def test_a_stopped_fit_goes_on_to_the_same_bits(variance, data, tmp_path):
    learner = GranDag(**{**FAST, "max_iterations": 501}, variance=variance, neighbours="trees")
    whole = clone(learner).fit(data.X)
    path = tmp_path / "run.npz"
    counts = []

    def callback(progress):
        counts.append(progress.step)
        return len(counts) in (2, 9)

    for _ in range(3):
        fit = clone(learner).set_params(callback=callback, checkpoint=path).fit(data.X)
    assert fit.solution_.weights.tobytes() == whole.solution_.weights.tobytes()
    assert fit.solution_.steps == whole.solution_.steps == 501
    assert [p.step for p in fit.solution_.trace] == [p.step for p in whole.solution_.trace]
    with pytest.raises(InputError, match="belongs to another run"):
        clone(learner).set_params(checkpoint=path, random_state=1).fit(data.X)


def die_at(step):
    """A callback that ends a fit as a kill would: nobody catches it, the checkpoint stays as last written."""

    def callback(progress):
        if progress.step == step:
            raise SystemExit

    return callback


@may_fall_short
def test_a_fit_that_was_killed_goes_on_to_the_same_bits(data, tmp_path, monkeypatch):
    monkeypatch.setattr(Monitor, "every", 0.0)
    path = tmp_path / "run.npz"
    with pytest.raises(SystemExit):
        GranDag(**FAST, callback=die_at(201), checkpoint=path).fit(data.X)
    on_disk = json.loads(str(np.load(path)["header"]))
    assert on_disk["steps"] == 101 and on_disk["end"] is None
    resumed = GranDag(**FAST, checkpoint=path).fit(data.X)
    assert resumed.solution_.weights.tobytes() == GranDag(**FAST).fit(data.X).solution_.weights.tobytes()
    again = GranDag(**FAST, checkpoint=path, callback=lambda p: pytest.fail("it made a step")).fit(data.X)
    assert again.adjacency_matrix_.tobytes() == resumed.adjacency_matrix_.tobytes()


def test_checkpoints_hold_plain_arrays(data, tmp_path, monkeypatch):
    monkeypatch.setattr(Monitor, "every", 0.0)
    GranDag(**FAST, checkpoint=tmp_path / "run.npz", callback=stop_at(101, "ask")).fit(data.X)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as stored:
        assert {"memory.parameters", "memory.generator", "memory.schedule"} <= set(stored.files)


@pytest.mark.parametrize("scale", [1e30, 1e140, 1e-30])
def test_scales_out_of_range_end_in_words(scale, data):
    with pytest.warns(match="did not converge"):
        fit = GranDag(**FAST, standardize=False).fit(data.X[:100] * scale)
    assert np.isfinite(fit.adjacency_matrix_).all() and is_acyclic(fit.adjacency_matrix_)


ODD = {
    "one column": np.arange(9.0)[:, None],
    "two columns": np.random.default_rng(0).standard_normal((50, 2)),
    "two rows": np.random.default_rng(0).standard_normal((2, 3)),
    "fewer rows than columns": np.random.default_rng(0).standard_normal((4, 6)),
    "a constant column": np.column_stack([np.ones(40), np.random.default_rng(0).standard_normal((40, 2))]),
    "all constant": np.ones((10, 3)),
    "a doubled column": np.random.default_rng(0).standard_normal((40, 2))[:, [0, 1, 1]],
    "whole numbers": np.random.default_rng(0).integers(0, 3, (60, 3)),
    "booleans": np.random.default_rng(0).random((60, 3)) < 0.5,
    "single precision": np.random.default_rng(0).standard_normal((60, 3)).astype(np.float32),
    "a frame": pd.DataFrame({"a": [1, 2, 3, 5], "b": np.array([1, 3, 2, 4], dtype=np.float32)}),
}


@may_fall_short
@pytest.mark.parametrize("variance", ["constant", "network"])
@pytest.mark.parametrize("table", ODD.values(), ids=ODD)
def test_odd_tables_are_learned_from(table, variance):
    fit = GranDag(**FAST, variance=variance).fit(table)
    assert is_acyclic(fit.adjacency_matrix_) and np.isfinite(fit.adjacency_matrix_).all()
    assert np.isfinite(fit.transform(table)).all() and str(fit.verdict_)


def test_constant_columns_get_no_edge(data):
    X = np.column_stack([data.X[:100, :2], np.full(100, 3.0)])
    with pytest.warns(match="did not converge"):
        fit = GranDag(**FAST, cam_cutoff=None).fit(X)
    assert not fit.solution_.weights[2].any() and not fit.solution_.weights[:, 2].any()


def test_an_empty_graph_says_why():
    X = np.random.default_rng(3).standard_normal((300, 3))
    with pytest.warns(match="did not converge"):
        fit = GranDag(**FAST).fit(X)
    assert fit.causal_graph_.n_edges == 0 and fit.verdict_.empty.kind is Empty.UNTESTED
    with pytest.warns(match="did not converge"):
        fit = GranDag(**FAST, clamp=1e6).fit(X)
    assert fit.verdict_.empty.kind is Empty.CLAMPED


@pytest.mark.parametrize(
    "wrong",
    [
        {"variance": "linear"},
        {"constraint": "acyclic"},
        {"neighbours": "forest"},
        {"layers": 0},
        {"hidden": 2.5},
        {"batch_size": True},
        {"max_iterations": 0},
        {"window": -1},
        {"trees": 0},
        {"rate": 0.0},
        {"later_rate": -1.0},
        {"rho": np.inf},
        {"growth": np.nan},
        {"cam_cutoff": 0.0},
        {"ratio": -0.1},
        {"tolerance": np.nan},
        {"h_tol": -1e-8},
        {"clamp": np.inf},
        {"validation": 1.0},
        {"pruning": "none"},
        {"random_state": -1},
        {"device": "abacus"},
        {"time_limit": -1},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_wrong_parameters_are_named(wrong, data):
    name, value = next(iter(wrong.items()))
    with pytest.raises(InputError, match=name) as caught:
        GranDag(**wrong).fit(data.X)
    assert str(value) in str(caught.value)


def test_moments_are_refused(data):
    with pytest.raises(InputError, match="GranDag needs rows"):
        GranDag().fit(Moments.from_array(data.X))


def test_the_verdict_says_what_orients(fitted):
    described = {"constraint": "fast-tmpi", "variance": "constant", "layers": 2, "hidden": 10}
    assert fitted.verdict_.method == "gran-dag" and fitted.verdict_.settings == described
    assert fitted.verdict_.orientation is Orientation.CURVATURE
    assert GranDag(variance="network")._describe()[0] is Orientation.MEAN_AND_SCALE


@parametrize_with_checks([GranDag(max_iterations=101), GranDag(variance="network", max_iterations=101)])
@may_fall_short
def test_scikit_learn_checks(estimator, check):
    check(estimator)
