from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic._native import OrderTrees
from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.order import equal_variance_order, equal_variance_score, polish, search_orders
from acyclic.discrete.selection import ParentCriterion, fit_parents, select_parents
from acyclic.errors import InputError
from acyclic.facts import Ended
from acyclic.graphs.dag import Dag
from acyclic.graphs.metrics import shd, shd_cpdag
from acyclic.graphs.pruning import threshold
from acyclic.scores.local import gaussian_bic, price_of_parent
from acyclic.scores.regression import least_squares
from discrete.test_selection import cost, naive_parents, sample

ROWS = {"edge_direction": "from row to column"}


def naive_order(S, must=None):
    order = []
    while len(order) < len(S):
        free = [j for j in range(len(S)) if j not in order]
        if must is not None:
            free = [j for j in free if set(np.flatnonzero(must[:, j])) <= set(order)]
        left = [S[j, j] - S[j, order] @ np.linalg.solve(S[np.ix_(order, order)], S[order, j]) for j in free]
        order.append(free[int(np.argmin(left))])
    return order


def inserted(order, start, end):
    rest = [*order[:start], *order[start + 1 :]]
    return [*rest[:end], order[start], *rest[end:]]


def neighbours(order):
    return (inserted(order, i, j) for i in range(len(order)) for j in range(len(order)) if i != j)


def obeys(order, must):
    place = np.argsort(order)
    return all(place[i] < place[j] for i, j in np.argwhere(must))


def order_cost(R, order, n, c):
    """The search's own criterion: forward selection with one detour."""
    total = 0.0
    for k, target in enumerate(order):
        total += cost(R, target, naive_parents(R, target, list(order[:k]), n, c, detours=1), n, c)
    return total


KNOWLEDGE = [
    Knowledge(required=[("x3", "x0"), ("x0", "x7")]),
    Knowledge(tiers=[["x9", "x4"], ["x1", "x2"], ["x0"]]),
    Knowledge(roots=["x5"], sinks=["x1", "x2"]),
]


@pytest.mark.parametrize("d", [1, 2, 7, 63, 64, 65, 130])
def test_order_is_that_of_the_naive_form(d):
    S = Moments.from_array(
        np.random.default_rng(d).standard_normal((3 * d + 10, d)) @ np.triu(np.ones((d, d)))
    ).covariance
    assert equal_variance_order(Moments(3 * d + 10, np.zeros(d), S)).tolist() == naive_order(S)


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_order_waits_for_what_must_precede(knowledge):
    _, moments = sample(10, 200, 1)
    mask = knowledge.compile(moments.names)
    order = equal_variance_order(moments, mask)
    assert order.tolist() == naive_order(moments.covariance, mask.must_precede)
    assert obeys(order, mask.must_precede)


def test_order_follows_a_permutation_of_the_columns():
    _, moments = sample(100, 300, 2)
    shuffle = np.random.default_rng(0).permutation(100)
    shuffled = moments.select([moments.names[column] for column in shuffle])
    np.testing.assert_array_equal(shuffle[equal_variance_order(shuffled)], equal_variance_order(moments))


@pytest.mark.parametrize("graph", ["ER2", "ER4", "SF2"])
def test_order_polish_and_selection_find_the_graph(graph):
    data, moments = sample(50, 5000, 7, graph=graph)
    order = polish(moments, equal_variance_order(moments))
    weights = select_parents(moments, order, noise="equal")
    # The rule alone may let a false edge of small weight pass by chance.
    assert shd(data.graph.weights, threshold(weights, 0.3), **ROWS) == 0
    assert shd(data.graph.weights, weights, **ROWS) <= 2


def test_score_is_that_of_fresh_regressions():
    data, moments = sample(9, 60, 3)
    order, X, total = np.random.default_rng(0).permutation(9), data.X - data.X.mean(axis=0), 0.0
    for k, target in enumerate(order):
        before = X[:, order[:k]]
        residual = X[:, target] - before @ np.linalg.lstsq(before, X[:, target])[0]
        total += residual @ residual / (60 - k)
    assert equal_variance_score(moments, order) == pytest.approx(total, rel=1e-10)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 12), st.integers(0, 10**6))
