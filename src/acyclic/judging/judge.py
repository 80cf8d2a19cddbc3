"""judge(): from the weights that a learner found to the graph that is returned, and the verdict on it.

All learners go through here: what is cut, what prior knowledge changes, why a graph is empty and what orients an edge
is decided once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite, log, nan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from acyclic._native.watching import LONG
from acyclic.constraints.catalogue import constraint
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.discrete.categorical import Distributions
from acyclic.discrete.fitted import Fitted
from acyclic.discrete.rivals import Rivals
from acyclic.facts import Caution, Empty, Fact, Orientation, Removal, Standing
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import apply_meek_rules, find_compelled
from acyclic.graphs.pruning import Pruned, threshold_components, threshold_until_acyclic
from acyclic.judging.deciding import decided_beyond, find_worth
from acyclic.judging.verdict import Margin, Pair, Verdict
from acyclic.running import Solution
from acyclic.types import Bools, Floats

PRUNING: dict[str, tuple[Callable[..., Pruned], Removal]] = {
    "edges": (threshold_until_acyclic, Removal.WEAKEST),
    "components": (threshold_components, Removal.WEAKEST_ON_CYCLES),
}


@dataclass(frozen=True, eq=False)
class Found:
    """What a learner found, before it is judged.

    Attributes
    ----------
    solution : Solution
        The weights before any cut, and how the search for them ended.
    method, settings, details
        As in `Verdict`.
    orientation : Orientation
        What the method rests on; INDEPENDENCE claims the equivalence class only.
    threshold : float
    pruning : {"edges", "components"} or None
        Which edges go where cycles remain after the threshold; None if the weights are acyclic already.
    cost : Empty
        What keeps an edge out, if nothing else explains an empty graph: the L1 term or the price of an edge.
    empty : Fact of Empty, optional
        What the learner itself knows of why there is no weight.
    keep : callable, optional
        Which edges of an acyclic graph pass a further test, and the fact that removes the others.
    cautions : tuple of Fact of Caution
    rivals : Rivals, optional
        What the search met beside the graph of the solution's weights, if it compares graphs by a score.
    paid : float, optional
        What a parent cost, if that score is of lines and normal noise.
    by_edge : mapping of (source, target), by their positions, to Orientation
        What the method rests on for single edges, where that is not the same for all.
    mechanisms : Fitted or Distributions, optional
        The functions behind the edges, where these are not linear, or the distributions of categories.
    """

    solution: Solution
    method: str
    orientation: Orientation
    settings: Mapping[str, Any] = field(default_factory=dict)
    threshold: float = 0.0
    pruning: str | None = None
    cost: Empty = Empty.NO_GAIN
    empty: Fact[Empty] | None = None
    keep: Callable[[Bools], tuple[Bools, Fact[Removal]]] | None = None
    cautions: tuple[Fact[Caution], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    rivals: Rivals | None = None
    paid: float | None = None
    by_edge: Mapping[tuple[int, int], Orientation] = field(default_factory=dict)
    mechanisms: Fitted | Distributions | None = None


class Judged(NamedTuple):
    """The graph that is returned, what is said of it, and the rivals that it still has."""

    graph: Dag
    verdict: Verdict
    rivals: Rivals | None


def judge(table: Table, mask: Mask, found: Found) -> Judged:
    """The graph of what was found, obedient to prior knowledge and acyclic, with its verdict."""
    weights, cautions = obey(found.solution.weights, mask)
    cut = weights
    if found.threshold > 0:
        cut = np.where((np.abs(weights) < found.threshold) & ~mask.required, 0.0, weights)
    final, removed = _break_cycles(cut, mask, found.pruning)
    removed = [*_left_out(found.solution.weights, weights, mask), *removed]
    if found.keep is not None and final.any():
        final, untested = _keep_tested(final, mask, found.keep)
        removed += untested
    graph = Dag(final, table.names)
    rivals = keep_rivals(found.rivals, found.solution.weights != 0, graph.adjacency)
    near = log(max(table.moments.n, 1))
    paid = None if rivals is None else found.paid
    by_units = found.orientation is Orientation.EQUAL_VARIANCES
    worth = None if paid is None or by_units else find_worth(table.moments, final, mask)
    firm = decided_beyond(table.moments, paid, worth)
    near_ties = None if rivals is None else rivals.turned <= firm
    opposed = None if rivals is None else rivals.opposed
    support = orient_edges(graph, mask, found.orientation, near_ties, found.by_edge, opposed)
    margins = {} if rivals is None else _name_margins(graph, rivals)
    verdict = Verdict(
        method=found.method,
        settings=dict(found.settings),
        end=found.solution.end,
        orientation=found.orientation if graph.n_edges else Orientation.NO_EDGE,
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        h=0.0 if found.pruning is None else _measure_cycles(found.solution),
        threshold=float(found.threshold),
        n_cut=int(np.count_nonzero(weights) - np.count_nonzero(cut)),
        removed=tuple(removed),
        empty=None if graph.n_edges else _explain_empty(table.moments, mask, found, weights, removed),
        notes=table.notes,
        cautions=(*cautions, *found.cautions, *_count_open(found.orientation, support, margins, near, firm)),
        support=support,
        standing=() if rivals is None else (*_compare(rivals, near), *_say_price(paid, worth)),
        margins=margins,
        details={**found.details, **({} if rivals is None else {"a direction is decided beyond": firm})},
    )
    return Judged(graph, verdict, rivals)


def keep_rivals(rivals: Rivals | None, answer: Bools, graph: Bools) -> Rivals | None:
    """What holds of the rivals of a search's answer for the graph that is left of it.

    All of it where every edge is left. Where a threshold or a bound has removed some, what was proved of the answer,
    how many chains came to it and which classes are near it says nothing of this graph; only the margins of the edges
    that remain are kept, as those which they had beside the removed ones.
    """
    if rivals is None or not (answer & ~graph).any():
        return rivals
    turned, left_out = (np.where(graph, margins, nan) for margins in (rivals.turned, rivals.left_out))
    return Rivals(False, 0, 0, nan, turned, left_out, (), rivals.opposed)


def obey(weights: Floats, mask: Mask) -> tuple[Floats, list[Fact[Caution]]]:
    """Weights that obey prior knowledge to the letter, and a caution for each that had to be changed.

    A required edge to which the data give no weight is drawn with the smallest weight that its bounds allow.
    """
    if mask.is_free:
        return weights, []
    out_of_bounds = (weights < mask.lower) | (weights > mask.upper) | ~mask.allowed
    outside = (weights != 0) & ~mask.required & out_of_bounds
    missing = mask.required & (weights == 0)
    changed = mask.fill_required(np.where(outside, 0.0, weights))
    said = [
        Fact.of(Caution.OUT_OF_BOUNDS, mask.names[i], mask.names[j], weight=float(weights[i, j]))
        for i, j in np.argwhere(outside)
    ]
    said += [Fact.of(Caution.REQUIRED_WITHOUT_WEIGHT, mask.names[i], mask.names[j]) for i, j in np.argwhere(missing)]
    return changed, said


def orient_edges(
    graph: Dag,
    mask: Mask,
    orientation: Orientation,
    near_ties: Bools | None = None,
    by_edge: Mapping[tuple[int, int], Orientation] = MappingProxyType({}),
    opposed: Bools | None = None,
) -> dict[Pair, Orientation]:
    """What orients each edge.

    Prior knowledge where it requires the edge or forbids its reverse, or where that follows within the equivalence
    class; independence where the class compels it; else what the method rests on, for this edge or for all, which is
    nothing where it claims the class only. An edge among ``near_ties``, which a graph that is nearly as good turns, is
    told apart from those that are firm, and so is one that is ``opposed`` by another end of the search.
    """
    compelled_edges = find_compelled(graph)
    stated = graph.adjacency & (mask.required | ~mask.allowed.T)
    followed = _follow(graph.adjacency, stated, compelled_edges)
    by_class_only = orientation is Orientation.INDEPENDENCE
    rest = Orientation.UNDETERMINED if by_class_only else orientation
    tie = Orientation.CONTESTED if by_class_only else Orientation.NEAR_TIE
    support = {}
    for i, j in np.argwhere(graph.adjacency).tolist():
        found = Orientation.INDEPENDENCE if compelled_edges[i, j] else by_edge.get((i, j), rest)
        if followed[i, j]:
            found = Orientation.KNOWLEDGE
        if near_ties is not None and near_ties[i, j] and found is not Orientation.UNDETERMINED:
            found = tie
        elif opposed is not None and opposed[i, j] and found is not Orientation.UNDETERMINED:
            found = Orientation.UNSETTLED
        support[graph.names[i], graph.names[j]] = Orientation.KNOWLEDGE if stated[i, j] else found
    return support


def _follow(adjacency: Bools, stated: Bools, compelled: Bools) -> Bools:
    """Edges that the class leaves open, and that what is stated of others directs by Meek's rules."""
    free = adjacency & ~compelled & ~stated
    if not free.any() or not (stated & ~compelled).any():
        return np.zeros_like(adjacency)
    directed, _ = apply_meek_rules(adjacency & ~free, free | free.T)
    return np.asarray(directed & free)


