"""CoLiDE: the published form minimised over its scales, derivatives, and one l1 for several scales of noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.graphs.metrics import compare
from acyclic.learners import Notears
from acyclic.scores.concomitant import Colide, ColideUnequal
from acyclic.scores.continuous import LeastSquares

both = pytest.mark.parametrize("kind", [Colide, ColideUnequal])


def drawn(d=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(60, d)) @ np.random.default_rng(seed + 1).normal(size=(d, d))
    W = np.random.default_rng(seed + 2).normal(size=(d, d)) / 3
    np.fill_diagonal(W, 0)
    return X - X.mean(axis=0), W


def published(kind, X, W):
    """The published objective on rows, minimised over σ by search."""
    squares = ((X - X @ W) ** 2).mean(axis=0)

    def least(total, count):
        return minimize_scalar(lambda s: total / (2 * s) + count * s / 2, bounds=(1e-3, 1e3), method="bounded").fun

    return least(squares.sum(), len(W)) if kind is Colide else sum(least(one, 1) for one in squares)


@both
def test_is_the_published_form_at_its_best_scales(kind):
    X, W = drawn()
    # A bounded search finds a minimum to the square of its own tolerance of 1e-5.
    assert_allclose(kind(Moments.from_array(X)).value_and_gradient(W)[0], published(kind, X, W), rtol=1e-8)


@both
def test_gradient_and_curvature(kind):
    X, W = drawn()
    score = kind(Moments.from_array(X))
    gradient = score.value_and_gradient(W)[1]
    for at in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[at] = 1e-6
        difference = score.value_and_gradient(W + step)[0] - score.value_and_gradient(W - step)[0]
        assert difference / 2e-6 == pytest.approx(gradient[at], abs=1e-7)
    Q, c = score.curvature(W)
    V = np.random.default_rng(9).normal(size=W.shape)
    bend = np.vdot(V, score.value_and_gradient(W + 1e-5 * V)[1] - score.value_and_gradient(W - 1e-5 * V)[1]) / 2e-5
    assert bend <= np.einsum("ij,ik,kj,j->", V, Q, V, c) * (1 + 1e-6)


@both
def test_units_multiply_it(kind):
    X, W = drawn()
    one, other = (kind(Moments.from_array(units * X)).value_and_gradient(W) for units in (1.0, 7.0))
    assert_allclose(other[0], 7 * one[0], rtol=1e-12)
    assert_allclose(other[1], 7 * one[1], rtol=1e-10)


@both
def test_odd_columns(kind):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:, 1] = X[:, 0]
    X[:, 2] = 4.0
    value, gradient = kind(Moments.from_array(X)).value_and_gradient(np.array([[0, 1.0, 0], [0, 0, 0], [0, 0, 0]]))
    assert np.isfinite(value) and np.isfinite(gradient).all()
    with pytest.raises(InputError, match="every column is constant"):
        kind(Moments.from_array(np.ones((5, 2))))


def test_the_pull_of_noise_at_the_true_weights_grows_with_its_scale_and_not_with_the_square():
    """What l1 has to outweigh: it moves less with the noise than under least squares, though it does move."""
    data = simulate(10, 1000, graph="ER2", random_state=4)
    pulls = {
        kind: [
            np.abs(kind(Moments.from_array(u * data.X)).value_and_gradient(data.graph.weights)[1]).max() for u in (1, 5)
        ]
        for kind in (LeastSquares, Colide, ColideUnequal)
    }
    assert pulls[LeastSquares][1] / pulls[LeastSquares][0] == pytest.approx(25)
    assert pulls[Colide][1] / pulls[Colide][0] == pytest.approx(5)
    assert pulls[ColideUnequal][1] / pulls[ColideUnequal][0] == pytest.approx(5)


@pytest.mark.parametrize("loss", ["colide", "colide-unequal"])
def test_notears_takes_it(loss):
    data = simulate(8, 1000, graph="ER1", random_state=3)
    model = Notears(loss=loss).fit(data.X)
    assert compare(data.graph, model.causal_graph_).shd <= 1 and model.verdict_.converged
