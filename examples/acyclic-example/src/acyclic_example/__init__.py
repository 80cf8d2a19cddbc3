"""A learner and a constraint of one's own; pyproject.toml offers both to acyclic by entry points."""

import numpy as np
from scipy.linalg import expm

import acyclic

__version__ = "0.1.0"
__all__ = ["Doubled", "Nearest"]


class Nearest:
    """Join each column to the column before it with which it correlates most, if that is at least ``least``.

    It needs nothing of acyclic: ``fit(X)`` and a matrix whose entry (i, j) is the edge i → j are enough.
    """

    def __init__(self, least: float = 0.1) -> None:
        self.least = least

    def fit(self, X: np.ndarray) -> "Nearest":
        """Learn from rows (n, d)."""
        R = np.abs(np.triu(np.corrcoef(X, rowvar=False), k=1))
        self.adjacency_matrix_ = (R == R.max(axis=0)) & (R >= self.least)
        return self


class Doubled(acyclic.Constraint):
    """tr e^(2B) − d: the constraint of NOTEARS, in which longer cycles count for more."""

    name = "doubled"

    def evaluate_block(self, B: np.ndarray, size: int) -> acyclic.Evaluation:
        """See `acyclic.Constraint`: value and gradient."""
        E = expm(2 * B)
        return acyclic.Evaluation(float(E.trace()) - len(B), 2 * E.T)
