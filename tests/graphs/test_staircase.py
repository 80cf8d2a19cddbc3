"""Staircase: what it skips are zeros, so that products and inverses are those of whole matrices."""

import numpy as np
import pytest

from acyclic.graphs import staircase
from acyclic.graphs.staircase import Staircase


def make_weights(sizes, seed, share=0.05):
    """Weights whose strong components have these sizes, a cycle through each, with the nodes in a random order."""
    rng = np.random.default_rng(seed)
    d = sum(sizes)
    W = np.triu(rng.uniform(-1, 1, (d, d)) * (rng.random((d, d)) < share), 1)
    first = 0
    for size in sizes:
        nodes = np.arange(first, first + size)
        if size > 1:
            W[nodes, np.roll(nodes, -1)] = 0.3
        first += size
    shuffled = rng.permutation(d)
    return W[np.ix_(shuffled, shuffled)]


SIZES = {
    "a DAG": [1] * 250,
    "small components": [1, 2, 3, 4] * 30,
    "one large component": [1] * 60 + [130] + [1] * 60,
    "large ones side by side": [100, 1, 1, 110, 1],
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_nothing_lies_below_the_stairs(sizes):
    W = make_weights(sizes, seed=1)
    found = Staircase.find(W)
    arranged = found.arrange(W)
    for begin, end in zip((0, *found.ends), found.ends):
        assert not arranged[begin:end, :begin].any()
    assert found.ends[-1] == len(W) and sorted(found.order) == list(range(len(W)))
    np.testing.assert_array_equal(found.restore(arranged), W)
    assert found.share() <= staircase.WORTH


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_products_and_inverses_are_those_of_whole_matrices(sizes):
    W = make_weights(sizes, seed=2)
    found, d = Staircase.find(W), len(W)
    A = found.arrange(W)
    product = found.multiply(A, A @ A, np.full_like(A, np.nan))
    np.testing.assert_allclose(product, A @ A @ A, rtol=0, atol=1e-12 * np.abs(A @ A @ A).max())
    logarithm, inverse = found.invert(W)
    expected = np.linalg.inv(np.eye(d) - W)
    assert logarithm == pytest.approx(np.linalg.slogdet(np.eye(d) - W)[1], abs=1e-10)
    np.testing.assert_allclose(inverse, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_on_a_dag_the_determinant_is_exactly_one():
    assert Staircase.find(W := make_weights([1] * 300, seed=3)).invert(W)[0] == 0.0


def test_large_components_are_left_to_whole_products():
    assert Staircase.find(make_weights([1] * 20 + [230], seed=4)) is None


def test_a_singular_matrix_has_no_inverse():
    W = np.zeros((250, 250))
    W[0, 1] = W[1, 0] = 1.0
    assert Staircase.find(W).invert(W) is None
