"""How far an estimate is from the true graph, each count and denominator defined in one place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from acyclic.errors import InputError, show_name
from acyclic.facts import Difference, Fact
from acyclic.graphs.checks import EdgeDirection, orient_matrix
from acyclic.graphs.cycles import find_cycle, is_acyclic
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag
from acyclic.graphs.foreign import has_graph, read_graph
from acyclic.graphs.reachability import close_transitively
from acyclic.graphs.showing import Shown
from acyclic.graphs.sortability import r2_sortability, varsortability
from acyclic.ranges import check_parameters, one_of
from acyclic.types import Bools, Floats

__all__ = ["Comparison", "EdgeScores", "compare", "r2_sortability", "shd", "shd_cpdag", "varsortability"]

Graph = Dag | Cpdag | ArrayLike
# Edges or nodes that a text names before it counts the rest.
MOST_NAMED = 10
# gadjid's o-set AID takes some 0.35 µs for each node that lies between two others on a directed path: 7 s.
MOST_BETWEEN = 2e7


@dataclass(frozen=True)
class EdgeScores:
    """Counts of right and wrong edges, and the rates made of them; `compare` defines each."""

    shd: int
    fdr: float
    tpr: float
    fpr: float
    n_true: int
    n_estimated: int
    true_positive: int
    reversed: int
    false_positive: int
    missing: int


@dataclass(frozen=True)
class Comparison(EdgeScores, Shown):
    """An estimate measured against the true DAG; `compare` defines each number.

    The numbers of `EdgeScores` that are attributes here take an undirected edge as both arcs ("raw");
    `favourable` holds them with an undirected edge on a true adjacency taken as correct. They are the same
    for an estimate without undirected edges. None stands for what is not defined, and `notes` say why.
    """

    shd_cpdag: int | None
    sid: int | None
    parent_aid: int | None
    ancestor_aid: int | None
    oset_aid: int | None
    favourable: EdgeScores
    notes: tuple[str, ...]
    differences: tuple[Fact[Difference], ...] = ()
    only_in_truth: tuple[str, ...] = ()
    only_in_estimate: tuple[str, ...] = ()

    def table(self) -> list[dict[str, Any]]:
        """One row per edge that differs, named as the truth has it where it does."""
        return [
            {"source": a, "target": b, "difference": fact.kind.value}
            for fact in self.differences
            for a, b in [fact.about]
        ]

    def edges(self, kind: Difference | str) -> list[tuple[str, str]]:
        """The edges that differ in one way: missing, extra, turned or undirected."""
        chosen = Difference(kind)
        return [(fact.about[0], fact.about[1]) for fact in self.differences if fact.kind is chosen]

    def __str__(self) -> str:
        distances = {
            "SHD": self.shd,
            "SHD of CPDAGs": self.shd_cpdag,
            "SID": self.sid,
            "parent AID": self.parent_aid,
            "ancestor AID": self.ancestor_aid,
            "o-set AID": self.oset_aid,
        }
        lines = [
            f"{self.n_true} true edges, {self.n_estimated} estimated: {self.true_positive} right, "
            f"{self.reversed} reversed, {self.false_positive} false, {self.missing} missing",
            f"FDR {self.fdr:.3f}, TPR {self.tpr:.3f}, FPR {self.fpr:.3f}",
            ", ".join(f"{label} {'–' if value is None else value}" for label, value in distances.items()),
        ]
        if (self.favourable.shd, self.favourable.true_positive) != (self.shd, self.true_positive):
            lines.append(
                f"undirected edges on true adjacencies taken as correct: SHD {self.favourable.shd}, "
                f"FDR {self.favourable.fdr:.3f}, TPR {self.favourable.tpr:.3f}, FPR {self.favourable.fpr:.3f}"
            )
        for kind in Difference:
            edges = [" → ".join(map(show_name, pair)) for pair in self.edges(kind)]
            lines += [f"{kind.capitalize()}: {_list_some(edges)}"] if edges else []
        for names, where in ((self.only_in_truth, "truth"), (self.only_in_estimate, "estimate")):
            listed = _list_some([*map(show_name, names)])
            lines += [f"Only the {where} names {listed}: isolated in the other"] if names else []
        return "\n".join([*lines, *self.notes])


def compare(
    truth: Graph,
    estimate: Graph,
    *,
    reversal: int = 1,
    edge_direction: EdgeDirection | None = None,
    nodes: Literal["same", "union"] = "same",
) -> Comparison:
    """Measure an estimated graph against the true DAG.

    With d nodes, T the true edges and E the estimated arcs (an undirected edge is two arcs in the raw
    scoring, and one edge of its own kind in the favourable one):

    ================  =============================================================================
    n_true            number of edges in T
    n_estimated       number of arcs in E (favourable: directed plus undirected edges)
    true_positive     arcs of E in T (favourable: plus undirected edges whose ends are joined in T)
    reversed          arcs of E that are not in T but whose flip is
    false_positive    arcs of E whose ends are not joined in T
    missing           edges of T whose ends are not joined in E
    fdr               (reversed + false_positive) / max(n_estimated, 1)
    tpr               true_positive / max(n_true, 1)
    fpr               (reversed + false_positive) / max(d(d−1)/2 − n_true, 1); it can exceed 1
    shd               pairs joined in E but not in T + missing + reversed
    shd_cpdag         pairs of nodes between which the CPDAGs of T and E differ
    sid               ordered pairs (i, j) for which adjusting for the parents of i in E gives a wrong
                      effect of i on j in T, for DAGs (Peters & Bühlmann 2015)
    parent_aid        the same, where E may also be a CPDAG (Henckel, Würtzen & Weichwald 2024); from
                      the package gadjid. Out of d(d−1) ordered pairs
    ancestor_aid      the same with the ancestors of i in E
    oset_aid          the same with the optimal set of i in E
    ================  =============================================================================

    The first block are the definitions of the published NOTEARS code.

    Parameters
    ----------
    truth : Dag, or array_like of shape (d, d)
        Must be acyclic.
    estimate : Dag, Cpdag, array_like of shape (d, d), Result, or a fitted estimator
        An array may have cycles and both arcs between two nodes; what needs a DAG is then None, with a note.
        Named graphs are matched by name; an array has the node order of the named graph. An estimator of any package
        keeps its graph under one of the names that `acyclic.Foreign` lists; ``truth`` may be one too.
    reversal : {1, 2}
        What an edge of T that E has only the other way round adds to `shd`. An undirected edge on a true
        adjacency always adds 1 in the raw scoring.
    edge_direction : {"from row to column", "from column to row"}
        Needed if an array is given, and holds for both arguments.
    nodes : {"same", "union"}
        Whether both have to name the same nodes, or a node that only one names counts as isolated in the other, as in
        lists of edges; the result then says which.

    Examples
    --------
    >>> truth = Dag.from_edges([("a", "b"), ("b", "c")], names=["a", "b", "c"])
    >>> estimate = Dag.from_edges([("b", "a"), ("b", "c")], names=["a", "b", "c"])
    >>> result = compare(truth, estimate)
    >>> result.shd, result.shd_cpdag, result.fdr, result.tpr
    (1, 0, 0.5, 0.5)
    >>> result.edges("turned")
    [('a', 'b')]
    """
    _check_reversal(reversal)
    check_parameters({"nodes": nodes}, {"nodes": one_of("same", "union")})
    truth, estimate, edge_direction = _take_graphs(truth, estimate, edge_direction)
    only = ((), ()) if nodes == "same" else _find_lonely(truth, estimate)
    if any(only):
        truth, estimate = _complete(truth, only[1]), _complete(estimate, only[0])
    true, guess = _align(truth, estimate, edge_direction)
    directed, undirected = _split_edges(guess)
    n_different, notes = _measure_class_distance(true, guess)
    adjustment, more_notes = _measure_adjustment_distances(true, guess)
    return Comparison(
        **vars(_score_edges(true.adjacency, directed | undirected, np.zeros_like(undirected), reversal)),
        favourable=_score_edges(true.adjacency, directed, undirected, reversal),
        shd_cpdag=n_different,
        notes=notes + more_notes,
        differences=tuple(_list_differences(true, directed, undirected)),
        only_in_truth=only[0],
        only_in_estimate=only[1],
        **adjustment,
    )


def shd(truth: Graph, estimate: Graph, *, reversal: int = 1, edge_direction: EdgeDirection | None = None) -> int:
    """Structural Hamming distance from the true DAG, an undirected edge taken as both arcs; see `compare`.

    Examples
    --------
    >>> shd([[0, 1], [0, 0]], [[0, 0], [1, 0]], edge_direction="from row to column")
    1
    """
    _check_reversal(reversal)
    true, guess = _align(*_take_graphs(truth, estimate, edge_direction))
    directed, undirected = _split_edges(guess)
    return _score_edges(true.adjacency, directed | undirected, np.zeros_like(undirected), reversal).shd


def shd_cpdag(first: Graph, second: Graph, *, edge_direction: EdgeDirection | None = None) -> int:
    """Count the pairs of nodes between which two CPDAGs differ.

    Between two nodes there is no edge, one in either direction, or an undirected one.
    A Dag or an acyclic array stands for its CPDAG; a Cpdag is taken as it is.

    Examples
    --------
    >>> chain, fork = [[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 0, 1], [0, 0, 0]]
    >>> shd_cpdag(chain, fork, edge_direction="from row to column")
    0
    """
    names = _find_names(first, second)
    classes = [
        graph if isinstance(graph, Cpdag) else _read_dag(graph, names, edge_direction).cpdag()
        for graph in (first, second)
    ]
    differ = classes[0].arcs != classes[1].reordered(classes[0].names).arcs
    return _count_pairs(differ | differ.T)


def _take_graphs(
    truth: Any, estimate: Any, edge_direction: EdgeDirection | None
) -> tuple[Graph, Graph, EdgeDirection | None]:
    """The graphs of fitted estimators and results in their place; what is a graph or an array stays as it is."""
    given = [one.graph if isinstance(getattr(one, "graph", None), Dag) else one for one in (truth, estimate)]
    names = _find_names(*given)
    for position, one in enumerate(given):
        if not isinstance(one, Dag | Cpdag) and has_graph(one):
            found = read_graph(one, names)
            if not isinstance(found, Dag | Cpdag):
                edge_direction = edge_direction or "from row to column"
                found = found if edge_direction == "from row to column" else found.T
            given[position] = found
    return given[0], given[1], edge_direction


def _find_lonely(truth: Graph, estimate: Graph) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes that only the one and only the other names."""
    if not isinstance(truth, Dag | Cpdag) or not isinstance(estimate, Dag | Cpdag):
        return (), ()
    if not set(truth.names) & set(estimate.names):
        raise InputError(
            f"the two graphs share no node: one has {_list_some([*map(show_name, truth.names)])}, the other "
            f"{_list_some([*map(show_name, estimate.names)])}; rename the nodes of one"
        )
    first, second = set(truth.names), set(estimate.names)
    only_first = tuple(name for name in truth.names if name not in second)
    return only_first, tuple(name for name in estimate.names if name not in first)


