"""The order of DirectLiNGAM: linear mechanisms, noise that is not normal (Shimizu et al. 2011).

The next node is the one that looks least like an effect of those that remain, by the likelihood ratio of each pair of
directions (Hyvärinen & Smith 2013); its effect is then taken from the others, which are linear and not normal again.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np

from acyclic.data.dependence import EXPLAINED
from acyclic.types import Bools, Floats, Integers

__all__ = ["lingam_order"]

# Pairs that are compared in one go: enough for vector instructions, few enough to stop early.
_AT_ONCE = 8
# As many factors between 1 and 2 have a product that is a finite number.
_FACTORS = 500


def lingam_order(rows: Floats, before: Bools | None = None, tell: Callable[[float], None] | None = None) -> Integers:
    """The columns of rows (n, d), causes first.

    Parameters
    ----------
    rows : ndarray (n, d)
    before : ndarray of bool (d, d), optional
        Strict partial order that the answer obeys: ``[i, j]`` if i has to come before j.
    tell : callable, optional
        Called before each node with the share that is ordered; may raise to end the work.

    Notes
    -----
    A node i has the penalty Σ_j min(0, r_ij)², r_ij the log-likelihood ratio of i → j to j → i, and the smallest one
    comes next. Penalties only grow with the pairs that are counted: a node whose penalty is complete and not above the
    incomplete ones of all others is the answer, and most pairs are never compared.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=500)
    >>> y = x + rng.uniform(size=500)
    >>> lingam_order(np.column_stack([y - x + rng.uniform(size=500) + y, y, x])).tolist()
    [2, 1, 0]
    """
    X = np.array(rows.T, dtype=np.float64, order="C")
    raw = np.mean(X**2, axis=1)
    X = _standardize(X - X.mean(axis=1, keepdims=True), raw)
    d = len(X)
    remaining, hint = np.arange(d), np.zeros(d)
    order: list[int] = []
    while len(remaining) > 1:
        if tell is not None:
            tell(len(order) / d)
        blocked = np.zeros(len(remaining), dtype=bool) if before is None else _blocked(before, remaining)
        step = _Step(X, ~blocked, hint[remaining])
        best = step.find()
        hint[remaining] = step.penalty
        order.append(int(remaining[best]))
        X = _standardize(np.delete(X - np.outer(step.correlation[best], X[best]), best, axis=0), np.ones(1))
        remaining = np.delete(remaining, best)
    return np.array([*order, *remaining], dtype=np.intp)


def _standardize(X: Floats, scale: Floats) -> Floats:
    """Rows of mean 0 with variance 1; what rounding left of one that was of a scale, as of a constant, has none."""
    variances = np.mean(X**2, axis=1)
    varies = variances > EXPLAINED * scale
    return np.asarray(X * np.where(varies, 1 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)[:, None])


def _blocked(before: Bools, remaining: Integers) -> Bools:
    return np.asarray(before[np.ix_(remaining, remaining)].any(axis=0))


class _Step:
    """Which of the columns X (k, n), of mean 0 and variance 1 or constant, looks least like an effect of others."""

    def __init__(self, X: Floats, candidates: Bools, hint: Floats) -> None:
        self.X, self.candidates, self.hint = X, candidates, hint
        k = len(X)
        self.correlation = X @ X.T / X.shape[1]
        self.penalty = np.zeros(k)
        self.compared = np.eye(k, dtype=bool)
        self.left = np.full(k, k - 1)
        self.entropy = _entropies(X)
        # Pairs that are related tell most.
        self.partners = np.argsort(-np.abs(self.correlation), axis=1, kind="stable")

    def find(self) -> int:
        """The column with the smallest penalty, the first of equal ones; it compares as few pairs as that takes."""
        while True:
            penalty = np.where(self.candidates, self.penalty, np.inf)
            least = np.flatnonzero(penalty == penalty.min())
            open_ones = least[self.left[least] > 0]
            if not len(open_ones):
                return int(least[0])
            self._compare(int(open_ones[np.argmin(self.hint[open_ones])]))

    def _compare(self, i: int) -> None:
        partners = self.partners[i]
        js = partners[~self.compared[i, partners]][:_AT_ONCE]
        c = self.correlation[i, js]
        rest = 1 - c**2
        clear = rest > EXPLAINED
        deviation = np.sqrt(np.where(clear, rest, 1.0))[:, None]
        xi, xj = self.X[i], self.X[js]
        of_j, of_i = (xj - c[:, None] * xi) / deviation, (xi - c[:, None] * xj) / deviation
        apart = _entropies(np.concatenate([of_i, of_j]))
        ratio = (self.entropy[js] + apart[: len(js)]) - (self.entropy[i] + apart[len(js) :])
        # Of two columns that determine each other, neither is told apart.
        ratio[~clear] = 0.0
        self.penalty[i] += float(np.sum(np.minimum(ratio, 0.0) ** 2))
        self.penalty[js] += np.minimum(-ratio, 0.0) ** 2
        self.compared[i, js] = self.compared[js, i] = True
        self.left[i] -= len(js)
        self.left[js] -= 1


def _entropies(U: Floats) -> Floats:
    """Entropy of each row of U (k, n), of mean 0 and variance 1, but for that of the normal law (Hyvärinen 1998)."""
    n = U.shape[1]
    size = np.abs(U)
    factors = np.exp(-2 * size)
    factors += 1
    # The sum of logarithms is the logarithm of a product.
    logs = np.log(np.multiply.reduceat(factors, np.arange(0, n, _FACTORS), axis=1)).sum(axis=1)
    even = (size.sum(axis=1) + logs) / n - log(2) - 0.374567207491438
    np.square(U, out=size)
    size *= -0.5
    np.exp(size, out=size)
    odd = np.einsum("ij,ij->i", U, size) / n
    return np.asarray(-79.047 * even**2 - 7.4129 * odd**2)
