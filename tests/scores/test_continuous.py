"""Scores: the covariance form against rows, gradients against finite differences, curvature against the Hessian."""

import re

import numpy as np
import pytest
from scipy.special import expit

from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.scores import residuals
from acyclic.scores.continuous import (
    GaussianEqualVariance,
    GaussianUnequalVariance,
    LeastSquares,
    Logistic,
    Poisson,
)

GAUSSIAN = [LeastSquares, GaussianEqualVariance, GaussianUnequalVariance]


def table(seed, n=60, d=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.uniform(-3, 3, d)


def weights(seed, d=5, size=0.4):
    W = size * np.random.default_rng(seed + 1000).standard_normal((d, d))
    np.fill_diagonal(W, 0.0)
    return W


def row_form(kind, X, W):
    """The published formulas, on rows: half the mean square, and GOLEM's two likelihoods."""
    X = X - X.mean(axis=0)
    squares = ((X - X @ W) ** 2).sum(axis=0)
    if kind is LeastSquares:
        return squares.sum() / (2 * len(X))
    jacobian = np.log(abs(np.linalg.det(np.eye(len(W)) - W)))
    if kind is GaussianEqualVariance:
        return len(W) / 2 * np.log(squares.sum()) - jacobian
    return 0.5 * np.log(squares).sum() - jacobian


def numeric_gradient(function, W, step=1e-6):
    gradient = np.zeros_like(W)
    for index in np.ndindex(W.shape):
        move = np.zeros_like(W)
        move[index] = step
        gradient[index] = (function(W + move) - function(W - move)) / (2 * step)
    return gradient


def scores(seed):
    X = table(seed)
    rng = np.random.default_rng(seed)
    return [kind(Moments.from_array(X)) for kind in GAUSSIAN] + [
        Logistic(rng.integers(0, 2, (40, 5))),
        Poisson(rng.poisson(0.8, (40, 5))),
    ]


@pytest.mark.parametrize("kind", GAUSSIAN)
@pytest.mark.parametrize("seed", range(5))
def test_the_covariance_form_is_the_row_form(kind, seed):
    X, W = table(seed), weights(seed)
    value, _ = kind(Moments.from_array(X)).value_and_gradient(W)
    assert value == pytest.approx(row_form(kind, X, W), rel=1e-10)


def test_a_hand_made_case():
    # x0 = ±1, x1 = x0 ± 1: S = [[1, 1], [1, 2]]; with the edge 0 → 1 the residual variances are 1 and 1.
    moments = Moments.from_array([[1, 2], [1, 0], [-1, 0], [-1, -2]])
    W = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert LeastSquares(moments).value_and_gradient(np.zeros((2, 2)))[0] == 1.5
    assert LeastSquares(moments).value_and_gradient(W)[0] == 1.0
    assert GaussianEqualVariance(moments).value_and_gradient(W)[0] == pytest.approx(np.log(8), rel=1e-15)
    assert GaussianUnequalVariance(moments).value_and_gradient(W)[0] == pytest.approx(np.log(4), rel=1e-15)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", range(5))
def test_gradients_are_those_of_finite_differences(which, seed):
    score, W = scores(seed)[which], weights(seed)
    _, gradient = score.value_and_gradient(W)
    numeric = numeric_gradient(lambda V: score.value_and_gradient(V)[0], W)
    assert np.abs(gradient - numeric).max() < 1e-6 * max(1.0, np.abs(gradient).max())


def test_the_curvature_of_least_squares_is_its_hessian():
    score, W = LeastSquares(Moments.from_array(table(0))), weights(0)
    Q, c = score.curvature(W)
    for j in range(5):
        for i in range(5):
            move = np.zeros((5, 5))
            move[i, j] = 1.0
            change = score.value_and_gradient(W + move)[1] - score.value_and_gradient(W)[1]
            expected = np.zeros((5, 5))
            expected[:, j] = c[j] * Q[:, i]
            np.testing.assert_allclose(change, expected, rtol=0, atol=1e-12)


def test_the_curvature_of_the_logistic_loss_is_a_bound():
    score, W = next(score for score in scores(1) if isinstance(score, Logistic)), weights(1)
    Q, c = score.curvature(W)
    rate = expit(score.X @ W)
    for j in range(5):
        hessian = score.X.T @ (score.X * (rate * (1 - rate))[:, [j]]) / len(score.X)
        assert np.linalg.eigvalsh(c[j] * Q - hessian).min() >= -1e-12


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", range(5))
def test_every_curvature_is_positive_semidefinite(which, seed):
    Q, c = scores(seed)[which].curvature(weights(seed))
    assert Q.shape == (5, 5) and c.shape == (5,) and (c > 0).all()
    assert np.linalg.eigvalsh(Q).min() >= -1e-12


def test_logistic_and_poisson_are_their_naive_sums():
    rng = np.random.default_rng(2)
    W = weights(2, d=3)
    zero_one, counts = rng.integers(0, 2, (20, 3)), rng.poisson(1.5, (20, 3))
    logistic = poisson = 0.0
    for binary, count in zip(zero_one, counts):
        for j in range(3):
            p = 1 / (1 + np.exp(-binary @ W[:, j]))
            logistic -= np.log(p if binary[j] else 1 - p) / 20
            poisson += (np.exp(count @ W[:, j]) - count[j] * (count @ W[:, j])) / 20
    assert Logistic(zero_one).value_and_gradient(W)[0] == pytest.approx(logistic, rel=1e-12)
    assert Poisson(counts).value_and_gradient(W)[0] == pytest.approx(poisson, rel=1e-12)


def test_far_from_the_minimum_the_losses_are_large_and_quiet():
    far = np.array([[0.0, 1e4], [0.0, 0.0]])
    assert Poisson(np.array([[3, 0], [1, 2]])).value_and_gradient(far)[0] == np.inf
    value, gradient = Logistic(np.array([[1, 0], [0, 1]])).value_and_gradient(far)
    assert value == pytest.approx(5e3, rel=1e-3) and np.isfinite(gradient).all()


@pytest.mark.parametrize(
    ("kind", "X", "message"),
    [
        (Logistic, [[0, 1], [1, 2]], "columns of 0 and 1; 'b' holds 2 in row 1"),
        (Logistic, [[0.5, 1], [1, 0]], "'a' holds 0.5 in row 0"),
        (Poisson, [[0, 1], [1, -1]], "counts 0, 1, 2, …; 'b' holds -1 in row 1"),
        (Poisson, [[0, 1.5], [1, 1]], "'b' holds 1.5 in row 0"),
        (Poisson, [[0, np.inf], [1, 1]], "'b' holds inf in row 0"),
    ],
)
def test_columns_of_the_wrong_kind_are_refused(kind, X, message):
    with pytest.raises(InputError, match=re.escape(message)):
        kind(np.array(X, dtype=float), ("a", "b"))
    with pytest.raises(InputError, match=r"column [01] holds"):
        kind(np.array(X, dtype=float))


@pytest.mark.parametrize("kind", [GaussianEqualVariance, GaussianUnequalVariance])
def test_a_likelihood_stays_finite_where_a_column_is_determined(kind):
    x = np.random.default_rng(0).standard_normal(30)
    score = kind(Moments.from_array(np.column_stack([x, 2 * x, np.full(30, 7.0)])))
    exact = np.zeros((3, 3))
    exact[0, 1] = 2.0
    value, gradient = score.value_and_gradient(exact)
    assert np.isfinite(value) and np.isfinite(gradient).all()
    with pytest.raises(InputError, match="every column is constant"):
        kind(Moments.from_array(np.ones((5, 2))))


def test_a_likelihood_is_infinite_where_the_model_is_singular():
    score = GaussianEqualVariance(Moments.from_array(table(0, d=2)))
    assert score.value_and_gradient(np.array([[0.0, 1.0], [1.0, 0.0]]))[0] == np.inf


@pytest.mark.parametrize("kind", GAUSSIAN)
def test_arguments_are_left_alone(kind):
    moments, W = Moments.from_array(table(3)), weights(3)
    W.flags.writeable = False
    score = kind(moments)
    assert score.value_and_gradient(W)[0] == score.value_and_gradient(W)[0]
    score.curvature(W)


@pytest.mark.parametrize("kind", GAUSSIAN)
def test_few_edges_among_many_columns_are_multiplied_by_themselves_to_the_same_score(kind, monkeypatch):
    d = residuals.LARGE + 50
    rng = np.random.default_rng(7)
    W = 0.5 * rng.standard_normal((d, d)) * (rng.random((d, d)) < 2 / d) * np.tri(d, k=-1).T
    W[5, 3] = W[3, 5] = 0.4
    score = kind(Moments.from_array(rng.standard_normal((2 * d, d))))
    assert residuals.is_sparse(W)
    value, gradient = score.value_and_gradient(W)
    c = score.curvature(W)[1]
    monkeypatch.setattr(residuals, "LARGE", d + 1)
    expected, slopes = score.value_and_gradient(W)
    # Sums of d terms, in another order.
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-11 * np.abs(slopes).max())
    np.testing.assert_allclose(c, score.curvature(W)[1], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [30, 210])
