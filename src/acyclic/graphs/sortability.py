"""How much of a DAG's order can be read off the variances or the R² of the variables alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from acyclic.errors import InputError, show_name
from acyclic.graphs.checks import check_square
from acyclic.graphs.cycles import make_sparse
from acyclic.graphs.dag import Dag
from acyclic.types import Bools, Floats


def varsortability(graph: Dag | ArrayLike, covariance: ArrayLike) -> float:
    """Measure how far variances grow along the directed paths of a DAG (Reisach, Seiler & Weichwald 2021).

    Over all (i, j, k) such that a directed path of k edges leads from i to j, the fraction with
    var(i) < var(j); ties (within 1e-9, relative) count ½. At 1 the order can be read off the variances, at ½
    they tell nothing.

    Parameters
    ----------
    graph : Dag, or array_like of shape (d, d)
        In an array, entry (i, j) is the edge i → j.
    covariance : array_like of shape (d, d)
        Covariance of the variables, in the node order of the graph.

    Returns
    -------
    float
        Between 0 and 1; nan if the graph has no edge.

    Examples
    --------
    >>> varsortability([[0, 1], [0, 0]], [[1.0, 1.0], [1.0, 2.0]])
    1.0
    """
    dag, matrix = _check_covariance(graph, covariance)
    return _measure_sortability(dag, matrix.diagonal())


def r2_sortability(graph: Dag | ArrayLike, covariance: ArrayLike) -> float:
    """Measure how far R² grows along the directed paths of a DAG (Reisach et al. 2023); see `varsortability`.

    For R² see `explained_by_others`; it does not depend on units.
    """
    dag, matrix = _check_covariance(graph, covariance)
    return _measure_sortability(dag, explained_by_others(matrix))


def explained_by_others(covariance: Floats) -> Floats:
    """R² of each variable given all others, shape (d,): 1 in an exact linear relation, 0 for a constant.

    R²_j = 1 − 1 / (C⁻¹)_jj, with C the correlation matrix.

    Examples
    --------
    >>> explained_by_others(np.array([[1.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 0.0]]))
    array([0.25, 0.25, 0.  ])
    """
    varies, values, vectors = _decompose(covariance)
    null = values <= len(values) * np.finfo(float).eps * values.max(initial=0.0)
    in_linear_relation = (vectors[:, null] ** 2).sum(axis=1) > np.sqrt(np.finfo(float).eps)
    precision = (vectors[:, ~null] ** 2 / values[~null]).sum(axis=1)
    shares = np.zeros(len(covariance))
    shares[varies] = np.where(in_linear_relation, 1.0, 1 - 1 / np.where(in_linear_relation, 1.0, precision))
    return shares


def sortable_by_others(covariance: Floats, least: float, rounding: float) -> tuple[Floats, Floats]:
    """R² as in `explained_by_others` to sort by, and how far rounding may have moved each, to first order; both (d,).

    Eigenvalues of C below ``least`` count as that: variables in an exact relation then come just below 1, the nearer
    the more of the relation they carry, and can still be sorted. If no correlation is off by more than ``rounding``,
    and the decomposition adds dε, the error matrix has norm e ≤ d (``rounding`` + dε), and 1 / (C⁻¹)_jj moves by up to
    e (C⁻²)_jj / (C⁻¹)²_jj.

    Examples
    --------
    >>> shares, moved = sortable_by_others(np.array([[1.0, 1.0], [1.0, 4.0]]), 1e-10, 1e-13)
    >>> shares.round(9).tolist(), bool((moved < 1e-12).all())
    ([0.25, 0.25], True)
    """
    varies, values, vectors = _decompose(covariance)
    values, squares = np.maximum(values, least), vectors**2
    precision = (squares / values).sum(axis=1)
    error = len(values) * (rounding + len(values) * np.finfo(float).eps)
    shares, moved = np.zeros(len(covariance)), np.zeros(len(covariance))
    shares[varies] = 1 - 1 / precision
    moved[varies] = error * (squares / values**2).sum(axis=1) / precision**2
    return shares, moved


def _decompose(covariance: Floats) -> tuple[Bools, Floats, Floats]:
    """Which variables vary, and eigenvalues and eigenvectors of the correlations of these."""
    scale = np.sqrt(covariance.diagonal())
    varies = scale > 0
    some = covariance[np.ix_(varies, varies)] / np.outer(scale[varies], scale[varies])
    return varies, *np.linalg.eigh(some)


def _check_covariance(graph: Dag | ArrayLike, covariance: ArrayLike) -> tuple[Dag, Floats]:
    dag = graph if isinstance(graph, Dag) else Dag(graph)
    matrix = check_square(covariance, "covariance")
    if len(matrix) != dag.n_nodes:
        raise InputError(f"covariance is for {len(matrix)} variables, but the graph has {dag.n_nodes} nodes")
    if (matrix.diagonal() < 0).any():
        node = dag.names[int(matrix.diagonal().argmin())]
        raise InputError(f"covariance has a negative variance at {show_name(node)}; variances must not be negative")
    return dag, matrix


def _measure_sortability(dag: Dag, scores: Floats) -> float:
    difference = scores[None, :] - scores[:, None]
    tie = np.abs(difference) <= 1e-9 * np.maximum(np.abs(scores)[None, :], np.abs(scores)[:, None])
    credit = np.where(tie, 0.5, difference > 0)
    step = make_sparse(dag.adjacency)
    paths, total, right = step, 0, 0.0
    while paths.nnz:
        sources, targets = paths.nonzero()
        total += len(sources)
        right += float(credit[sources, targets].sum())
        paths = make_sparse((paths @ step).toarray() > 0)
    return right / total if total else float("nan")
