"""What is done for a case: a fit compared with the truth, or a look at the constraints on one matrix."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from acyclic import plugins
from acyclic.constraints.catalogue import CONSTRAINTS, SHORT, constraint
from acyclic.data.datasets import load_sachs
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.discrete.kkt import kkt_search
from acyclic.errors import InputError
from acyclic.experiments import counting, series
from acyclic.experiments.capped import Capped, CappedMmpc, Count, Trail
from acyclic.experiments.cases import Case
from acyclic.facts import Ended, Fact, Orientation
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag
from acyclic.graphs.metrics import compare, r2_sortability, varsortability
from acyclic.judging.verdict import Verdict
from acyclic.judging.words import say_method
from acyclic.learners import LEARNERS, Auto, DagLearner, load_learner
from acyclic.learners.foreign import make_foreign
from acyclic.running import Monitor, State
from acyclic.types import Floats

# Learners by the names of their classes; `learn` is the one behind the call of that name.
KINDS: Mapping[str, type[DagLearner]] = MappingProxyType(
    {**{kind.__name__: kind for kind in LEARNERS.values()}, "learn": Auto}
)
# What the settings of a method of another package hold besides its own: whose it is, so that the results of one version
# are not taken for those of the next.
PACKAGE = "package"
# Two answers that no learner gives: no edge at all, and the undirected skeleton of max-min parents and children.
EMPTY, SKELETON = "empty", "Mmpc"
OTHERS: Mapping[str, tuple[str, ...]] = MappingProxyType({EMPTY: (), SKELETON: ("alpha", "max_conditioning")})
# Python's None, for which TOML has no word.
NONE = "none"
SEARCHES: Mapping[str, Callable[[Floats, Dag], Dag]] = MappingProxyType(
    {"kkt_search": kkt_search, "kkt_search-published": partial(kkt_search, thorough=False)}
)
# The runner gives these, or they are no business of a plan.
RESERVED = ("table", "time_limit", "random_state", "callback", "checkpoint", "start", "knowledge", "n_jobs", "options")
LARGEST_LISTED = 30
NOTHING = Verdict(EMPTY, {}, Fact(Ended.COMPLETE), Orientation.NO_EDGE, 0, 0)


@dataclass(frozen=True)
class Outcome:
    """What was measured, what the method said of it, and the time that the measured part took."""

    values: Mapping[str, Any]
    verdict: str
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Measure:
    """A kind of case: the settings of data it knows, a check of the method's, and the work."""

    data: tuple[str, ...]
    check: Callable[[Mapping[str, Any]], None]
    compute: Callable[[Case], Outcome]


@dataclass(frozen=True, eq=False)
class Truth:
    """Rows, and the graph behind them."""

    X: Floats
    graph: Dag


@dataclass
class Stopwatch:
    """Wall and processor seconds of a block."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of the block."""
        wall, cpu = time.perf_counter(), processor_time()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - wall
            self.cpu_seconds += processor_time() - cpu


def processor_time() -> float:
    """Processor seconds so far, of all threads: long kernels run in threads of their own.

    Outside of the main thread, as in those of a cluster's worker, other cases run in the same process: there it is that
    of this thread, in which kernels without a deadline run too.
    """
    return time.process_time() if threading.current_thread() is threading.main_thread() else time.thread_time()


def draw_truth(case: Case) -> Truth:
    """The data of a case: drawn from its seed, or a bundled table."""
    settings: dict[str, Any] = dict(case.data)
    name = settings.pop("dataset", None)
    if name is None:
        drawn = simulate(**settings, random_state=case.seed)
        return Truth(drawn.X, drawn.graph)
    if name not in ("sachs", "sachs-all"):
        raise InputError(f"dataset is {name!r}; give sachs (853 observational rows) or sachs-all (7466 rows)")
    table = load_sachs("observational" if name == "sachs" else "all")
    X = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0) if settings.get("standardize") else table.X
    return Truth(X, table.graphs["17"])


