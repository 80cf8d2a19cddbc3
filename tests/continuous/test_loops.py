"""The outer loops: the published schedules step by step, Adam by hand, and every constraint to the end."""

from functools import partial

import numpy as np
import pytest

from acyclic.constraints.catalogue import CONSTRAINTS, constraint
from acyclic.continuous.loops.augmented_lagrangian import AugmentedLagrangian
from acyclic.continuous.loops.central_path import CentralPath
from acyclic.continuous.loops.soft_penalty import SoftPenalty
from acyclic.continuous.minimisers import Adam, proximal_newton
from acyclic.continuous.problem import Penalty, Point, Problem
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.facts import Ended, Fact
from acyclic.running import Monitor, State
from acyclic.scores.continuous import GaussianEqualVariance, LeastSquares


def problem(d=5, seed=0, score=LeastSquares, name="fast-tmpi", l1=0.1):
    return Problem(score(Moments.from_array(simulate(d, 200, random_state=seed).X)), constraint(name), l1)


class Scripted:
    """A minimiser that returns prescribed values of h, at weights that tell which call returned them."""

    def __init__(self, *values):
        self.values, self.calls = list(values), []

    def __call__(self, problem, penalty, state, monitor, stage):
        assert state.inner is None and state.inner_steps == 0 and not state.memory
        self.calls.append((penalty.rho, penalty.alpha, state.weights[0, 1]))
        state.step(np.full((2, 2), np.nan))
        weights = np.array([[0.0, float(len(self.calls))], [0.0, 0.0]])
        h = self.values.pop(0)
        return Point(weights, 1.0, np.zeros((2, 2)), 0.5, h, np.zeros((2, 2)), 1.5)


class Same:
    """A problem whose constraint does not follow the point."""

    def starting_at(self, weights):
        return self


def run(loop, minimise):
    state = Monitor().run(lambda s: loop(Same(), minimise, Monitor(), s), State(np.zeros((2, 2))))
    assert state.done and state.inner is None
    return state


def test_the_augmented_lagrangian_follows_the_published_schedule():
    # Accepted; too little, so ρ grows and the solve starts again from the last accepted point; still too little;
    # enough: α grows by the raised ρ times h; enough at once; done.
    minimise = Scripted(1.0, 0.9, 0.3, 0.2, 0.04, 1e-9)
    state = run(AugmentedLagrangian(), minimise)
    assert minimise.calls == [
        (1.0, 0.0, 0.0),
        (1.0, 1.0, 1.0),
        (10.0, 1.0, 1.0),
        (100.0, 1.0, 1.0),
        (100.0, 21.0, 4.0),
        (100.0, 25.0, 5.0),
    ]
    assert state.end == Fact.of(Ended.CONSTRAINT_MET, h=1e-9, h_tol=1e-8)
    assert (state.weights[0, 1], state.h, state.round, state.steps) == (6.0, 1e-9, 4, 6)
    assert [p.penalty for p in state.trace] == [1.0, 1.0, 10.0, 100.0, 100.0, 100.0]
    assert [p.h for p in state.trace] == [1.0, 0.9, 0.3, 0.2, 0.04, 1e-9]
    assert {p.objective for p in state.trace} == {1.5}


def test_h_of_exactly_a_quarter_is_enough():
    minimise = Scripted(1.0, 0.25, 0.0)
    run(AugmentedLagrangian(), minimise)
    assert [rho for rho, _, _ in minimise.calls] == [1.0, 1.0, 1.0]


def test_the_augmented_lagrangian_ends_at_the_largest_penalty():
    minimise = Scripted(1.0, 0.9, 0.8, 0.7)
    state = run(AugmentedLagrangian(rho_max=1000.0), minimise)
    assert [rho for rho, _, _ in minimise.calls] == [1.0, 1.0, 10.0, 100.0]
    # The last point is accepted although it did not fall enough, with the multiplier of the raised ρ.
    assert (state.weights[0, 1], state.h, state.rho, state.alpha) == (4.0, 0.7, 1000.0, 701.0)
    assert state.end == Fact.of(Ended.PENALTY_SPENT, rho=1000.0, h=0.7, h_tol=1e-8)


def test_the_augmented_lagrangian_ends_after_the_last_round():
    minimise = Scripted(1.0, 0.2, 0.04)
    state = run(AugmentedLagrangian(max_rounds=3), minimise)
    assert state.end == Fact.of(Ended.ROUNDS_SPENT, round=3, h=0.04, h_tol=1e-8)


def test_the_quadratic_penalty_has_no_multiplier_and_grows_after_every_solve():
    minimise = Scripted(1.0, 0.9, 0.8, 1e-9)
    state = run(AugmentedLagrangian(multiplier=False), minimise)
    assert minimise.calls == [(1.0, 0.0, 0.0), (10.0, 0.0, 1.0), (100.0, 0.0, 2.0), (1000.0, 0.0, 3.0)]
    assert state.end.kind.converged and state.alpha == 0 and {p.stage for p in state.trace} == {"quadratic penalty"}
    endless = Scripted(*[1.0] * 20)
    assert not run(AugmentedLagrangian(multiplier=False), endless).end.kind.converged
    assert [rho for rho, _, _ in endless.calls] == [10.0**k for k in range(16)]


