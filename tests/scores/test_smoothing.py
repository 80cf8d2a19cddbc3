"""Smooth functions of several columns together: against the dense formula, and where there is nothing to fit."""

import numpy as np
import pytest

from acyclic.scores import smoothing
from acyclic.scores.smoothing import leave_out, smooth_out


def draw(seed, n=120):
    rng = np.random.default_rng(seed)
    Z, noise = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    basis = np.linalg.qr(np.column_stack([np.ones(n), Z]))[0]
    return Z, noise, basis


def apart(basis, columns):
    return columns - basis @ (basis.T @ columns)


def test_what_is_left_is_that_of_the_most_likely_process():
    Z, noise, basis = draw(0)
    y = apart(basis, 3 * np.cos(Z.sum(axis=1, keepdims=True)) + noise)
    squares, found = ((Z[:, None] - Z) ** 2).sum(axis=2), []
    for length in smoothing._LENGTHS:
        K = apart(basis, apart(basis, np.exp(-0.5 * squares / length**2)).T)
        for ratio in smoothing._RATIOS:
            A = np.eye(len(y)) + ratio * K
            left = np.linalg.solve(A, y)
            evidence = (len(y) - 3) * np.log((y * left).sum()) + np.linalg.slogdet(A)[1]
            found.append((evidence, left[:, 0], 1 - np.diag(np.linalg.inv(A))))
    _, expected, own = min(found, key=lambda one: one[0])
    left, added = smooth_out(basis, Z, y)
    # The jitter, a millionth of the kernel's diagonal, is not in the formula above.
    assert np.allclose(left[:, 0], expected, atol=1e-3) and np.allclose(added[:, 0], own, atol=1e-3)
    assert np.abs(basis.T @ left).max() < 1e-10


def test_columns_that_nothing_is_to_be_said_of_stay_as_they_are():
    Z, _, basis = draw(1)
    # Signs that alternate between neighbours have no smooth part.
    order = np.argsort(Z[:, 0])
    turning = np.empty((len(Z), 1))
    turning[order, 0] = (-1.0) ** np.arange(len(Z))
    columns = np.hstack([np.zeros_like(turning), apart(basis, turning)])
    left, own = smooth_out(basis, Z[:, :1], columns)
    assert (left == columns).all() and not own.any()


def test_each_column_is_fitted_as_if_it_were_alone():
    Z, noise, basis = draw(2)
    both = apart(basis, noise + np.column_stack([np.sin(2 * Z[:, 0] * Z[:, 1]), 0.2 * Z[:, 0] ** 2]))
    together = smooth_out(basis, Z, both)
    alone = [smooth_out(basis, Z, both[:, k : k + 1]) for k in range(2)]
    for of_all, of_each in zip(together, zip(*alone)):
        assert np.allclose(of_all, np.hstack(of_each), atol=1e-9)


@pytest.mark.parametrize("parents", [0, 2])
def test_a_constant_leaves_nothing(parents):
    Z, *_ = draw(3)
    assert not leave_out(Z[:, :parents], np.full(len(Z), 7.0)).any()
