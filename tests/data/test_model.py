"""The fitted model: rows drawn from it, predictions, interventions and likelihoods, against closed forms."""

import json
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import acyclic
from acyclic.data.kinds import Coding
from acyclic.data.model import Model
from acyclic.data.parts import Category, Counted, Curve, Normal, Number, Shaped, Steps
from acyclic.errors import InputError


def as_frame(data):
    """The rows of a simulation, levels as text."""
    columns = {}
    for j, name in enumerate(data.names):
        x = data.X[:, j]
        columns[name] = np.array(list("abcd"))[x.astype(int)] if data.levels[j] else x
    return pd.DataFrame(columns)


WORLDS = {
    "linear": {"sem": "linear", "variances": (0.5, 4.0)},
    "laplace": {"sem": "linear", "variances": (0.5, 4.0), "noise": "laplace"},
    "curved": {"sem": "gp-add", "least_share": 0.1, "graph": "ER1"},
    "categorical": {"sem": "categorical", "graph": "ER1"},
    "mixed": {"sem": "mixed", "graph": "ER1"},
}


@pytest.fixture(scope="module", params=WORLDS)
def learned(request):
    """A result in every world, and what it was learned from."""
    frame = as_frame(acyclic.simulate(5, 400, random_state=2, **{"graph": "ER1", **WORLDS[request.param]}))
    return acyclic.learn(frame), frame


@pytest.fixture(scope="module")
def linear():
    data = acyclic.simulate(6, 500, graph="ER2", variances=(0.5, 4.0), random_state=1)
    return acyclic.Auto().fit(data.X + 5.0), data.X + 5.0


def implied(model):
    """Mean and covariance of a linear model."""
    spread = np.linalg.inv(np.eye(len(model.mean_)) - model.adjacency_matrix_)
    return model.mean_, spread.T @ np.diag(model.noise_variances_) @ spread


def test_total_effects_of_a_linear_model(linear):
    model, effects = linear[0].model_, linear[0].causal_graph_.total_effects()
    mean = dict(zip(model.names, linear[0].mean_))
    for i, cause in enumerate(model.names):
        found = model.do({cause: mean[cause] + 2.0})
        for j, outcome in enumerate(model.names):
            expected = 2.0 if i == j else 2.0 * effects[i, j]
            # Sums of a few products of numbers of this size.
            assert found.mean[outcome] - mean[outcome] == pytest.approx(expected, abs=1e-12 * (1 + abs(expected)) * 100)
            assert found.error[outcome] == 0


def test_draws_have_the_moments_of_a_linear_model(linear):
    n, (mean, covariance) = 50_000, implied(linear[0])
    drawn = pd.DataFrame(linear[0].sample(n, random_state=4)).to_numpy()
    scale = np.sqrt(covariance.diagonal())
    z = (drawn - mean) / scale
    correlation = covariance / np.outer(scale, scale)
    # The standard error of a mean is 1/√n, that of a product of normal numbers at most √2/√n; 36 of them.
    assert np.abs(z.mean(axis=0)).max() < 4.5 / np.sqrt(n)
    assert np.abs(z.T @ z / n - correlation).max() < 4.5 * np.sqrt(2 / n)


def test_the_likelihood_of_a_linear_model_is_that_of_the_normal_distribution(linear):
    fitted, X = linear
    assert {type(one.noise) for one in fitted.model_.mechanisms} == {Normal}
    expected = stats.multivariate_normal(*implied(fitted)).logpdf(X)
    np.testing.assert_allclose(fitted.model_.log_likelihood(X), expected, rtol=1e-8)
    assert fitted.score(X) == pytest.approx(expected.mean(), rel=1e-8)


def test_noise_of_any_shape():
    residuals = np.random.default_rng(0).laplace(size=5000)
    noise = Shaped.of(residuals)
    # Six digits are kept.
    assert noise.deviation == pytest.approx(residuals.std(), rel=1e-5)
    total, _ = integrate.quad(lambda u: np.exp(noise.log_density(np.array([u]))[0]), -40, 40, limit=500)
    assert total == pytest.approx(1, abs=1e-4)
    fresh = np.random.default_rng(1).laplace(size=20_000)
    truth, normal = stats.laplace.logpdf(fresh).mean(), Normal(residuals.std()).log_density(fresh).mean()
    shaped = noise.log_density(fresh).mean()
    assert normal < shaped < truth and truth - shaped < (truth - normal) / 3
    drawn = noise.draw(100_000, np.random.default_rng(2))
    # The fourth moment of the Laplace distribution is six times its variance squared.
    assert abs(drawn.var() / residuals.var() - 1) < 5 * np.sqrt(5 / 100_000)
    assert np.isfinite(noise.log_density(np.array([50.0]))).all()