def test_polish_ends_where_no_move_helps(d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, d)) @ (np.eye(d) + np.triu(rng.standard_normal((d, d)), 1))
    moments, start = Moments.from_array(X), rng.permutation(d)
    order = polish(moments, start)
    score = equal_variance_score(moments, order)
    assert score <= equal_variance_score(moments, start) * (1 + 1e-12)
    assert min(equal_variance_score(moments, near) for near in neighbours(list(order))) >= score * (1 - 1e-8)


def test_sweeps_on_one_factor_are_sweeps_on_fresh_ones():
    """Thirty sweeps update one factor by rotations; sweep after sweep it is computed anew."""
    rng = np.random.default_rng(6)
    # Well conditioned (about 30): where columns are all but dependent, rounding decides between the places of a node.
    mixing = np.eye(60) + 0.1 * np.triu(rng.standard_normal((60, 60)), 1)
    moments = Moments.from_array(rng.standard_normal((300, 60)) @ mixing)
    start = rng.permutation(60)
    fresh = start
    for _ in range(30):
        fresh = polish(moments, fresh, max_sweeps=1)
    np.testing.assert_array_equal(polish(moments, start, max_sweeps=30), fresh)


def test_polish_without_reach_moves_nodes_only_to_earlier_places():
    _, moments = sample(30, 100, 1)
    start = np.arange(30)
    near, far = (equal_variance_score(moments, polish(moments, start, reach=reach)) for reach in (0, 30))
    assert far < near < equal_variance_score(moments, start)


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_polish_honours_what_must_precede(knowledge):
    rng = np.random.default_rng(0)
    moments = Moments.from_array(rng.standard_normal((100, 10)) @ rng.standard_normal((10, 10)))
    mask = knowledge.compile(moments.names)
    start = equal_variance_order(Moments.from_array(rng.standard_normal((50, 10))), mask)
    order = polish(moments, start, mask)
    allowed = [near for near in neighbours(list(order)) if obeys(near, mask.must_precede)]
    score = equal_variance_score(moments, order)
    assert obeys(order, mask.must_precede) and sorted(order) == list(range(10))
    assert min(equal_variance_score(moments, near) for near in allowed) >= score * (1 - 1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_search_ends_where_no_insertion_helps(seed):
    _, moments = sample(6, 100, seed, variances=(0.5, 4.0))
    R, c = moments.standardized().covariance, np.log(100)
    found = search_orders(moments, penalty="bic", random_starts=1, patience=0, random_state=seed)
    here = order_cost(R, found.order, 100, c)
    assert found.starts[0] == pytest.approx(here, abs=1e-6)
    assert min(order_cost(R, near, 100, c) for near in neighbours(list(found.order))) >= here - 1e-5
    assert found.score <= here + 1e-6
    assert found.score == pytest.approx(gaussian_bic(moments, found.weights), abs=1e-6)
    assert found.penalty == c and found.end.kind is Ended.NO_BETTER_MOVE


@pytest.mark.slow
def test_search_finds_the_best_of_all_orders():
    best, problems = 0, 20
    for seed in range(problems):
        _, moments = sample(6, 100, seed, variances=(0.5, 4.0))
        R, c = moments.standardized().covariance, np.log(100)
        scores = {}
        for target in range(6):
            for k in range(6):
                for before in permutations([i for i in range(6) if i != target], k):
                    key = target, frozenset(before)
                    if key not in scores:
                        scores[key] = cost(R, target, naive_parents(R, target, list(before), 100, c), 100, c)
        lowest = min(
            sum(scores[target, frozenset(order[:k])] for k, target in enumerate(order))
            for order in permutations(range(6))
        )
        best += search_orders(moments, penalty="bic", random_state=seed).score <= lowest + 1e-6
    assert best >= 0.9 * problems


def test_search_reaches_the_score_of_the_true_graph_on_standardised_columns():
    data, moments = sample(40, 2000, 3, variances=(0.5, 4.0), standardize=True)
    found = search_orders(moments)
    assert found.score <= gaussian_bic(moments, data.graph.adjacency, "ebic") + 1e-6
    assert shd_cpdag(data.graph.weights, found.weights, **ROWS) <= 2


def test_units_do_not_change_the_equivalence_class():
    _, moments = sample(40, 1000, 5, variances=(0.5, 4.0))
    factors = 10 ** np.random.default_rng(0).uniform(-3, 3, 40)
    one, other = search_orders(moments), search_orders(moments.scaled(factors))
    assert shd_cpdag(one.weights, other.weights, **ROWS) == 0
    assert one.score == pytest.approx(other.score, rel=1e-9)


def test_search_under_a_common_variance_mends_the_order_of_fewer_rows_than_columns():
    data, moments = sample(120, 80, 1)
    start = polish(moments, equal_variance_order(moments))
    plain = shd(data.graph.weights, select_parents(moments, start, noise="equal"), **ROWS)
    found = search_orders(moments, [start], noise="equal", random_starts=0)
    assert shd(data.graph.weights, found.weights, **ROWS) < plain / 2


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_search_honours_knowledge(knowledge, noise):
    _, moments = sample(10, 300, 2)
    mask = knowledge.compile(moments.names)
    found = search_orders(moments, [np.arange(10)[::-1]], mask=mask, noise=noise, patience=20)
    assert obeys(found.order, mask.must_precede)
    assert mask.check(found.weights) == []
    Dag(found.weights)


def test_the_same_seed_gives_the_same_search():
    _, moments = sample(30, 300, 2, variances=(0.5, 4.0))
    one, other = (search_orders(moments, random_state=np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.starts, one.sweeps, one.escapes) == (other.starts, other.sweeps, other.escapes)


def test_escapes_only_ever_lower_the_score():
    _, moments = sample(60, 500, 9, variances=(0.5, 4.0), standardize=True)
    start = [np.random.default_rng(1).permutation(60)]
    without, with_escapes = (search_orders(moments, start, random_starts=0, patience=p) for p in (0, 60))
    assert without.escapes == 0 and with_escapes.escapes >= 60
    assert with_escapes.starts == without.starts
    assert with_escapes.score <= without.score


def test_the_time_limit_returns_the_best_so_far():
    _, moments = sample(60, 500, 9, variances=(0.5, 4.0))
    start = equal_variance_order(moments)
    found = search_orders(moments, [start], deadline=Deadline(0.0))
    assert found.end.kind is Ended.TIME_LIMIT and found.escapes == 0
    np.testing.assert_array_equal(found.order, start)
    np.testing.assert_array_equal(found.weights, select_parents(moments, start))


def test_an_interrupt_returns_the_best_so_far(monkeypatch):
    _, moments = sample(10, 200, 9)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("acyclic.discrete.order._Search.escape", interrupted)
    found = search_orders(moments)
    assert found.end.kind is Ended.INTERRUPTED and len(found.starts) == 2
    Dag(found.weights)


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_a_large_search_is_stopped_inside_of_its_kernels(noise):
    _, moments = sample(150, 1000, 4, variances=(0.5, 4.0))
    start = np.random.default_rng(0).permutation(150)
    found = search_orders(moments, [start], noise=noise, deadline=Deadline(0.0), random_starts=0)
    assert found.end.kind is Ended.TIME_LIMIT and found.starts == ()
    np.testing.assert_array_equal(found.order, start)
    np.testing.assert_array_equal(found.weights, select_parents(moments, start, noise=noise))


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), Stopped(Deadline(3.0).end())])
def test_moves_made_before_a_stop_are_kept(stop, monkeypatch):
    _, moments = sample(20, 200, 9, variances=(0.5, 4.0))
    start = np.random.default_rng(1).permutation(20)

    def sweep(trees, order, movers, tolerance, deadline=None):
        OrderTrees.sweep(trees, order, movers, tolerance, deadline)
        raise stop

    monkeypatch.setattr("acyclic.discrete.order.OrderTrees", type("Stopping", (OrderTrees,), {"sweep": sweep}))
    found = search_orders(moments, [start], random_starts=0, deadline=Deadline(3.0))
    assert found.end.kind.stopped and found.starts == ()
    assert found.score < fit_parents(moments, ParentCriterion.of(moments, "ebic", None, None), start, None)[1]
    Dag(found.weights)


