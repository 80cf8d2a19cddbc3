"""One way to fit any learner: an estimator of any package, a method's name, or a function of a table."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from acyclic.data.table import Table
from acyclic.deadline import Deadline, Shared
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact, Orientation
from acyclic.findings import Findings
from acyclic.graphs.dag import Dag
from acyclic.graphs.foreign import is_estimator
from acyclic.judging.verdict import Verdict
from acyclic.learners import LEARNERS, DagLearner, make_learner
from acyclic.learners.foreign import as_learner
from acyclic.types import Bools, Floats

Learner: TypeAlias = DagLearner | str | Callable[..., Any] | Any
Estimator = TypeVar("Estimator", bound=DagLearner)


@dataclass(frozen=True, eq=False)
class Fit:
    """What one fit gave.

    Attributes
    ----------
    graph : Dag
    undetermined : ndarray of bool, shape (d, d)
        Edges of the graph that nothing orients: an equivalent graph has them the other way round.
    end : Fact of Ended
    reached : ndarray (d, d) or None
        The weights before any cut, from which a similar fit can start.
    verdict : Verdict or None
        That of the learner, where it has one.
    decided : ndarray of bool, shape (d, d), or None
        Edges whose direction curves, the shape of the noise or prior knowledge decide.
    mechanisms : Fitted, Distributions, AdditiveModel or Model, optional
        The functions behind the edges where these are not all lines: ``mechanisms_`` of a learner, or a result's model.
    """

    graph: Dag
    undetermined: Bools
    end: Fact[Ended]
    reached: Floats | None = None
    verdict: Verdict | None = None
    decided: Bools | None = None
    mechanisms: Any = None

    @classmethod
    def of(cls, model: DagLearner) -> Fit:
        """What a fitted learner found."""
        undetermined = _find_supported(model.causal_graph_, model.verdict_, (Orientation.UNDETERMINED,))
        decided = _find_supported(model.causal_graph_, model.verdict_, _DECIDING)
        reached = np.array(model.solution_.weights)
        return cls(
            model.causal_graph_, undetermined, model.verdict_.end, reached, model.verdict_, decided, model.mechanisms_
        )

    @property
    def arcs(self) -> Floats:
        """Shape (d, d): 1 for an edge i → j, ½ both ways for an edge whose direction is undetermined."""
        half = 0.5 * self.undetermined
        return np.asarray(self.graph.adjacency - half + half.T)


def resolve_learner(learner: Learner, knowledge: Any = None) -> Learner:
    """The learner as an estimator or a function, with prior knowledge and without what belongs to one fit alone."""
    if isinstance(learner, str):
        learner = make_learner(learner)
    elif is_estimator(learner):
        learner = as_learner(learner)
    if isinstance(learner, DagLearner):
        apart = {"callback": None, "checkpoint": None, **({} if knowledge is None else {"knowledge": knowledge})}
        return with_settings(learner, apart)
    if not callable(learner) or isinstance(learner, type):
        raise InputError(
            f"learner is {learner!r}; give an estimator such as Notears() or any with fit(X), the name of a method, or "
            "a function of a table such as acyclic.learn"
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


def settle_price(learner: Learner, whole: Fit) -> Learner:
    """A learner for draws of rows: it pays what the whole table found an edge to be worth.

    Rows that are drawn twice would look like evidence of more edges.
    """
    if not isinstance(learner, DagLearner) or getattr(learner, "penalty", None) != "adaptive" or whole.verdict is None:
        return learner
    return with_settings(learner, {"penalty": whole.verdict.details["price of a parent"]})


def fit(learner: Learner, table: Table, start: Floats | None = None, deadline: Deadline | None = None) -> Fit:
    """Fit a resolved learner; the start goes to those that take one.

    A learner's own start and a learner's own shorter limit are kept.
    """
    with warnings.catch_warnings():
        # Convergence is part of what is returned.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if isinstance(learner, DagLearner):
            return Fit.of(_fit_estimator(learner, table, start, deadline or Deadline()))
        left = None if deadline is None else deadline.left()
        given = {"time_limit": None if left is None else Shared(left), "start": start}
        return _understand(learner(table, **_those_taken(learner, given)), learner)  # type: ignore[operator]


@dataclass(frozen=True)
class _Informed:
    """A function of a table with prior knowledge; unlike a lambda it can be sent to another process."""

    function: Callable[..., Any]
    knowledge: Any

    def __call__(self, table: Table, time_limit: float | None = None, start: Floats | None = None) -> Any:
        given = {"time_limit": time_limit, "start": start}
        return self.function(table, knowledge=self.knowledge, **_those_taken(self.function, given))


def _those_taken(function: Any, given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None and name in _accepted(function)}


def _fit_estimator(learner: DagLearner, table: Table, start: Floats | None, deadline: Deadline) -> DagLearner:
    own = learner.get_params(deep=False)
    settings: dict[str, Any] = {"time_limit": deadline.sooner(own.get("time_limit"))}
    if own.get("start") is None:
        settings["start"] = start
    return with_settings(learner, settings).fit(table)


def _understand(answer: Any, learner: Any) -> Fit:
    if isinstance(answer, Findings):
        method = LEARNERS.get(str(answer.provenance.get("settings", {}).get("method")))
        reached = answer.graph.weights if method is not None and "start" in method._get_param_names() else None
        undetermined, decided = (
            _find_supported(answer.graph, answer.verdict, kinds) for kinds in ((Orientation.UNDETERMINED,), _DECIDING)
        )
        bent = None if answer.fitted is None or answer.fitted.is_linear else answer.fitted
        return Fit(answer.graph, undetermined, answer.verdict.end, reached, answer.verdict, decided, bent)
    if isinstance(answer, Dag):
        return Fit(answer, np.zeros(answer.weights.shape, dtype=bool), Fact.of(Ended.COMPLETE))
    raise InputError(f"{_called(learner)} returned {type(answer).__name__}; it has to return a Dag or a Result")


_DECIDING = (Orientation.CURVATURE, Orientation.NOISE_SHAPE, Orientation.KNOWLEDGE)


def _find_supported(graph: Dag, verdict: Verdict, kinds: tuple[Orientation, ...]) -> Bools:
    """Edges (d, d) whose direction rests on one of some kinds."""
    at = {name: position for position, name in enumerate(graph.names)}
    found = np.zeros(graph.weights.shape, dtype=bool)
    for (source, target), orientation in verdict.support.items():
        found[at[source], at[target]] = orientation in kinds
    return found


def _accepted(function: Any) -> frozenset[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


def _called(learner: Any) -> str:
    return str(getattr(learner, "__name__", type(learner).__name__))
