"""One way to call any learner: an estimator, a method's name, or a function of a table."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.learners.base import DagLearner
from acyclic.learning import METHODS, learn
from acyclic.result import Result
from acyclic.types import Bools, Floats

Learner: TypeAlias = DagLearner | str | Callable[..., Any]
Estimator = TypeVar("Estimator", bound=DagLearner)
Data: TypeAlias = Moments | Table | NDArray[Any]


@dataclass(frozen=True, eq=False)
class Fit:
    """What one fit gave.

    Attributes
    ----------
    graph : Dag
    undetermined : ndarray of bool, shape (d, d)
        Edges of the graph that an equivalent graph has the other way round, where the learner claims a class only.
    converged : bool
    reached : ndarray (d, d) or None
        The weights before any cut, from which a similar fit can start.
    """

    graph: Dag
    undetermined: Bools
    converged: bool
    reached: Floats | None = None

    @property
    def arcs(self) -> Floats:
        """Shape (d, d): 1 for an edge i → j, ½ both ways for an edge whose direction is undetermined."""
        half = 0.5 * self.undetermined
        return np.asarray(self.graph.adjacency - half + half.T)


def resolved(learner: Learner, knowledge: Any = None) -> Learner:
    """The learner as an estimator or a function, with prior knowledge and without what belongs to one fit alone."""
    if isinstance(learner, str):
        if learner != "auto" and learner not in METHODS:
            raise InputError(f"there is no method {learner!r}; choose auto or one of {', '.join(METHODS)}")
        learner = learn if learner == "auto" else METHODS[learner]()
    if isinstance(learner, DagLearner):
        apart = {"callback": None, "checkpoint": None, **({} if knowledge is None else {"knowledge": knowledge})}
        return with_settings(learner, apart)
    if not callable(learner) or isinstance(learner, type):
        raise InputError(
            f"learner is {learner!r}; give an estimator such as Notears(), the name of a method, or a function of a "
            "table such as acyclic.learn"
        )
    if knowledge is None:
        return learner
    if "knowledge" not in _accepted(learner):
        raise InputError(f"{_called(learner)} takes no knowledge; give a learner that does, or leave it out")
    return _Informed(learner, knowledge)


def with_settings(learner: Estimator, settings: dict[str, Any]) -> Estimator:
    """A fresh copy of an estimator with those of the settings that it has."""
    copy: Estimator = clone(learner)
    accepted = copy.get_params(deep=False)
    copy.set_params(**{name: value for name, value in settings.items() if name in accepted})
    return copy


def fit(learner: Learner, data: Data, start: Floats | None = None, time_limit: float | None = None) -> Fit:
    """Fit a resolved learner; `start` and `time_limit` go to those that take them.

    A learner's own start and a learner's own shorter limit are kept.
    """
    with warnings.catch_warnings():
        # Convergence is part of what is returned.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if isinstance(learner, DagLearner):
            return _estimated(learner, data, start, time_limit)
        options = {} if time_limit is None or "time_limit" not in _accepted(learner) else {"time_limit": time_limit}
        return _understood(learner(data, **options), learner)  # type: ignore[operator]


def time_left(deadline: float | None) -> float | None:
    """Seconds until a deadline of `time.time`, which processes of one machine share; None without one."""
    return None if deadline is None else max(deadline - time.time(), 0.0)


@dataclass(frozen=True)
class _Informed:
    """A function of a table with prior knowledge; unlike a lambda it can be sent to another process."""

    function: Callable[..., Any]
    knowledge: Any

    def __call__(self, data: Data, time_limit: float | None = None) -> Any:
        options = {"time_limit": time_limit} if "time_limit" in _accepted(self.function) else {}
        return self.function(data, knowledge=self.knowledge, **options)


def _estimated(learner: DagLearner, data: Data, start: Floats | None, time_limit: float | None) -> Fit:
    own = learner.get_params(deep=False)
    limits = [limit for limit in (own.get("time_limit"), time_limit) if limit is not None]
    settings: dict[str, Any] = {"time_limit": min(limits, default=None)}
    if own.get("start") is None:
        settings["start"] = start
    model = with_settings(learner, settings).fit(data)
    graph, cpdag = model.causal_graph_, getattr(model, "cpdag_", None)
    undetermined = graph.adjacency & (False if cpdag is None else cpdag.undirected)
    return Fit(graph, undetermined, model.verdict_.converged, np.array(model.solution_.weights))


def _understood(answer: Any, learner: Any) -> Fit:
    if isinstance(answer, Result):
        graph, said = answer.graph, answer.support
        open_edges = [[said.get((a, b)) == "undetermined" for b in graph.names] for a in graph.names]
        return Fit(graph, np.array(open_edges), answer.verdict.converged)
    if isinstance(answer, Dag):
        return Fit(answer, np.zeros(answer.weights.shape, dtype=bool), True)
    raise InputError(f"{_called(learner)} returned {type(answer).__name__}; it has to return a Dag or a Result")


def _accepted(function: Any) -> frozenset[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


def _called(learner: Any) -> str:
    return str(getattr(learner, "__name__", type(learner).__name__))
