"""DagGnn: the model against one written out with torch.autograd, the schedule, and the contract of all learners."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import acyclic
from acyclic.constraints.catalogue import constraint
from acyclic.continuous.loops.augmented_lagrangian import finish_schedule
from acyclic.continuous.problem import Penalty
from acyclic.data.knowledge import Knowledge
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.facts import Caution, Empty, Ended, Fact, Orientation
from acyclic.graphs.cycles import is_acyclic
from acyclic.graphs.metrics import shd
from acyclic.learners.neural.dag_gnn.learner import DagGnn
from acyclic.running import Monitor, State
from acyclic.scores.additive import AdditiveModel

torch = pytest.importorskip("torch")
from acyclic.constraints.autograd import dag_constraint  # noqa: E402
from acyclic.learners.neural.dag_gnn import training as gnn  # noqa: E402 - after the check that torch is there
from acyclic.learners.neural.dag_gnn.networks import DenseNetworks, PiecewiseLinearNetworks  # noqa: E402

CPU = torch.device("cpu")
may_fall_short = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = {"epochs": 20, "hidden": 8, "batch_size": 50, "max_rounds": 4}


@pytest.fixture(scope="module")
def data():
    return simulate(5, 203, graph="ER1", random_state=4)


def model_at(d, channels, latent, *, hidden=7, l1=0.0, allowed=None, name="fast-tmpi", seed=0):
    """A model with all parameters drawn, A far from zero and from acyclic."""
    allowed = ~np.eye(d, dtype=bool) if allowed is None else allowed
    model = gnn.Model(allowed, np.full((d, d), l1), channels, hidden, latent, constraint(name), CPU)
    generator = torch.Generator().manual_seed(seed)
    model.draw(generator)
    model.parameters.add_(0.3 * torch.randn(len(model.parameters), generator=generator, dtype=torch.float64))
    model.raw.mul_(0.5 * model.allowed)
    return model


def naive_loss(model, vector, rows, penalty, l1):
    """The published loss, with the inverse of I − Aᵀ and the penalty on the diagonal, for autograd."""
    raw, shift, W1, b1, W2, b2, V1, c1, V2, c2 = model.views(vector)
    A = torch.sinh(3 * raw * model.allowed)
    identity = torch.eye(len(A), dtype=torch.float64)
    H = torch.relu(rows @ W1.T + b1) @ W2.T + b2
    Z = (identity - A.T) @ (H + shift) - shift
    features = torch.linalg.inv(identity - A.T) @ (Z + shift) - shift
    decoded = torch.relu(features @ V1.T + c1) @ V2.T + c2
    loss = 0.5 * (Z**2).sum() / len(rows) + 0.5 * ((rows - decoded) ** 2).sum() / len(rows)
    h = dag_constraint(A, model.constraint)
    extra = penalty.alpha * h + 0.5 * penalty.rho * h**2 + 100 * torch.trace(A * A) + l1 * A.abs().sum()
    return loss, extra


def gradient_of(model, rows, penalty):
    batch, A = gnn.Batch(rows), model.weights()
    loss = model.loss(batch, A)
    model.backward(batch, A, penalty)
    return loss, model.gradient.clone()


@pytest.mark.parametrize(("channels", "latent"), [(1, 1), (3, 2), (1, 2), (2, 1)])
@pytest.mark.parametrize("name", ["fast-tmpi", "binomial"])
@pytest.mark.parametrize("l1", [0.0, 0.7])
def test_loss_and_gradient_are_those_of_the_published_model(channels, latent, name, l1):
    d, penalty = 6, Penalty(0.3, 0.8)
    allowed = ~np.eye(d, dtype=bool)
    allowed[1, 2] = allowed[4, 0] = False
    for seed in range(3):
        model = model_at(d, channels, latent, l1=l1, allowed=allowed, name=name, seed=seed)
        rows = torch.randn(11, d, channels, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        vector = model.parameters.clone().requires_grad_()
        expected, extra = naive_loss(model, vector, rows, penalty, l1)
        (expected + extra).backward()
        loss, gradient = gradient_of(model, rows, penalty)
        assert loss == pytest.approx(expected.item(), rel=1e-10)
        torch.testing.assert_close(gradient, vector.grad, rtol=1e-8, atol=1e-9 * vector.grad.abs().max().item())
        assert (model.raw_gradient[1, 2], model.raw_gradient[4, 0]) == (0, 0)


@pytest.mark.parametrize(("channels", "latent"), [(1, 1), (2, 2)])
def test_the_gradient_agrees_with_finite_differences(channels, latent):
    penalty, step = Penalty(2.0, 0.5), 1e-6
    model = model_at(5, channels, latent, l1=0.2)
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(9, 5, channels, generator=generator, dtype=torch.float64)
    gradient, start = gradient_of(model, rows, penalty)[1], model.parameters.clone()

    def total():
        A = model.weights()
        h = model.constraint.value_and_gradient((A * A).numpy())[0]
        return model.loss(gnn.Batch(rows), A) + penalty.value(h) + 0.2 * (A * model.allowed).abs().sum().item()

    for _ in range(8):
        direction = torch.randn(len(start), generator=generator, dtype=torch.float64)
        direction[:25] *= model.allowed.view(-1)
        values = []
        for sign in (1, -1):
            model.parameters.copy_(start + sign * step * direction)
            values.append(total())
        slope = (values[0] - values[1]) / (2 * step)
        assert slope == pytest.approx(float(gradient @ direction), rel=1e-5, abs=1e-6)


def both_networks(flat, m):
    """The two forms of the same networks, and their gradients."""
    pieces, dense = flat.clone(), flat.clone()
    parts = [m, m, m, 1] * 2
    shapes = [(m, 1), (m,), (1, m), (1,)] * 2
    gradients = torch.zeros(2, len(flat), dtype=torch.float64)
    views = [[p.view(s) for p, s in zip(vector.split(parts), shapes)] for vector in (dense, gradients[1])]
    return (
        PiecewiseLinearNetworks(pieces.view(2, -1), gradients[0].view(2, -1)),
        DenseNetworks(*views),
        gradients,
    )


@pytest.mark.parametrize("seed", range(6))
def test_straight_lines_are_the_network_they_stand_for(seed):
    m, generator = 9, torch.Generator().manual_seed(seed)
    flat = torch.randn(2 * (3 * m + 1), generator=generator, dtype=torch.float64)
    if seed >= 2:  # weights of zero of both signs, equal kinks, dead units, units far away
        flat[:4] = torch.tensor([0.0, -0.0, 1e-300, -1e4])
        flat[m + 4] = 0.0
        flat[5:7], flat[m + 5 : m + 7] = 0.5, -0.25
    if seed >= 4:
        flat[m] *= -1
        flat[m + 1] *= -1
    lines, dense, gradients = both_networks(flat, m)
    x = 3 * torch.randn(1, 50, generator=generator, dtype=torch.float64)
    slope = torch.randn(1, 50, generator=generator, dtype=torch.float64)
    features = [networks.encode(x) for networks in (lines, dense)]
    outputs = [networks.decode(H) for networks, H in zip((lines, dense), features)]
    back = [networks.pull_back(slope) for networks in (lines, dense)]
    for networks in (lines, dense):
        networks.finish(slope.sin())
    for one, other in (features, outputs, back, gradients):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-11 * float(other.abs().max()))


def test_steps_of_adam_are_those_of_torch():
    generator = torch.Generator().manual_seed(0)
    ours = torch.randn(30, generator=generator, dtype=torch.float64)
    theirs = ours.clone().requires_grad_()
    adam, reference = gnn.Adam(ours), torch.optim.Adam([theirs], lr=0.01)
    for t in range(25):
        gradient = torch.randn(30, generator=generator, dtype=torch.float64) * 10.0 ** (-t)
        rate = 0.01 / (1 + t % 3)
        adam.step(gradient, rate)
        theirs.grad, reference.param_groups[0]["lr"] = gradient, rate
        reference.step()
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-13, atol=1e-15)


def test_soft_thresholding_follows_each_step_where_there_is_an_l1_term():
    model = model_at(4, 1, 1, l1=0.5)
    model.raw.copy_(torch.tensor([[0, 0.04, -0.04, 0.06], [-0.2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    model.shrink(0.1)
    torch.testing.assert_close(model.raw[0], torch.tensor([0, 0, 0, 0.01], dtype=torch.float64))
    assert model.raw[1, 0] == pytest.approx(-0.15)


def test_weights_start_as_published():
    model = gnn.Model(~np.eye(3, dtype=bool), np.zeros((3, 3)), 2, 4000, 1, constraint("tmpi"), CPU)
    model.draw(torch.Generator().manual_seed(0))
    raw, shift, W1, b1, W2, b2, V1, c1, V2, c2 = model.views(model.parameters)
    assert not raw.any() and not shift.any() and not c1.any() and not c2.any()
    for weights in (W1, W2, V1, V2):
        assert weights.std().item() == pytest.approx(math.sqrt(2 / sum(weights.shape)), rel=0.05)
    assert b1.abs().max().item() == pytest.approx(1 / math.sqrt(2), rel=0.01) and b1.std() > 0.38
    assert 0 < b2.abs().max() <= 1 / math.sqrt(4000)


def published_loop(values, rounds, growth=10.0, h_tol=1e-8, rho_max=1e20):
    """Yu et al.'s nested loops on scripted (h, loss) at the end of each training: the (ρ, α) of each."""
    values, used = iter(values), []
    rho, alpha, old, best = 1.0, 0.0, math.inf, math.inf
    for _ in range(rounds):
        while rho < rho_max:
            used.append((rho, alpha))
            h, loss = next(values)
            best = min(best, loss)
            if loss > 2 * best:
                break
            if h > 0.25 * old:
                rho *= growth
            else:
                break
        old = h
        alpha += rho * h
        if h <= h_tol or rho >= rho_max:
            break
    return used, rho, alpha, h


