"""The greedy graph of CAM: additive mechanisms, edges added by what they explain (Bühlmann, Peters & Ernest 2014)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from acyclic.data.dependence import EXPLAINED
from acyclic.data.mask import Mask
from acyclic.graphs.reachability import close_transitively
from acyclic.scores.blocks import BlockScore
from acyclic.types import Bools, Floats

__all__ = ["add_greedily"]

_RIDGE = 1e-9


def add_greedily(score: BlockScore, mask: Mask, tell: Callable[[Bools, float], None]) -> Bools:
    """Edges (d, d), the one that explains most first, as long as one explains more than it costs at its best level.

    Parents explain with all their features: between two directions of a line, curves decide. Edges that would close a
    cycle are passed over.

    Parameters
    ----------
    score : BlockScore
    mask : Mask
        Forbidden edges are never added; required ones are there from the beginning.
    tell : callable
        Called after each edge with all of them and what the last one gained; may raise to end the work.
    """
    edges = np.array(mask.required)
    d = len(edges)
    # reach[i, j]: a path leads from i to j, or they are the same.
    reach = np.eye(d, dtype=bool) | close_transitively(edges)
    gains = np.stack([_gains(score, j, np.flatnonzero(edges[:, j]).tolist()) for j in range(d)], axis=1)
    gains[~mask.allowed | edges | reach.T] = -np.inf
    while True:
        i, j = np.unravel_index(int(gains.argmax()), gains.shape)
        gain = float(gains[i, j])
        if not gain > 0:
            return edges
        edges[i, j] = True
        reach |= np.outer(reach[:, i], reach[j])
        gains[:, j] = _gains(score, int(j), np.flatnonzero(edges[:, j]).tolist())
        gains[~mask.allowed | edges | reach.T] = -np.inf
        tell(edges, gain)


def _gains(score: BlockScore, node: int, parents: list[int]) -> Floats:
    """By how much each further parent lowers n log σ̂²; −∞ for one that does not lower the score at any level."""
    features, G = score.features, score.moments
    at, response = features.at, int(features.at[node])
    own = score.columns_of(parents, [features.maps[i].size for i in parents])
    cross, variance, solved = G[:, response], float(features.G[response, response]), np.empty((0, len(G)))
    if len(own):
        # The ridge of rounding: of columns that say the same, the second explains nothing.
        solved = cho_solve(cho_factor(G[np.ix_(own, own)] + _RIDGE * np.eye(len(own)), lower=True), G[own])
        cross = cross - G[:, own] @ solved[:, response]
        variance = max(variance - float(G[response, own] @ solved[:, response]), EXPLAINED)
    found = np.full(score.n_nodes, -np.inf)
    for i in set(range(score.n_nodes)) - {node, *parents}:
        places = np.arange(at[i], at[i + 1])
        block = G[np.ix_(places, places)] - G[np.ix_(places, own)] @ solved[:, places]
        # Each feature in turn, what those before it leave: what k of them explain is the sum of the first k.
        factor = np.linalg.cholesky(block + _RIDGE * np.eye(len(block)))
        explained = np.cumsum(solve_triangular(factor, cross[places], lower=True, check_finite=False) ** 2)
        levels = np.array(features.levels[i])
        left = np.maximum(variance - explained[levels - 1], EXPLAINED)
        price = score.cost + score.prices[at[i] + levels - 1] - score.prices[at[i]]
        if (features.n * np.log(variance / left) > price).any():
            found[i] = features.n * float(np.log(variance / max(variance - explained[-1], EXPLAINED)))
    return found