def test_the_jacobian_is_that_of_a_plain_inverse_at_any_size(d, dtype):
    score = GaussianEqualVariance(Moments(500, np.zeros(d), np.eye(d))).rounded(dtype)
    W = (np.random.default_rng(d).normal(size=(d, d)) / (4 * d**0.5)).astype(dtype)
    value, gradient = score._jacobian(W)
    assert gradient.dtype == dtype
    # The condition of I − W is below 10 here, so that errors stay within some thousand roundings.
    error, exact = 5000 * float(np.finfo(dtype).eps), np.eye(d) - W.astype(float)
    assert value == pytest.approx(-np.linalg.slogdet(exact)[1], rel=error, abs=error)
    np.testing.assert_allclose(gradient, np.linalg.inv(exact).T, rtol=0, atol=error)
    nearly = -np.log(d * np.finfo(dtype).eps) / 2
    assert score._jacobian(np.full((d, d), 1 / d, dtype))[0] > nearly
    assert score._jacobian(np.eye(d, dtype=dtype))[0] == np.inf


@pytest.mark.parametrize("score", GAUSSIAN)
def test_a_rounded_score_is_the_score_to_single_precision(score):
    d, data = 12, simulate(12, 300, random_state=2)
    exact = score(Moments.from_array(data.X))
    W = (0.3 * np.random.default_rng(1).normal(size=(d, d)) / d).astype(np.float32)
    (value, gradient), (expected, slopes) = exact.rounded(np.float32).value_and_gradient(W), exact.value_and_gradient(W)
    assert gradient.dtype == np.float32
    # Sums of d products, and quotients of two such sums; covariances of different sizes meet in one of them.
    error = 100 * d * float(np.finfo(np.float32).eps)
    assert value == pytest.approx(expected, rel=error)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=error * max(np.abs(slopes).max(), exact.S.max()))


@pytest.mark.parametrize("unit", [1e25, 1e-25])
def test_variances_beyond_single_precision_are_refused(unit):
    score = LeastSquares(Moments(100, np.zeros(2), unit**2 * np.eye(2)))
    assert score.rounded(np.float64).S[0, 0] == unit**2
    with pytest.raises(InputError, match="rescale the columns, or compute in double precision"):
        score.rounded(np.float32)
