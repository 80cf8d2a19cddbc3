import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import networkx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from acyclic import Dag, Moments, to_pgmpy
from acyclic.data import handoff
from acyclic.data.simulate import linear_sem
from acyclic.errors import InputError, MissingExtraError
from strategies import any_weights, dags, hostile_names

OTHER_PYTHON = os.environ.get("ACYCLIC_HANDOFF_PYTHON")


class Conditional(NamedTuple):
    variable: str
    beta: list
    std: float
    evidence: list


class Network(networkx.DiGraph):
    """Stands in for pgmpy's network, whose `add_edges_from` takes weights as third entries."""

    def __init__(self):
        super().__init__()
        self.cpds = []

    def add_edges_from(self, edges):
        super().add_edges_from((source, target, {"weight": weight}) for source, target, weight in edges)

    def add_cpds(self, cpd):
        self.cpds.append(cpd)


@pytest.fixture(scope="module")
def stand_in():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handoff, "_import_pgmpy", lambda: (Network, Conditional))
        yield


@pytest.fixture
def table():
    weights = np.zeros((4, 4))
    weights[3, 0], weights[3, 1], weights[0, 1] = 0.8, -0.5, 1.5
    dag = Dag(weights, ["river, level", "2nd gauge", "\N{SNOWMAN}", "rain (mm)"])
    means = np.array([3.0, -2.0, 7.0, 40.0])
    return dag, linear_sem(dag, 500, scale=[1, 2, 3, 0.5], random_state=0) + means


def test_without_pgmpy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgmpy.factors.continuous", None)
    with pytest.raises(MissingExtraError, match=r"to_pgmpy needs pgmpy; .*acyclic\[handoff\]") as caught:
        to_pgmpy(Dag.empty(["a"]))
    assert caught.value.extra == "handoff"


@given(dags(weights=any_weights, names=hostile_names))
def test_networkx_keeps_what_dowhy_reads(dag):
    graph = dag.to_networkx()
    assert type(graph) is networkx.DiGraph
    assert list(graph) == list(dag.names)
    assert networkx.is_directed_acyclic_graph(graph)
    assert np.array_equal(networkx.to_numpy_array(graph, nodelist=dag.names), dag.weights)


def test_intercepts_and_deviations_are_those_of_the_residuals(table):
    dag, X = table
    intercepts, deviations = handoff.measure_noise(dag, Moments.from_array(X, dag.names))
    residuals = X - X @ dag.weights
    np.testing.assert_allclose(intercepts, residuals.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(deviations, residuals.std(axis=0), rtol=1e-12)


def test_columns_are_matched_by_name_and_others_left_out(table):
    dag, X = table
    expected = handoff.measure_noise(dag, Moments.from_array(X, dag.names))
    shuffled = Moments.from_array(np.c_[X[:, ::-1], X[:, 0] ** 2], [*dag.names[::-1], "other"])
    np.testing.assert_allclose(handoff.measure_noise(dag, shuffled), expected, rtol=1e-9)


def test_a_column_without_noise_has_the_deviation_zero():
    dag = Dag([[0, 0.1], [0, 0]])
    x = np.random.default_rng(0).normal(size=100)
    _, deviations = handoff.measure_noise(dag, Moments.from_array(np.c_[x, 0.1 * x]))
    assert 0 <= deviations[1] < 1e-7


def test_moments_of_other_columns_or_types_are_refused(table):
    dag, X = table
    with pytest.raises(InputError, match="rain"):
        handoff.measure_noise(dag, Moments.from_array(X[:, :3], dag.names[:3]))
    for other in (X, pd.DataFrame(X, columns=dag.names)):
        with pytest.raises(InputError, match=f"moments must be Moments, not {type(other).__name__}"):
            handoff.measure_noise(dag, other)


@pytest.mark.usefixtures("stand_in")
@given(dags(names=hostile_names))
def test_each_node_has_one_conditional_with_its_parents_and_weights(dag):
    model = to_pgmpy(dag)
    weights = networkx.to_numpy_array(model, nodelist=dag.names)
    assert np.array_equal(weights, dag.weights)
    assert [cpd.variable for cpd in model.cpds] == list(dag.names)
    for node, cpd in enumerate(model.cpds):
        assert cpd.evidence == list(dag.parents(cpd.variable)) and type(cpd.evidence) is list
        assert cpd.beta == [0.0, *(weights[dag.names.index(parent), node] for parent in cpd.evidence)]
        assert cpd.std == 1.0


@pytest.mark.usefixtures("stand_in")
def test_moments_reach_the_conditionals(table):
    dag, X = table
    moments = Moments.from_array(X, dag.names)
    intercepts, deviations = handoff.measure_noise(dag, moments)
    cpds = to_pgmpy(dag, moments).cpds
    assert [cpd.beta[0] for cpd in cpds] == intercepts.tolist()
    assert [cpd.std for cpd in cpds] == deviations.tolist()


@pytest.mark.skipif(not OTHER_PYTHON, reason="ACYCLIC_HANDOFF_PYTHON names no interpreter with DoWhy and pgmpy")
def test_dowhy_and_pgmpy_agree_with_the_graph():
    script = Path(__file__).with_name("check_handoff.py")
    run = subprocess.run([OTHER_PYTHON, script], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("agrees to") == 5
