"""Tests of conditional independence against enumeration, known formulas, and their own level."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kstest, norm, pearsonr

from acyclic.scores import independence
from acyclic.scores.independence import (
    _MORE_ROWS,
    Dependence,
    Given,
    _Counts,
    _Kernel,
    _permuted,
    _trace_powers,
    combine_dependences,
    combine_p_values,
    compare_alike,
    compare_correlations,
    compare_counts,
    compare_products,
)
from acyclic.scores.levels import level_probabilities

NOTHING = np.array([], dtype=np.intp)


def draw_table(seed, n=300):
    """Two columns that depend on a third, and on nothing else."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return z + rng.exponential(size=n), np.tanh(z) + rng.normal(size=n) * (1 + abs(z)), z


@pytest.mark.parametrize("n", [4, 6, 7])
def test_moments_of_counts_are_those_over_all_permutations(n):
    one, other = np.arange(n) % 3, np.random.default_rng(n).permutation(np.arange(n) % 2)

    def statistic(codes):
        N = np.bincount(one * 2 + codes, minlength=6).reshape(3, 2).astype(float)
        rows, columns = N.sum(axis=1), N.sum(axis=0)
        return n * ((N - np.outer(rows, columns) / n) ** 2 / np.outer(rows + _MORE_ROWS, columns + _MORE_ROWS)).sum()

    values = [statistic(other[list(order)]) for order in permutations(range(n))]
    size = np.array([float(n)])
    kernels = (_Kernel(np.bincount(codes)[None].astype(float), size) for codes in (one, other))
    mean, variance = _permuted(*kernels, size)
    assert mean[0] == pytest.approx(np.mean(values)) and variance[0] == pytest.approx(np.var(values))


def test_partial_correlations_without_anything_given_are_those_of_pearson():
    x, y, _ = draw_table(0, 40)
    (told,) = compare_correlations(np.cov(x, y), 40, 0, np.array([1]), NOTHING)
    r, p_value = pearsonr(x, y)
    assert told.p_value == pytest.approx(p_value) and told.strength == pytest.approx(abs(r))


def test_products_are_at_their_level_whatever_the_noise():
    values = []
    for seed in range(300):
        x, y, z = draw_table(seed)
        given = Given(np.column_stack([z, z**2, z**3]))
        (told,) = compare_products(given.residuals(x[:, None]), given.residuals(y[:, None]), [0, 1], given)
        values.append(told.p_value)
    # 0.11 is reached by chance once in a thousand runs of 300.
    assert kstest(values, "uniform").statistic < 0.11


def test_counts_are_at_their_level_in_sparse_strata():
    values = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        stratum = rng.integers(40, size=300)
        shares = rng.dirichlet(np.ones(3), size=(2, 40))
        one, other = ((rng.random(300)[:, None] > share[stratum].cumsum(axis=1)).sum(axis=1) for share in shares)
        values.append(compare_counts(np.minimum(one, 2), np.minimum(other, 2), stratum).p_value)
    assert kstest(values, "uniform").statistic < 0.11


@pytest.mark.parametrize("reach", [0.0, 0.5, 3.0])
def test_products_in_rows_alike_are_at_their_level(reach):
    values = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        z, x = rng.normal(size=(2, 200))
        alike = np.exp(-((reach * (z[:, None] - z)) ** 2)).astype(np.float32)
        values.append(compare_alike(x * (1 + z**2) * (rng.exponential(size=200) - 1), alike).p_value)
    assert kstest(values, "uniform").statistic < 0.11


def test_both_ends_of_a_sum_over_rows_alike_are_those_of_random_signs():
    rng = np.random.default_rng(0)
    z, products = rng.normal(size=(2, 200))
    # One large eigenvalue among many small ones: a gamma variable of the same skewness ends far too early below.
    alike = (0.1 + 0.9 * (abs(z[:, None] - z) < 0.02)).astype(np.float32)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(2000, 200))
    values = np.array([compare_alike(products * each, alike).p_value for each in signs])
    assert values.max() < 1
    # Within three binomial deviations.
    for share in (0.01, 0.05):
        off = 3 * np.sqrt(share * (1 - share) / len(values))
        assert abs(np.mean(values < share) - share) < off and abs(np.mean(values > 1 - share) - share) < off


