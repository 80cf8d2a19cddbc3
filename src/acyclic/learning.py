"""learn(): from a table to a graph and what it rests on."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acyclic.data.knowledge import Knowledge, Mask
from acyclic.data.moments import Moments, as_moments, column_notes
from acyclic.data.table import Table as ReadTable
from acyclic.data.table import read_table
from acyclic.discrete.order import bic_order_search, equal_variance_order, polish
from acyclic.discrete.selection import penalty_per_parent, select_parents
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import compelled
from acyclic.judging.verdict import Verdict
from acyclic.learners.base import Table, compiled_knowledge
from acyclic.learners.equal_variance import CLASS, EQUAL, EqualVariance, why_empty
from acyclic.learners.ges import Ges
from acyclic.learners.golem import Golem
from acyclic.learners.mmhc import Mmhc
from acyclic.learners.neural.dag_gnn.learner import DagGnn
from acyclic.learners.neural.gran_dag.learner import GranDag
from acyclic.learners.neural.notears_mlp.learner import NotearsMlp
from acyclic.learners.nocurl import NoCurl
from acyclic.learners.notears import Notears
from acyclic.learners.order_search import OrderSearch
from acyclic.learners.sortnregress import SortnRegress
from acyclic.result import Result, versions
from acyclic.running import Stopped
from acyclic.scores.equal_variances import EqualVariances, residual_variances
from acyclic.types import Callback, Floats, Progress

METHODS: dict[str, type[Any]] = {
    "equal-variance": EqualVariance,
    "order-search": OrderSearch,
    "notears": Notears,
    "golem": Golem,
    "nocurl": NoCurl,
    "ges": Ges,
    "mmhc": Mmhc,
    "sortnregress": SortnRegress,
    "notears-mlp": NotearsMlp,
    "dag-gnn": DagGnn,
    "gran-dag": GranDag,
}
# Beyond this size a search over orders takes minutes.
LARGEST_SEARCH = 500
# With fewer rows than this for each column, a second start from the continuous solution is worth its time.
FEW_ROWS_PER_COLUMN, LARGEST_CONTINUOUS = 5, 50
# Noise variances that differ by less than this factor still tell causes from effects often enough to be a good start.
USEFUL_SPREAD = 100.0


def learn(
    table: Any,
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    method: str = "auto",
    threshold: float | None = None,
    time_limit: float | None = None,
    random_state: int = 0,
    callback: Callback | None = None,
    **options: Any,
) -> Result:
    """Learn a directed acyclic graph from a table.

    With ``method="auto"`` a graph is learned under equal noise variances (order, polish, selection, and a search over
    orders up to 500 columns). If the residual variances of that graph agree with each other, it is the answer, and the
    verdict says that its directions rest on this. Otherwise units carry no information about directions: the answer is
    then the best graph of a search under the Gaussian BIC that sees correlations only, with its equivalence class.

    Parameters
    ----------
    table : array-like, frame, path of a CSV or Parquet file, what `read_table` returns, or Moments
    knowledge : Knowledge or path of a TOML file, optional
        Prior knowledge; the result always obeys it.
    method : str
        "auto", or one learner by name: equal-variance, order-search, notears, golem, nocurl, ges, mmhc, sortnregress;
        notears-mlp, dag-gnn and gran-dag, which need rows and the extra ``neural``.
    threshold : float, optional
        An absolute cut on the weights, such as the 0.3 of the literature. None leaves the choice of edges to the
        selection rule, which follows n, d and the noise and does not depend on units; the learners notears and golem
        then use their published 0.3.
    time_limit : float, optional
        Seconds after which the best so far is returned; the verdict says so.
    random_state : int
        Seed of the random starts.
    callback : callable, optional
        Called with a `Progress` at each stage; a true answer ends the run with the best so far.
    **options
        Passed on to the learner that ``method`` names.

    Returns
    -------
    Result

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=10, n=1000, random_state=7)
    >>> result = learn(data.X)
    >>> bool((result.graph.adjacency == data.graph.adjacency).all())
    True
    >>> result.verdict.converged
    True
    """
    started, curve = time.monotonic(), None
    settings = {
        "method": method,
        "threshold": threshold,
        "time_limit": time_limit,
        "random_state": random_state,
        **options,
    }
    _check(method, threshold, time_limit)
    table, notes = _opened(table)
    if method != "auto":
        graph, verdict, moments, curve = _single(
            table, knowledge, method, threshold, time_limit, random_state, callback, options
        )
    else:
        if options:
            raise InputError(f"method='auto' takes no option {sorted(options)[0]!r}; name a method that does")
        moments = _moments(table)
        mask = compiled_knowledge(knowledge, moments)
        run = _Run(moments, mask, started, time_limit, random_state, callback)
        graph, verdict = _automatic(run, 0.0 if threshold is None else threshold)
    verdict = replace(verdict, notes=tuple(dict.fromkeys((*notes, *verdict.notes))))
    provenance = {
        "settings": settings,
        "versions": versions(),
        "rows": moments.n,
        "data": moments.digest(),
        "seconds": time.monotonic() - started,
    }
    return Result(graph, verdict, graph.cpdag(), _support(graph, verdict), provenance, curve=curve)


def _opened(table: Any) -> tuple[Any, tuple[str, ...]]:
    """A table that learners take, and what was noted while it was read."""
    if isinstance(table, str | os.PathLike):
        table = read_table(table)
    if not isinstance(table, ReadTable):
        return table, ()
    return table, tuple(note.message.rstrip(".") for note in table.notes)


def _check(method: str, threshold: float | None, time_limit: float | None) -> None:
    if method != "auto" and method not in METHODS:
        raise InputError(f"there is no method {method!r}; choose auto or one of {', '.join(METHODS)}")
    if threshold is not None and not 0 <= threshold < np.inf:
        raise InputError(f"threshold has to be at least 0 and finite; got {threshold}")
    if time_limit is not None and not time_limit >= 0:
        raise InputError(f"time_limit has to be a number of seconds, at least 0; got {time_limit}")


def _single(
    table: Any,
    knowledge: Any,
    method: str,
    threshold: float | None,
    time_limit: float | None,
    random_state: int,
    callback: Callback | None,
    options: dict[str, Any],
) -> tuple[Dag, Verdict, Moments, dict[str, Any] | None]:
    kind = METHODS[method]
    accepted = kind._get_param_names()
    given = {"knowledge": knowledge, "time_limit": time_limit, "random_state": random_state, "callback": callback}
    if threshold is not None:
        given["threshold"] = threshold
    unknown = sorted(set(options) - set(accepted))
    if unknown:
        raise InputError(f"{method} has no option {unknown[0]!r}; it takes {', '.join(accepted)}")
    learner = kind(**{name: value for name, value in given.items() if name in accepted}, **options)
    learner.fit(table)
    steps = getattr(learner.solution_, "trace", ())
    curve = {"trace": [{"step": p.step, "objective": p.objective, "h": p.h} for p in steps]} if steps else None
    return learner.causal_graph_, learner.verdict_, _moments(table), curve


def _moments(table: Any) -> Moments:
    return table.moments if isinstance(table, ReadTable) else as_moments(table)


@dataclass(frozen=True)
class _Run:
    """What all stages of one automatic run share."""

    moments: Moments
    mask: Mask
    started: float
    time_limit: float | None
    random_state: int
    callback: Callback | None

    def left(self) -> float | None:
        """Seconds that remain; None without limit."""
        return None if self.time_limit is None else max(self.time_limit - (time.monotonic() - self.started), 0.0)

    def stage(self, name: str, number: int, weights: Floats | None = None) -> None:
        """Tell the callback where the run stands; raises Stopped when it has to end."""
        if self.callback:
            edges = 0 if weights is None else int(np.count_nonzero(weights))
            now = time.monotonic() - self.started
            if self.callback(Progress(name, number, number, np.nan, np.nan, np.nan, edges, now)):
                raise Stopped("the callback asked for the end")
        if weights is not None and self.left() == 0:
            raise Stopped(f"the time limit of {self.time_limit:g} s was reached")


@dataclass(frozen=True)
class _Candidate:
    """One way to explain the table: a matrix of weights, and the noise model under which it was found."""

    noise: str
    weights: Floats
    bic: float
    test: EqualVariances
    complete: bool = True


def _automatic(run: _Run, threshold: float) -> tuple[Dag, Verdict]:
    best, reason, converged = None, "every stage was completed", True
    try:
        run.stage("equal-variance order", 0)
        best = _equal_variance(run)
        run.stage("equal-variance order", 1, best.weights)
        if best.test.accepted and not _standardised(run.moments):
            best = _searched(run, best)
        else:
            run.stage("order search under the Gaussian BIC", 1, best.weights)
            best = _unequal_variance(run, best)
    except Stopped as stop:
        reason, converged = str(stop), False
    except KeyboardInterrupt:
        reason, converged = "it was interrupted", False
    if best is None:
        best = _empty(run)
    if not best.complete:
        reason, converged = "the search over orders was cut short", False
    return _judged(run, best, threshold, reason, converged)


def _equal_variance(run: _Run) -> _Candidate:
    order = polish(run.moments, equal_variance_order(run.moments, run.mask), run.mask)
    return _candidate(run, select_parents(run.moments, order, noise="equal", mask=run.mask), "equal")


def _searched(run: _Run, start: _Candidate) -> _Candidate:
    """The best graph of a search over orders from the start and, where rows are few, from a continuous solution."""
    moments, d = run.moments, len(run.moments.names)
    if not 3 <= d <= LARGEST_SEARCH:
        return start
    orders = [Dag(start.weights).order]
    if moments.n < FEW_ROWS_PER_COLUMN * d and d <= LARGEST_CONTINUOUS and run.mask.is_free:
        run.stage("continuous search", 2, start.weights)
        orders.append(polish(moments, Golem(time_limit=run.left()).fit(moments).causal_graph_.order, run.mask))
    run.stage("order search under equal variances", 3, start.weights)
    found = bic_order_search(
        moments, orders, random_starts=0, patience=0, noise="equal", mask=run.mask, time_limit=run.left()
    )
    other = replace(_candidate(run, found.weights, "equal"), complete=found.status == "complete")
    # Among so many orders some look better by chance: another one has to gain as much as an edge costs.
    gain = penalty_per_parent("ebic", moments.n, d)
    return other if other.bic < start.bic - gain else replace(start, complete=other.complete)


def _unequal_variance(run: _Run, start: _Candidate) -> _Candidate:
    """The best graph of a search that sees correlations only.

    Its starts do not depend on units either, except for the equal-variance order where residual variances are similar:
    such an order is nearly right on its own and saves the others.
    """
    moments, scaled = run.moments, run.moments.standardized()
    useful = start.test.spread <= USEFUL_SPREAD and not _standardised(moments)
    orders = [Dag(start.weights).order] if useful else [equal_variance_order(scaled, run.mask)]
    found = bic_order_search(
        moments,
        orders,
        random_starts=0 if useful else 2,
        patience=0 if useful else None,
        mask=run.mask,
        time_limit=run.left(),
        random_state=run.random_state,
    )
    # The test that decided is the one on the graph under equal variances.
    other = _candidate(run, found.weights, "unequal")
    return replace(other, test=start.test, complete=found.status == "complete")


def _candidate(run: _Run, weights: Floats, noise: str) -> _Candidate:
    """Weights with their penalised likelihood, and the test of equal noise variances on their residuals."""
    n, (held, parents) = run.moments.n, residual_variances(run.moments, weights)
    if not len(held):
        return _Candidate(noise, weights, 0.0, EqualVariances.of(run.moments, weights))
    bic = penalty_per_parent("ebic", n, len(weights)) * float(parents.sum())
    if noise == "equal":
        bic += n * len(held) * float(np.log(held.mean()))
    else:
        bic += n * float(np.log(held).sum()) + (len(held) - 1) * float(np.log(n))
    return _Candidate(noise, weights, bic, EqualVariances.of(run.moments, weights))


def _empty(run: _Run) -> _Candidate:
    """What is left when a run is stopped before its first stage has ended: the required edges alone."""
    order = equal_variance_order(run.moments, run.mask)
    return _candidate(run, select_parents(run.moments, order, 1e12, noise="unequal", mask=run.mask), "equal")


def _judged(run: _Run, best: _Candidate, threshold: float, reason: str, converged: bool) -> tuple[Dag, Verdict]:
    moments, mask = run.moments, run.mask
    final = np.where((np.abs(best.weights) < threshold) & ~mask.required, 0.0, best.weights)
    graph = Dag(final, moments.names)
    equal = best.noise == "equal"
    assumption = EQUAL if equal else CLASS
    details = {
        "penalty per parent": penalty_per_parent("ebic", moments.n, len(moments.names)),
        "noise variances": best.noise,
        "equal variances: likelihood ratio": best.test.statistic,
        "equal variances: accepted up to": best.test.limit,
        "equal variances: largest to smallest": best.test.spread,
    }
    verdict = Verdict(
        method="learn(): " + ("equal-variance order" if equal else "order search under the Gaussian BIC"),
        converged=converged,
        reason=reason,
        assumption=assumption if graph.n_edges else "there is no edge to orient",
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        h=0.0,
        threshold=threshold,
        n_cut=int(np.count_nonzero(best.weights) - graph.n_edges),
        empty="" if graph.n_edges else why_empty(Table(moments, None, mask), best.weights, threshold),
        notes=tuple(note.message.rstrip(".") for note in column_notes(moments)),
        warnings=tuple(_warnings(run, best, graph)),
        details=details,
    )
    return graph, verdict


def _warnings(run: _Run, best: _Candidate, graph: Dag) -> list[str]:
    moments, said = run.moments, []
    if graph.n_edges and best.noise == "unequal":
        fixed = int(np.count_nonzero(compelled(graph)))
        why = f"equal noise variances are rejected (the largest is {best.test.spread:.3g} times the smallest)"
        if best.test.accepted:
            why = "the columns are standardised"
        said.append(
            f"{why}, so orientation rests on conditional independence alone: {fixed} of {graph.n_edges} edges are "
            f"compelled by it, {graph.n_edges - fixed} could point the other way"
        )
    variances = np.diag(moments.covariance)
    if _standardised(moments):
        said.append("all columns have the same variance, as after standardising: their units can orient no edge")
    if moments.n <= 2 * len(variances):
        said.append(f"there are {moments.n:g} rows for {len(variances)} columns: weak edges cannot be told from chance")
    return said


def _standardised(moments: Moments) -> bool:
    """Whether all columns that vary have the same variance, so that units tell nothing."""
    variances = np.diag(moments.covariance)
    varying = variances[variances > 0]
    return len(varying) > 1 and bool(np.ptp(varying) <= 1e-6 * varying.max())


def _support(graph: Dag, verdict: Verdict) -> dict[tuple[str, str], str]:
    """What orients each edge: independence where its class compels it, else the assumption of the method."""
    fixed = compelled(graph)
    equal = verdict.assumption == EQUAL
    names = graph.names
    return {
        (names[i], names[j]): "independence" if fixed[i, j] else "equal variances" if equal else "undetermined"
        for i, j in np.argwhere(graph.adjacency)
    }