SCRIPTS = {
    "falls": [(4.0, 9.0), (0.9, 8.0), (0.1, 8.0), (1e-3, 8.0), (1e-9, 8.0)],
    "stalls": [(4.0, 9.0), (3.0, 9.0), (2.0, 9.0), (0.8, 9.0), (0.7, 9.0), (0.1, 9.0), (1e-12, 9.0)],
    "leaves": [(4.0, 1.0), (3.9, 2.5), (3.8, 1.9), (3.7, 2.1), (0.1, 1.0), (0.0, 1.0)],
    "never": [(4.0, 1.0)] + 30 * [(3.9, 1.0)],
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("rounds", [3, 100])
def test_the_schedule_is_the_published_one(script, rounds):
    values, schedule, state = iter(SCRIPTS[script]), gnn.Schedule(max_rounds=rounds), State(np.zeros((2, 2)))
    used, best = [], math.inf
    while schedule.goes_on(state):
        used.append((state.rho, state.alpha))
        h, loss = next(values)
        best = min(best, loss)
        vars(state).update(schedule.after(state, h, loss, best))
    expected, rho, alpha, h = published_loop(SCRIPTS[script], rounds)
    assert used == expected and (state.rho, state.alpha, state.h) == (rho, alpha, h)
    finish_schedule(state, schedule.h_tol, schedule.max_rounds)
    spent = Ended.ROUNDS_SPENT if state.round == rounds else Ended.PENALTY_SPENT
    assert state.done and state.end.kind is (Ended.CONSTRAINT_MET if h <= 1e-8 else spent)


def test_the_learning_rate_falls_with_the_penalty():
    schedule = gnn.Schedule()
    rates = [schedule.rate(10.0**power) for power in (0, 1, 2, 6, 19)]
    assert rates == pytest.approx([1e-2, 3e-3, 1.5e-3, 5e-4, 3e-3 / 19])
    assert gnn.Schedule(base_rate=1e-3).rate(1e19) == 1e-4


def test_training_follows_the_schedule(data):
    with pytest.warns(match="did not converge"):
        fit = DagGnn(**QUICK).fit(data.X)
    assert fit.verdict_.end.kind is Ended.ROUNDS_SPENT and fit.verdict_.end["round"] == 4
    trace, rho, alpha, old = fit.solution_.trace, 1.0, 0.0, math.inf
    assert len(fit.elbo_) == 20 * len(trace) and np.isfinite(fit.elbo_).all() and (fit.elbo_ < 0).all()
    for k, progress in enumerate(trace):
        assert progress.penalty == rho and progress.step == 20 * (k + 1)
        loss, best = -fit.elbo_[20 * k + 19], -fit.elbo_[: 20 * k + 20].max()
        if loss <= 2 * best and progress.h > 0.25 * old:
            rho *= 10
        else:
            old, alpha = progress.h, alpha + rho * progress.h
    assert alpha > 0 and trace[-1].round == 4
    assert fit.solution_.objective == trace[-1].objective and fit.solution_.h == pytest.approx(trace[-1].h)
    assert fit.elbo_[-1] > fit.elbo_[0]


def test_the_last_batch_counts_by_its_rows(data):
    rows = data.X[:25]
    parts = gnn.batches(rows, 10, CPU)
    assert [len(part) for part in parts] == [10, 10, 5]
    model = model_at(5, 1, 1)
    A = model.weights()
    losses = [model.loss(part, A) for part in parts]
    (whole,) = gnn.batches(rows, 100, CPU)
    assert np.average(losses, weights=[10, 10, 5]) == pytest.approx(model.loss(whole, A))
    training = gnn.Training(model, parts, gnn.Schedule(epochs=1, max_rounds=1), torch.Generator())
    assert training.objective() == pytest.approx(model.loss(whole, model.weights()))


def test_limits_are_looked_at_within_large_epochs():
    for d, rows, expected in ((5, 100, 200), (50, 100, 200), (500, 100, 5), (2000, 50, 1)):
        model = gnn.Model(~np.eye(d, dtype=bool), np.zeros((d, d)), 1, 2, 1, constraint("tmpi"), CPU)
        data = gnn.batches(np.zeros((2 * rows, d)), rows, CPU)
        assert gnn.Training(model, data, gnn.Schedule(), torch.Generator()).window == expected


def test_batches_give_back_what_they_took():
    rows = torch.arange(24.0, dtype=torch.float64).view(4, 3, 2).flip(0)
    for cells in (rows, rows[:, :, :1]):
        batch = gnn.Batch(cells)
        placed = batch.spread(batch.values)
        torch.testing.assert_close(placed.view(-1, 4, 3), cells.permute(2, 0, 1))
        torch.testing.assert_close(batch.gathered(placed), batch.values)


# How a fit is used.


@pytest.mark.parametrize(("sem", "seed"), [("linear", 0), ("cos", 0)])
def test_it_recovers_small_graphs(sem, seed):
    simulated = simulate(5, 1000, graph="ER1", sem=sem, random_state=seed)
    fit = DagGnn(epochs=40, batch_size=250).fit(simulated.X)
    assert fit.verdict_.converged and simulated.graph.n_edges >= 5
    assert shd(simulated.graph, fit.causal_graph_) <= 1


@may_fall_short
# One that is a series, one with a domain, one by an eigenvector, one that is set for the point.
@pytest.mark.parametrize("name", ["exponential", "log-det", "spectral-radius", "adaptive"])
def test_every_kind_of_constraint_runs(name, data):
    brief = {**QUICK, "epochs": 5}
    fit = DagGnn(**brief, constraint=name).fit(data.X)
    assert is_acyclic(fit.adjacency_matrix_) and np.isfinite(fit.solution_.weights).all()
    assert fit.verdict_.settings["constraint"] == constraint(name).name and (fit.solution_.weights >= 0).all()
    own = DagGnn(**brief, constraint=constraint(name)).fit(data.X)
    assert own.solution_.weights.tobytes() == fit.solution_.weights.tobytes()


@may_fall_short
def test_the_seed_decides_and_nothing_else(data):
    fits = [DagGnn(**QUICK, random_state=seed).fit(table) for seed in (0, 1) for table in (data.X, data.X.copy())]
    bits = [fit.solution_.weights.tobytes() for fit in fits]
    assert bits[0] == bits[1] and bits[2] == bits[3] and bits[0] != bits[2]
    torch.manual_seed(5)
    before = torch.get_rng_state()
    assert DagGnn(**QUICK).fit(data.X).solution_.weights.tobytes() == bits[0]
    assert torch.equal(before, torch.get_rng_state())


@may_fall_short
def test_standardisation_makes_units_irrelevant(data):
    units = np.array([1.0, 1000.0, 0.01, 5.0, 1.0])
    plain = DagGnn(**QUICK, standardize=True).fit(data.X)
    rescaled = DagGnn(**QUICK, standardize=True).fit(data.X * units + 3 * units)
    np.testing.assert_allclose(rescaled.solution_.weights, plain.solution_.weights, atol=1e-6)
    assert rescaled.verdict_.orientation is Orientation.GENERATIVE
    assert rescaled.verdict_.cautions == (Fact.of(Caution.STANDARDIZED),)
    assert DagGnn(**QUICK).fit(data.X).verdict_.cautions == ()


@may_fall_short
def test_an_l1_term_shrinks_the_strengths(data):
    loose, tight = (DagGnn(**QUICK, l1=l1).fit(data.X) for l1 in (0.0, 1.0))
    assert tight.solution_.weights.sum() < 0.5 * loose.solution_.weights.sum()
    assert (tight.solution_.weights == 0).sum() > 5
    known = DagGnn(**QUICK, l1=1.0, knowledge=Knowledge(required=[("x0", "x1")])).fit(data.X)
    assert known.solution_.weights[0, 1] > 0


def channels_of(X, k, seed=0):
    """Each value as k noisy linear functions of it, as in the published simulation."""
    rng = np.random.default_rng(seed)
    return X[:, :, None] * rng.standard_normal(k) + rng.standard_normal(k) + 0.1 * rng.standard_normal((*X.shape, k))


def test_vector_valued_columns():
    simulated = simulate(4, 400, graph="ER1", random_state=2)
    cells = channels_of(simulated.X, 3)
    fit = DagGnn(epochs=40, batch_size=200, hidden=16).fit(cells)
    assert shd(simulated.graph, fit.causal_graph_) <= 1 and fit.causal_graph_.n_edges > 0
    assert fit.n_features_in_ == 4 and fit.causal_graph_.names == simulated.names
    assert fit.noise_variances_.shape == (4, 3) and fit.mean_.shape == (4,)
    flat = cells.reshape(400, 12)
    blown_up = np.kron(fit.adjacency_matrix_ != 0, np.ones((3, 3))) > 0
    expected = flat - AdditiveModel.fit(flat, blown_up).predict(flat)
    residuals = fit.transform(cells)
    np.testing.assert_allclose(residuals, expected.reshape(cells.shape))
    variances = (expected**2).mean(axis=0)
    np.testing.assert_allclose(fit.noise_variances_.ravel(), variances)
    assert fit.score(cells) == pytest.approx(-0.5 * (np.log(2 * np.pi * variances) + 1).sum())
    assert fit.verdict_.n_nodes == 4


@may_fall_short
def test_one_channel_is_a_plain_table(data):
    plain, cells = DagGnn(**QUICK).fit(data.X), DagGnn(**QUICK).fit(data.X[:, :, None])
    assert plain.solution_.weights.tobytes() == cells.solution_.weights.tobytes()
    assert plain.score(data.X) == pytest.approx(cells.score(data.X[:, :, None]))
    assert plain.verdict_ == cells.verdict_


@may_fall_short
def test_vector_valued_columns_are_standardised_by_channel_and_obey_knowledge(data):
    cells = channels_of(data.X, 2)
    knowledge = Knowledge(required=[("x4", "x0")], forbidden=[("x0", "x1")])
    settings = {**QUICK, "standardize": True, "knowledge": knowledge, "latent": 2}
    fit = DagGnn(**settings).fit(cells)
    assert knowledge.compile(data.names).check(fit.adjacency_matrix_) == []
    rescaled = DagGnn(**settings).fit(cells * [1.0, 100.0] + [5.0, 0.0])
    np.testing.assert_allclose(rescaled.solution_.weights, fit.solution_.weights, atol=1e-6)


def test_wrong_vector_valued_columns_are_refused(data):
    cells = channels_of(data.X, 2)
    broken = cells.copy()
    broken[3, 2, 1] = np.nan
    with pytest.raises(InputError, match=r"X\[3, 2, 1\] is nan"):
        DagGnn(**QUICK).fit(broken)
    with pytest.raises(InputError, match=r"got shape \(1, 5, 2\)"):
        DagGnn(**QUICK).fit(cells[:1])
    with pytest.raises(InputError, match="of numbers"):
        DagGnn(**QUICK).fit(np.full((4, 3, 2), "a", dtype=object))
    fit = DagGnn(**QUICK, time_limit=0).fit(cells)
    for wrong in (cells[:, :3], cells[:, :, :1], data.X):
        with pytest.raises(InputError, match=r"fitted to rows of shape|got shape"):
            fit.transform(wrong)
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    assert fit.fit(frame).transform(frame).shape == data.X.shape
    assert not hasattr(fit.fit(cells), "feature_names_in_")


@may_fall_short
def test_knowledge_is_obeyed(data):
    free = DagGnn(**QUICK).fit(data.X)
    (source, target, _), *_ = sorted(free.causal_graph_.edges(), key=lambda edge: -abs(edge[2]))
    absent = next(
        (s, t) for s in data.names for t in data.names if s != t and {s, t} != {source, target} and t != target
    )
    knowledge = Knowledge(forbidden=[(source, target)], required=[absent])
    fit = DagGnn(**QUICK, knowledge=knowledge).fit(data.X)
    assert knowledge.compile(data.names).check(fit.adjacency_matrix_) == []
    i, j = (data.names.index(name) for name in (source, target))
    assert fit.solution_.weights[i, j] == 0 and (fit.solution_.weights.diagonal() == 0).all()
    signed = DagGnn(**QUICK, knowledge=Knowledge(signs={(source, target): "+"})).fit(data.X)
    assert signed.verdict_.cautions == (Fact.of(Caution.BOUNDS_UNUSED),)


@may_fall_short
def test_a_graph_without_allowed_edges_is_empty(data):
    order = list(data.names)
    everything = [(a, b) for a in order for b in order if a != b]
    fit = DagGnn(**QUICK, knowledge=Knowledge(forbidden=everything)).fit(data.X)
    assert fit.causal_graph_.n_edges == 0 and fit.verdict_.converged
    assert fit.verdict_.empty.kind is Empty.ALL_FORBIDDEN


TABLES = {
    "one column": lambda X: X[:, :1],
    "two columns": lambda X: X[:, :2],
    "two rows": lambda X: X[:2],
    "fewer rows than a batch": lambda X: X[:30],
    "constant columns": lambda X: np.column_stack([X, np.ones(len(X)), np.zeros(len(X))]),
    "duplicated columns": lambda X: np.column_stack([X, X[:, 0]]),
    "integers": lambda X: np.round(X).astype(np.int8),
    "float32": lambda X: X.astype(np.float32),
    "integer frame": lambda X: pd.DataFrame(np.round(X).astype(int), columns=list("abcde")),
    "float32 frame": lambda X: pd.DataFrame(X.astype(np.float32), columns=list("abcde")),
    "large": lambda X: 1e6 * X,
    "tiny": lambda X: 1e-100 * X,
}


@may_fall_short
@pytest.mark.parametrize("table", TABLES)
def test_odd_tables_give_a_graph(table, data):
    X = TABLES[table](data.X)
    fit = DagGnn(**{**QUICK, "epochs": 5}).fit(X)
    assert is_acyclic(fit.adjacency_matrix_) and np.isfinite(fit.adjacency_matrix_).all()
    assert np.isfinite(fit.solution_.objective) and np.isfinite(fit.transform(X)).all()


@pytest.mark.parametrize("factor", [1e120, 1e150])
def test_values_whose_squares_overflow_are_rescaled(factor, data):
    with pytest.warns(match="did not converge"):
        fit = DagGnn(**QUICK).fit(factor * data.X)
    assert fit.verdict_.end.kind is not Ended.NOT_FINITE
    assert np.isfinite(fit.adjacency_matrix_).all() and np.isfinite(fit.solution_.objective)


def test_a_loss_that_stops_being_finite_leaves_the_last_finite_parameters(data, monkeypatch):
    calls, real = [], gnn.Adam.step

    def step(self, gradient, rate):
        calls.append(1)
        real(self, gradient * (np.inf if len(calls) == 33 else 1.0), rate)

    monkeypatch.setattr(gnn.Adam, "step", step)
    with pytest.warns(match="rescale or standardise the columns"):
        fit = DagGnn(**QUICK).fit(data.X)
    assert fit.verdict_.end == Fact.of(Ended.NOT_FINITE, steps=6)
    monkeypatch.undo()
    same = DagGnn(**QUICK, callback=lambda progress: progress.step == 6).fit(data.X)
    assert fit.solution_.weights.tobytes() == same.solution_.weights.tobytes() and fit.solution_.weights.any()
    assert fit.solution_.objective == same.solution_.objective


def stop_at(call, how):
    seen = []

    def callback(progress):
        seen.append(progress)
        if len(seen) == call and how == "interrupt":
            raise KeyboardInterrupt
        return len(seen) == call

    return callback


@pytest.mark.parametrize(
    ("settings", "ended"),
    [
        ({"time_limit": 0}, Ended.TIME_LIMIT),
        ({"callback": stop_at(1, "ask")}, Ended.CALLBACK),
        ({"callback": stop_at(1, "interrupt")}, Ended.INTERRUPTED),
    ],
)
def test_a_stopped_fit_gives_the_graph_so_far(settings, ended, data):
    fit = DagGnn(**QUICK, **settings).fit(data.X)
    assert is_acyclic(fit.adjacency_matrix_) and fit.verdict_.end.kind is ended
    assert fit.solution_.steps == len(fit.elbo_) == 1 and fit.solution_.weights.any()


def assert_same(one, other):
    assert one.solution_.weights.tobytes() == other.solution_.weights.tobytes()
    assert one.elbo_.tobytes() == other.elbo_.tobytes()
    for name in ("end", "objective", "h", "steps"):
        assert getattr(one.solution_, name) == getattr(other.solution_, name), name
    timeless = [[(p.round, p.step, p.objective, p.h, p.penalty) for p in fit.solution_.trace] for fit in (one, other)]
    assert timeless[0] == timeless[1] and one.verdict_ == other.verdict_


@pytest.fixture(scope="module")
def undisturbed(data):
    """A fit that looks at its limits within epochs too, and what it told its callback."""
    calls = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(gnn, "BATCHES_PER_STEP", 2)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DagGnn(**QUICK, callback=calls.append).fit(data.X), calls


def test_progress_is_told_within_epochs(undisturbed):
    whole, calls = undisturbed
    assert len(calls) == 3 * len(whole.elbo_) + len(whole.solution_.trace)
    assert all(0 < p.objective < np.inf for p in calls)
    assert [p.step for p in calls] == sorted(p.step for p in calls)


@may_fall_short
@pytest.mark.parametrize(("how", "share"), [("ask", 0.01), ("interrupt", 0.505), ("ask", 1.0)])
def test_a_stopped_fit_goes_on_to_the_same_bits(how, share, data, undisturbed, tmp_path, monkeypatch):
    monkeypatch.setattr(gnn, "BATCHES_PER_STEP", 2)  # so that it also stops within epochs
    whole, calls = undisturbed
    path = tmp_path / "run.npz"
    call = max(1, round(share * len(calls)))
    assert DagGnn(**QUICK, callback=stop_at(call, how), checkpoint=path).fit(data.X).solution_.end.kind.stopped
    assert_same(DagGnn(**QUICK, checkpoint=path).fit(data.X), whole)
    again = DagGnn(**QUICK, checkpoint=path, callback=lambda progress: pytest.fail("it made a step")).fit(data.X)
    assert_same(again, whole)
    with pytest.raises(InputError, match="belongs to another run"):
        DagGnn(**{**QUICK, "hidden": 9}, checkpoint=path).fit(data.X)
    with pytest.raises(InputError, match="belongs to another run"):
        DagGnn(**QUICK, checkpoint=path).fit(data.X[::-1])


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
        DagGnn(**QUICK, callback=die_at(30), checkpoint=path).fit(data.X)
    on_disk = json.loads(str(np.load(path)["header"]))
    assert on_disk["steps"] == 29 and on_disk["end"] is None
    assert_same(DagGnn(**QUICK, checkpoint=path).fit(data.X), DagGnn(**QUICK).fit(data.X))


@may_fall_short
def test_progress_tells_what_happens(data):
    seen = []
    fit = DagGnn(**QUICK, callback=seen.append).fit(data.X)
    assert len(seen) == len(fit.elbo_) + len(fit.solution_.trace) and set(fit.solution_.trace) <= set(seen)
    assert all(np.isfinite([p.objective, p.h, p.penalty]).all() for p in seen)
    epochs = [p for p in seen if p not in fit.solution_.trace]
    np.testing.assert_array_equal([-p.objective for p in epochs], fit.elbo_)
    assert seen[-1].edges == np.count_nonzero(fit.solution_.weights >= 0.3) < 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"hidden": 0},
        {"hidden": 2.5},
        {"latent": 0},
        {"epochs": True},
        {"batch_size": 0},
        {"max_rounds": 0},
        {"rate": 0.0},
        {"rate": np.nan},
        {"l1": -1.0},
        {"h_tol": -1e-8},
        {"rho_max": np.inf},
        {"threshold": -1.0},
        {"random_state": None},
        {"device": "abacus"},
        {"constraint": "acyclic"},
    ],
)
def test_wrong_parameters_are_named(wrong, data):
    ((name, value),) = wrong.items()
    with pytest.raises(InputError, match=name) as caught:
        DagGnn(**{**QUICK, **wrong}).fit(data.X)
    assert str(value) in str(caught.value)


def test_moments_are_not_enough(data):
    with pytest.raises(InputError, match="DagGnn needs rows"):
        DagGnn(**QUICK).fit(acyclic.Moments.from_array(data.X))


def test_parameters_survive_a_clone():
    learner = DagGnn(constraint="binomial", hidden=5, knowledge=Knowledge(roots=["x0"]))
    assert clone(learner).get_params() == learner.get_params()


def test_the_arguments_are_left_alone(data):
    X = data.X.copy()
    DagGnn(**QUICK, time_limit=0).fit(X)
    cells = channels_of(X, 2)
    kept = cells.copy()
    DagGnn(**QUICK, time_limit=0, standardize=True).fit(cells)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(cells, kept)


@parametrize_with_checks([DagGnn(epochs=2, hidden=4, max_rounds=2)])
@may_fall_short
def test_scikit_learn_checks(estimator, check):
    check(estimator)
