"""GES: greedy search over equivalence classes under the Gaussian BIC (Chickering 2002), with a turning phase."""

from __future__ import annotations

import os

import numpy as np

from acyclic.data.knowledge import Knowledge, Mask
from acyclic.discrete.equivalence_search import GreedyEquivalenceSearch
from acyclic.discrete.hill_climbing import HillClimbing
from acyclic.errors import InputError
from acyclic.graphs.equivalence import Cpdag, consistent_extension, cpdag, meek_closure
from acyclic.graphs.pruning import threshold_components
from acyclic.learners.base import Table
from acyclic.learners.greedy import _Greedy
from acyclic.learners.searching import UNORIENTED
from acyclic.running import Monitor, Solution, State
from acyclic.scores.local import LocalScores
from acyclic.types import Bools, Callback


class Ges(_Greedy):
    """Learn an equivalence class by greedy search under the Gaussian BIC (Chickering 2002), with a turning phase.

    The score of a DAG is Σ_j −(n/2)(1 + log σ̂²(j | parents)) − penalty·(|parents| + 1). Phases of best insertions, best
    deletions and best turns (Hauser & Bühlmann 2012) of edges of the CPDAG take turns until none of them finds a gain.
    ``causal_graph_`` is one DAG of the class, with least-squares weights; units of the columns do not matter.

    Prior knowledge: an operator never draws or directs an edge that is forbidden, required edges are there from the
    start, and undirected edges of the class are directed by what is known. Where the class as a whole still contradicts
    it, the nearest obedient DAG is improved by hill climbing and the verdict says so. Signs and bounds of weights play
    no part in the search; they hold for the weights.

    Parameters
    ----------
    penalty : float, optional
        For each parameter, in units of log-likelihood; ½ log n (the BIC) if left out.
    knowledge, time_limit, callback
        As for `Notears`.

    Attributes
    ----------
    cpdag_ : Cpdag
        The equivalence class of ``causal_graph_``.

    Examples
    --------
    >>> collider = Moments(500, mean=[0, 0, 0], covariance=[[1, 0, 1], [0, 1, 1], [1, 1, 3]], names=["a", "b", "c"])
    >>> Ges().fit(collider).cpdag_.directed_edges()
    [('a', 'c'), ('b', 'c')]
    """

    def __init__(
        self,
        *,
        penalty: float | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.penalty = penalty
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    def _search(self, table: Table, monitor: Monitor) -> tuple[Solution, tuple[str, ...]]:
        scores, mask = LocalScores(table.moments, self.penalty), table.mask
        search = GreedyEquivalenceSearch(scores, mask)
        state = monitor.run(lambda s: search(monitor, s), State(np.zeros(mask.allowed.shape)))
        obedient = _obedient(state.weights != 0, mask)
        if obedient is not None:
            state.accept(weights=obedient.astype(float))
            return self._finished(table, scores, state), ()
        climb, first = HillClimbing(scores, mask, _repaired(state.weights != 0, mask)), state
        state = monitor.run(lambda s: climb(monitor, s), State(first.weights, steps=first.steps))
        if not first.done:
            state.accept(done=False, converged=False, reason=first.reason)
        said = "the best equivalence class contradicts prior knowledge; its nearest obedient graph was improved instead"
        return self._finished(table, scores, state), (said,)

    def _describe(self) -> tuple[str, str]:
        return f"GES (Gaussian likelihood, penalty {self._rule()} for each edge)", UNORIENTED


def _obedient(dag: Bools, mask: Mask) -> Bools | None:
    """A DAG of the same class that obeys prior knowledge, or None where there is none."""
    graph = cpdag(dag)
    one_way = graph.undirected & mask.allowed & (mask.required | ~mask.allowed.T)
    if (graph.undirected & ~mask.allowed & ~mask.allowed.T).any() or (one_way & one_way.T).any():
        return None
    try:
        directed, undirected = meek_closure(graph.directed | one_way, graph.undirected & ~one_way & ~one_way.T)
        extension = consistent_extension(Cpdag(None, directed, undirected))
    except InputError:
        return None
    kept = cpdag(extension) == graph and not mask.check(extension)
    return extension if kept else None


def _repaired(dag: Bools, mask: Mask) -> Bools:
    """The edges that are allowed, and those required, less some of the former where they close a cycle."""
    strength = np.where(mask.required, 2.0, np.where(mask.allowed, dag, 0.0))
    return np.not_equal(threshold_components(strength).weights, 0)
