"""Preliminary neighbourhood selection: which columns may be parents of which, by forests of random trees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from acyclic.types import Bools, Floats

# Trees between two calls of `pause`.
PIECE = 10


def neighbours(
    rows: Floats,
    target: int,
    *,
    trees: int = 500,
    share: float = 0.75,
    random_state: int = 0,
    pause: Callable[[], None] = lambda: None,
) -> Bools:
    """Columns (d,) that extremely randomised trees use to predict a target, as a boolean array.

    A column stays where its importance, the share of the variance that splits on it explain, is at least ``share`` of
    the mean importance 1/d over all columns, the target's own zero among them (Lachapelle et al. 2020).

    Parameters
    ----------
    rows : ndarray (n, d)
    target : int
    trees : int
    share : float
        0 keeps every column but the target.
    random_state : int
    pause : callable
        Called after every few trees; it may raise to end the work.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] = np.sin(2 * x[:, 0]) + 0.1 * x[:, 2]
    >>> neighbours(x, 2, trees=20).tolist()
    [True, False, False]
    """
    from sklearn.ensemble import ExtraTreesRegressor

    d = rows.shape[1]
    others = np.arange(d) != target
    importances = np.zeros(d)
    if others.any():
        for seed, size in _pieces(trees, random_state, target):
            forest = ExtraTreesRegressor(size, random_state=seed).fit(rows[:, others], rows[:, target])
            importances[others] += forest.feature_importances_ * size
            pause()
    return np.asarray((importances >= share * importances.mean()) & others)


def _pieces(trees: int, random_state: int, target: int) -> list[tuple[int, int]]:
    """Seed and number of trees of each part of the forest."""
    sizes = [PIECE] * (trees // PIECE) + [trees % PIECE] * (trees % PIECE > 0)
    seeds = np.random.SeedSequence([random_state, target]).generate_state(len(sizes))
    return list(zip((seeds >> np.uint32(1)).tolist(), sizes))
