"""What parameters may be: each function refuses wrong values before it does anything, and names them."""

from enum import StrEnum

import numpy as np
import pytest

import acyclic
from acyclic.data.simulate import linear_sem, nonlinear_sem, population_covariance, random_dag, random_weights
from acyclic.errors import InputError
from acyclic.ranges import NAMES, NONE, PATH, SECONDS, TEXT, each, member, number, record, show_value, whole

X = np.arange(12.0).reshape(6, 2) % 5
GRAPH = acyclic.Dag.empty(["x0", "x1"])
# Of no range.
ODD = object()
FUNCTIONS = {
    "learn": (
        lambda **given: acyclic.learn(X, **given),
        ("knowledge", "method", "threshold", "time_limit", "callback"),
    ),
    "seed": (lambda **given: acyclic.learn(X, **given), ("random_state",)),
    "bootstrap": (
        lambda **given: acyclic.bootstrap("ges", X, **given),
        ("draws", "knowledge", "random_state", "n_jobs", "warm_start", "first", "time_limit", "callback"),
    ),
    "audit": (
        lambda **given: acyclic.audit(X, **given),
        ("knowledge", "rescalings", "decades", "random_state", "first", "time_limit", "callback"),
    ),
    "total_effects": (lambda **given: acyclic.total_effects(GRAPH, X, **given), ("draws", "level", "random_state")),
    "choose_l1": (
        lambda **given: acyclic.choose_l1("notears", X, **given),
        ("criterion", "folds", "draws", "knowledge", "random_state", "n_jobs", "time_limit", "callback"),
    ),
    "stability_selection": (
        lambda **given: acyclic.stability_selection("notears", X, [0.1], **given),
        ("draws", "knowledge", "random_state", "n_jobs", "time_limit", "callback"),
    ),
    "kkt_search": (
        lambda **given: acyclic.kkt_search(X, **{"dag": GRAPH, **given}),
        ("dag", "l1", "threshold", "knowledge", "thorough", "max_reversals"),
    ),
    "simulate": (
        acyclic.simulate,
        ("n_nodes", "n", "graph", "sem", "noise", "variances", "weight_range", "standardize", "random_state"),
    ),
    "random_dag": (lambda **given: random_dag(**{"n_nodes": 5, **given}), ("n_nodes", "random_state")),
    "random_weights": (lambda **given: random_weights(GRAPH.adjacency, **given), ("low", "high", "random_state")),
    "linear_sem": (lambda **given: linear_sem(GRAPH, **{"n": 5, **given}), ("n", "noise", "random_state")),
    "nonlinear_sem": (lambda **given: nonlinear_sem(GRAPH, **{"n": 5, **given}), ("n", "kind", "noise")),
    "population_covariance": (lambda **given: population_covariance(GRAPH, **given), ("noise",)),
    "read_table": (
        lambda **given: acyclic.read_table(X, **given),
        ("names", "columns", "drop", "log", "standardize", "header", "separator", "decimal", "encoding", "null_values"),
    ),
    "compare": (lambda **given: acyclic.compare(GRAPH, GRAPH, **given), ("reversal",)),
}


@pytest.mark.parametrize(("function", "name"), [(f, name) for f, (_, names) in FUNCTIONS.items() for name in names])
@pytest.mark.parametrize("value", [ODD, float("nan"), -1, {"a": 1}, b"x"], ids=["object", "nan", "-1", "dict", "bytes"])
def test_a_wrong_value_is_refused_by_name(function, name, value):
    if (name, value) == ("n_jobs", -1):
        pytest.skip("-1 stands for all processors")
    with pytest.raises(InputError, match=name):
        FUNCTIONS[function][0](**{name: value})


@pytest.mark.parametrize("seed", ["x", -1, 1.0, True, None])
@pytest.mark.parametrize("method", ["auto", "ges", "notears"])
def test_a_seed_is_checked_even_where_no_random_numbers_are_drawn(method, seed):
    with pytest.raises(InputError, match="random_state has to be a whole number, at least 0"):
        acyclic.learn(X, method=method, random_state=seed)
    with pytest.raises(InputError, match="random_state has to be a whole number, at least 0"):
        acyclic.make_learner(method, random_state=seed)


class Colour(StrEnum):
    RED = "red"


EDGE = record({"source": TEXT, "weight": number()}, {"kind": member(Colour)}, closed=True)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"source": "a", "weight": 1}, ""),
        ({"source": "a", "weight": 1, "kind": "red"}, ""),
        ({"source": "a"}, "e.weight has to be a finite number; got nothing"),
        ({"source": "a", "weight": 10**400}, "e.weight has to be a finite number; got 1000"),
        ({"source": "a", "weight": float("inf")}, "e.weight has to be a finite number; got inf"),
        ({"source": "a", "weight": True}, "e.weight has to be a finite number; got True"),
        ({"source": 1, "weight": 1}, "e.source has to be text; got 1"),
        ({"source": "a", "weight": 1, "kind": "blue"}, "e.kind has to be one of red; got 'blue'"),
        ({"source": "a", "weight": 1, "kin": "red"}, "e.kin has to be left out (did you mean 'kind'?); got 'red'"),
        ([], "e has to be a table of names and values; got []"),
        ({1: 2}, "e has to be a table of names and values; got {1: 2}"),
    ],
)
def test_a_fault_in_a_record_is_found_where_it_is(value, fault):
    assert EDGE.find_fault(value, "e").startswith(fault)
    assert bool(EDGE.find_fault(value, "e")) == bool(fault)


def test_a_fault_in_a_list_has_its_position():
    assert each(whole(least=1)).find_fault([1, 2, 0], "runs") == "runs[2] has to be a whole number, at least 1; got 0"
    assert each(TEXT, size=2).find_fault(["a"], "pair") == "pair has to be a list of 2; got ['a']"
    either = NONE | each(TEXT)
    assert either.find_fault(None, "x") == "" and either.find_fault([1], "x") == "x[0] has to be text; got 1"


def test_odd_values_of_ranges():
    assert not PATH.accepts("a\0b") and PATH.accepts("a")
    assert not SECONDS.accepts(10**400) and SECONDS.accepts(float("inf")) and not SECONDS.accepts(float("nan"))
    assert not NAMES.accepts(iter(["a"])) and NAMES.accepts(np.array(["a", "b"]))


def test_a_value_is_shown_short_however_long_or_deep():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert len(show_value(deep)) < 100 and len(show_value("x" * 10**6)) < 100 and len(show_value(10**400)) < 100
    while deep:
        deep = deep[0]
