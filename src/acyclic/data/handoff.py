"""Hand a learned graph to the libraries that reason with it.

pgmpy takes a model: `to_pgmpy` makes it. DoWhy needs no writer of its own: wherever it asks for a graph it takes the
``networkx.DiGraph`` of `Dag.to_networkx`, as in ``CausalModel(frame, treatment, outcome, graph=dag.to_networkx())``
and ``gcm.StructuralCausalModel(dag.to_networkx())``. It reads the edges and estimates the weights anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from acyclic.data.moments import Moments
from acyclic.errors import InputError, MissingExtraError
from acyclic.graphs.dag import Dag
from acyclic.types import Floats

__all__ = ["measure_noise", "to_pgmpy"]


def to_pgmpy(dag: Dag, moments: Moments | None = None) -> Any:
    """Give a ``pgmpy.models.LinearGaussianBayesianNetwork``: x_j ~ N(a_j + Σ_i W_ij x_i, s_j²), W the weights of `dag`.

    Parameters
    ----------
    dag : Dag
        Its names become the variables, in order, whatever characters they hold.
    moments : Moments, optional
        Of the table that the weights were learned from, in the same units; columns are found by name and others are
        left out. They give a and s as in `measure_noise`. Without them a_j = 0 and s_j = 1.

    Raises
    ------
    MissingExtraError
        If pgmpy is not installed.
    InputError
        If `moments` are of another type or lack a column.

    Examples
    --------
    >>> from acyclic import simulate
    >>> data = simulate(n_nodes=6, n=100)
    >>> to_pgmpy(data.graph, Moments.from_array(data.X, data.graph.names)).check_model()  # doctest: +SKIP
    True

    Notes
    -----
    pgmpy's ``to_joint_gaussian`` orders its variables by ``networkx.topological_sort`` and rounds to 8 decimals:
    columns in very small units are better rescaled before they are learned from.
    """
    network, conditional = _import_pgmpy()
    intercepts, deviations = measure_noise(dag, moments)
    model = network()
    model.add_nodes_from(dag.names)
    model.add_edges_from(dag.edges())
    for node, name in enumerate(dag.names):
        parents = np.flatnonzero(dag.weights[:, node])
        beta = [intercepts[node], *dag.weights[parents, node]]
        model.add_cpds(conditional(name, beta, float(deviations[node]), [dag.names[parent] for parent in parents]))
    return model


def measure_noise(dag: Dag, moments: Moments | None = None) -> tuple[Floats, Floats]:
    """Give what the weights W leave open: intercepts a and standard deviations s of the noise, each of shape (d,).

    With mean m and covariance S, a = m (I − W) and s² = diag((I − W)ᵀ S (I − W)); without moments, 0 and 1.

    Examples
    --------
    >>> dag = Dag([[0, 2], [0, 0]], names=["dose", "effect"])
    >>> moments = Moments(100, mean=[1, 5], covariance=[[1, 2], [2, 13]], names=["dose", "effect"])
    >>> [values.tolist() for values in measure_noise(dag, moments)]
    [[1.0, 3.0], [1.0, 3.0]]
    """
    if moments is None:
        return np.zeros(dag.n_nodes), np.ones(dag.n_nodes)
    if not isinstance(moments, Moments):
        raise InputError(f"moments must be Moments, not {type(moments).__name__}; Moments.from_frame makes them")
    matched = moments.select(dag.names)
    residual = np.eye(dag.n_nodes) - dag.weights
    variances = np.einsum("ij,ij->j", residual, matched.covariance @ residual)
    return matched.mean @ residual, np.sqrt(np.maximum(variances, 0.0))


def _import_pgmpy() -> tuple[Any, Any]:
    try:
        from pgmpy.factors.continuous import LinearGaussianCPD
        from pgmpy.models import LinearGaussianBayesianNetwork
    except ImportError:
        raise MissingExtraError("to_pgmpy", "pgmpy", "handoff") from None
    return LinearGaussianBayesianNetwork, LinearGaussianCPD
