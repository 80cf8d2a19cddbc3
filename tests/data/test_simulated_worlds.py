"""Simulated tables beyond one mechanism: shares of lines, a floor on effects, categories, outliers."""

import math

import numpy as np
import pytest

from acyclic.data.simulate import simulate
from acyclic.errors import InputError

CURVED = ["cos", "sin", "mlp", "mim", "gp", "gp-add"]
WORLDS = [
    {"sem": "gp-add", "linear_share": 0.5},
    {"sem": "gp-add", "linear_share": 0.5, "least_share": 0.05},
    {"sem": "mixed", "scheme": "iscm"},
    {"sem": "categorical"},
    {"sem": "linear", "outliers": 0.1},
]


@pytest.mark.parametrize("settings", WORLDS)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(settings):
    first, again, other = (simulate(6, 100, **settings, random_state=seed) for seed in (1, 1, 2))
    assert first.X.tobytes() == again.X.tobytes() and first.graph == again.graph
    assert first.X.tobytes() != other.X.tobytes()


@pytest.mark.parametrize("sem", ["mixed", "categorical", "gp-add", "linear"])
def test_fewer_rows_are_a_prefix_of_more_rows(sem):
    more, less = (simulate(6, n, sem=sem, outliers=0.1, random_state=4) for n in (150, 70))
    assert np.allclose(more.X[:70], less.X, rtol=0, atol=1e-6) and more.levels == less.levels


@pytest.mark.parametrize("sem", CURVED)
def test_with_a_linear_share_of_one_rows_solve_linear_equations(sem):
    data = simulate(6, 80, sem=sem, linear_share=1.0, weight_range=(0.5, 1.0), random_state=2)
    noise = simulate(6, 80, sem="linear", weight_range=(0.5, 1.0), random_state=2)
    assert np.array_equal(data.linear, data.graph.adjacency)
    assert np.allclose(data.X - data.X @ data.graph.weights, noise.X - noise.X @ noise.graph.weights, atol=1e-9)


def test_linear_edges_of_a_share_stay_linear_at_larger_ones():
    few, many = (simulate(30, 2, sem="cos", linear_share=share, random_state=5) for share in (0.3, 0.6))
    assert few.graph.n_edges > many.linear.sum() > few.linear.sum() > 0
    assert not (few.linear & ~many.linear).any()
    assert simulate(5, 2, sem="cos").linear.sum() == 0


@pytest.mark.parametrize(("sem", "linear_share"), [("gp-add", 0.5), ("gp-add", 0.0), ("linear", 0.0), ("cos", 0.5)])
def test_no_edge_explains_less_than_the_least_share(sem, linear_share):
    settings = {"graph": "ER2", "sem": sem, "linear_share": linear_share, "weight_range": (0.01, 1.0)}
    data = simulate(8, 200, **settings, least_share=0.05, random_state=1)
    straight = data.linear & (data.graph.weights != 0)
    if sem == "cos":
        shares = data.graph.weights**2 * np.cos(data.X + 1).var(axis=0)[:, None] / data.X.var(axis=0)
        shares[straight] = (data.graph.weights**2 * data.X.var(axis=0)[:, None] / data.X.var(axis=0))[straight]
        assert shares[data.graph.adjacency].min() >= 0.05 - 1e-12
    else:
        shares = data.graph.weights**2 * data.X.var(axis=0)[:, None] / data.X.var(axis=0)
        assert (shares[straight] >= 0.05 - 1e-12).all()
    if sem == "linear":
        free = simulate(8, 200, **settings, random_state=1)
        weak = free.graph.weights**2 * free.X.var(axis=0)[:, None] / free.X.var(axis=0)
        assert weak[free.graph.adjacency].min() < 0.05
        assert np.allclose(data.X - data.X @ data.graph.weights, free.X - free.X @ free.graph.weights)


def test_the_floor_is_that_of_each_curve():
    data = simulate(graph=[[0, 1], [0, 0]], n=300, sem="gp-add", variances=[1.0, 400.0], least_share=0.2)
    plain = simulate(graph=[[0, 1], [0, 0]], n=300, sem="gp-add", variances=[1.0, 400.0])
    noise = plain.X[:, 1] - data.X[:, 1]
    curve = np.polynomial.Polynomial.fit(data.X[:, 0], noise, 9)(data.X[:, 0])
    assert np.allclose(curve, noise, atol=0.1 * noise.std())  # what changed is a function of the parent
    assert plain.X[:, 1].var() < data.X[:, 1].var()