def make_estimator(
    settings: Mapping[str, Any], time_limit: float | None = None, seed: int = 0, count: Count | None = None
) -> DagLearner | None:
    """The learner that the settings of a method, options of its constraint among them, describe; None without one.

    With a ``count`` the evaluations of its constraint are counted there, and capped.
    """
    name, given = str(settings["learner"]), _given(settings)
    if name in OTHERS:
        return None
    kind = find_kind(name)
    if not issubclass(kind, DagLearner):
        # A limit that it does not have is held by force, as for all work that does not listen.
        limit = {"time_limit": time_limit} if "time_limit" in signature(kind).parameters else {}
        return make_foreign(name, kind, {**limit, **given, "random_state": seed})
    offered = kind._get_param_names()
    options = {key: given.pop(key) for key in list(given) if key not in offered}
    seeded = {"random_state": seed} if "random_state" in offered else {}
    # The limit of a case is there to end it, not to be used up.
    searching = {"effort": 1.0} if "effort" in offered else {}
    learner: DagLearner = kind(time_limit=time_limit, **{**seeded, **searching, **given})
    if "constraint" in offered and (options or count):
        chosen = constraint(learner.get_params()["constraint"], **options)
        learner.set_params(constraint=Capped(inside=chosen, count=count) if count else chosen)
    return learner


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a method without those that name it, and with None for the word that stands for it."""
    own = {key: value for key, value in settings.items() if key not in ("learner", "then", PACKAGE)}
    return {key: None if value == NONE else value for key, value in own.items()}


def learn_skeleton(case: Case, X: Floats, watch: Stopwatch, count: Count) -> tuple[Cpdag, Verdict]:
    """The skeleton that max-min parents and children find, all of it undirected."""
    settings, d = _given(dict(case.method)), X.shape[1]
    monitor = Monitor(case.time_limit)
    with watch.running():
        moments = Moments.from_array(X)
        choice = CappedMmpc(moments, count, **settings)

        def run(state: State) -> None:
            choice(monitor, state)
            state.finish(Ended.COMPLETE)

        state = monitor.run(run, State(np.zeros((d, d))))
    graph = Cpdag(moments.names, np.zeros((d, d), dtype=bool), choice.skeleton)
    end, edges = state.solution(0.0, 0.0).end, len(graph.undirected_edges())
    return graph, Verdict("mmpc", settings, end, Orientation.UNDETERMINED, d, edges)


def learn_graph(
    case: Case, X: Floats, watch: Stopwatch, count: Count
) -> tuple[Dag | Cpdag, Verdict, DagLearner | None]:
    """The graph that the method of a case finds, its verdict, and the learner where there is one."""
    settings = dict(case.method)
    if settings["learner"] == SKELETON:
        return *learn_skeleton(case, X, watch, count), None
    model = make_estimator(settings, case.time_limit, case.run, count)
    if model is None:
        return Dag(np.zeros((X.shape[1], X.shape[1]))), NOTHING, None
    with watch.running():
        model.fit(X)
        graph = model.causal_graph_
        if "then" in settings:
            graph = SEARCHES[str(settings["then"])](X, graph)
    as_class = settings["learner"] == "Ges" and "then" not in settings
    return model.cpdag_ if as_class else graph, model.verdict_, model


def fit(case: Case) -> Outcome:
    """Learn a graph and compare it with the truth; undirected edges of GES count as both arcs, as in the paper."""
    data, watch, count = draw_truth(case), Stopwatch(), Count(case.evaluations)
    graph, verdict, learner = learn_graph(case, data.X, watch, count)
    estimate = _renamed(graph, data.graph.names)
    found, simulated = compare(data.graph, estimate), "dataset" not in dict(case.data)
    arcs = estimate.arcs if isinstance(estimate, Cpdag) else estimate.adjacency
    covariance = np.cov(data.X, rowvar=False, ddof=0)
    values: dict[str, Any] = {
        "shd": found.shd,
        "shd_favourable": found.favourable.shd,
        "shd_cpdag": found.shd_cpdag,
        "fdr": found.fdr,
        "tpr": found.tpr,
        "fpr": found.fpr,
        "n_edges": found.favourable.n_estimated,
        "n_true": found.n_true,
        "h": _number(verdict.h),
        "converged": verdict.converged,
        "stopped_early": verdict.end.kind.stopped,
        "ended": verdict.end.kind.value,
        "evaluations": count.used or None,
        "cut_cyclic": bool(verdict.removed) if hasattr(learner, "constraint") else None,
        "varsortability": _number(varsortability(data.graph, covariance)) if simulated else None,
        "r2_sortability": _number(r2_sortability(data.graph, covariance)) if simulated else None,
        "rows": len(data.X),
    }
    if len(arcs) <= LARGEST_LISTED:
        values["edges"] = np.argwhere(arcs).tolist()
    return Outcome(values, str(verdict), watch.seconds, watch.cpu_seconds)


def find_kind(name: object) -> Any:
    """The class of learners that a plan names: ours by the name of the class, another package's by its entry point."""
    if isinstance(name, str) and name in KINDS:
        return KINDS[name]
    plugin = plugins.find_plugin(plugins.LEARNERS, name, LEARNERS)
    return None if plugin is None else load_learner(plugin)


def name_package(settings: Mapping[str, Any]) -> dict[str, str]:
    """Whose method the settings describe, as a setting; empty for ours."""
    groups = ((plugins.LEARNERS, "learner"), (plugins.CONSTRAINTS, "constraint"))
    own = {**KINDS, **OTHERS, **CONSTRAINTS, **SHORT}
    found = [plugins.find_plugin(group, settings.get(key), own) for group, key in groups]
    return {PACKAGE: ", ".join(plugin.package for plugin in found if plugin)} if any(found) else {}


