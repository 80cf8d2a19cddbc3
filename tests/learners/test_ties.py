"""What is equal up to rounding is decided by the order of the columns, not by how a CPU rounds."""

import numpy as np
import pytest

from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.data.ties import find_smallest
from acyclic.learners import make_learner

LEARNERS = {
    "auto": {},
    "equal-variance": {},
    "order-search": {},
    "sortnregress": {},
    "sortnregress by R²": {"order": "r2"},
    "ges": {},
    "mmhc": {},
}


def make(name):
    return make_learner(name.removesuffix(" by R²"), **LEARNERS[name])


def shaken(moments, seed):
    """As another CPU might sum up: every entry is off by up to ε times the number of rows."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.choice([-1.0, 1.0], moments.covariance.shape))
    off = moments.n * np.finfo(float).eps * (upper + np.triu(upper, 1).T)
    deviation = np.sqrt(moments.covariance.diagonal())
    return Moments(moments.n, moments.mean, moments.covariance + off * np.outer(deviation, deviation), moments.names)


def tables():
    """Standardised ones, where all variances are equal, and two columns, whose R² are equal."""
    for seed in range(3):
        X = simulate(8, 200, variances=(0.5, 4.0), random_state=seed).X
        yield X / X.std(axis=0)
    yield X[:, :2]


@pytest.mark.parametrize("name", LEARNERS)
def test_rounding_decides_nothing(name):
    for X in tables():
        moments = Moments.from_array(X)
        first = make(name).fit(moments).causal_graph_
        for seed in range(8):
            again = make(name).fit(shaken(moments, seed)).causal_graph_
            np.testing.assert_array_equal(again.adjacency, first.adjacency)


def test_the_first_of_equal_columns_comes_first():
    moments = Moments(100, np.zeros(3), np.eye(3))
    for seed in range(5):
        assert make("equal-variance").fit(shaken(moments, seed)).causal_graph_.order.tolist() == [0, 1, 2]
    assert find_smallest(np.array([2.0, 1.0 + 1e-15, 1.0]), 1e-15) == 1
    assert find_smallest(np.array([np.inf, 3.0, 1.0]), np.zeros(3)) == 2


def test_a_difference_beyond_rounding_decides():
    S = np.diag([1.0 + 1e-9, 1.0])
    S[0, 1] = S[1, 0] = 0.5
    moments = Moments(1000, np.zeros(2), S)
    for name in ("equal-variance", "sortnregress"):
        assert make(name).fit(moments).causal_graph_.adjacency.tolist() == [[False, False], [True, False]]