def network():
    """Three categories, c given a and b, with the numbers that their levels stand for."""
    rng = np.random.default_rng(3)
    roots = [Counted((), np.empty((1, 0), dtype=int), rng.integers(5, 50, (1, q)).astype(float)) for q in (2, 3)]
    keys = np.array(list(product(range(2), range(3))))
    child = Counted((0, 1), keys, rng.integers(1, 30, (6, 3)).astype(float))
    other = Category((2,), (Steps(rng.normal(size=(3, 2))),), np.array([0.2, -0.2]))
    names = {q: tuple("uvw"[:q]) for q in (2, 3)}
    codings = {
        name: Coding(names[q], tuple(map(float, range(q))), tuple(range(q)), names[q], nominal=True)
        for name, q in zip("abcd", (2, 3, 3, 2))
    }
    return Model(tuple("abcd"), (*roots, child, other), codings)


def enumerate_network(model, fixed):
    """Probabilities of the levels of each column under an intervention, by all combinations."""
    sizes = [len(levels) for levels in model.levels.values()]
    grid = np.array(list(product(*map(range, sizes))), dtype=float)
    share = np.ones(len(grid))
    for j, mechanism in enumerate(model.mechanisms):
        own = grid[:, j].astype(int)
        share *= (own == fixed[j]) if j in fixed else mechanism.probabilities(grid)[np.arange(len(grid)), own]
    return [np.bincount(grid[:, j].astype(int), share, minlength=size) for j, size in enumerate(sizes)]


@pytest.mark.parametrize("fixed", [{}, {0: 1}, {2: 2}, {0: 0, 1: 2}])
def test_interventions_among_categories_against_all_combinations(fixed):
    model = network()
    found = model.do({model.names[j]: "uvw"[code] for j, code in fixed.items()}, draws=20_000)
    for j, expected in enumerate(enumerate_network(model, fixed)):
        name = model.names[j]
        shares = np.array([*found.probabilities[name].values()])
        assert shares.sum() == pytest.approx(1)
        assert np.abs(shares - expected).max() <= 4.5 * found.error[name] + 1e-12


def test_likelihood_of_categories_sums_to_one():
    model = network()
    every = pd.DataFrame(list(product("uv", "uvw", "uvw", "uv")), columns=list("abcd"))
    assert np.exp(model.log_likelihood(every)).sum() == pytest.approx(1)


def test_interventions_in_curves_against_the_truth():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 4000)
    y = x**2 + 0.3 * rng.normal(size=4000)
    z = np.sin(y) + 0.3 * rng.normal(size=4000)
    model = acyclic.learn(pd.DataFrame({"x": x, "y": y, "z": z})).model
    assert model.parents("y") == ("x",) and model.parents("z") == ("y",)
    at = 1.5
    truth = np.sin(at**2 + 0.3 * rng.normal(size=100_000))
    found = model.do({"x": at})
    # A curve of ten features from 4000 rows: its standard error is about 0.3 √(10 / 4000), twice that near its ends.
    assert found.mean["y"] == pytest.approx(at**2, abs=0.1)
    assert found.mean["z"] == pytest.approx(truth.mean(), abs=0.1)
    assert found.mean["x"] == at
    # Setting y cuts it off from x.
    assert model.do({"y": 1.0}).mean["x"] == pytest.approx(x.mean(), abs=1e-9)
    effect = model.total_effect("x", "z", 0.0, 1.0)
    assert effect == pytest.approx(np.sin(1) * np.exp(-0.045), abs=0.1)


def test_two_interventions_differ_by_their_effect_alone():
    child = Number(
        (0,), (Curve(0.0, np.array([1.0]), np.array([0.0, 0, 1, 1]), 1, np.array([[0.0], [2.0]])),), 0.0, Normal(9.0)
    )
    model = Model(
        ("a", "b", "c"),
        (Number((), (), 0.0, Normal(1.0)), child, Number((1,), (Curve.line(0.0, [1.0]),), 0.0, Normal(1.0))),
    )
    low, high = (model.do({"a": value}, n=50, random_state=3) for value in (0.0, 1.0))
    np.testing.assert_allclose(high.rows["c"] - low.rows["c"], 3.0, atol=1e-12)
    assert model.total_effect("a", "c", 0.0, 1.0) == pytest.approx(3.0)


