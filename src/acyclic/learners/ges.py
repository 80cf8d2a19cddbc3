"""GES: greedy search over equivalence classes under the Gaussian BIC (Chickering 2002), with a turning phase."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.equivalence_search import GreedyEquivalenceSearch
from acyclic.discrete.hill_climbing import HillClimbing
from acyclic.errors import InputError
from acyclic.facts import Caution
from acyclic.graphs.equivalence import Cpdag, apply_meek_rules, extend_consistently, find_cpdag
from acyclic.graphs.pruning import threshold_components
from acyclic.judging.judge import Found
from acyclic.learners.greedy import GreedyLearner
from acyclic.running import Monitor, State
from acyclic.scores.local import LocalScore, PenaltyRule
from acyclic.types import Bools, Callback


class Ges(GreedyLearner):
    """Learn an equivalence class by greedy search under the Gaussian BIC (Chickering 2002), with a turning phase.

    The score of a DAG is Σ_j n log σ̂²(j | parents) + penalty·|parents|; lower is better. Phases of best insertions,
    best deletions and best turns (Hauser & Bühlmann 2012) of edges of the CPDAG take turns until none finds a gain.
    ``causal_graph_`` is one DAG of the class, with least-squares weights; units of the columns do not matter.

    Prior knowledge: an operator never draws or directs an edge that is forbidden, required edges are there from the
    start, and undirected edges of the class are directed by what is known. Where the class as a whole still contradicts
    it, the nearest obedient DAG is improved by hill climbing and the verdict says so. Signs and bounds of weights play
    no part in the search; they hold for the weights.

    Parameters
    ----------
    penalty : {"bic", "strong", "ebic"} or float
        Price of a parent, in units of −2 log-likelihood: see `acyclic.scores.local.price_of_parent`.
    local_score : callable, optional
        A class of `LocalScore`, or a function of a `Table` that makes one, in the place of the Gaussian BIC.
    knowledge, time_limit, callback
        As for `Notears`.

    Attributes
    ----------
    cpdag_ : Cpdag
        The equivalence class of ``causal_graph_``.

    Examples
    --------
    >>> from acyclic.data.moments import Moments
    >>> collider = Moments(500, mean=[0, 0, 0], covariance=[[1, 0, 1], [0, 1, 1], [1, 1, 3]], names=["a", "b", "c"])
    >>> Ges().fit(collider).cpdag_.directed_edges()
    [('a', 'c'), ('b', 'c')]
    """

    method = "ges"

    def __init__(
        self,
        *,
        penalty: PenaltyRule = "bic",
        local_score: Callable[[Table], LocalScore] | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.penalty = penalty
        self.local_score = local_score
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        score = self._score(table)
        search = GreedyEquivalenceSearch(score, mask)
        state = monitor.run(lambda s: search(monitor, s), State(np.zeros(mask.allowed.shape)))
        obedient = _find_obedient(state.weights != 0, mask)
        settings = self._name_score()
        if obedient is not None:
            state.accept(weights=obedient.astype(float))
            return self._finish(table, mask, score, state, settings)
        climb, first = HillClimbing(score, mask, _repair(state.weights != 0, mask)), state
        state = monitor.run(lambda s: climb(monitor, s), State(first.weights, steps=first.steps))
        if not first.done:
            state.end = first.end
        return self._finish(table, mask, score, state, settings, Caution.CLASS_AGAINST_KNOWLEDGE)


def _find_obedient(dag: Bools, mask: Mask) -> Bools | None:
    """A DAG of the same class that obeys prior knowledge, or None where there is none."""
    graph = find_cpdag(dag)
    one_way = graph.undirected & mask.allowed & (mask.required | ~mask.allowed.T)
    if (graph.undirected & ~mask.allowed & ~mask.allowed.T).any() or (one_way & one_way.T).any():
        return None
    try:
        directed, undirected = apply_meek_rules(graph.directed | one_way, graph.undirected & ~one_way & ~one_way.T)
        extension = extend_consistently(Cpdag(None, directed, undirected))
    except InputError:
        return None
    kept = find_cpdag(extension) == graph and not mask.check(extension)
    return extension if kept else None


def _repair(dag: Bools, mask: Mask) -> Bools:
    """The edges that are allowed, and those required, less some of the former where they close a cycle."""
    strength = np.where(mask.required, 2.0, np.where(mask.allowed, dag, 0.0))
    return np.not_equal(threshold_components(strength).weights, 0)
