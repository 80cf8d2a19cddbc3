from functools import partial

import numpy as np
import pytest

from acyclic.constraints.catalogue import constraint
from acyclic.continuous.minimisers import lbfgs, proximal_newton
from acyclic.continuous.problem import Penalty, Problem
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.simulate import random_dag, simulate
from acyclic.errors import InputError
from acyclic.facts import Empty, Ended, Orientation
from acyclic.graphs.metrics import shd
from acyclic.learners.nocurl import NoCurl, potential
from acyclic.running import Monitor, State
from acyclic.scores.continuous import LeastSquares


@pytest.fixture(scope="module")
def data():
    return simulate(n_nodes=10, n=1000, random_state=3)


def reach(edges):
    return np.linalg.matrix_power(np.eye(len(edges)) + edges, len(edges)) > 0


@pytest.mark.parametrize("seed", range(5))
def test_the_potential_solves_the_published_system(seed):
    d = 7
    edges = np.random.default_rng(seed).random((d, d)) < 0.15
    np.fill_diagonal(edges, False)
    closure = reach(edges) & ~np.eye(d, dtype=bool)
    b = closure.sum(axis=1) - closure.sum(axis=0)
    system = np.ones((d - 1, d - 1)) - d * np.eye(d - 1)
    published = np.append(np.linalg.solve(system, b[:-1]), 0.0)
    found = potential(edges, Mask.unrestricted(d))
    assert found - found[-1] == pytest.approx(published)


def test_the_potential_rises_along_every_edge_of_a_dag():
    dag = random_dag(20, "ER2", 1)
    found = potential(dag, Mask.unrestricted(20))
    sources, targets = np.nonzero(dag)
    assert (found[sources] < found[targets]).all()


def test_the_second_stage_is_least_squares_on_all_of_lower_potential(data):
    model = NoCurl(threshold=0).fit(data.X)
    centred = data.X - data.X.mean(axis=0)
    for target in range(10):
        lower = np.flatnonzero(model.potential_ < model.potential_[target])
        expected = np.linalg.lstsq(centred[:, lower], centred[:, target], rcond=None)[0]
        assert model.adjacency_matrix_[lower, target] == pytest.approx(expected, rel=1e-8)
        assert np.count_nonzero(model.adjacency_matrix_[:, target]) == len(lower)


@pytest.mark.parametrize("name", ["binomial", "fast-tmpi"])
def test_both_minimisers_end_at_minima_of_one_function(name):
    problem = Problem(LeastSquares(Moments.from_array(simulate(6, 500, random_state=3).X)), constraint(name), 0.0)
    penalty, monitor = Penalty(alpha=1000.0), Monitor()
    # It ends where a step gains less than 1e-12 of the value. In a valley whose walls are κ times as steep as its floor
    # a step gains 1/κ of what is left at least, as steepest descent does: 1e-12 κ may be left. The walls are the
    # penalty's, 1000 times the loss, whose own κ is some hundreds on these data: κ < 1e6. With the published 1e-8,
    # nothing could be said.
    plain = partial(lbfgs, doubled=False, options={"ftol": 1e-12, "gtol": 1e-9})
    newton = proximal_newton(problem, penalty, State(problem.start()), monitor, "")
    quasi = plain(problem, penalty, State(problem.start()), monitor, "")
    # From where one of them ended the other finds no lower value.
    assert plain(problem, penalty, State(newton.weights), monitor, "").total == pytest.approx(newton.total, rel=1e-6)
    again = proximal_newton(problem, penalty, State(quasi.weights), monitor, "")
    assert again.total == pytest.approx(quasi.total, rel=1e-6)
    assert again.total <= quasi.total


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["proximal-newton", "lbfgs"])
@pytest.mark.parametrize("lambda1", [10.0, 1000.0])
def test_both_published_settings_come_close_to_the_truth(inner, lambda1):
    distances = []
    for seed in range(4):
        data = simulate(n_nodes=10, n=1000, random_state=seed)
        distances.append(shd(data.graph, NoCurl(lambda1=lambda1, inner=inner).fit(data.X).causal_graph_))
    assert np.mean(distances) < 5


def test_knowledge_is_obeyed(data):
    a, b, _ = data.graph.edges()[0]
    c, d, _ = data.graph.edges()[-1]
    knowledge = Knowledge(forbidden=[(a, b)], required=[(d, c)], bounds={(d, c): (0.2, 0.4)})
    model = NoCurl(knowledge=knowledge).fit(Moments.from_array(data.X, data.names))
    assert knowledge.compile(data.names).check(model.adjacency_matrix_) == []
    assert model.potential_[data.names.index(d)] <= model.potential_[data.names.index(c)]


def test_stopped_fits_return_what_they_have(data):
    stopped = NoCurl(time_limit=0.0).fit(data.X)
    assert not stopped.verdict_.converged
    assert stopped.verdict_.end.kind is Ended.TIME_LIMIT
    seen = []
    called = NoCurl(inner="lbfgs", callback=lambda progress: seen.append(progress) or len(seen) == 3).fit(data.X)
    assert len(seen) == 3
    assert called.verdict_.end.kind is Ended.CALLBACK


def test_a_fit_goes_on_from_its_checkpoint(data, tmp_path):
    whole = NoCurl(lambda1=10).fit(data.X)
    path = tmp_path / "run.npz"
    calls = iter(range(100))
    NoCurl(lambda1=10, checkpoint=path, callback=lambda progress: next(calls) == 4).fit(data.X)
    resumed = NoCurl(lambda1=10, checkpoint=path).fit(data.X)
    assert np.array_equal(resumed.adjacency_matrix_, whole.adjacency_matrix_)


def test_why_the_graph_is_empty():
    X = np.random.default_rng(0).normal(size=(500, 4))
    assert NoCurl().fit(X).verdict_.empty.kind is Empty.NO_ORDER
    assert NoCurl().fit(X[:, :1]).verdict_.empty.kind is Empty.ONE_COLUMN


def test_the_verdict_names_settings_and_assumption(data):
    verdict = NoCurl(lambda1=10).fit(data.X).verdict_
    assert verdict.method == "nocurl"
    assert verdict.settings == {"constraint": "binomial", "lambda1": 10, "lambda2": 1000.0}
    assert verdict.orientation is Orientation.EQUAL_VARIANCES


def test_duplicated_columns_and_few_rows_end():
    X = np.random.default_rng(0).normal(size=(6, 8))
    X[:, 4:] = X[:, :4]
    assert np.isfinite(NoCurl(threshold=0).fit(X).adjacency_matrix_).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lambda1": 0.0}, "lambda1 has to be above 0 and finite; got 0.0"),
        ({"lambda2": -1.0}, "lambda2 has to be above 0 and finite; got -1.0"),
        ({"potential_threshold": -0.1}, "potential_threshold"),
        ({"threshold": -0.1}, "threshold"),
        ({"inner": "adam"}, "inner"),
    ],
)
def test_errors_say_what_is_wrong(data, settings, message):
    with pytest.raises(InputError, match=message):
        NoCurl(**settings).fit(data.X)