def test_draws_of_every_world_look_like_the_table(learned):
    result, frame = learned
    drawn = pd.DataFrame(result.model.sample(4000, random_state=1))
    assert list(drawn) == list(frame)
    for name, column in frame.items():
        if name in result.model.levels:
            shares = column.value_counts(normalize=True)
            # The shares of 400 rows, and of 4000 draws: √(1/4 · (1/400 + 1/4000)) at most, and a fit that may be off.
            assert (drawn[name].value_counts(normalize=True).reindex(shares.index) - shares).abs().max() < 5 * 0.026
        else:
            assert abs(drawn[name].mean() - column.mean()) < 5 * column.std() * np.sqrt(1 / 400 + 1 / 4000)
            assert 0.6 < drawn[name].std() / column.std() < 1.6


def test_draws_can_be_learned_from(learned):
    result, _ = learned
    drawn = result.model.sample(500, random_state=3)
    table = acyclic.read_table(drawn)
    assert table.names == result.model.names and set(table.levels) >= set(result.model.levels)
    assert np.isfinite(acyclic.Auto(effort=0.0).fit(drawn).score(drawn))


def test_a_file_holds_the_model(learned):
    result, frame = learned
    again = acyclic.Result.from_json(result.to_json()).model
    assert again.score(frame) == pytest.approx(result.model.score(frame), rel=1e-12)
    one, other = (pd.DataFrame(model.sample(50, random_state=2)) for model in (again, result.model))
    pd.testing.assert_frame_equal(one, other)
    name = frame.columns[0]
    value = frame[name][0]
    assert again.do({name: value}, draws=200).mean == result.model.do({name: value}, draws=200).mean


def test_predictions_need_the_parents_only(learned):
    result, frame = learned
    for target in frame:
        parents = list(result.model.parents(target))
        if not parents:
            continue
        whole = result.model.predict(frame, target)
        np.testing.assert_array_equal(result.model.predict(frame[parents], target), whole)
        np.testing.assert_array_equal(
            result.model.predict({name: frame[name][:7] for name in parents}, target), whole[:7]
        )
        np.testing.assert_array_equal(result.model.predict(frame.to_numpy(dtype=object), target), whole)
        if target in result.model.levels:
            shares = result.model.predict_proba(frame, target)
            np.testing.assert_allclose(shares.sum(axis=1), 1)
            assert set(whole) <= set(result.model.levels[target])


def test_a_learner_has_its_model_after_pickling(learned):
    _, frame = learned
    fitted = acyclic.Auto().fit(frame)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.score(frame) == fitted.score(frame) and "_table" not in again.__dict__


