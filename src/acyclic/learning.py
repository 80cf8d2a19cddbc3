"""learn(): from a table to a graph and what it rests on."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from acyclic.data.knowledge import Knowledge, compile_knowledge
from acyclic.data.table import READING, Table
from acyclic.deadline import Deadline, hold_interrupts
from acyclic.errors import InputError
from acyclic.facts import Caution, Fact
from acyclic.graphs.foreign import is_estimator
from acyclic.learners import DagLearner, find_learner, make_learner
from acyclic.learners.base import COMMON
from acyclic.learners.foreign import as_learner
from acyclic.ranges import FLAG, NONE, SECONDS, SEED, TEXT, Range, takes
from acyclic.result import Result
from acyclic.trust.pricing import price_knowledge
from acyclic.trust.progress import show_progress
from acyclic.types import Callback


@takes(
    knowledge=COMMON["knowledge"],
    method=TEXT | Range("a learner, or an estimator with fit(X)", is_estimator),
    threshold=COMMON["threshold"] | NONE,
    time_limit=SECONDS,
    random_state=SEED,
    callback=COMMON["callback"],
    start=COMMON["start"],
    progress=FLAG,
)
def learn(
    table: Any,
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    method: Any = "auto",
    threshold: float | None = None,
    time_limit: float | None = None,
    random_state: int = 0,
    callback: Callback | None = None,
    start: ArrayLike | None = None,
    progress: bool = False,
    **options: Any,
) -> Result:
    """Learn a directed acyclic graph from a table.

    With ``method="auto"`` the table decides: see `acyclic.learners.Auto`.

    Parameters
    ----------
    table : array-like, frame, path of a file, what `read_table` returns, or Moments
    knowledge : Knowledge or path of a TOML file, optional
        Prior knowledge; the result always obeys it.
    method : str or estimator
        "auto", or one learner by name: equal-variance, order-search, notears, golem, nocurl, ges, mmhc, sortnregress;
        lingam and cam, which need rows; notears-mlp, dag-gnn and gran-dag, which need rows and the extra ``neural``;
        or one that another package offers (`acyclic.plugins`). Or a learner, or an estimator of any package that has
        ``fit(X)`` and keeps its graph as `Foreign` says, which is not changed; or a class of these.
    threshold : float, optional
        An absolute cut on the weights, such as the 0.3 of the literature. None leaves the choice of edges to the
        selection rule, which follows n, d and the noise and does not depend on units; the learners notears and golem
        then use their published 0.3.
    time_limit : float, optional
        Seconds after which the best so far is returned; the verdict says so. A search over orders uses them, until it
        finds nothing better for long, unless the option ``effort`` says how much to search.
    random_state : int
        Seed of the random numbers, for methods that have any.
    callback : callable, optional
        Called with a `Progress` as the run goes on; a true answer ends it with the best so far.
    start : array_like (d, d), optional
        Weights of a similar graph to begin from, for methods that have such a setting; the others refuse it.
    progress : bool
        Whether to show how far it is: a bar of rich or tqdm, where one is installed. The log "acyclic" tells it too.
    **options
        Settings of the learner that ``method`` names, as ``effort`` (1 is a second or two for 50 columns) and
        ``penalty`` (the price of an edge), and options of `read_table` such as ``missing="em"``; what neither has is
        refused.

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
    learner = None if isinstance(method, str) else as_learner(method)
    kind = find_learner(method) if learner is None else type(learner)
    own = kind._get_param_names() if kind is not None and issubclass(kind, DagLearner) else ()
    reading = {name: options.pop(name) for name in READING if name in options and name not in own}
    given = {"knowledge": knowledge, "threshold": threshold, "time_limit": time_limit, "start": start, **options}
    given = {name: value for name, value in given.items() if value is not None}
    if learner is not None:
        if options:
            raise InputError(f"method is a learner, which has its own settings; set {sorted(options)[0]!r} on it")
        model = clone(learner).set_params(**given)
    else:
        model = make_learner(method, random_state=random_state, **given)
    own_callback = callback if callback is not None else getattr(model, "callback", None)
    with show_progress(progress, own_callback, "learning") as told:
        model.set_params(callback=told)
        return learn_with(model, Table.open(table, **reading))


def learn_with(model: DagLearner, table: Table, *, expected: str | None = None, **provenance: Any) -> Result:
    """Fit a learner to a table; the result says how it was made.

    Parameters
    ----------
    model : DagLearner
    table : Table
    expected : str, optional
        Digest of the table of an earlier run that is to be repeated; the verdict says if this one is another.
    **provenance
        What else should be known of how the result was made.
    """
    with hold_interrupts() as ctrl_c:
        result = _learn_with(model, table, expected, provenance)
        return result.interrupted() if ctrl_c.pressed else result


def _learn_with(model: DagLearner, table: Table, expected: str | None, provenance: dict[str, Any]) -> Result:
    started = time.monotonic()
    model.fit(table)
    if expected not in (None, table.digest):
        changed = Fact.of(Caution.TABLE_CHANGED)
        model.verdict_ = replace(model.verdict_, cautions=(*model.verdict_.cautions, changed))
    apart = {"callback", "checkpoint", "knowledge", "start"}
    settings = {name: _plain(value) for name, value in model.get_params(deep=False).items() if name not in apart}
    known = getattr(model, "knowledge", None)
    stated = known.to_dict() if isinstance(known, Knowledge) else known and str(known)
    described = {"settings": {"method": model.method, **settings}, "knowledge": stated, "method_version": model.version}
    result = Result.of(model, table, **described, **provenance, seconds=time.monotonic() - started)
    mask = compile_knowledge(known, table.names)
    if mask.is_free or not model.verdict_.converged:
        return result
    priced = price_knowledge(result, mask)
    return replace(result, verdict=replace(result.verdict, standing=(*result.verdict.standing, priced)))


def _plain(value: Any) -> Any:
    if isinstance(value, Deadline):
        return value.limit
    return value if value is None or isinstance(value, str | int | float) else repr(value)