def _list_settings(kind: Any) -> list[str]:
    return kind._get_param_names() if issubclass(kind, DagLearner) else list(signature(kind).parameters)


def check_learner(settings: Mapping[str, Any]) -> None:
    """Refuse a method that no learner, or no search after it, would take."""
    given = dict(settings)
    name, search = given.pop("learner", None), given.pop("then", None)
    given.pop(PACKAGE, None)
    if not isinstance(name, str) or (name not in OTHERS and find_kind(name) is None):
        known = (*KINDS, *OTHERS, *plugins.name_plugins(plugins.LEARNERS, LEARNERS))
        raise InputError(f"has the learner {name!r}; give one of {', '.join(known)}")
    if search is not None and search not in SEARCHES:
        raise InputError(f"is followed by {search!r}; after a learner there can be {', '.join(SEARCHES)}")
    offered = OTHERS[name] if name in OTHERS else _list_settings(find_kind(name))
    accepted = [key for key in offered if key not in RESERVED]
    if "constraint" in accepted and "constraint" in given:
        accepted += [option.name for option in fields(constraint(given["constraint"])) if option.init]
    for key, value in given.items():
        if key not in accepted:
            raise InputError(f"gives {key}, which {name} does not have; it takes {', '.join(accepted) or 'nothing'}")
        if not isinstance(value, str | int | float):
            raise InputError(f"gives {key} = {value!r}; give a string, a number, true or false")


def gradient_norms(case: Case) -> Outcome:
    """The gradient of each order of three power series, along a whole fit of NOTEARS."""

    def found(B: Floats) -> dict[str, Any]:
        return {**series.gradient_norms(B), "spectral_radius": float(np.abs(np.linalg.eigvals(B)).max())}

    return _along(case, found, "orders")


def truncation(case: Case) -> Outcome:
    """What is left of the geometric series after each order, along a whole fit of NOTEARS."""
    return _along(case, series.truncation, "k")


def products(case: Case) -> Outcome:
    """Matrix products and time of one evaluation of a constraint on a matrix of a given spectral radius."""
    data: dict[str, Any] = dict(case.data)
    drawn = simulate(data["n_nodes"], 1, graph=data["graph"], random_state=case.seed)
    B, watch = series.cyclic(drawn.graph.weights**2, data["spectral_radius"]), Stopwatch()
    with watch.running():
        values = counting.cost(dict(case.method), B)
    return Outcome(values, "", watch.seconds, watch.cpu_seconds)


def check_constraint(settings: Mapping[str, Any]) -> None:
    """Refuse what is not a constraint by name with options of its own."""
    if "constraint" not in settings:
        raise InputError("has no constraint")
    named = {key: value for key, value in settings.items() if key != "constraint"}
    constraint(settings["constraint"], **named)


def check_notears(settings: Mapping[str, Any]) -> None:
    """Refuse what NOTEARS, whose weights on the way to a DAG are looked at, does not take."""
    check_learner({"learner": "Notears", **settings})


def _along(case: Case, find: Callable[[Floats], dict[str, Any]], x: str) -> Outcome:
    """What is found at the matrices that a constraint is asked for from the first step to the last."""
    watch, trail = Stopwatch(), Trail(case.evaluations)
    notears = replace(case, method=(("learner", "Notears"), *case.method))
    _, verdict, _ = learn_graph(notears, draw_truth(case).X, watch, trail)
    # Far from a DAG high powers overflow, and are told as such.
    with np.errstate(over="ignore", invalid="ignore"):
        values = series.along([find(B) for B in trail.kept], x)
    way = f"{say_method(verdict.method, verdict.settings)}, {trail.used} evaluations"
    return Outcome({**values, "way": way}, str(verdict), watch.seconds, watch.cpu_seconds)


def _renamed(graph: Dag | Cpdag, names: tuple[str, ...]) -> Dag | Cpdag:
    """The same graph with the names of the truth: learners call the columns of an array as they like."""
    if isinstance(graph, Cpdag):
        return Cpdag(names, graph.directed, graph.undirected)
    return Dag(graph.weights, names)


def _number(value: float) -> float | None:
    """JSON has no place for nan and infinity."""
    return float(value) if math.isfinite(value) else None


SIMULATED = ("sem", "graph", "noise", "n_nodes", "n", "standardize")
MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "fit": Measure((*SIMULATED, "dataset"), check_learner, fit),
        "gradient-norms": Measure(SIMULATED, check_notears, gradient_norms),
        "truncation": Measure(SIMULATED, check_notears, truncation),
        "products": Measure(("graph", "n_nodes", "spectral_radius"), check_constraint, products),
    }
)
