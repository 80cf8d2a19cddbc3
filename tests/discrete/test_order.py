import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.order import equal_variance_order, equal_variance_score, explained_last, polish
from acyclic.discrete.selection import select_parents
from acyclic.errors import InputError
from acyclic.facts import Ended
from acyclic.graphs.metrics import shd
from acyclic.graphs.pruning import threshold
from acyclic.scores.regression import least_squares
from discrete.test_selection import sample

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


def test_degenerate_columns():
    X = np.random.default_rng(0).standard_normal((40, 4))
    moments = Moments.from_array(np.c_[X, X[:, 0], np.ones(40), X[:, 1] + X[:, 2], X[:, 3] * 1e6])
    order = equal_variance_order(moments)
    assert sorted(order) == sorted(polish(moments, order)) == list(range(8))
    assert np.isfinite(equal_variance_score(moments, order))


@pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 2), (2, 3), (30, 10), (60, 40), (70, 71)])
def test_few_rows_and_few_columns(d, n):
    moments = Moments.from_array(np.random.default_rng(d).standard_normal((n, d)))
    order = polish(moments, equal_variance_order(moments))
    assert sorted(order) == list(range(d))


def test_wrong_arguments_are_refused():
    _, moments = sample(3, 20, graph="ER1")
    with pytest.raises(InputError, match="reach is -1"):
        polish(moments, [0, 1, 2], reach=-1)
    with pytest.raises(InputError, match="each of the 3 columns"):
        equal_variance_score(moments, [0, 0, 1])


@pytest.mark.parametrize("seed", range(4))
def test_what_is_explained_best_comes_last(seed):
    R = sample(9, 300, seed)[1].correlation()
    left, naive = list(range(9)), []
    while left:
        best = int(np.argmax(np.diag(np.linalg.inv(R[np.ix_(left, left)]))))
        naive.append(left.pop(best))
    np.testing.assert_array_equal(explained_last(R), [*sorted(naive[-2:]), *naive[-3::-1]])


def test_columns_that_others_determine_have_a_place_too():
    X = np.random.default_rng(0).standard_normal((50, 3))
    X = np.column_stack([X, X[:, 0], X.sum(axis=1), np.ones(50)])
    assert sorted(explained_last(Moments.from_array(X).correlation()).tolist()) == list(range(6))