@pytest.mark.parametrize(
    "settings",
    [
        {"sem": "gp", "least_share": 0.05},
        {"scheme": "dao", "least_share": 0.05},
        {"sem": "mixed", "linear_share": 0.5},
        {"graph": "ER4", "least_share": 0.5},
        {"sem": "categorical", "scheme": "dao"},
        {"sem": "categorical", "graph": np.triu(np.ones((20, 20)), 1)},
        {"outliers": 2},
        {"linear_share": -0.1},
    ],
)
def test_what_cannot_be_had_is_refused(settings):
    with pytest.raises(InputError):
        simulate(n=10, **settings)


def test_a_category_follows_its_table_of_probabilities():
    data = simulate(graph=[[0, 1], [0, 0]], n=4000, sem="categorical", random_state=7)
    q, r = data.levels
    assert 2 <= min(q, r) <= max(q, r) <= 4 and set(np.unique(data.X[:, 0])) <= set(range(q))
    counts = np.zeros((q, r))
    np.add.at(counts, tuple(data.X.T.astype(int)), 1)
    # Rows of the table differ, and the second half of the rows has the same ones as the first.
    halves = [np.zeros((q, r)), np.zeros((q, r))]
    for half, rows in zip(halves, np.split(data.X.astype(int), 2)):
        np.add.at(half, tuple(rows.T), 1)
    shares = [half / half.sum(axis=1, keepdims=True) for half in halves]
    smallest = min(half.sum(axis=1).min() for half in halves)
    assert np.abs(shares[0] - shares[1]).max() < 4 * math.sqrt(0.5 / smallest)
    assert np.ptp(counts / counts.sum(axis=1, keepdims=True), axis=0).max() > 0.05


def test_half_of_a_mixed_table_are_categories_and_level_effects_move_numbers():
    data = simulate(9, 500, sem="mixed", scheme="iscm", random_state=3)
    levels = np.array(data.levels)
    assert np.count_nonzero(levels) == 4
    assert np.allclose(data.X[:, levels == 0].std(axis=0), 1) and (data.X[:, levels > 0] % 1 == 0).all()
    ends = data.graph.adjacency & ((levels > 0) | (levels > 0)[:, None])
    assert (data.graph.weights[ends] == 1).all() and not (data.linear & ends).any()
    pair = simulate(graph=[[0, 1], [0, 0]], n=3000, sem="mixed", random_state=1)
    number, category = np.argsort(pair.levels)
    groups = [pair.X[pair.X[:, category] == c, number] for c in range(pair.levels[category])]
    spread = math.sqrt(max(group.var() / len(group) for group in groups))
    assert np.ptp([group.mean() for group in groups]) > 5 * spread


def test_outliers_are_rows_times_twenty_and_spare_categories():
    plain, wild = (simulate(6, 2000, sem="mixed", outliers=share, random_state=2) for share in (0.0, 0.01))
    changed = (plain.X != wild.X).any(axis=1)
    assert 0 < changed.sum() < 20 + 4 * math.sqrt(20)
    numbers = np.array(plain.levels) == 0
    assert np.array_equal(wild.X[np.ix_(changed, numbers)], 20 * plain.X[np.ix_(changed, numbers)])
    assert np.array_equal(wild.X[:, ~numbers], plain.X[:, ~numbers])


@pytest.mark.parametrize("noise", ["laplace", "uniform", "t3", "t5"])
@pytest.mark.parametrize("scheme", ["iscm", "dao"])
def test_noise_of_any_law_has_the_variances_of_the_scheme(noise, scheme):
    data = simulate(6, 400, noise=noise, scheme=scheme, random_state=1)
    normal = simulate(6, 400, scheme=scheme, random_state=1)
    assert data.graph == normal.graph and np.array_equal(data.scale, normal.scale)
    residuals = (data.X - data.X @ data.graph.weights) / data.scale
    raw = simulate(6, 400, noise=noise, random_state=1)
    assert np.allclose(residuals, raw.X - raw.X @ raw.graph.weights)
