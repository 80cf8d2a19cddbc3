"""The inner minimisers: exact elastic nets, and two minimisers that agree wherever the minimum is unique."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import ElasticNet, Lasso

from acyclic._native import elastic_nets
from acyclic.constraints.base import Constraint, Evaluation
from acyclic.constraints.catalogue import constraint
from acyclic.continuous.loops.augmented_lagrangian import AugmentedLagrangian
from acyclic.continuous.minimisers import lbfgs, proximal_newton
from acyclic.continuous.minimisers.lbfgs import Doubled, Plain
from acyclic.continuous.minimisers.proximal_newton import _rescaled
from acyclic.continuous.problem import H_OF, Penalty, Problem
from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.deadline import Stopped
from acyclic.facts import Ended
from acyclic.learners.notears import Notears
from acyclic.running import Monitor, State
from acyclic.scores.continuous import GaussianEqualVariance, LeastSquares

TIGHT = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 100_000, "maxfun": 10**6, "maxcor": 50}


def covariance(d, condition, rng):
    basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
    S = (basis * np.geomspace(1, 1 / condition, d)) @ basis.T
    return (S + S.T) / 2


def nets(d, seed, *, condition=10.0, l1=0.05, ridge=0.0, box="free", constant=0):
    """The arguments of `elastic_nets` for one random problem; ``constant`` columns have no variance."""
    rng = np.random.default_rng(seed)
    Q = covariance(d, condition, rng)
    linear = -Q @ rng.standard_normal((d, d)) * (rng.random((d, d)) < 0.5)
    Q[:constant] = Q[:, :constant] = linear[:constant] = 0.0
    lower, upper = np.full((d, d), -np.inf), np.full((d, d), np.inf)
    if box != "free":
        kind = rng.integers(0, 6, (d, d))
        low = rng.uniform(-1, 1, (d, d))
        lower = np.select([kind == 0, kind == 1, kind == 2, kind == 3], [0.0, -np.inf, low, 0.0], -np.inf)
        upper = np.select([kind == 0, kind == 1, kind == 2, kind == 3], [np.inf, 0.0, low + 0.3, 0.0], np.inf)
    matrices = {"l1": np.full((d, d), l1), "ridge": ridge * rng.random((d, d))}
    start = np.clip(rng.standard_normal((d, d)), lower, upper)
    return {
        "Q": Q,
        "c": rng.uniform(0.5, 2, d),
        "linear": linear,
        **matrices,
        "lower": lower,
        "upper": upper,
        "start": start,
    }


def violation(B, Q, c, linear, l1, ridge, lower, upper, start):
    """By how much moving one entry, to the right or to the left, still pays: slopes in units of the curvature."""
    smooth = c * (Q @ B) + linear + 2 * ridge * B
    right = smooth + np.where(B >= 0, l1, -l1)
    left = smooth + np.where(B > 0, l1, -l1)
    scale = np.sqrt(np.maximum(c * Q.diagonal()[:, None] + 2 * ridge, 1e-12))
    gain = np.maximum(np.where(B < upper, -right, 0), np.where(B > lower, left, 0)) / scale
    return gain.max()


@pytest.mark.parametrize("d", [1, 2, 50])
@pytest.mark.parametrize("condition", [10.0, 1e4, 1e8])
@pytest.mark.parametrize("box", ["free", "mixed"])
@pytest.mark.parametrize(("l1", "ridge", "constant"), [(0.05, 0.0, 0), (0.05, 1.0, 0), (0.0, 0.0, 0), (0.02, 0.1, 1)])
def test_elastic_nets_meet_the_optimality_conditions(d, condition, box, l1, ridge, constant):
    problem = nets(d, seed=d, condition=condition, l1=l1, ridge=ridge, box=box, constant=constant)
    B = elastic_nets(**problem, tolerance=1e-10)
    assert (problem["lower"] <= B).all() and (problem["upper"] >= B).all()
    assert violation(B, **problem) < 1e-7


@given(
    seed=st.integers(0, 10**6), d=st.integers(1, 6), l1=st.sampled_from([0.0, 0.01, 0.3]), exponent=st.integers(0, 8)
)
@settings(max_examples=100, deadline=None)
def test_elastic_nets_meet_the_optimality_conditions_on_any_box(seed, d, l1, exponent):
    problem = nets(d, seed, condition=10.0**exponent, l1=l1, box="mixed", constant=seed % 2)
    B = elastic_nets(**problem, tolerance=1e-10)
    assert (problem["lower"] <= B).all() and (problem["upper"] >= B).all()
    assert violation(B, **problem) < 1e-7


def test_without_l1_and_box_an_elastic_net_is_a_linear_system():
    problem = nets(8, seed=1, condition=1e6, l1=0.0, ridge=0.0)
    expected = -np.linalg.solve(problem["Q"], problem["linear"]) / problem["c"]
    np.testing.assert_allclose(elastic_nets(**problem, tolerance=1e-12), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_an_elastic_net_is_that_of_scikit_learn(ridge):
    rng = np.random.default_rng(3)
    X, y, l1, d = rng.standard_normal((80, 12)), rng.standard_normal(80), 0.05, 12
    peer = Lasso(l1, tol=1e-12, fit_intercept=False)
    if ridge:
        # alpha·l1_ratio = l1 and alpha·(1 − l1_ratio)/2 = ridge
        total = l1 + 2 * ridge
        peer = ElasticNet(total, l1_ratio=l1 / total, tol=1e-12, fit_intercept=False)
    expected = peer.fit(X, y).coef_
    full = partial(np.full, (d, d))
    linear = np.tile((-X.T @ y / 80)[:, None], (1, d))
    B = elastic_nets(
        X.T @ X / 80, np.ones(d), linear, full(l1), full(ridge), full(-np.inf), full(np.inf), full(0.0), 1e-12
    )
    np.testing.assert_allclose(B, np.tile(expected[:, None], (1, d)), rtol=0, atol=1e-9)
    assert (expected == 0).any() and ((B == 0) == (expected == 0)[:, None]).all()


def test_a_problem_may_be_given_around_its_start():
    problem = nets(30, seed=6, condition=1e4, ridge=0.2, box="mixed")
    expected = elastic_nets(**problem, tolerance=1e-11)
    slopes = problem["c"] * (problem["Q"] @ problem["start"]) + problem["linear"]
    B = elastic_nets(**{**problem, "linear": slopes}, tolerance=1e-11, around=True)
    np.testing.assert_allclose(B, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("condition", [10.0, 1e6])
def test_elastic_nets_of_many_entries_meet_the_optimality_conditions(condition):
    """Several hundred entries come and go on the way from zero, some at bounds."""
    problem = nets(240, seed=8, condition=condition, l1=0.002, ridge=0.01, box="mixed")
    problem["start"] = np.clip(np.zeros((240, 240)), problem["lower"], problem["upper"])
    B = elastic_nets(**problem, tolerance=1e-10)
    assert (problem["lower"] <= B).all() and (problem["upper"] >= B).all()
    assert violation(B, **problem) < 1e-7 and np.count_nonzero(B) > 0.3 * B.size


def test_threads_do_not_change_a_bit():
    problem = nets(97, seed=5, condition=1e5, box="mixed")
    single = elastic_nets(**problem, tolerance=1e-8)
    for threads in (2, 3, 7):
        assert elastic_nets(**problem, tolerance=1e-8, threads=threads).tobytes() == single.tobytes()


def test_elastic_nets_leave_their_arguments_alone():
    problem = nets(5, seed=0, box="mixed")
    copies = {name: array.copy() for name, array in problem.items()}
    for array in problem.values():
        array.flags.writeable = False
    elastic_nets(**problem, tolerance=1e-8)
    for name, array in problem.items():
        np.testing.assert_array_equal(array, copies[name])


@dataclass(frozen=True)
class Ridge(Constraint):
    """⟨C, B⟩: a constraint that is linear in B, so that its penalty is a fixed ridge and the minimum unique."""

    name = "ridge"
    C: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def evaluate_block(self, B, size):
        return Evaluation(float(np.vdot(self.C, B)), self.C, None)


def convex_problem(d, seed, condition, box):
    rng = np.random.default_rng(seed)
    knowledge = Knowledge()
    if box:
        knowledge = Knowledge(
            required=[("x0", "x1")],
            forbidden=[("x2", "x0")],
            signs={("x1", "x2"): "-"},
            bounds={("x0", "x1"): (0.2, 0.5), ("x0", "x2"): (-0.1, 0.1)},
        )
    moments = Moments(100, np.zeros(d), covariance(d, condition, rng) * d)
    mask = knowledge.compile(moments.names)
    return Problem(LeastSquares(moments), Ridge(C=rng.random((d, d))), 0.02, mask)


@pytest.mark.parametrize("penalty", [Penalty(), Penalty(alpha=0.05)], ids=["none", "ridge"])
@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize(("d", "condition"), [(3, 10.0), (6, 1e3), (10, 1e2), (6, 1e8)])
def test_the_minimisers_agree_on_convex_problems(d, condition, box, penalty):
    problem = convex_problem(d, d, condition, box)
    fast = proximal_newton(problem, penalty, State(problem.start()), Monitor(), "", tolerance=1e-14)
    slow = lbfgs(problem, penalty, State(problem.start()), Monitor(), "", options=TIGHT)
    assert fast.total == pytest.approx(slow.total, rel=1e-6)
    assert fast.total <= slow.total + 1e-12 * abs(slow.total)
    for point in (fast, slow):
        assert (problem.least <= point.weights).all() and (point.weights <= problem.most).all()
    if condition < 1e8:
        np.testing.assert_allclose(fast.weights, slow.weights, rtol=0, atol=1e-6)


def test_a_convex_problem_takes_proximal_newton_one_step():
    problem = convex_problem(6, 0, 1e3, False)
    state = State(problem.start())
    proximal_newton(problem, Penalty(alpha=0.05), state, Monitor(), "")
    assert state.steps == 1


@pytest.mark.parametrize("h_of", H_OF)
@pytest.mark.parametrize("noise", ["least squares", "likelihood"])
def test_the_minimisers_end_at_stationary_points(noise, h_of):
    moments = Moments.from_array(simulate(6, 300, random_state=2).X)
    score = LeastSquares(moments) if noise == "least squares" else GaussianEqualVariance(moments)
    problem, penalty = Problem(score, constraint("fast-tmpi"), 0.05, h_of=h_of), Penalty(alpha=5.0)
    for minimise in (partial(proximal_newton, tolerance=1e-13), partial(lbfgs, options=TIGHT)):
        point = minimise(problem, penalty, State(problem.start()), Monitor(), "")
        slope, W, l1 = point.smooth_gradient, point.weights, problem.l1_near(point)
        inside = ~np.eye(6, dtype=bool)
        assert np.abs(slope + l1 * np.sign(W))[inside & (np.abs(W) > 1e-9)].max() < 1e-4
        assert ((np.abs(slope) - l1)[inside & (np.abs(W) <= 1e-9)] < 1e-4).all()


@pytest.mark.parametrize(("view", "h_of"), [(Doubled, "squares"), (Doubled, "absolute"), (Plain, "squares")])
@pytest.mark.parametrize("box", [False, True])
def test_the_views_of_lbfgs_are_the_problem(view, h_of, box):
    l1 = 0.02 if view is Doubled else 0.0
    mask = Knowledge(forbidden=[("x2", "x0")], bounds={("x0", "x1"): (0.2, 0.5)} if box else {}).compile(
        [f"x{k}" for k in range(5)]
    )
    moments = Moments.from_array(simulate(5, 100, random_state=1).X)
    problem, penalty = Problem(LeastSquares(moments), constraint("fast-tmpi"), l1, mask, h_of), Penalty(2.0, 3.0)
    seen, rng = view(problem, penalty), np.random.default_rng(0)
    weights = problem.inside(0.3 * rng.standard_normal((5, 5)))
    flat = seen.split(weights)
    assert (seen.lower <= flat).all() and (flat <= seen.upper).all()
    np.testing.assert_array_equal(seen.join(flat), weights)
    value, gradient = seen.value_and_gradient(flat)
    assert value == pytest.approx(problem.at(weights, penalty).total, rel=1e-12)
    for k in range(len(flat)):
        # With steps of ε^⅓ a central difference is exact to about ε^⅔ = 4e-11 times the third derivative.
        step = np.cbrt(np.finfo(float).eps) * np.eye(len(flat))[k]
        rise = seen.value_and_gradient(flat + step)[0] - seen.value_and_gradient(flat - step)[0]
        assert gradient[k] == pytest.approx(rise / (2 * step[k]), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["fast-tmpi", "exponential", "log-det", "adaptive", "balanced"])
def test_a_penalty_on_magnitudes_has_the_slopes_of_its_finite_differences(name):
    rng = np.random.default_rng(5)
    W = np.where(rng.random((5, 5)) < 0.6, rng.uniform(0.05, 0.15, (5, 5)) * rng.choice([-1, 1], (5, 5)), 0.0)
    np.fill_diagonal(W, 0)
    made = constraint(name).for_point(np.abs(W))
    moments, penalty = Moments.from_array(rng.standard_normal((40, 5))), Penalty(2.0, 3.0)
    problem = Problem(LeastSquares(moments), made, 0.0, h_of="absolute")
    point = problem.at(W, penalty)
    # Another way to the same number: the plain value of |W|, which is W∘W of the roots.
    roots = Problem(LeastSquares(moments), made, 0.0).at(np.sqrt(np.abs(W)), penalty)
    assert point.h == pytest.approx(roots.h, rel=1e-12)
    np.testing.assert_allclose(point.shrinkage, roots.ridge, rtol=1e-12, atol=0)
    step = np.cbrt(np.finfo(float).eps)
    for i, j in np.argwhere(~np.eye(5, dtype=bool)):
        move = np.zeros((5, 5))
        move[i, j] = step
        up, down = (problem.at(W + sign * move, penalty) for sign in (1, -1))
        if W[i, j]:
            slope = (up.total - down.total) / (2 * step)
            expected = point.smooth_gradient[i, j] + np.sign(W[i, j]) * point.shrinkage[i, j]
            assert slope == pytest.approx(expected, rel=1e-6, abs=1e-6)
            continue
        # At 0 it bends by the same slope to both sides; one-sided differences are exact to the step's order.
        for moved, sign in ((up, 1), (down, -1)):
            expected = sign * point.smooth_gradient[i, j] + point.shrinkage[i, j]
            assert (moved.total - point.total) / step == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_steps_that_do_not_suffice_are_told():
    problem = Problem(LeastSquares(Moments.from_array(simulate(8, 200).X)), constraint("fast-tmpi"), 0.0)
    for minimise, steps in (
        (partial(proximal_newton, max_steps=1), 1),
        (partial(lbfgs, options={"maxiter": 2}), 2),
    ):
        state = State(problem.start())
        minimise(problem, Penalty(alpha=5.0), state, Monitor(), "")
        assert state.shortfall.kind is Ended.STEPS_SPENT and state.shortfall["steps"] == steps


def small_problem(seed):
    moments = Moments.from_array(simulate(6, 300, random_state=seed).X)
    return Problem(LeastSquares(moments), constraint("fast-tmpi"), 0.1)


def bottom(problem, penalty, point):
    """The minimum of the valley in which a point lies."""
    tight = partial(proximal_newton, tolerance=1e-14, max_steps=20_000)
    return tight(problem, penalty, State(point.weights), Monitor(), "")


@pytest.mark.parametrize("penalty", [Penalty(1.0), Penalty(1e2, 10.0), Penalty(1e6, 1e3)], ids=lambda p: f"{p.rho:g}")
@pytest.mark.parametrize("seed", range(4))
def test_from_one_start_proximal_newton_ends_at_its_minimum_and_no_higher_than_lbfgs(seed, penalty):
    problem = small_problem(seed)
    fast, slow = (
        minimise(problem, penalty, State(problem.start()), Monitor(), "") for minimise in (proximal_newton, lbfgs)
    )
    # It ends when a step promises 1e-9 of the objective; should that be a hundredth of what is left, 1e-7 are left.
    slack = 1e-7 * fast.objective
    ends = [bottom(problem, penalty, point).total for point in (fast, slow)]
    assert fast.total <= ends[0] + slack
    same_valley = abs(ends[0] - ends[1]) <= slack
    assert fast.total <= slow.total + slack or not same_valley


class Recorded:
    """A minimiser that remembers the penalty of its last call."""

    def __init__(self, minimise):
        self.minimise = minimise

    def __call__(self, problem, penalty, *rest):
        self.penalty = penalty
        return self.minimise(problem, penalty, *rest)


@pytest.mark.slow
def test_proximal_newton_ends_no_higher_than_lbfgs_unless_at_another_minimum():
    """Of 145 problems of 5 to 30 nodes it ended lower in 139, in the median by 4e-5, because L-BFGS-B stops further
    from a minimum, and higher in 5: by 7e-5 where the last ρ was another, else by up to 1 % at another minimum, which
    L-BFGS-B does not leave either. So the means over problems say nothing about the minimisers.
    """
    apart = []
    for seed in (0, 1, 7):
        problem, ends = small_problem(seed), []
        for minimise in (proximal_newton, lbfgs):
            recorded, state = Recorded(minimise), State(problem.start())
            AugmentedLagrangian()(problem, recorded, Monitor(), state)
            ends.append((recorded.penalty, problem.at(state.weights, recorded.penalty)))
        (penalty, fast), (_, slow) = ends
        # L-BFGS-B stops up to 0.02 away from a minimum; true weights are at least 0.5.
        apart.append(np.abs(fast.weights - slow.weights).max() > 0.25)
        if apart[-1]:
            again = lbfgs(problem, penalty, State(fast.weights), Monitor(), "")
            assert again.total >= fast.total - 1e-7 * fast.objective
        else:
            assert fast.objective <= slow.objective * (1 + 1e-7)
    assert sum(apart) < len(apart)


def test_a_step_is_ended_inside_of_its_elastic_nets():
    """At this size they are long enough to be watched: not even the first step is made."""
    moments = Moments.from_array(simulate(210, 300, random_state=0).X)
    problem = Problem(LeastSquares(moments), constraint("fast-tmpi"), 0.1)
    state = State(problem.start())
    with pytest.raises(Stopped) as stop:
        proximal_newton(problem, Penalty(1.0), state, Monitor(0), "test")
    assert stop.value.end.kind is Ended.TIME_LIMIT and state.steps == 0
    solution = Notears(time_limit=0).fit(moments).solution_
    assert solution.end.kind is Ended.TIME_LIMIT and solution.steps == 0


@pytest.mark.parametrize("share", [0.4, 2.0], ids=["too short", "too long"])
def test_a_step_of_the_wrong_length_is_rescaled_to_the_minimum_on_its_way(share):
    """Least squares without L1 term are a parabola along any step, so that its two slopes give the minimum exactly."""
    moments = Moments.from_array(simulate(6, 300, random_state=2).X)
    problem, penalty = Problem(LeastSquares(moments), constraint("fast-tmpi"), 0.0), Penalty()
    start = problem.at(problem.start(), penalty)
    least = problem.inside(-start.gradient)
    slope = float(np.vdot(start.gradient, least))
    bend = float(np.vdot(least, problem.at(least, penalty).gradient - start.gradient))
    best = problem.at(least * (-slope / bend), penalty)
    reached = problem.at(best.weights * share, penalty)
    rescaled = _rescaled(problem, penalty, start.weights, reached, -float(np.vdot(start.gradient, -reached.weights)))
    np.testing.assert_allclose(rescaled.weights, best.weights, rtol=1e-9, atol=0)
    assert rescaled.total < reached.total


def test_a_rescaled_step_stays_in_the_box_and_leaves_zeros():
    moments = Moments.from_array(simulate(6, 300, random_state=2).X)
    mask = Knowledge(forbidden=[("x2", "x0")], bounds={("x0", "x1"): (-0.1, 0.1)}).compile([f"x{k}" for k in range(6)])
    problem, penalty = Problem(LeastSquares(moments), constraint("fast-tmpi"), 0.1, mask), Penalty(alpha=5.0)
    end = proximal_newton(problem, penalty, State(problem.start()), Monitor(), "")
    near = problem.at(problem.inside(0.1 * end.weights), penalty)
    slope = float(np.vdot(problem.at(problem.start(), penalty).smooth_gradient, near.weights)) + near.l1
    moved = _rescaled(problem, penalty, problem.start(), near, slope)
    assert moved.total < near.total
    assert (problem.least <= moved.weights).all() and (moved.weights <= problem.most).all()
    assert not moved.weights[near.weights == 0].any()
