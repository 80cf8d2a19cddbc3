"""Linear models whose columns all have variance 1, so that variances tell nothing of the causal order.

Each gives weights (d, d), ``[i, j]`` for the edge i → j, and the variance (d,) of each node's noise.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy.linalg import solve_triangular

from acyclic.graphs.cycles import sort_topologically
from acyclic.types import Bools, Floats, Integers

Draw = Callable[[int, Integers, Floats], tuple[Floats, float]]
"""From a node's place in the order, its parents and their correlations to its weights and noise variance."""


def draw_onion(adjacency: Bools, rng: Generator) -> tuple[Floats, Floats]:
    """DAG adaptation of the onion method (Andrews & Kummerfeld 2024): uniform correlations among those Markov to a DAG.

    With sources first, the share of the variance that its k parents explain at place i (from 0) of d is
    Beta(k/2, (d − i + 1)/2), and the direction of the effect is uniform on the sphere of the whitened parents.
    """
    d, topological = len(adjacency), sort_topologically(adjacency)
    has_parents = np.count_nonzero(adjacency, axis=0)[topological] > 0
    order = np.concatenate([topological[~has_parents], topological[has_parents]])
    streams = rng.spawn(d)

    def draw(place: int, parents: Integers, among: Floats) -> tuple[Floats, float]:
        stream = streams[order[place]]
        unexplained = float(stream.beta((d - place + 1) / 2, len(parents) / 2))
        direction = stream.standard_normal(len(parents))
        direction *= np.sqrt((1 - unexplained) / (direction @ direction))
        return solve_triangular(np.linalg.cholesky(among), direction, trans="T", lower=True), unexplained

    return _grow(adjacency, order, draw)


def standardize_inside(weights: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """Internally standardised model (Ormaniec et al. 2025): each node has variance 1 before its children use it."""
    order = sort_topologically(weights)

    def draw(place: int, parents: Integers, among: Floats) -> tuple[Floats, float]:
        node = order[place]
        own = weights[parents, node]
        variance = float(own @ among @ own + variances[node])
        return own / np.sqrt(variance), float(variances[node]) / variance

    return _grow(weights != 0, order, draw)


def standardize_after(weights: Floats, variances: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """The same model in units in which every node has variance 1, given the covariance of its nodes."""
    deviation = np.sqrt(covariance.diagonal())
    return weights * deviation[:, None] / deviation, variances / deviation**2


def _grow(adjacency: Bools, order: Integers, draw: Draw) -> tuple[Floats, Floats]:
    """Take the nodes in turn, with the correlations of those before; one without parents is noise of variance 1."""
    d = len(adjacency)
    correlation, weights, variances = np.eye(d), np.zeros((d, d)), np.ones(d)
    for place, node in enumerate(order):
        parents = np.flatnonzero(adjacency[:, node])
        if parents.size:
            column, variances[node] = draw(place, parents, correlation[np.ix_(parents, parents)])
            weights[parents, node] = column
            before = order[:place]
            correlation[node, before] = correlation[before, node] = correlation[np.ix_(before, parents)] @ column
    return weights, variances