def test_an_interrupt_of_the_last_fit_does_not_lose_the_search(monkeypatch):
    _, moments = sample(10, 200, 9)
    whole, calls = search_orders(moments), []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return fit_parents(*args)

    monkeypatch.setattr("acyclic.discrete.order.fit_parents", interrupted)
    found = search_orders(moments)
    assert found.end.kind is Ended.INTERRUPTED
    np.testing.assert_array_equal(found.weights, whole.weights)


def test_a_deadline_ends_every_long_step():
    _, moments = sample(210, 1000, 4)
    late, order = Deadline(0.0), np.arange(210)
    graph = np.triu(np.ones((210, 210), dtype=bool), 1)
    steps = [
        lambda: equal_variance_order(moments, deadline=late),
        lambda: polish(moments, order, deadline=late),
        lambda: select_parents(moments, order, deadline=late),
        lambda: least_squares(moments.covariance, graph, deadline=late),
    ]
    for step in steps:
        with pytest.raises(Stopped) as stop:
            step()
        assert stop.value.end.kind is Ended.TIME_LIMIT


@pytest.mark.parametrize("size", [1e-155, 1e-161, 3e-162, 1e-162])
def test_variances_that_underflow_end_nothing_in_a_loop(size):
    """The smallest double is 5e-324: covariances of columns near 1e-162 are a few units of it, or 0."""
    X = np.random.default_rng(0).standard_normal((100, 6)) @ np.triu(np.ones((6, 6)))
    moments = Moments(100, np.zeros(6), np.cov((size * X).T, bias=True))
    order = polish(moments, equal_variance_order(moments))
    assert sorted(order) == list(range(6))
    assert np.isfinite(equal_variance_score(moments, order))