def test_traces_of_powers_are_exact_where_few_eigenvalues_are_large():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    values = np.r_[3.0, 2.0, 1.0, np.full(97, 0.01)]
    K = ((V * values) @ V.T).astype(np.float32)
    assert _trace_powers(lambda X: K @ X, 100) == pytest.approx(((values**3).sum(), (values**4).sum()), rel=1e-4)


def test_rows_that_are_all_alike_give_the_square_of_a_normal_number():
    rng = np.random.default_rng(0)
    products = rng.normal(size=400) + 0.1
    z = products.sum() / np.linalg.norm(products)
    told = compare_alike(products, np.ones((400, 400), dtype=np.float32))
    assert told.p_value == pytest.approx(2 * norm.sf(abs(z)), rel=0.05)


def test_tests_of_one_claim_count_together_unless_one_has_nothing_to_tell():
    silent, weak, strong = Dependence(1.0, 0.0), Dependence(0.4, 0.1), Dependence(1e-8, 0.5)
    assert combine_dependences([silent, weak]) == weak and combine_dependences([silent]) == silent
    told = combine_dependences([weak, strong])
    assert told.strength == 0.5 and 1e-8 < told.p_value < 3e-8
    values = [combine_dependences([Dependence(a, 0), Dependence(b, 0)]).p_value for a, b in draw_pairs(2000)]
    assert kstest(values, "uniform").statistic < 0.045


def draw_pairs(n):
    return np.random.default_rng(1).random((n, 2)).tolist()


def test_what_the_given_determines_says_nothing():
    x, _, z = draw_table(1)
    given = Given(z[:, None])
    told = compare_products(given.residuals(x[:, None]), given.residuals(np.column_stack([2 * z, x])), [0, 1, 2], given)
    assert told[0].p_value == 1.0 and told[1].p_value < 1e-9
    assert compare_counts(np.zeros(9, dtype=int), np.arange(9) % 2, np.zeros(9, dtype=int)).p_value == 1.0


def test_combined_p_values_keep_the_smallest_and_bear_ones():
    assert combine_p_values(np.array([1e-200, *np.full(99, 1.0)])) < 1e-100
    assert combine_p_values(np.array([0.2])) == pytest.approx(0.2)
    assert np.isnan(combine_p_values(np.array([])))


def test_levels_that_can_be_told_apart_have_finite_probabilities():
    x = np.linspace(-1, 1, 60)
    codes = np.digitize(x, [-0.3, 0.3])
    P = level_probabilities(x[:, None], codes, 3)
    assert np.isfinite(P).all() and (P >= 0).all() and (P.sum(axis=1) <= 1 + 1e-12).all()
    first = 1 - P.sum(axis=1)
    assert (np.diff(P[:, 1]) > 0).all() and (np.diff(first) < 0).all()


def test_the_tail_of_sparse_counts_is_nearer_to_all_permutations_than_that_of_two_moments(monkeypatch):
    rng = np.random.default_rng(144)
    stratum = rng.choice(40, p=rng.dirichlet([0.7] * 40), size=300)
    one, other = (rng.random((2, 300)) < [[0.12], [0.15]]).astype(int)
    three = compare_counts(one, other, stratum).p_value
    monkeypatch.setattr(independence, "_CLOSER", 0.0)
    two = compare_counts(one, other, stratum).p_value
    found = _Counts.of(one, other, stratum)
    monkeypatch.setattr(independence, "_PERMUTATIONS", 20_000)
    monkeypatch.setattr(independence, "_MOST_CELLS", np.inf)
    share = (found.permuted().sum(axis=1) >= found.statistic().sum() - 1e-9).mean()
    error = np.sqrt(share / 20_000)
    assert two < share - 3 * error
    assert two < three < share + 3 * error
