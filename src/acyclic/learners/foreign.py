"""Estimators of other packages as learners: what has ``fit`` and keeps a graph is judged as ours are."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Iterable, Mapping
from math import nan
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.deadline import Deadline
from acyclic.errors import AcyclicError, Argument, InputError, MissingExtraError
from acyclic.facts import Ended, Orientation
from acyclic.graphs.checks import EdgeDirection
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag, extend_consistently
from acyclic.graphs.foreign import ATTRIBUTES, has_graph, is_estimator, list_packages, read_graph, understand_graph
from acyclic.judging.judge import Found
from acyclic.learners.base import DagLearner
from acyclic.ranges import NONE, TEXT, Range, an_instance, one_of
from acyclic.running import Key, Monitor, State
from acyclic.scores.regression import least_squares
from acyclic.types import Callback, Floats


class Foreign(DagLearner):
    """An estimator of another package, or of one's own, as a learner of acyclic.

    `learn`, `bootstrap`, `audit` and `compare` make one of whatever has ``fit(X)`` (or ``learn(X)``, as gCastle calls
    it), so that it need not be named there. ``X`` are rows (n, d). After the fit the estimator has to keep its graph
    under one of these names, of which the first that it has counts: ``causal_graph_``, ``cpdag_``, ``graph_``,
    ``dag_``, ``causal_matrix_``, ``causal_matrix``, ``adjacency_matrix_``, ``weights_``, ``W_est``; without any, what
    ``fit`` returned is taken. That is a `Dag`, a `Cpdag`, a graph of networkx or pgmpy, a frame, or a square matrix
    whose entry (i, j) is the edge i → j. Matrices of the package lingam are known to lead from column to row.

    Weights are kept. A matrix of 0 and 1 gets weights by least squares, and where it joins two nodes both ways it is an
    equivalence class, whose edge points neither way. Of a matrix with cycles the weakest edges go, as for `Notears`.
    The estimator that is given is never changed: each fit is that of a copy, ``estimator_``.

    Parameters
    ----------
    estimator : object
        With its settings; the functions also take a class, of which they make an object without arguments.
    name : str, optional
        What the verdict calls it; the estimator's attribute ``method``, or the name of its class, if left out.
    rows : {"array", "frame"}
        What its ``fit`` takes: an array, or a pandas frame with the names of the columns.
    attribute : str, optional
        Where it keeps its graph, if under another name.
    edge_direction : {"from row to column", "from column to row"}, optional
        What an entry of its matrix means, where the rule above is wrong.
    orientation : str, optional
        What its directions rest on: the name of an `Orientation`, such as "noise-shape"; "independence" claims the
        equivalence class only. By default what the estimator's own attribute ``orientation`` says, else "method".
    knowledge : Knowledge or path, optional
        For estimators that have a setting of that name; others refuse it.
    time_limit : float, optional
        For estimators that have a setting of that name, in seconds; others refuse it. The limit of a bootstrap holds
        for any, between its draws.
    callback : callable, optional
        Called before and after the fit; a true answer before it ends the run.

    Examples
    --------
    >>> import acyclic
    >>> class Chain:
    ...     def fit(self, X):
    ...         self.adjacency_matrix_ = np.eye(X.shape[1], k=1)
    >>> data = acyclic.simulate(5, 100, random_state=0)
    >>> acyclic.learn(data.X, method=Chain()).graph.edges()[0][:2]
    ('x0', 'x1')
    >>> acyclic.bootstrap(Chain, data.X, draws=5).edge[1, 2]
    np.float64(1.0)
    """

    RANGES: ClassVar[Mapping[str, Range]] = {
        "estimator": Range("an object with fit(X)", lambda value: is_estimator(value) and not isinstance(value, type)),
        "name": TEXT | NONE,
        "rows": one_of("array", "frame"),
        "attribute": an_instance("the name of an attribute", str) | NONE,
        "edge_direction": one_of("from row to column", "from column to row") | NONE,
        "orientation": one_of(*Orientation) | NONE,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        name: str | None = None,
        rows: str = "array",
        attribute: str | None = None,
        edge_direction: EdgeDirection | None = None,
        orientation: str | None = None,
        knowledge: Any = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.estimator = estimator
        self.name = name
        self.rows = rows
        self.attribute = attribute
        self.edge_direction = edge_direction
        self.orientation = orientation
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    @property
    def method(self) -> str:  # type: ignore[override]
        """Its name."""
        own = self.name or getattr(self.estimator, "method", None)
        return own if isinstance(own, str) else name_class(self.estimator)

    @property
    def needs_rows(self) -> bool:
        """Estimators of others know nothing of moments."""
        return True

    @classmethod
    def check_settings(cls, names: Iterable[str]) -> None:
        """Raise an InputError for the first name of which there is no setting."""
        accepted = cls._get_param_names()
        for name in names:
            if name not in accepted:
                said = f"an estimator of another package has no setting {name!r} here"
                raise InputError(f"{said}; set it on the estimator, or one of {', '.join(accepted)}")

    def describe_run(self, table: Table) -> Key:
        """See DagLearner: the estimator by its class, the version of its package, and its settings."""
        key = dict(super().describe_run(table))
        key["estimator"] = f"{type(self.estimator).__module__}.{name_class(self.estimator)}({self._own_settings()})"
        version = _version(self.estimator)
        return {**key, **({"package": version} if version else {})}

    def _own_settings(self) -> str:
        own = self.estimator
        found = own.get_params(deep=False) if callable(getattr(own, "get_params", None)) else vars(own)
        return ", ".join(f"{name}={found[name]!r}" for name in sorted(found))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        limit = self.time_limit
        # Of a limit that several fits share somebody else takes care, between them.
        alone = limit.undivided if isinstance(limit, Deadline) else limit is not None
        for name, given in (("time_limit", alone), ("knowledge", self.knowledge is not None)):
            if given and not _has_setting(self.estimator, name):
                raise InputError(f"{self.method} has no setting {name!r}; leave ", Argument(name), " out")

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        estimator, found = self._copy(monitor.deadline), None
        state = State(np.zeros((len(table.names), len(table.names))))

        def run(state: State) -> None:
            nonlocal found
            monitor.tick(state, "fitting", nan, nan, nan)
            found = self._read(estimator, self._train(estimator, table), table.names)
            state.accept(weights=self._weigh(found, table, mask), steps=1)
            state.finish(Ended.COMPLETE)

        state = monitor.run(run, state)
        self.estimator_ = estimator
        version = _version(estimator)
        return Found(
            solution=state.solution(nan, nan),
            method=self.method,
            orientation=self._orient(found),
            settings={"package": version} if version else {},
            # What is required may close a cycle with what it found.
            pruning=None if mask.is_free and isinstance(found, Dag | Cpdag) else "edges",
        )

    def _copy(self, deadline: Deadline) -> Any:
        own = self.estimator
        estimator = clone(own) if isinstance(own, BaseEstimator) else copy.deepcopy(own)
        if self.knowledge is not None:
            _set(estimator, "knowledge", self.knowledge)
        if deadline.left() is not None and _has_setting(estimator, "time_limit"):
            _set(estimator, "time_limit", deadline.left())
        return estimator

    def _train(self, estimator: Any, table: Table) -> Any:
        # The LiNGAM of gCastle has inherited a fit that is only a part of its learn.
        learns = "castle" in list_packages(estimator) or not hasattr(estimator, "fit")
        train = estimator.learn if learns else estimator.fit
        # A copy: ours are read-only, and others may change what they are given.
        rows = np.array(table.rows()) if self.rows == "array" else _make_frame(table)
        try:
            return train(rows)
        except Exception as error:  # it is the code of somebody else, which the message has to say
            raise AcyclicError(f"{self.method} failed with {type(error).__name__}: {error}") from error

    def _read(self, estimator: Any, returned: Any, names: tuple[str, ...]) -> Any:
        try:
            told = returned is not None and returned is not estimator
            if told and self.attribute is None and not has_graph(estimator):
                return understand_graph(returned, names, self.edge_direction or "from row to column")
            return read_graph(estimator, names, attribute=self.attribute, edge_direction=self.edge_direction)
        except InputError as error:
            raise InputError(f"the graph of {self.method} cannot be used: ", *error.parts) from error

    def _weigh(self, found: Any, table: Table, mask: Mask) -> Floats:
        """Weights of the graph: its own, or those of least squares where it tells edges only."""
        if isinstance(found, Cpdag):
            try:
                edges = extend_consistently(found)
            except InputError as error:
                raise InputError(f"the graph of {self.method} is no equivalence class: ", *error.parts) from error
            return least_squares(table.moments.covariance, edges, mask)
        weights = np.array(found.weights if isinstance(found, Dag) else found)
        if np.isin(weights, (0, 1)).all():
            return least_squares(table.moments.covariance, weights != 0, mask)
        return weights

    def _orient(self, found: Any) -> Orientation:
        own = getattr(self.estimator, "orientation", None)
        if self.orientation is not None:
            return Orientation(self.orientation)
        if own in tuple(Orientation):
            return Orientation(own)
        return Orientation.INDEPENDENCE if isinstance(found, Cpdag) else Orientation.METHOD


def as_learner(method: Any) -> DagLearner:
    """A learner as it is, an estimator of others as `Foreign`; a class as an object of it.

    Examples
    --------
    >>> from acyclic.learners.ges import Ges
    >>> as_learner(Ges)
    Ges()
    """
    if isinstance(method, type) and issubclass(method, DagLearner):
        method = method()
    if isinstance(method, DagLearner):
        if not isinstance(getattr(method, "method", None), str):
            raise InputError(f'{name_class(method)} has no name; give its class one, such as method = "my-learner"')
        return method
    if not is_estimator(method):
        raise InputError(f"{method!r} is no learner; it needs fit(X), and a graph as {', '.join(ATTRIBUTES)}")
    return Foreign(method() if isinstance(method, type) else method)


def make_foreign(name: str, kind: Any, settings: Mapping[str, Any]) -> Foreign:
    """An estimator of a class of another package, which it offers under a name; settings are its own but for three."""
    shared = {name: value for name, value in settings.items() if name in ("knowledge", "time_limit", "callback")}
    own = {name: value for name, value in settings.items() if name not in shared}
    try:
        accepted = inspect.signature(kind).parameters
    except (TypeError, ValueError):
        accepted = {}  # type: ignore[assignment]
    open_ended = any(entry.kind is entry.VAR_KEYWORD for entry in accepted.values())
    if "random_state" not in accepted:
        own.pop("random_state", None)
    if unknown := [name for name in own if name not in accepted and not open_ended]:
        raise InputError(f"{name} has no setting {unknown[0]!r}; it takes {', '.join(accepted) or 'none'}")
    try:
        return Foreign(kind(**own), name=name, **shared)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} refuses its settings: {error}") from error


def name_class(value: object) -> str:
    """The name of a class, or of an object's class."""
    return (value if isinstance(value, type) else type(value)).__name__


def _has_setting(estimator: Any, name: str) -> bool:
    if callable(getattr(estimator, "get_params", None)):
        return name in estimator.get_params(deep=False)
    return hasattr(estimator, name)


def _set(estimator: Any, name: str, value: Any) -> None:
    if callable(getattr(estimator, "set_params", None)):
        estimator.set_params(**{name: value})
    else:
        setattr(estimator, name, value)


def _version(estimator: Any) -> str:
    """Package and version of an estimator, where its package tells one."""
    package = list_packages(estimator)[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    return f"{package} {version}" if isinstance(version, str) else ""


def _make_frame(table: Table) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError(Argument("rows", "frame"), "pandas", "handoff") from None
    return pd.DataFrame(table.rows(), columns=list(table.names))