@pytest.mark.parametrize("size", [2.0**-500, 2.0**-20, 2.0**20])
def test_units_that_are_powers_of_two_do_not_change_a_polish(size):
    rng = np.random.default_rng(3)
    S = Moments.from_array(rng.standard_normal((100, 12)) @ rng.standard_normal((12, 12))).covariance
    start, n = rng.permutation(12), 100
    one, other = (polish(Moments(n, np.zeros(12), S * unit), start) for unit in (1.0, size**2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_degenerate_columns(noise):
    X = np.random.default_rng(0).standard_normal((40, 4))
    moments = Moments.from_array(np.c_[X, X[:, 0], np.ones(40), X[:, 1] + X[:, 2], X[:, 3] * 1e6])
    order = equal_variance_order(moments)
    assert sorted(order) == sorted(polish(moments, order)) == list(range(8))
    assert np.isfinite(equal_variance_score(moments, order))
    found = search_orders(moments, [order], noise=noise, patience=10)
    assert np.isfinite(found.weights).all() and np.isfinite(found.score)
    assert not found.weights[5].any() and not found.weights[:, 5].any()


@pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 2), (2, 3), (30, 10), (60, 40), (70, 71)])
@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_few_rows_and_few_columns(d, n, noise):
    moments = Moments.from_array(np.random.default_rng(d).standard_normal((n, d)))
    order = polish(moments, equal_variance_order(moments))
    assert sorted(order) == list(range(d))
    found = search_orders(moments, [order], noise=noise, patience=5)
    assert np.isfinite(found.weights).all() and np.isfinite(found.score)


def test_wrong_arguments_are_refused():
    _, moments = sample(3, 20, graph="ER1")
    with pytest.raises(InputError, match="no order to start from"):
        search_orders(moments, random_starts=0)
    with pytest.raises(InputError, match="each of the 3 columns"):
        search_orders(moments, [[0, 1]])
    with pytest.raises(InputError, match="noise is 'some'"):
        search_orders(moments, noise="some")
    with pytest.raises(InputError, match="reach is -1"):
        polish(moments, [0, 1, 2], reach=-1)
    with pytest.raises(InputError, match="each of the 3 columns"):
        equal_variance_score(moments, [0, 0, 1])


def test_penalty_is_resolved_and_reported():
    data = simulate(5, 100, random_state=0)
    found = search_orders(Moments.from_array(data.X), penalty="strong", patience=1)
    assert found.penalty == price_of_parent("strong", 100, 5) == 2 * np.log(100)
