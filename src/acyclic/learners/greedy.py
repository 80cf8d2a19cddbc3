"""Greedy searches under the Gaussian BIC: GES over equivalence classes, MMHC over DAGs inside a skeleton."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
from numpy.typing import NDArray

from acyclic.data.knowledge import Knowledge, Mask
from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag, consistent_extension, cpdag, meek_closure
from acyclic.graphs.pruning import threshold_components
from acyclic.learners.base import Table
from acyclic.learners.searching import UNORIENTED, SearchLearner
from acyclic.learners.verdict import Verdict
from acyclic.solvers.equivalence_search import GreedyEquivalenceSearch
from acyclic.solvers.hill_climbing import HillClimbing
from acyclic.solvers.regression import LocalScores, least_squares
from acyclic.solvers.skeleton import Mmpc
from acyclic.solvers.solution import Callback, Monitor, Solution, State

Bools = NDArray[np.bool_]


class _Greedy(SearchLearner):
    penalty: float | None
    cpdag_: Cpdag

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.penalty is not None and not 0 <= self.penalty < np.inf:
            raise InputError(f"penalty has to be at least 0 and finite, or None for the BIC; got {self.penalty}")

    def _learn(self, table: Table) -> tuple[Dag, Solution, Verdict]:
        graph, solution, verdict = super()._learn(table)
        self.cpdag_ = graph.cpdag()
        return graph, solution, verdict

    def _finished(self, table: Table, scores: LocalScores, state: State) -> Solution:
        adjacency = state.weights != 0
        state.accept(weights=least_squares(table.moments.covariance, adjacency, table.mask))
        return state.solution(-scores.total(adjacency), 0.0)

    def _rule(self) -> str:
        return "½ log n" if self.penalty is None else f"{self.penalty:g}"


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


class Mmhc(_Greedy):
    """Learn a DAG by max-min hill climbing (Tsamardinos, Brown & Aliferis 2006) for continuous columns.

    First the skeleton, by `mmpc`; then additions, deletions and reversals of edges inside it, from the empty graph,
    while the Gaussian BIC improves. Both stages use the correlation matrix only: units of the columns do not matter.

    Parameters
    ----------
    alpha : float
        Level of the tests of partial correlation.
    max_conditioning : int or None
        Largest set that a test conditions on; None for all sizes, as first published, which takes time exponential in
        the number of neighbours of a node.
    penalty : float, optional
        For each parameter, in units of log-likelihood; ½ log n (the BIC) if left out.
    knowledge
        As for `Notears`. Pairs that may not be joined are left out of the skeleton, required edges are in it and in the
        graph.
    time_limit, callback
        As for `Notears`. A skeleton that was not finished is used as it stands.

    Attributes
    ----------
    skeleton_ : bool ndarray (d, d)
        Symmetric: the pairs that hill climbing was free to join.
    cpdag_ : Cpdag
        The equivalence class of ``causal_graph_``.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=500, random_state=1)
    >>> model = Mmhc().fit(data.X)
    >>> bool((model.causal_graph_.adjacency <= model.skeleton_).all())
    True
    """

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        max_conditioning: int | None = 3,
        penalty: float | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.alpha = alpha
        self.max_conditioning = max_conditioning
        self.penalty = penalty
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    def _search(self, table: Table, monitor: Monitor) -> tuple[Solution, tuple[str, ...]]:
        scores, mask = LocalScores(table.moments, self.penalty), table.mask
        choice = Mmpc(table.moments, self.alpha, self.max_conditioning, mask)

        def stages(state: State) -> None:
            choice(monitor, state)
            inside = dataclasses.replace(mask, allowed=mask.allowed & choice.skeleton)
            HillClimbing(scores, inside, mask.required)(monitor, state)

        state = monitor.run(stages, State(mask.required.astype(float)))
        self.skeleton_ = choice.skeleton
        return self._finished(table, scores, state), ()

    def _describe(self) -> tuple[str, str]:
        return f"MMHC (partial correlations at level {self.alpha:g}, penalty {self._rule()} for each edge)", UNORIENTED


def mmpc(
    moments: Moments, alpha: float = 0.05, *, max_conditioning: int | None = 3, knowledge: Knowledge | None = None
) -> Cpdag:
    """Find the skeleton of a Bayesian network by max-min parents and children: all its edges are undirected.

    Parameters
    ----------
    moments : Moments
    alpha : float
        Level of the exact t test of partial correlation.
    max_conditioning : int or None
        Largest set that a test conditions on; None for all sizes, as for `Mmhc`.
    knowledge : Knowledge, optional
        Pairs that may not be joined are left out; pairs with a required edge are in.

    Examples
    --------
    >>> chain = Moments(500, mean=[0, 0, 0], covariance=[[1, 1, 1], [1, 2, 2], [1, 2, 3]], names=["a", "b", "c"])
    >>> mmpc(chain).undirected_edges()
    [('a', 'b'), ('b', 'c')]
    """
    mask = (Knowledge() if knowledge is None else knowledge).compile(moments.names)
    choice = Mmpc(moments, alpha, max_conditioning, mask)
    choice(Monitor(), State(np.zeros(mask.allowed.shape)))
    return Cpdag(moments.names, np.zeros(mask.allowed.shape, dtype=bool), choice.skeleton)
