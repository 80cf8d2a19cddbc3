"""Tests of residuals: they hold their level, and see what they are made for."""

import numpy as np
import pytest
from scipy import stats

import acyclic
from acyclic.data.moments import Moments
from acyclic.facts import Doubt
from acyclic.graphs.dag import Dag
from acyclic.trust.residuals import dependent_residuals, equal_variances, odd_residuals, residuals_of

PAIR = Dag([[0, 1.0], [0, 0]], ["cause", "effect"])


def test_the_likelihood_ratio_agrees_with_the_one_of_learn():
    data = acyclic.simulate(12, 400, random_state=5)
    result = acyclic.learn(data.X)
    test = equal_variances(Moments.from_array(data.X), result.graph)
    details = result.verdict.details
    assert test.statistic == pytest.approx(details["equal variances: likelihood ratio"])
    assert test.limit == pytest.approx(details["equal variances: accepted up to"])
    assert test.spread == pytest.approx(details["equal variances: largest to smallest"])


def test_constant_columns_do_not_count():
    assert equal_variances(Moments(10, [0, 0], np.zeros((2, 2))), PAIR).accepted
    test = equal_variances(Moments(10, [0, 0], np.diag([1.0, 0.0])), Dag.empty(["a", "b"]))
    assert (test.statistic, test.limit, test.spread) == (0, 0, 1)


def test_residuals_are_uncorrelated_with_parents():
    data = acyclic.simulate(10, 300, random_state=1)
    left = residuals_of(data.X, Moments.from_array(data.X), data.graph)
    inner = left.T @ (data.X - data.X.mean(axis=0))
    assert np.abs(inner.T[data.graph.adjacency]).max() < 1e-8


def test_jarque_bera_agrees_with_scipy():
    noise = np.random.default_rng(0).gamma(20.0, size=(40, 12))
    names = tuple(f"x{j}" for j in range(12))
    p_values = stats.jarque_bera(noise, axis=0).pvalue
    # Levels between the p-values of scipy separate the columns as the test does.
    for level in [*np.sqrt(np.sort(p_values)[1:] * np.sort(p_values)[:-1]), 2.0]:
        odd = [name for name, p in zip(names, p_values) if p < level]
        assert odd_residuals(noise, names, level=level * len(names)) == odd


def test_levels_hold_under_linear_gaussian_models_and_any_noise():
    odd = dependent = 0
    for seed in range(40):
        noise = ("gaussian", "exponential", "gumbel")[seed % 3]
        data = acyclic.simulate(10, 200, noise=noise, random_state=seed)
        left = residuals_of(data.X, Moments.from_array(data.X), data.graph)
        odd += noise == "gaussian" and bool(odd_residuals(left, data.names))
        dependent += bool(dependent_residuals(data.X, left, data.graph))
    assert odd <= 1 and dependent <= 2


@pytest.mark.parametrize(
    ("effect", "kind"),
    [
        (lambda x, e: x + x**2 + e, Doubt.BENT),
        (lambda x, e: x + np.exp(x / 2) * e, Doubt.SPREADING),
        (lambda x, e: x + np.abs(x) * e, Doubt.SPREADING),
    ],
)
def test_what_no_linear_model_explains_is_seen(effect, kind):
    rng = np.random.default_rng(0)
    x, e = rng.normal(size=(2, 500))
    rows = np.column_stack([x, effect(x, e)])
    (found,) = dependent_residuals(rows, residuals_of(rows, Moments.from_array(rows), PAIR), PAIR)
    assert found.kind is kind and found.about == ("cause", "effect") and found["p_value"] < 1e-3


def test_a_reversed_edge_with_skewed_noise_is_seen():
    rng = np.random.default_rng(1)
    effect = rng.exponential(size=2000)
    rows = np.column_stack([effect + rng.exponential(size=2000), effect])
    assert dependent_residuals(rows, residuals_of(rows, Moments.from_array(rows), PAIR), PAIR)