def test_the_model_is_that_of_the_graph_that_is_returned():
    frame = as_frame(acyclic.simulate(6, 400, graph="ER2", sem="mixed", random_state=3))
    whole = acyclic.Auto().fit(frame)
    weights = np.sort(np.abs(whole.adjacency_matrix_[whole.adjacency_matrix_ != 0]))
    cut = acyclic.Auto(threshold=float(weights[len(weights) // 2])).fit(frame)
    assert 0 < cut.causal_graph_.n_edges < whole.causal_graph_.n_edges
    np.testing.assert_array_equal(cut.model_.adjacency, cut.causal_graph_.adjacency)
    assert np.isfinite(cut.score(frame)) and cut.transform(frame).shape == frame.shape


def test_zeros_and_ones_are_drawn_as_such():
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    y = (rng.random(500) < 1 / (1 + np.exp(-2 * x))).astype(float)
    model = acyclic.Notears(knowledge=acyclic.Knowledge(required=[("x0", "x1")])).fit(np.column_stack([x, y])).model_
    assert set(model.sample(100)["x1"]) == {0.0, 1.0}
    truth = 1 / (1 + np.exp(-2 * np.array([-1.0, 0.0, 1.0])))
    # The standard error of a log-odds of 500 rows is about 0.2, and a quarter of that for a probability.
    np.testing.assert_allclose(model.predict_proba({"x0": [-1.0, 0.0, 1.0]}, "x1")[:, 1], truth, atol=4 * 0.05)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda model, X: model.do({"colour": "pink"}), "'colour' has no level 'pink'"),
        (lambda model, X: model.score(X.assign(colour="pink")), "'colour'.*'pink'"),
        (lambda model, X: model.predict(X.assign(colour="pink"), "size"), "'colour'.*'pink'"),
        (lambda model, X: model.do({"sise": 1.0}), "did you mean 'size'"),
        (lambda model, X: model.do({"size": np.nan}), "finite"),
        (lambda model, X: model.do({"size": "large"}), "finite"),
        (lambda model, X: model.predict(X, "weight"), "no column is called 'weight'"),
        (lambda model, X: model.predict_proba(X, "size"), "'size' is a number"),
        (lambda model, X: model.score(X[["size"]]), "'colour'"),
        (lambda model, X: model.score(X.assign(size=np.nan)), "row 0 of column 'size'"),
        (lambda model, X: model.score(X.assign(colour=None)), "'colour'"),
        (lambda model, X: model.score(np.ones((3, 5))), "2 columns"),
        (lambda model, X: model.sample(0), "n has to be"),
        (lambda model, X: model.score({"size": [1.0, 2.0], "colour": ["red"]}), "differ in length"),
    ],
)
def test_what_a_model_cannot_use_is_named(ask, words):
    rng = np.random.default_rng(0)
    colour = rng.integers(3, size=300)
    X = pd.DataFrame(
        {"size": 2.0 * colour + rng.normal(size=300), "colour": np.array(["red", "green", "blue"])[colour]}
    )
    model = acyclic.learn(X, knowledge=acyclic.Knowledge(required=[("colour", "size")])).model
    with pytest.raises(InputError, match=words):
        ask(model, X)


def test_a_file_without_a_model_says_so():
    result = acyclic.learn(acyclic.simulate(3, 100, graph="ER1", random_state=1).X)
    plain = json.loads(result.to_json())
    del plain["model"]
    with pytest.raises(InputError, match="no fitted model"):
        _ = acyclic.Result.from_json(json.dumps(plain)).model


@pytest.mark.parametrize(
    "spoil",
    [
        lambda model: model["mechanisms"].pop(),
        lambda model: model["mechanisms"][1].update(parents=[0, 7]),
        lambda model: model["mechanisms"][1].update(parents=[1]),
        lambda model: model["mechanisms"][1]["terms"].clear(),
        lambda model: model["mechanisms"][0].update(deviation=0.0),
        lambda model: model["mechanisms"][0].update(deviation="x"),
        lambda model: model["mechanisms"][0].update(points=[1.0], widths=[]),
        lambda model: model["mechanisms"][1]["terms"][0].update(slope=[1.0, 2.0]),
        lambda model: model["mechanisms"][1]["terms"][0].update(knots=[0.0, 1.0], degree=3, coefficients=[[1.0]]),
        lambda model: model.update(exponents=[1]),
        lambda model: model.update(codings={"x9": {}}),
        lambda model: model.update(more=1),
    ],
)
def test_a_spoiled_model_is_refused(spoil):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    knowledge = acyclic.Knowledge(required=[("x0", "x1")])
    plain = json.loads(acyclic.learn(np.column_stack([x, x + rng.normal(size=200)]), knowledge=knowledge).to_json())
    spoil(plain["model"])
    with pytest.raises(InputError, match="not a result file"):
        acyclic.Result.from_json(json.dumps(plain))


def test_moments_are_enough_for_a_linear_model(linear):
    X = linear[1]
    model = acyclic.learn(acyclic.Moments.from_array(X)).model
    assert model.is_linear and np.isfinite(model.score(X))


def test_units_near_the_ends_of_floats():
    data = acyclic.simulate(3, 300, graph="ER1", random_state=1)
    small = acyclic.Auto().fit(data.X * 1e-200)
    drawn = pd.DataFrame(small.sample(500))
    # The square of such a number is 0. A deviation of 500 draws has the standard error 1/√1000.
    np.testing.assert_allclose((drawn * 1e200).std() / data.X.std(axis=0), 1, atol=5 / np.sqrt(1000))
    assert small.score(data.X * 1e-200) == pytest.approx(
        acyclic.Auto().fit(data.X).score(data.X) + 3 * 200 * np.log(10)
    )
    name = small.model_.names[0]
    assert small.do({name: 2e-200}).mean[name] == pytest.approx(2e-200)
