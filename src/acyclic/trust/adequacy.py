"""Whether the rows bear out the independencies that a graph implies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng
from threadpoolctl import threadpool_limits

from acyclic.data.table import Table
from acyclic.deadline import Deadline
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact, Remark, cut_short
from acyclic.findings import Findings
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag, extend_consistently
from acyclic.graphs.reachability import close_transitively
from acyclic.graphs.showing import Shown
from acyclic.judging import words
from acyclic.learners import DagLearner
from acyclic.ranges import (
    NAMES,
    NONE,
    SECONDS,
    SEEDS,
    SHARE,
    TEXT,
    a_fact,
    check_document,
    each,
    number,
    one_of,
    record,
    takes,
    whole,
)
from acyclic.scores.independence import combine_p_values
from acyclic.trust.claims import Examiner, Mechanisms, make_examiner, most_claims
from acyclic.types import Bools

__all__ = ["Adequacy", "Claim", "markov_check"]

FORMAT = "acyclic adequacy 1"
# The chance that any claim of a right graph is called violated.
LEVEL = 0.05
# A p-value of all claims together below this speaks against a graph.
CLEAR = 0.01
# So many of the claims that fit worst are kept.
MOST_SHOWN = 20
_CLAIM = record({"node": TEXT, "other": TEXT, "given": NAMES, "p_value": SHARE, "strength": number(least=0)})
SHAPE = record(
    {
        "format": one_of(FORMAT),
        "p_value": SHARE | NONE,
        "tested": whole(least=0),
        "implied": whole(least=0),
        "violations": whole(least=0),
        "mechanisms": one_of("linear", "curved", "counts"),
        **dict.fromkeys(("worst", "violated", "hidden"), each(_CLAIM)),
        "nodes": record({}),
        "rows": number(least=0),
        "end": a_fact(Ended),
        "notes": each(a_fact(Remark)),
    },
    {"held_out": SHARE | NONE},
)


@dataclass(frozen=True)
class Claim:
    """That two columns are independent given others, and what the rows say to it.

    Attributes
    ----------
    node, other : str
        The columns.
    given : tuple of str
        The parents of ``node``; of a pair of residuals nothing.
    p_value : float
        Of this claim alone.
    strength : float
        How strong the dependence looks, from 0 to 1: the partial correlation, or what is like it for curves and levels.

    Examples
    --------
    >>> Claim("rain", "wet", ("month",), p_value=0.003, strength=0.2).given
    ('month',)
    """

    node: str
    other: str
    given: tuple[str, ...]
    p_value: float
    strength: float

    def __str__(self) -> str:
        return words.say_claim(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self.__dict__, "given": list(self.given)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Claim:
        """The inverse of `to_dict`."""
        ends = str(plain["node"]), str(plain["other"])
        return cls(*ends, tuple(plain["given"]), float(plain["p_value"]), float(plain["strength"]))


@dataclass(frozen=True)
class Adequacy(Shown):
    """Whether rows bear out the independencies that a graph implies; ``str()`` is prose.

    Attributes
    ----------
    p_value : float
        Of all claims together: uniform if the graph is right, and was not learned from these rows. nan without claims.
    tested, implied : int
        Claims that were tested, and that the graph makes: each node against each of its non-descendants, given its
        parents.
    violations : int
        How many of the claims fail beyond chance: a right graph has one with a probability of 5 % at most (Holm).
    violated : tuple of Claim
        The worst of those, 20 at most.
    worst : tuple of Claim
        The claims with the smallest p-values, violated or not.
    hidden : tuple of Claim
        Pairs that no edge joins but whose residuals depend on each other beyond chance: an edge that was left out, or a
        hidden common cause.
    nodes : mapping of str to float
        The p-value of all claims of each node.
    mechanisms : "linear", "curved" or "counts"
        How the tests take columns to depend on their parents.
    rows : float
        How many rows the tests are of.
    held_out : float, optional
        The p-value of a graph that the same learner learned from one half of the rows, tested on the other half: it is
        honest where the graph was learned from these rows. None where that was not done.
    end : Fact of Ended
        How the tests ended.
    notes : tuple of Fact of Remark
        What else a reader should know: that the graph was learned from the same rows, what was sampled.

    Examples
    --------
    >>> from acyclic import Dag, markov_check, simulate
    >>> data = simulate(n_nodes=4, n=500, graph="ER1", random_state=2)
    >>> found = markov_check(Dag.from_edges([], data.names), data.X)  # as if no column drove another
    >>> found.fits, found.violations > 0
    (False, True)
    """

    p_value: float
    tested: int
    implied: int
    violations: int = 0
    violated: tuple[Claim, ...] = ()
    worst: tuple[Claim, ...] = ()
    hidden: tuple[Claim, ...] = ()
    nodes: Mapping[str, float] = field(default_factory=dict)
    mechanisms: Mechanisms = "linear"
    rows: float = 0.0
    held_out: float | None = None
    end: Fact[Ended] = Fact(Ended.COMPLETE)  # noqa: RUF009 - immutable
    notes: tuple[Fact[Remark], ...] = ()

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against the graph: no claim is violated, nor all of them together at 1 %."""
        held = [p for p in (self.p_value, self.held_out) if p is not None and not np.isnan(p)]
        return not self.violations and all(p >= CLEAR for p in held)

    def table(self) -> list[dict[str, Any]]:
        """The claims that fit worst, one row each, and whether they fail beyond chance."""
        failed = {(claim.node, claim.other) for claim in self.violated}
        return [
            {**claim.to_dict(), "given": ", ".join(claim.given), "violated": (claim.node, claim.other) in failed}
            for claim in self.worst
        ]

    def __str__(self) -> str:
        return words.say_adequacy(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        shown = {name: [claim.to_dict() for claim in getattr(self, name)] for name in ("worst", "violated", "hidden")}
        return {
            "format": FORMAT,
            "p_value": None if np.isnan(self.p_value) else self.p_value,
            "tested": self.tested,
            "implied": self.implied,
            "violations": self.violations,
            "mechanisms": self.mechanisms,
            **shown,
            "nodes": dict(self.nodes),
            "rows": self.rows,
            "held_out": self.held_out,
            "end": self.end.to_dict(),
            "notes": [note.to_dict() for note in self.notes],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Adequacy:
        """The inverse of `to_dict`."""
        check_document(plain, SHAPE, "this is no adequacy of acyclic")
        shown: dict[str, Any] = {
            name: tuple(map(Claim.from_dict, plain[name])) for name in ("worst", "violated", "hidden")
        }
        held_out = plain.get("held_out")
        return cls(
            p_value=float("nan") if plain["p_value"] is None else float(plain["p_value"]),
            tested=int(plain["tested"]),
            implied=int(plain["implied"]),
            violations=int(plain["violations"]),
            **shown,
            nodes={str(name): float(p) for name, p in plain["nodes"].items()},
            mechanisms=plain["mechanisms"],
            rows=float(plain["rows"]),
            held_out=None if held_out is None else float(held_out),
            end=Fact.from_dict(Ended, plain["end"]),
            notes=tuple(Fact.from_dict(Remark, note) for note in plain["notes"]),
        )


@takes(
    mechanisms=one_of("linear", "curved", "counts") | NONE,
    random_state=SEEDS,
    time_limit=SECONDS,
)
def markov_check(
    graph: Findings | Dag | Cpdag | DagLearner,
    table: Any = None,
    *,
    mechanisms: Mechanisms | None = None,
    random_state: int | SeedSequence = 0,
    time_limit: float | Deadline | None = None,
) -> Adequacy:
    """Test the independencies that a graph implies on the rows of a table.

    A graph claims that each node is independent of each of its non-descendants given its parents, and nothing that does
    not follow from this (the local Markov property). Where the graph is right, and was not learned from these rows, the
    p-values are uniform. Small ones say that edges are missing or point the wrong way, or that columns have causes that
    the table does not hold. Large ones do not say that the graph is right: one with too many edges claims little.

    Numbers are compared by the products of what the parents leave of them, whatever the shape of the noise; categories
    among them by the indicators of their levels, a table of categories alone by counts. Where mechanisms are curved,
    parents take sums of curves and, if that is likelier, a smooth function of all of them together: what is fitted
    of neither column would look like a dependence. Curves and categories are also compared in rows in which the parents
    of both columns are alike: these may turn a dependence round. The p-values are combined by the Cauchy combination,
    which allows for their dependence. So many claims that they would take longer than some seconds are sampled, as are
    rows; ``notes`` says so.

    Parameters
    ----------
    graph : Result, Dag, Cpdag or fitted learner
        A `Cpdag` is tested by one of its members: all of them imply the same independencies.
    table : array-like, frame, Moments, path, or what `read_table` returns
        If left out, the table that the result was learned from, where it is still at hand. Without rows, the tests are
        those of partial correlations.
    mechanisms : {"linear", "curved", "counts"}, optional
        How columns depend on their parents. If left out: counts where all columns are categories, curved where curves
        explain more along the edges of the graph, else linear.
    random_state : int or SeedSequence
        Of the claims that are sampled.
    time_limit : float, optional
        Seconds after which the claims tested so far are returned.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> from acyclic.graphs.dag import Dag
    >>> data = simulate(n_nodes=8, n=1000, random_state=1)
    >>> right = markov_check(data.graph, data.X)
    >>> weights = data.graph.weights.copy()
    >>> weights[tuple(np.argwhere(weights)[0])] = 0  # leave out an edge
    >>> wrong = markov_check(Dag(weights), data.X)
    >>> right.fits, wrong.fits, wrong.p_value < 1e-6
    (True, False, True)
    """
    deadline = time_limit if isinstance(time_limit, Deadline) else Deadline(time_limit)
    dag, source, same = _understand(graph, table)
    descends = close_transitively(dag.adjacency)
    open_claims = ~(descends | dag.adjacency.T) & ~np.eye(dag.n_nodes, dtype=bool)
    constant = source.moments.constant
    open_claims[constant], open_claims[:, constant] = False, False
    implied = int(open_claims.sum())
    # NumPy and SciPy each bring a BLAS whose threads wait in the other's way: with two of them it takes twice as long.
    with threadpool_limits(1):
        examiner = make_examiner(source, dag.adjacency, mechanisms, implied)
        chosen = _sample(open_claims, most_claims(examiner), random_state)
        claims, end = _examine(examiner, dag, chosen, deadline)
        notes = _remark(examiner, source, len(claims), implied, int(chosen.sum()), end, same=same)
        hidden, end = _find_hidden(examiner, dag, constant, deadline, end)
    ranked = sorted(claims, key=lambda claim: claim.p_value)
    failed = _reject(ranked)
    return Adequacy(
        p_value=combine_p_values(np.array([claim.p_value for claim in claims])),
        tested=len(claims),
        implied=implied,
        violations=len(failed),
        violated=tuple(failed[:MOST_SHOWN]),
        worst=tuple(ranked[:MOST_SHOWN]),
        hidden=tuple(hidden[:MOST_SHOWN]),
        nodes=_by_node(claims),
        mechanisms=examiner.mechanisms,
        rows=examiner.n,
        end=end,
        notes=tuple(notes),
    )


def _understand(graph: Any, table: Any) -> tuple[Dag, Table, bool]:
    """The graph over the columns of the table, the table, and whether the graph was learned from it."""
    if isinstance(graph, Findings):
        dag, learned_from = graph.graph, graph.provenance.get("data")
        table = graph.table if table is None else table
    elif isinstance(graph, DagLearner):
        dag, learned_from = graph.causal_graph_, getattr(graph, "digest_", None)
    elif isinstance(graph, Cpdag):
        dag, learned_from = Dag(extend_consistently(graph), graph.names), None
    elif isinstance(graph, Dag):
        dag, learned_from = graph, None
    else:
        raise InputError(f"graph is {type(graph).__name__}; give a Result, a Dag, a Cpdag or a fitted learner")
    if table is None:
        raise InputError("there is no table to test the graph on; give the one that it was learned from, or another")
    source = Table.open(table)
    if absent := [name for name in dag.names if name not in source.names]:
        raise InputError(f"the table has no column {absent[0]!r}, which the graph has")
    return dag, source.select(dag.names), source.digest == learned_from


def _sample(claims: Bools, most: int, random_state: int | SeedSequence) -> Bools:
    """At most so many of the claims, at random."""
    places = np.flatnonzero(claims)
    if len(places) <= most:
        return claims
    kept = np.zeros(claims.size, dtype=bool)
    kept[default_rng(random_state).choice(places, most, replace=False)] = True
    return kept.reshape(claims.shape)


def _examine(examiner: Examiner, dag: Dag, claims: Bools, deadline: Deadline) -> tuple[list[Claim], Fact[Ended]]:
    """Test ``claims[node, other]``, node by node."""
    found: list[Claim] = []
    for node in np.flatnonzero(claims.any(axis=1)).tolist():
        if deadline.passed():
            return found, deadline.end()
        others, parents = np.flatnonzero(claims[node]), np.flatnonzero(dag.adjacency[:, node])
        given = tuple(dag.names[i] for i in parents)
        for other, told in zip(others, examiner.compare(node, others, parents)):
            found.append(Claim(dag.names[node], dag.names[other], given, *told))
    return found, Fact.of(Ended.COMPLETE)


def _find_hidden(
    examiner: Examiner, dag: Dag, constant: Bools, deadline: Deadline, end: Fact[Ended]
) -> tuple[list[Claim], Fact[Ended]]:
    """Pairs that are not joined but whose residuals depend, the worst first."""
    apart = np.triu(~(dag.adjacency | dag.adjacency.T), 1)
    apart[constant], apart[:, constant] = False, False
    pairs = np.argwhere(_sample(apart, most_claims(examiner), 0))
    if end.kind.stopped or not len(pairs):
        return [], end
    if deadline.passed():
        return [], deadline.end()
    told = examiner.compare_residuals(pairs)
    found = [Claim(dag.names[i], dag.names[j], (), *one) for (i, j), one in zip(pairs, told)]
    return _reject(sorted(found, key=lambda claim: claim.p_value)), end


def _reject(ranked: list[Claim]) -> list[Claim]:
    """Those of the claims, the worst first, that fail beyond chance, by Holm's rule."""
    for position, claim in enumerate(ranked):
        if claim.p_value * (len(ranked) - position) >= LEVEL:
            return ranked[:position]
    return ranked


def _by_node(claims: list[Claim]) -> dict[str, float]:
    gathered: dict[str, list[float]] = {}
    for claim in claims:
        gathered.setdefault(claim.node, []).append(claim.p_value)
    return {name: combine_p_values(np.array(values)) for name, values in gathered.items()}


def _remark(
    examiner: Examiner, table: Table, tested: int, implied: int, chosen: int, end: Fact[Ended], *, same: bool
) -> list[Fact[Remark]]:
    said: list[Fact[Remark]] = []
    if same:
        said.append(Fact.of(Remark.SAME_ROWS))
    if not table.has_rows:
        said.append(Fact.of(Remark.PARTIAL_CORRELATIONS))
    if chosen < implied:
        said.append(Fact.of(Remark.CLAIMS_SAMPLED, chosen=chosen, implied=implied))
    if examiner.n < table.moments.n:
        said.append(Fact.of(Remark.ROWS_SAMPLED, rows=int(examiner.n), of=int(table.moments.n)))
    if end.kind.stopped:
        said.append(cut_short(end, "claims", done=tested, requested=chosen))
    return said