def _name_margins(graph: Dag, rivals: Rivals) -> dict[Pair, Margin]:
    known = graph.adjacency & ~(np.isnan(rivals.turned) & np.isnan(rivals.left_out))
    return {
        (graph.names[i], graph.names[j]): Margin(*(_known(margin[i, j]) for margin in (rivals.turned, rivals.left_out)))
        for i, j in np.argwhere(known).tolist()
    }


def _known(margin: float) -> float | None:
    return None if np.isnan(margin) else float(margin)


def _compare(rivals: Rivals, near: float) -> tuple[Fact[Standing], ...]:
    """How the answer stands against other graphs; a class within ``near`` is a near-tie."""
    said = []
    if rivals.proved:
        said.append(Fact.of(Standing.PROVED))
    elif rivals.chains:
        said.append(Fact.of(Standing.CHAINS, chains=rivals.chains, agreeing=rivals.agreeing))
    gap = float(rivals.gap)
    if gap <= near:
        said.append(Fact.of(Standing.NEARLY_TIED, gap=gap, limit=near, kept=len(rivals.alternatives)))
    elif isfinite(gap):
        said.append(Fact.of(Standing.AHEAD, gap=gap, limit=near))
    return tuple(said)


def _say_price(paid: float | None, worth: float | None) -> tuple[Fact[Standing], ...]:
    return () if paid is None or worth is None else (Fact.of(Standing.PRICED, price=paid, worth=worth),)