def test_the_central_path_starts_each_problem_from_the_last():
    minimise = Scripted(0.5, 0.4, 0.3, 0.2)
    state = run(CentralPath(), minimise)
    assert [(rho, weight) for rho, _, weight in minimise.calls] == [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]
    assert [alpha for _, alpha, _ in minimise.calls] == pytest.approx([1.0, 10.0, 100.0, 1000.0])
    assert state.end == Fact.of(Ended.PATH_FOLLOWED, mu=0.001)


@pytest.mark.parametrize("end", [2, 3, 4, 5])
def test_a_loop_that_was_stopped_between_rounds_goes_on_as_if_it_had_not_been(end):
    values = (1.0, 0.9, 0.3, 0.2, 1e-9)
    whole = Scripted(*values)
    expected = run(AugmentedLagrangian(), whole)
    monitor, first = Monitor(callback=lambda p: len(first.calls) == end), Scripted(*values)
    state = State(np.zeros((2, 2)))
    monitor.run(lambda s: AugmentedLagrangian()(Same(), first, monitor, s), state)
    assert not state.done and state.end.kind is Ended.CALLBACK
    second = Scripted(*values[end:])
    second.calls = list(first.calls)
    Monitor().run(lambda s: AugmentedLagrangian()(Same(), second, Monitor(), s), state)
    assert second.calls == whole.calls
    assert (state.weights == expected.weights).all() and state.end == expected.end and state.end.kind.converged
    assert [p.h for p in state.trace] == list(values)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("kind", ["augmented", "quadratic", "central"])
def test_every_constraint_lowers_its_own_value(name, kind):
    # The spectral radius has no derivative at a DAG: its last digits take most of the time, ten times less on one table
    # than on the other.
    rough = name == "spectral-radius"
    h_tol = 1e-2 if rough else 1e-8
    loop = CentralPath() if kind == "central" else AugmentedLagrangian(h_tol, multiplier=kind == "augmented")
    task = problem(5, seed=1 if rough else 3, name=name)
    state = Monitor().run(lambda s: loop(task, proximal_newton, Monitor(), s), State(task.start()))
    free = proximal_newton(task, Penalty(), State(task.start()), Monitor(), "")
    free_h, _ = task.constraint.value_and_gradient(free.weights**2)
    h, _ = task.constraint.value_and_gradient(state.weights**2)
    assert np.isfinite(state.weights).all()
    assert h < 1e-2 * free_h
    assert state.end.kind.converged and (h <= h_tol or kind == "central")


def test_adam_is_the_textbook_algorithm():
    task, alpha, l1 = problem(5, seed=1, score=GaussianEqualVariance, l1=0.02), 5.0, 0.02
    X = simulate(5, 200, random_state=1).X
    X = X - X.mean(axis=0)
    W, m, v = np.zeros((5, 5)), np.zeros((5, 5)), np.zeros((5, 5))
    for t in range(1, 8):
        R = X - X @ W
        _, G = constraint("fast-tmpi").value_and_gradient(W**2)
        g = -5 * X.T @ R / (R**2).sum() + np.linalg.inv(np.eye(5) - W).T + l1 * np.sign(W) + alpha * 2 * W * G
        np.fill_diagonal(g, 0.0)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        # The rate that TensorFlow's Adam uses: the corrections of both moments in one, ε beside the raw root.
        W = W - 0.001 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
        state = State(task.start())
        point = Adam(steps=t)(task, Penalty(alpha=alpha), state, Monitor(), "")
        np.testing.assert_allclose(point.weights, W, rtol=1e-9, atol=1e-15)
        assert state.steps == t


@pytest.mark.slow
def test_adam_says_when_it_was_still_falling():
    task = problem(5, score=GaussianEqualVariance, l1=0.02)
    for steps, converged in ((50, False), (6000, True)):
        state = State(task.start())
        SoftPenalty()(task, Adam(steps=steps), Monitor(), state)
        assert state.end.kind is (Ended.MINIMUM_REACHED if converged else Ended.STEPS_SPENT)


@pytest.mark.parametrize("loop", [AugmentedLagrangian(), CentralPath(), SoftPenalty(), SoftPenalty(detour=10.0)])
def test_the_loops_are_interchangeable(loop):
    task = problem(5, score=GaussianEqualVariance, l1=0.05)
    state = Monitor().run(lambda s: loop(task, proximal_newton, Monitor(), s), State(task.start()))
    assert state.done and state.end.kind.converged and state.h < 0.1


def test_the_soft_penalty_takes_the_problems_on_its_way_in_turn():
    minimise = Scripted(0.5, 0.4)
    state = run(SoftPenalty(3.0, way=(Same(),)), minimise)
    assert minimise.calls == [(0.0, 3.0, 0.0), (0.0, 3.0, 1.0)] and state.end.kind.converged and state.round == 2


def test_a_soft_penalty_without_steps_enough_does_not_converge():
    task = problem(6, seed=2, score=GaussianEqualVariance, l1=0.02)
    state = State(task.start())
    SoftPenalty()(task, partial(proximal_newton, max_steps=2), Monitor(), state)
    assert state.end.kind is Ended.STEPS_SPENT and state.end["steps"] == 2
