"""Golem: both likelihoods, its three minimisers, the published settings, every constraint."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from acyclic.constraints.catalogue import CONSTRAINTS, constraint
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.facts import Ended, Note
from acyclic.graphs.cycles import is_acyclic
from acyclic.graphs.metrics import shd, shd_cpdag
from acyclic.learners.golem import Golem
from acyclic.learners.notears import Notears
from acyclic.scores.continuous import IN_PARALLEL


@pytest.fixture(scope="module")
def data():
    return simulate(6, 1000, random_state=4)


def negative_log_likelihood(X, W, noise):
    X = X - X.mean(axis=0)
    squares = ((X - X @ W) ** 2).sum(axis=0)
    fit = len(W) * np.log(squares.sum()) if noise == "equal" else np.log(squares).sum()
    return 0.5 * fit - np.linalg.slogdet(np.eye(len(W)) - W)[1]


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_the_solution_minimises_what_it_says(noise, data):
    fit = Golem(noise=noise).fit(data.X)
    W, l1 = fit.solution_.weights, 0.02 if noise == "equal" else 0.002
    expected = negative_log_likelihood(data.X, W, noise) + l1 * np.abs(W).sum()
    assert fit.solution_.objective == pytest.approx(expected, rel=1e-10)
    assert fit.solution_.h == pytest.approx(constraint("fast-tmpi").value_and_gradient(W**2)[0], abs=1e-15)
    assert fit.solution_.converged and fit.verdict_.converged


@pytest.mark.parametrize("seed", range(5))
def test_equal_variances_are_recovered(seed):
    data = simulate(10, 2000, random_state=seed)
    assert shd(data.graph, Golem().fit(data.X).causal_graph_) <= 1


def test_unequal_variances_are_recovered_up_to_equivalence():
    distances = []
    for seed in range(5):
        data = simulate(8, 5000, variances=(0.5, 4.0), random_state=seed)
        distances.append(shd_cpdag(data.graph, Golem(noise="unequal").fit(data.X).causal_graph_))
    assert np.median(distances) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_the_minimisers_reach_the_same_objective(noise, data):
    fast = Golem(noise=noise).fit(data.X)
    adam = {"steps": 4000, "rate": 0.01}
    for inner, settings in (("lbfgs", {}), ("adam", adam), ("adam", {**adam, "precision": "single"})):
        slow = Golem(noise=noise, inner=inner, **settings).fit(data.X)
        total = [fit.solution_.objective + 5 * fit.solution_.h for fit in (fast, slow)]
        assert total[0] <= total[1] + 1e-3 * abs(total[1])
        np.testing.assert_array_equal(fast.adjacency_matrix_ != 0, slow.adjacency_matrix_ != 0)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_every_constraint_works(name, data):
    fit = Golem(constraint=name).fit(data.X)
    assert is_acyclic(fit.adjacency_matrix_) and fit.solution_.converged
    assert shd(data.graph, fit.causal_graph_) <= 2


def test_unequal_noise_starts_from_the_solution_for_equal_noise(data):
    both = Golem(noise="unequal").fit(data.X)
    first = Golem().fit(data.X)
    second = Golem(noise="unequal", start=first.solution_.weights, detour=10).fit(data.X)
    assert both.solution_.weights.tobytes() == second.solution_.weights.tobytes()
    assert both.solution_.steps == first.solution_.steps + second.solution_.steps
    assert [(p.round, p.penalty) for p in both.solution_.trace] == [(1, 50.0), (2, 5.0), (3, 50.0), (4, 5.0)]


@pytest.mark.parametrize(
    ("settings", "penalties"),
    [({}, [50.0, 5.0]), ({"detour": 1}, [5.0]), ({"detour": 3}, [15.0, 5.0]), ({"inner": "lbfgs"}, [5.0]),
     ({"inner": "lbfgs", "detour": 10}, [50.0, 5.0])],
)  # fmt: skip
def test_the_detour_is_that_of_the_minimiser_unless_given_and_the_verdict_names_it(data, settings, penalties):
    fit = Golem(**settings).fit(data.X)
    assert [p.penalty for p in fit.solution_.trace] == penalties
    assert fit.verdict_.settings.get("detour") == (penalties[0] / 5 if len(penalties) > 1 else None)


def test_from_a_start_there_is_no_detour(data):
    start = Notears(solver="central-path").fit(data.X).solution_.weights
    fit, from_zero = Golem(start=start).fit(data.X), Golem().fit(data.X)
    assert [p.penalty for p in fit.solution_.trace] == [5.0]
    ends = [s.objective + 5 * s.h for s in (fit.solution_, from_zero.solution_)]
    # One valley: steps end when they promise 1e-9 of its size; should that be a hundredth of what is left, 1e-7.
    assert ends[0] == pytest.approx(ends[1], rel=1e-7)
    assert fit.solution_.steps < from_zero.solution_.steps


def test_on_magnitudes_the_weights_themselves_are_a_dag(data):
    start = Golem().fit(data.X).solution_.weights
    fit = Golem(h_of="absolute", start=start).fit(data.X)
    W = fit.solution_.weights
    assert not is_acyclic(start) and is_acyclic(W) and fit.solution_.h == 0
    expected = negative_log_likelihood(data.X, W, "equal") + 0.02 * np.abs(W).sum()
    assert fit.solution_.objective == pytest.approx(expected, rel=1e-10)
    assert shd(data.graph, fit.causal_graph_) == 0 and fit.verdict_.settings["h_of"] == "absolute"


def test_a_given_l1_replaces_the_published_ones(data):
    assert Golem().fit(data.X).verdict_.settings["l1"] == 0.02
    assert Golem(noise="unequal").fit(data.X).verdict_.settings["l1"] == 0.002
    assert Golem(l1=0.5).fit(data.X).verdict_.settings["l1"] == 0.5
    assert Golem(l1=0.5).fit(data.X).causal_graph_.n_edges < Golem().fit(data.X).causal_graph_.n_edges


def test_units_shared_by_all_columns_do_not_matter(data):
    # The likelihood changes by a constant only.
    weights = [Golem().fit(Moments.from_array(data.X * unit)).solution_.weights for unit in (1e-60, 1.0, 1e60)]
    np.testing.assert_allclose(weights[0], weights[1], atol=1e-5)
    np.testing.assert_allclose(weights[2], weights[1], atol=1e-5)


def test_adam_makes_the_steps_it_was_given(data):
    with pytest.warns(ConvergenceWarning, match="Golem did not converge"):
        fit = Golem(inner="adam", steps=40).fit(data.X)
    assert fit.solution_.steps == 40 and not fit.verdict_.converged
    assert fit.verdict_.end.kind is Ended.STEPS_SPENT and fit.verdict_.end["steps"] == 40


def test_single_precision_is_asked_of_adam_alone(data):
    for inner in ("proximal-newton", "lbfgs"):
        with pytest.raises(InputError, match="precision='single' is for inner='adam'"):
            Golem(inner=inner, precision="single").fit(data.X)


@pytest.mark.slow
def test_a_large_fit_leaves_one_thread_to_the_blas_of_scipy():
    seen = []

    def look(progress):
        seen.extend(threadpool_info())
        return True

    with threadpool_limits(2):
        Golem(callback=look).fit(simulate(IN_PARALLEL, 300, random_state=0).X)
    threads = {Path(library["filepath"]).parent.name: library["num_threads"] for library in seen}
    if "scipy.libs" in threads:
        assert threads["scipy.libs"] == 1 and threads["numpy.libs"] == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"noise": "both"}, "noise has to be one of equal, unequal; got 'both'"),
        ({"inner": "newton"}, "inner has to be one of proximal-newton, adam, lbfgs; got 'newton'"),
        ({"h_weight": 0.0}, "h_weight has to be above 0 and finite; got 0.0"),
        ({"h_weight": np.nan}, "h_weight has to be above 0 and finite; got nan"),
        ({"detour": 0.5}, "detour has to be at least 1"),
        ({"precision": "half"}, "precision has to be one of double, single; got 'half'"),
        ({"steps": 0}, "steps has to be a whole number, at least 1; got 0"),
        ({"rate": -1.0}, "rate has to be above 0 and finite; got -1.0"),
        ({"l1": -0.1}, "l1 has to be at least 0 and finite, or None; got -0.1"),
    ],
)
def test_wrong_parameters_are_named(wrong, message, data):
    with pytest.raises(InputError, match=re.escape(message)):
        Golem(**wrong).fit(data.X)


def test_constant_columns_are_isolated_and_all_constant_is_refused(data):
    fit = Golem().fit(np.column_stack([data.X, np.full(1000, 3.0)]))
    assert not fit.adjacency_matrix_[6].any() and not fit.adjacency_matrix_[:, 6].any()
    assert [(note.kind, note.about, note["value"]) for note in fit.verdict_.notes] == [(Note.CONSTANT, ("x6",), 3.0)]
    with pytest.raises(InputError, match="every column is constant"):
        Golem().fit(np.ones((10, 3)))