def _count_open(
    orientation: Orientation,
    support: Mapping[Pair, Orientation],
    margins: Mapping[Pair, Margin],
    near: float,
    firm: float,
) -> list[Fact[Caution]]:
    """How many edges are firm, how many are near-ties, and how many point either way."""
    edges, kinds, said = len(support), list(support.values()), []
    if edges and orientation is Orientation.INDEPENDENCE:
        compelled, free = kinds.count(Orientation.INDEPENDENCE), kinds.count(Orientation.UNDETERMINED)
        said.append(Fact.of(Caution.CLASS_ONLY, compelled=compelled, edges=edges, open=free))
    if ties := sum(kind.is_near_tie for kind in kinds):
        said.append(Fact.of(Caution.NEAR_TIES, count=ties, edges=edges, limit=firm))
    if weak := sum(margin.left_out is not None and margin.left_out <= near for margin in margins.values()):
        said.append(Fact.of(Caution.DISPENSABLE, count=weak, edges=edges, limit=near))
    return said


def _measure_cycles(solution: Solution) -> float:
    if solution.end.kind.stopped and len(solution.weights) ** 3 >= LONG:
        return nan  # who stopped a long run does not wait for this
    return float(constraint("fast-geometric").value_and_gradient(solution.weights**2)[0])


def _break_cycles(cut: Floats, mask: Mask, pruning: str | None) -> tuple[Floats, list[Fact[Removal]]]:
    if pruning is None:
        return cut, []
    prune, rule = PRUNING[pruning]
    # Required edges are acyclic among themselves: with the largest weights of all they are never the weakest.
    shielded = prune(np.where(mask.required, np.finfo(float).max, cut))
    removed = [_removal(rule, mask, i, j, cut[i, j]) for i, j, _ in shielded.removed]
    return np.where(shielded.weights != 0, cut, 0.0), removed


def _left_out(weights: Floats, obedient: Floats, mask: Mask) -> list[Fact[Removal]]:
    gone = np.argwhere((weights != 0) & (obedient == 0))
    return [_removal(Removal.OUT_OF_BOUNDS, mask, i, j, weights[i, j]) for i, j in gone.tolist()]


def _keep_tested(
    weights: Floats, mask: Mask, keep: Callable[[Bools], tuple[Bools, Fact[Removal]]]
) -> tuple[Floats, list[Fact[Removal]]]:
    kept, why = keep(weights != 0)
    gone = np.argwhere((weights != 0) & ~kept).tolist()
    removed = [
        Fact(why.kind, (mask.names[i], mask.names[j]), (("weight", float(weights[i, j])), *why.values)) for i, j in gone
    ]
    return np.where(kept, weights, 0.0), removed


def _removal(kind: Removal, mask: Mask, i: int, j: int, weight: float) -> Fact[Removal]:
    return Fact.of(kind, mask.names[i], mask.names[j], weight=float(weight))


def _explain_empty(
    moments: Moments, mask: Mask, found: Found, weights: Floats, removed: list[Fact[Removal]]
) -> Fact[Empty]:
    S = moments.covariance
    if len(S) == 1:
        return Fact.of(Empty.ONE_COLUMN)
    if not mask.allowed.any():
        return Fact.of(Empty.ALL_FORBIDDEN)
    if np.count_nonzero(S) == np.count_nonzero(S.diagonal()):
        return Fact.of(Empty.UNCORRELATED)
    if any(fact.kind is Removal.F_TEST for fact in removed):
        return Fact.of(Empty.UNTESTED)
    if weights.any():
        largest = float(np.abs(weights).max())
        return Fact.of(Empty.BELOW_THRESHOLD, largest=largest, threshold=float(found.threshold))
    if found.solution.weights.any():
        return Fact.of(Empty.OUT_OF_BOUNDS)
    if found.empty is not None:
        return found.empty
    return Fact.of(found.cost if found.solution.converged else Empty.ENDED_EARLY)
