"""Constraints whose scale follows the spectral radius: the function, the hook, and who calls it."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from acyclic.constraints.catalogue import constraint
from acyclic.continuous.loops.augmented_lagrangian import AugmentedLagrangian
from acyclic.continuous.loops.central_path import CentralPath
from acyclic.continuous.loops.soft_penalty import SoftPenalty
from acyclic.continuous.minimisers import proximal_newton
from acyclic.continuous.problem import Penalty, Problem
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.experiments.capped import Capped, Count
from acyclic.learners import Golem, NoCurl, Notears
from acyclic.running import Monitor, State
from acyclic.scores.continuous import LeastSquares
from constraints.test_catalogue import max_radius, nonnegative, positive, series

NAMES = ["adaptive", "adaptive-tmpi"]
both = pytest.mark.parametrize("name", NAMES)


@both
@pytest.mark.parametrize("s", [0.05, 0.7, 1.0, 4.0])
@pytest.mark.parametrize("d", [1, 2, 6, 17])
def test_is_the_series_in_powers_of_b_over_s(name, s, d):
    B = positive(d, 0.4 * s)
    found = constraint(name, s=s).evaluate(B)
    order = found.order or 200
    h, G = series(B, s ** -np.arange(1.0, order + 1))
    assert_allclose(found.value, h, rtol=1e-11)
    assert_allclose(found.gradient, G, rtol=1e-11)
    assert constraint(name, s=s).linear_coefficient(d) == pytest.approx(1 / s)


@both
@settings(deadline=None, max_examples=60)
@given(nonnegative, st.sampled_from([1e-12, 1.0, 1e12]))
def test_a_point_sets_the_scale_above_its_radius(name, B, units):
    made = constraint(name, margin=0.25, least=0.02)
    moved, radius = made.for_point(B * units), max_radius(B * units)
    if not B.any():
        assert moved is made
        return
    assert_allclose(moved.s, max(1.25 * radius, 0.02), rtol=1e-9)
    found = moved.evaluate(B * units)
    assert found.in_domain and 0 <= found.value < np.inf
    # The scale of a point depends on the point alone: what s was before does not matter.
    assert moved.for_point(B * units).s == moved.s


@both
@pytest.mark.parametrize("k", [2, 9, 64])
def test_a_long_weak_cycle_keeps_its_weight(name, k):
    B = 0.09 * np.roll(np.eye(k), 1, axis=1)
    made = constraint(name, margin=0.2, least=0.01)
    h, G = made.for_point(B).value_and_gradient(B)
    # k (1/1.2)^k and more: 5e-4 at 64, where the plain series has 7e-66.
    assert h >= k * 1.2**-k * (1 - 1e-9)
    assert (G[B > 0] > 0).all()


@both
@pytest.mark.parametrize("wrong", [{"s": 0}, {"s": np.nan}, {"margin": 0}, {"margin": np.inf}, {"least": -1}])
def test_impossible_scales_are_refused(name, wrong):
    with pytest.raises(InputError, match="positive"):
        constraint(name, **wrong)


def test_constraints_that_do_not_follow_stay_themselves():
    B = positive(4, 0.5)
    for name in ("fast-tmpi", "log-det", "spectral-radius"):
        made = constraint(name)
        assert made.for_point(B) is made
    wrapped = constraint("fast-tmpi", components=True)
    assert wrapped.for_point(B) is wrapped
    capped = Capped(inside=constraint("tmpi"), count=Count())
    assert capped.for_point(B) is capped


def test_wrappers_hand_the_point_on():
    B, count = positive(5, 0.6), Count()
    for wrapped in (
        constraint("adaptive", components=True).for_point(B).constraint,
        Capped(inside=constraint("adaptive"), count=count).for_point(B).inside,
    ):
        assert wrapped.s == constraint("adaptive").for_point(B).s != 1
    Capped(inside=constraint("adaptive"), count=count).for_point(B).evaluate(B)
    assert count.used == 1


def recorded(loop, name="adaptive"):
    """The scales that a loop minimises with, and the weights each minimisation started from."""
    problem = Problem(LeastSquares(Moments.from_array(simulate(6, 300, random_state=2).X)), constraint(name), 0.1)
    state, seen = State(problem.start()), []

    def minimise(task, penalty, state, monitor, stage):
        seen.append((task.constraint.s, np.array(state.weights), state.h))
        return proximal_newton(task, penalty, state, monitor, stage)

    loop(problem, minimise, Monitor(), state)
    return problem, seen, state


@pytest.mark.parametrize(
    "loop", [AugmentedLagrangian(), AugmentedLagrangian(multiplier=False), CentralPath(), SoftPenalty(detour=10.0)]
)
def test_every_loop_sets_the_scale_before_each_minimisation(loop):
    problem, seen, _ = recorded(loop)
    assert problem.constraint.s == 1 and len(seen) > 1
    for s, weights, h in seen:
        assert s == problem.constraint.for_point(weights**2).s
        if isinstance(loop, AugmentedLagrangian) and h < np.inf:
            # Progress is measured with the function that is minimised next.
            assert h == problem.starting_at(weights).h(weights)
    assert len({s for s, *_ in seen}) > 1


def test_a_minimisation_that_was_interrupted_goes_on_with_the_same_function():
    problem, _, expected = recorded(AugmentedLagrangian())
    minimise, state = proximal_newton, State(problem.start())
    for most in range(5, 200, 7):
        stops = Monitor(callback=lambda progress, most=most: progress.step >= most)
        monitor = stops if most < 190 else Monitor()
        state = monitor.run(partial(lambda m, s: AugmentedLagrangian()(problem, minimise, m, s), monitor), state)
        if state.done:
            break
    assert state.done
    np.testing.assert_array_equal(state.weights, expected.weights)


@both
@pytest.mark.parametrize("learner", [Notears, Golem, NoCurl, partial(Notears, solver="central-path")])
def test_learners_find_the_graph_with_it(name, learner):
    data = simulate(8, 1000, graph="ER1", random_state=3)
    model = learner(constraint=name).fit(data.X)
    assert (model.causal_graph_.adjacency == data.graph.adjacency).all()
    assert model.verdict_.converged


def test_problem_tells_the_value_of_the_constraint():
    problem = Problem(LeastSquares(Moments.from_array(simulate(5, 50, random_state=0).X)), constraint("tmpi"), 0.1)
    W = np.random.default_rng(0).normal(size=(5, 5)) / 4
    assert problem.h(W) == problem.at(W, Penalty(alpha=1.0)).h
    assert problem.starting_at(W) is problem
