"""Inverses keep their digits where weak edges close cycles in a graph of strong ones, as late fits have them."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acyclic.constraints.catalogue import constraint
from acyclic.constraints.resolvents import WELL_CONDITIONED


def nearly_acyclic(d, seed):
    """A complete DAG of weights from 1/4 to 4, and edges back of e⁻³⁶ and much less, in any order of the nodes."""
    rng = np.random.default_rng(seed)
    B = np.triu(rng.uniform(0.25, 4, (d, d)), 1) + np.tril(np.exp(rng.uniform(-90, -36, (d, d))))
    order = rng.permutation(d)
    return B[np.ix_(order, order)]


def exact_inverse(B):
    """(I − B)⁻¹ in rational numbers, by Gauss and Jordan."""
    d = len(B)
    M = [
        [Fraction(int(i == j)) - Fraction(B[i, j]) for j in range(d)] + [Fraction(int(i == j)) for j in range(d)]
        for i in range(d)
    ]
    for k in range(d):
        M[k] = [x / M[k][k] for x in M[k]]
        for i in range(d):
            if i != k and M[i][k]:
                M[i] = [x - M[i][k] * y for x, y in zip(M[i], M[k])]
    return np.array([row[d:] for row in M])


@pytest.mark.parametrize("seed", range(3))
def test_weak_edges_that_close_cycles_of_strong_ones_are_not_lost(seed):
    d = 14
    B = nearly_acyclic(d, seed)
    Y = exact_inverse(B)
    square = Y @ Y
    h, G = constraint("inverse-trace").value_and_gradient(B)
    assert Y.max() > WELL_CONDITIONED
    # An entry of the balanced inverse takes over rounding of others, up to 1e6 times as large.
    assert_allclose(h, float(Y.trace() - d), rtol=1e-9)
    assert_allclose(G, square.T.astype(float), rtol=1e-9)
    _, gradient = constraint("log-det").value_and_gradient(B)
    assert_allclose(gradient, Y.T.astype(float), rtol=1e-9)
    h, G = constraint("analytic-3").value_and_gradient(B)
    assert_allclose(h, float((square @ Y).trace() - d), rtol=1e-9)
    assert_allclose(G, 3 * (square @ square).T.astype(float), rtol=1e-9)


@pytest.mark.parametrize("name", ["inverse-trace", "log-det", "adaptive", "analytic-2"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_stay_finite_along_paths_of_strong_edges(name, dtype):
    B = np.triu(np.full((200, 200), 1e3), 1) + np.tril(np.full((200, 200), 1e-30))
    found = constraint(name).evaluate(B.astype(dtype))
    assert np.isfinite(found.value**2)
    assert np.isfinite(found.gradient).all()


@pytest.mark.parametrize("name", ["inverse-trace", "log-det", "analytic-2"])
def test_tensors_on_a_device_keep_them_too(name):
    torch = pytest.importorskip("torch")
    from acyclic.constraints.torch import evaluate_on_device

    B, chosen = nearly_acyclic(14, 0), constraint(name)
    expected, found = chosen.evaluate(B), evaluate_on_device(torch.from_numpy(B), chosen)
    assert_allclose(found.value, expected.value, rtol=1e-9, atol=1e-13)
    assert_allclose(found.gradient, expected.gradient, rtol=1e-9)