def _complete(graph: Graph, names: tuple[str, ...]) -> Graph:
    """The same graph with further nodes, without edges."""
    if isinstance(graph, Dag):
        return Dag.from_edges(graph.edges(), (*graph.names, *names))
    if isinstance(graph, Cpdag):
        return Cpdag.from_edges(graph.directed_edges(), graph.undirected_edges(), (*graph.names, *names))
    return graph


def _list_differences(true: Dag, directed: Bools, undirected: Bools) -> Iterator[Fact[Difference]]:
    """The edges that are not the same, those of the truth first."""
    truth, both = true.adjacency, undirected | (directed & directed.T)
    either = directed | undirected
    where = {
        Difference.MISSING: truth & ~(either | either.T),
        Difference.EXTRA: (directed & ~both | np.triu(both)) & ~(truth | truth.T),
        Difference.TURNED: truth & directed.T & ~both,
        Difference.UNDIRECTED: truth & both,
    }
    for kind, edges in where.items():
        yield from (Fact.of(kind, true.names[i], true.names[j]) for i, j in np.argwhere(edges).tolist())


def _list_some(words: Sequence[str]) -> str:
    return ", ".join(words[:MOST_NAMED]) + (f" and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else "")


def _check_reversal(reversal: int) -> None:
    if reversal not in (1, 2):
        raise InputError(f"reversal is {reversal!r}; a reversed edge can count 1 or 2 in the SHD")


def _find_names(*graphs: Graph) -> tuple[str, ...] | None:
    return next((graph.names for graph in graphs if isinstance(graph, Dag | Cpdag)), None)


def _read_matrix(array: ArrayLike, names: tuple[str, ...] | None, edge_direction: EdgeDirection | None) -> Floats:
    if edge_direction is None:
        raise InputError(
            "edge_direction must be said for an array: 'from row to column' if matrix[i, j] is the edge "
            "i → j, 'from column to row' if it is j → i"
        )
    matrix = orient_matrix(array, edge_direction)
    if names is not None and len(names) != len(matrix):
        raise InputError(f"the two graphs have {len(names)} and {len(matrix)} nodes; they must have the same")
    return matrix


def _read_dag(graph: Dag | ArrayLike, names: tuple[str, ...] | None, edge_direction: EdgeDirection | None) -> Dag:
    return graph if isinstance(graph, Dag) else Dag(_read_matrix(graph, names, edge_direction), names)


def _align(truth: Graph, estimate: Graph, edge_direction: EdgeDirection | None) -> tuple[Dag, Dag | Cpdag | Bools]:
    """Give the true DAG and, in its node order, the estimate: raw arcs if they have a cycle."""
    if isinstance(truth, Cpdag):
        raise InputError("the truth must be one DAG; shd_cpdag compares two equivalence classes")
    true = _read_dag(truth, _find_names(estimate), edge_direction)
    if isinstance(estimate, Dag | Cpdag):
        return true, estimate.reordered(true.names)
    matrix = _read_matrix(estimate, true.names, edge_direction)
    return true, Dag(matrix, true.names) if is_acyclic(matrix) else matrix != 0


def _split_edges(graph: Dag | Cpdag | Bools) -> tuple[Bools, Bools]:
    if isinstance(graph, Cpdag):
        return graph.directed, graph.undirected
    arcs = graph.adjacency if isinstance(graph, Dag) else graph
    return arcs, np.zeros_like(arcs)


def _count_pairs(symmetric: Bools) -> int:
    return int(np.count_nonzero(np.tril(symmetric)))


def _score_edges(true: Bools, directed: Bools, undirected: Bools, reversal: int) -> EdgeScores:
    joined_true = true | true.T
    joined = directed | directed.T | undirected
    flipped = directed & true.T
    n_true, n_reversed = int(np.count_nonzero(true)), int(np.count_nonzero(flipped))
    n_estimated = int(np.count_nonzero(directed)) + _count_pairs(undirected)
    true_positive = int(np.count_nonzero(directed & true)) + _count_pairs(undirected & joined_true)
    false_positive = n_estimated - true_positive - n_reversed
    missing = _count_pairs(joined_true & ~joined)
    wholly_reversed = int(np.count_nonzero(flipped & ~directed.T))
    n_pairs = len(true) * (len(true) - 1) // 2
    return EdgeScores(
        shd=_count_pairs(joined & ~joined_true) + missing + n_reversed + (reversal - 1) * wholly_reversed,
        fdr=(n_reversed + false_positive) / max(n_estimated, 1),
        tpr=true_positive / max(n_true, 1),
        fpr=(n_reversed + false_positive) / max(n_pairs - n_true, 1),
        n_true=n_true,
        n_estimated=n_estimated,
        true_positive=true_positive,
        reversed=n_reversed,
        false_positive=false_positive,
        missing=missing,
    )


def _measure_class_distance(true: Dag, guess: Dag | Cpdag | Bools) -> tuple[int | None, tuple[str, ...]]:
    if isinstance(guess, Dag | Cpdag):
        return shd_cpdag(true, guess), ()
    nodes = find_cycle(guess) or ()
    cycle = " → ".join(show_name(true.names[node]) for node in (*nodes, *nodes[:1]))
    note = f"the SHD of CPDAGs is not defined: the estimate has the cycle {cycle}"
    hint = " (if two arcs mean an undirected edge, give Cpdag.from_arcs(…))" if len(nodes) == 2 else ""
    return None, (note + hint,)


def _measure_adjustment_distances(true: Dag, guess: Dag | Cpdag | Bools) -> tuple[dict[str, Any], tuple[str, ...]]:
    distances: dict[str, Any] = dict.fromkeys(("sid", "parent_aid", "ancestor_aid", "oset_aid"))
    if not isinstance(guess, Dag | Cpdag):
        return distances, ("SID and AID are not defined for an estimate with a cycle",)
    if isinstance(guess, Cpdag) and not guess.is_complete:
        return distances, ("SID and AID are not defined: the estimate is not the CPDAG of any DAG",)
    directed, undirected = _split_edges(guess)
    notes: tuple[str, ...] = (
        ("SID is defined for DAGs, and the estimate has undirected edges",) if undirected.any() else ()
    )
    wanted = [name for name in distances if name != "sid" or not notes]
    if true.n_nodes == 1:
        return distances | dict.fromkeys(wanted, 0), notes
    try:
        import gadjid
    except ImportError:
        return distances, ("SID and AID need gadjid; install it with: pip install 'acyclic[metrics]'",)
    matrices = true.adjacency.astype(np.int8), directed.astype(np.int8) + 2 * undirected.astype(np.int8)
    if _count_between(directed | undirected) > MOST_BETWEEN:
        wanted.remove("oset_aid")
        notes += ("the o-set AID was left out: on paths as long as these it takes minutes to hours (gadjid.oset_aid)",)
    for name in wanted:
        distances[name] = int(getattr(gadjid, name)(*matrices, edge_direction="from row to column")[1])
    return distances, notes


def _count_between(arcs: Bools) -> float:
    """Over all pairs of nodes, how many lie between them on directed paths."""
    reaches = close_transitively(arcs)
    return float(reaches.sum(axis=0, dtype=float) @ reaches.sum(axis=1, dtype=float))
