"""The score of mixed tables against its formula, and against the scores of one kind of column."""

from math import log

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from acyclic.scores.blocks import BlockScore
from acyclic.scores.counts import CountScore
from acyclic.scores.mixed import MixedScore, logit_deviance

COUNTS = (0, 3, 2, 0, 4)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    n = 600
    x, y = rng.normal(size=(2, n))
    level, other = rng.integers(3, size=n), rng.integers(4, size=n)
    choice = x + (level == 1) + rng.logistic(size=n) > 0
    return np.column_stack([x, level, choice, y + choice, other])


@pytest.fixture(scope="module")
def score(rows):
    return MixedScore(BlockScore.of(rows, COUNTS, mechanisms="linear"), rows, COUNTS)


def naive_deviance(Z, codes, r):
    """The least −2 log-likelihood, by a general minimiser."""

    def deviance(flat):
        odds = np.column_stack([np.zeros(len(Z)), Z @ flat.reshape(-1, r - 1)])
        return -2 * (odds[np.arange(len(Z)), codes] - logsumexp(odds, axis=1)).sum()

    return minimize(deviance, np.zeros(Z.shape[1] * (r - 1)), method="BFGS").fun


@pytest.mark.parametrize("r", [2, 3, 4])
def test_logit_is_the_most_likely_one(r):
    rng = np.random.default_rng(r)
    Z = np.column_stack([np.ones(300), rng.normal(size=(300, 2))])
    odds = np.column_stack([np.zeros(300), Z @ rng.normal(size=(3, r - 1))])
    codes = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    # The last step is not taken where it gains less than 0.1, but counted: its square is what may be missed.
    assert logit_deviance(Z, codes, r) == pytest.approx(naive_deviance(Z, codes, r), abs=0.02)


def test_levels_that_a_number_separates_have_a_deviance_near_zero():
    x = np.linspace(-1, 1, 100)
    found = logit_deviance(np.column_stack([np.ones(100), x]), (x > 0).astype(int), 2)
    assert 0 <= found < 1


def test_numbers_are_scored_by_blocks(rows, score):
    for parents in ([], [1], [0, 2, 4]):
        assert score.score(3, parents) == score.blocks.score(3, parents)


def test_categories_given_categories_are_counted_or_additive(rows, score):
    counted = CountScore.of(rows[:, [1, 2, 4]].astype(int), [3, 2, 4], penalty="bic")
    extra = 2 * log(len(COUNTS))
    assert score.score(2, [1]) == pytest.approx(counted.score(1, [0]) + extra)
    both = score.score(2, [1, 4])
    Z = np.column_stack([np.ones(len(rows)), *(np.eye(q)[rows[:, i].astype(int)][:, 1:] for i, q in ((1, 3), (4, 4)))])
    codes = rows[:, 2].astype(int)
    alone = logit_deviance(Z[:, :1], codes, 2)
    additive = naive_deviance(Z, codes, 2) - alone + log(len(rows)) * 5 + 2 * extra
    assert both == pytest.approx(min(additive, counted.score(1, [0, 2]) + 2 * extra), abs=0.02)


def test_gains_are_differences_and_only_of_what_is_asked(rows, score):
    gains = score.gains(2, [1])
    assert gains[0] == score.score(2, [1]) - score.score(2, [0, 1]) and gains[1] == gains[2] == -np.inf
    asked = np.zeros((5, 5), dtype=bool)
    asked[0, 2] = True
    few = MixedScore(score.blocks, rows, COUNTS, asked)
    assert np.flatnonzero(few.gains(2, [1]) > -np.inf).tolist() == [0]


@pytest.mark.parametrize("mechanisms", ["linear", "curved"])
def test_gains_and_losses_are_at_least_as_large_as_said_and_exact_for_lines(rows, mechanisms):
    score = MixedScore(BlockScore.of(rows, COUNTS, mechanisms=mechanisms), rows, COUNTS)
    for node, given in [(3, [0]), (3, [0, 2]), (2, [0, 1]), (0, [1, 2, 3])]:
        gains, losses = score.gains(node, given), score.losses(node, given)
        plain = BlockScore.of(rows, COUNTS, mechanisms=mechanisms)
        other = MixedScore(plain, rows, COUNTS)
        now = other.score(node, given)
        for x in range(5):
            if x == node:
                assert gains[x] == losses[x] == -np.inf
                continue
            toggled = [i for i in given if i != x] if x in given else [*given, x]
            said, true = (losses if x in given else gains)[x], now - other.score(node, toggled)
            # Lines have one way to enter: there is nothing that could be missed.
            assert said <= true + 1e-9 * abs(now)
            if mechanisms == "linear" or COUNTS[node]:
                assert said == pytest.approx(true, abs=1e-9 * abs(now))
