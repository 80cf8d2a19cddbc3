"""The score of blocks: the kernel against the naive form, and the Gaussian BIC where all is linear."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from acyclic._native import BlockChain, OrderChain
from acyclic.data.moments import Moments
from acyclic.scores.blocks import BlockScore, negentropy
from acyclic.scores.local import GaussianScore


def draw(seed, n=300, d=7):
    """Numbers and, in the last two columns, codes of three and of two levels."""
    rng = np.random.default_rng(seed)
    X = rng.laplace(size=(n, d))
    for j in range(1, d):
        X[:, j] += np.tanh(2 * X[:, j - 1]) + (X[:, j - 2] ** 2 if j > 2 else 0)
    X[:, -2] = np.digitize(X[:, -2], [-0.5, 1.0])
    X[:, -1] = X[:, -1] > 0
    return X


@pytest.mark.parametrize("noise", ["gaussian", "any"])
@pytest.mark.parametrize("mechanisms", ["linear", "curved"])
@pytest.mark.parametrize("categories", [True, False])
def test_kernel_scores_families_as_the_naive_form_does(mechanisms, noise, categories):
    X = draw(1)
    d = X.shape[1]
    score = BlockScore.of(X, [0] * 5 + [3, 2] if categories else None, mechanisms=mechanisms, noise=noise)
    rng = np.random.default_rng(2)
    with BlockChain(score.criterion, None, None, None, d, 5, 10**6, 0) as chain:
        for _ in range(5):
            chain.start(rng.permutation(d).astype(np.int32))
            total = 0.0
            for j in range(d):
                parents, levels, parts = chain.family(j)
                naive = score.fit(j, parents.tolist(), levels.tolist())
                # n log det of up to 60 features: as many roundings of a condition below 1e4.
                np.testing.assert_allclose(parts, (naive.misfit, naive.shape, naive.price), rtol=1e-7, atol=1e-6)
                total += naive.score
            assert chain.best()[0] == pytest.approx(total, rel=1e-7)


def test_levels_that_the_kernel_keeps_cannot_be_improved_one_at_a_time():
    X = draw(3)
    score = BlockScore.of(X, [0] * 5 + [3, 2])
    with BlockChain(score.criterion, None, None, None, 7, 5, 10**6, 0) as chain:
        chain.start(np.arange(7, dtype=np.int32))
        for j in range(7):
            parents, levels, _ = chain.family(j)
            own = score.fit(j, parents.tolist(), levels.tolist()).score
            for k in range(len(parents)):
                rest = [i for i in range(len(parents)) if i != k]
                assert score.fit(j, parents[rest].tolist(), levels[rest].tolist()).score >= own - 1e-6


def test_lines_and_normal_noise_have_the_gaussian_bic():
    X = np.random.default_rng(4).normal(size=(200, 5))
    X[:, 3] += X[:, 0] - X[:, 1]
    block = BlockScore.of(X, mechanisms="linear")
    gaussian = GaussianScore(Moments.from_array(X), "ebic")
    for node, parents in ((3, [0, 1]), (3, []), (0, [3, 4])):
        assert block.score(node, parents) == pytest.approx(gaussian.score(node, parents), abs=1e-9 * 200)
    np.testing.assert_allclose(block.gains(3, [0]), gaussian.gains(3, [0]), atol=1e-9 * 200)
    assert block.is_equivalent


def test_negentropy_is_near_that_of_known_laws():
    # Quantiles in the middle of equal shares. The truth is log(2 pi e) / 2 less the entropy; uniform noise has shapes
    # that the two means do not see.
    p = (np.arange(200_000) + 0.5) / 200_000
    for law, least, most in (
        (stats.laplace(), 0.8, 1.1),
        (stats.t(5), 0.8, 1.2),
        (stats.t(3), 0.7, 1.1),
        (stats.gumbel_r(), 0.8, 1.1),
        (stats.expon(), 0.5, 1.1),
        (stats.uniform(), 0.25, 1.1),
    ):
        truth = 0.5 * np.log(2 * np.pi * np.e * law.var()) - law.entropy()
        assert least < negentropy(law.ppf(p)) / truth < most
    uniform = 2 * p - 1
    even = np.mean(np.log(np.cosh(np.sqrt(3) * uniform))) - 0.374567207491438
    assert negentropy(3 + 5 * uniform) == pytest.approx(79.047 * even**2, rel=1e-6)
    assert negentropy(np.full(10, 2.0)) == 0


@pytest.mark.parametrize("size", [10.0, 100.0, 1000.0])
def test_a_wild_number_gains_no_more_than_it_costs(size):
    z = np.random.default_rng(7).normal(size=1000)
    wild = np.append(z, size)
    # n log variance − 2 n J without and with it.
    scores = [len(u) * (np.log(u.var()) - 2 * negentropy(u)) for u in (z, wild)]
    assert scores[1] > scores[0] - 1


@pytest.mark.parametrize("n", [7, 16, 500, 513, 1100])
@pytest.mark.parametrize("law", ["normal", "standard_t", "uniform"])
def test_kernel_sums_the_shape_of_any_number_of_rows(n, law):
    rng = np.random.default_rng(n)
    X = rng.standard_t(2, size=(n, 2)) if law == "standard_t" else getattr(rng, law)(size=(n, 2))
    score = BlockScore.of(X, mechanisms="linear", noise="any")
    score = replace(score, shape_price=-100.0)  # so that the least shape counts
    with BlockChain(score.criterion, None, None, None, 2, 5, 1000, 0) as chain:
        chain.start(np.arange(2, dtype=np.int32))
        for j in range(2):
            parents, levels, parts = chain.family(j)
            naive = score.fit(j, parents.tolist(), levels.tolist())
            # Terms of size up to 79 have errors of 1e-14 each.
            assert parts[1] == pytest.approx(naive.shape, rel=1e-9, abs=1e-9)


def test_lines_obey_rules_as_the_linear_search_does():
    X = np.random.default_rng(8).normal(size=(200, 6)) @ np.triu(np.ones((6, 6)))
    block, gaussian = BlockScore.of(X, mechanisms="linear"), GaussianScore(Moments.from_array(X), "ebic")
    allowed, required = np.ones((6, 6), dtype=np.uint8), np.zeros((6, 6), dtype=np.uint8)
    allowed[4, 3] = 0
    required[5, 0] = 1
    R, order = Moments.from_array(X).correlation(), np.arange(6, dtype=np.int32)
    rules = allowed, required, None, 2, 5, 1000, 0
    with BlockChain(block.criterion, *rules) as one, OrderChain(R, 200.0, block.cost, None, *rules) as other:
        one.start(order)
        other.start(order)
        np.testing.assert_array_equal(one.parents(), other.parents())
        assert not one.parents()[3, 4]
        assert one.parents()[0, 5]
        assert one.best()[0] == pytest.approx(other.best()[0], rel=1e-9)
        total = sum(gaussian.score(j, np.flatnonzero(one.parents()[:, j])) for j in range(6))
        assert one.best()[0] == pytest.approx(total, rel=1e-9)


def test_a_column_that_is_determined_is_explained_and_not_more():
    x = np.random.default_rng(5).normal(size=(200, 2))
    X = np.column_stack([x, x.sum(axis=1)])
    score = BlockScore.of(X, mechanisms="linear")
    with BlockChain(score.criterion, None, None, None, 3, 5, 1000, 0) as chain:
        chain.start(np.arange(3, dtype=np.int32))
        assert np.isfinite(chain.best()[0])
        assert sorted(chain.parents_of(2).tolist()) == [0, 1]


def test_what_the_kernel_cannot_read_is_refused():
    criterion = BlockScore.of(draw(6)).criterion
    for broken in (
        criterion._replace(n=0.0),
        criterion._replace(cost=-1.0),
        criterion._replace(prices=-criterion.prices),
        criterion._replace(levels=criterion.levels * 100),
        criterion._replace(responses=criterion.responses * 0),
        criterion._replace(G=criterion.G.astype(np.float32)),
        criterion._replace(responses=criterion.responses * 2, shaped=criterion.shaped | 1),
    ):
        with pytest.raises(ValueError):
            BlockChain(broken, None, None, None, 7, 5, 1000, 0)
