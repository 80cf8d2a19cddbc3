"""The probabilities of the levels of a category given numbers: multinomial logistic regression."""

from __future__ import annotations

import numpy as np

from acyclic.types import Floats, Integers

__all__ = ["level_probabilities"]

# A prior as strong as this many rows keeps coefficients finite where levels can be told apart without error.
_PRIOR = 1.0
_MOST_STEPS = 25
_SETTLED = 1e-6


def level_probabilities(features: Floats, codes: Integers, count: int) -> Floats:
    """Probabilities (n, count − 1) of all levels but the first, by Newton's method with a weak normal prior.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=2000)
    >>> codes = (rng.random(2000) < 1 / (1 + np.exp(-2 * x))).astype(int)
    >>> p = level_probabilities(x[:, None], codes, 2)[:, 0]
    >>> bool(abs(p - 1 / (1 + np.exp(-2 * x))).max() < 0.05)
    True
    """
    n = len(features)
    Z = np.column_stack([np.ones(n), features])
    seen = (codes[:, None] == np.arange(1, count)).astype(float)
    k, p = Z.shape[1], count - 1
    ridge = np.tile(np.concatenate([[1e-6], np.full(k - 1, _PRIOR)]), p)
    B = np.zeros((p, k))
    loss = np.inf
    for _ in range(_MOST_STEPS):
        P = _softmax(Z @ B.T)
        now = _misfit(P, seen) + float(ridge @ B.ravel() ** 2) / 2
        gradient = ((P - seen).T @ Z).ravel() + ridge * B.ravel()
        H = np.diag(ridge)
        for a in range(p):
            for b in range(p):
                weight = P[:, a] * ((a == b) - P[:, b])
                H[a * k : (a + 1) * k, b * k : (b + 1) * k] += (Z * weight[:, None]).T @ Z
        step = np.linalg.lstsq(H, gradient)[0]
        if loss - now < _SETTLED * n and abs(gradient @ step) < _SETTLED * n:
            break
        loss, B = now, _descend(Z, seen, ridge, B, step.reshape(p, k), now)
    return _softmax(Z @ B.T)


def _descend(Z: Floats, seen: Floats, ridge: Floats, B: Floats, step: Floats, loss: float) -> Floats:
    """A step along Newton's direction, halved until it lowers the loss."""
    for _ in range(30):
        tried = B - step
        if _misfit(_softmax(Z @ tried.T), seen) + float(ridge @ tried.ravel() ** 2) / 2 <= loss:
            return tried
        step = step / 2
    return B


def _softmax(scores: Floats) -> Floats:
    """Probabilities of all levels but the first, whose score is 0."""
    top = np.maximum(scores.max(axis=1, keepdims=True), 0.0)
    odds = np.exp(scores - top)
    return np.asarray(odds / (odds.sum(axis=1, keepdims=True) + np.exp(-top)))


def _misfit(P: Floats, seen: Floats) -> float:
    first = np.maximum(1 - P.sum(axis=1), 1e-300)
    others = np.where(seen.any(axis=1), (P * seen).sum(axis=1), first)
    return float(-np.log(np.maximum(others, 1e-300)).sum())
