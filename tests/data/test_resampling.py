"""Moments drawn from the Wishart distribution."""

import numpy as np
import pytest
from numpy.random import default_rng

from acyclic.data.moments import Moments
from acyclic.data.resampling import wishart

ROWS = default_rng(1).normal(size=(60, 4)) @ np.triu(np.ones((4, 4)))


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 5, 50])
def test_wishart_draws_have_the_right_mean_and_spread(n):
    S = np.array([[2.0, 1.0, 0.0, 0.5], [1.0, 3.0, -1.0, 0.0], [0.0, -1.0, 1.0, 0.2], [0.5, 0.0, 0.2, 4.0]])
    moments, rng = Moments(n, [1.0, 0.0, -1.0, 2.0], S), default_rng(3)
    draws = [wishart(moments, n, rng) for _ in range(4000)]
    mean = np.mean([draw.covariance for draw in draws], axis=0)
    spread = np.var([draw.covariance for draw in draws], axis=0)
    expected = (n - 1) / n**2 * (S**2 + np.outer(np.diag(S), np.diag(S)))
    np.testing.assert_allclose(mean, S * (n - 1) / n, atol=5 * np.sqrt(expected.max() / 4000))
    np.testing.assert_allclose(spread, expected, rtol=0.25)
    np.testing.assert_allclose(np.mean([draw.mean for draw in draws], axis=0), moments.mean, atol=0.15)
    np.testing.assert_allclose(np.cov(np.array([draw.mean for draw in draws]).T), S / n, atol=0.1)


def test_wishart_draws_keep_exact_relations_and_constants():
    rows = np.column_stack([ROWS[:, 0], 2 * ROWS[:, 0], np.full(60, 7.0), ROWS[:, 1] * 1e9])
    drawn = wishart(Moments.from_array(rows), 60, default_rng(0))
    assert drawn.covariance[2].tolist() == [0, 0, 0, 0]
    assert drawn.covariance[1, 1] == pytest.approx(4 * drawn.covariance[0, 0], rel=1e-6)
