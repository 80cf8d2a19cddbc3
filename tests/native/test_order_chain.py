"""The chain of the order search as its wrapper gives it: what it promises of starts, moves, kicks, rivals and stops."""

import threading

import numpy as np
import pytest

from acyclic._native import OrderChain
from acyclic._native.library import STOPPED, address, library
from acyclic.deadline import Stopped
from discrete.test_selection import cost, naive_parents
from native.long_work import dependent_columns

D = 12
TOLERANCE = 1e-6
MUCH = 2**62
SET = np.ones(1, dtype=np.int32)


def correlation(d, seed=0, n=200):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.standard_normal((d, d)) * (rng.random((d, d)) < 3 / d), 1)
    X = rng.standard_normal((n, d)) @ np.linalg.inv(np.eye(d) - weights)
    return np.ascontiguousarray(np.corrcoef(X[:, rng.permutation(d)].T))


def open_chain(R, *, n=200.0, cost=6.0, precede=None, allowed=None, most_branches=10**6, seed=0):
    return OrderChain(R, n, cost, None, allowed, None, precede, len(R), 5, most_branches, seed)


def permutation(d, seed=0):
    return np.random.default_rng(seed).permutation(d).astype(np.int32)


def score_of(R, order, apart=(), n=200.0, c=6.0):
    """Selection by fresh solves, for a pair that does not see each other too."""
    total = 0.0
    for k, target in enumerate(order):
        hidden = [i for i in apart if target in apart and i != target]
        candidates = [i for i in order[:k] if i not in hidden]
        total += cost(R, target, naive_parents(R, target, candidates, n, c), n, c)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_a_start_has_the_score_and_parents_of_its_order(seed):
    R, order = correlation(D, seed), permutation(D, seed)
    with open_chain(R) as chain:
        chain.start(order)
        score, best = chain.best()
        parents = chain.parents()
        for node in range(D):
            assert sorted(chain.parents_of(node)) == np.flatnonzero(parents[:, node]).tolist()
        for node in (-1, D):
            with pytest.raises(ValueError, match="node is"):
                chain.parents_of(node)
    assert best.tolist() == order.tolist()
    assert score == pytest.approx(score_of(R, order), abs=1e-8)
    place = np.argsort(order)
    assert all(place[i] < place[j] for i, j in np.argwhere(parents))
    assert sum(cost(R, j, np.flatnonzero(parents[:, j]), 200, 6) for j in range(D)) == pytest.approx(score, abs=1e-8)


@pytest.mark.parametrize("most_branches", [0, 50, 10**6])
def test_a_descent_ends_where_no_insertion_helps_and_forgotten_trees_change_nothing(most_branches):
    R = correlation(8, 3)
    with open_chain(R, most_branches=most_branches) as chain, open_chain(R) as other:
        for chosen in (chain, other):
            chosen.start(permutation(8))
            assert chosen.descend(MUCH, TOLERANCE) > 0
            assert chosen.descend(MUCH, TOLERANCE) == 0
        score, order = chain.best()
        assert (score, order.tolist()) == (other.best()[0], other.best()[1].tolist())
    rest = [[i for i in order.tolist() if i != x] for x in range(8)]
    near = min(score_of(R, [*rest[x][:k], x, *rest[x][k:]]) for x in range(8) for k in range(8))
    assert near >= score - 10 * TOLERANCE


def test_kicks_only_ever_lower_the_best_and_are_those_of_the_seed():
    R, found = dependent_columns(15, 100), []
    for seed in (1, 1, 2):
        with open_chain(R, n=100.0, cost=5.0, seed=seed) as chain:
            chain.start(permutation(15))
            chain.descend(MUCH, TOLERANCE)
            before = chain.best()[0]
            assert chain.kick(3, 5.0, 40, MUCH, TOLERANCE) >= 40
            score, order = chain.best()
            assert score <= before
            chain.start(order)
            assert chain.best()[0] == score
            found.append((score, order.tolist(), chain.work))
    assert found[0] == found[1] and found[0][2] != found[2][2]


def test_work_bounds_a_descent_and_kicks():
    R = dependent_columns(40, 500)
    with open_chain(R) as chain:
        chain.start(permutation(40))
        assert chain.descend(0, TOLERANCE) == 0
        assert chain.kick(3, 5.0, 10**6, 0, TOLERANCE) == 0
        some = chain.descend(10**5, TOLERANCE)
        assert some < some + chain.descend(MUCH, TOLERANCE)
        before = chain.work
        assert 0 < chain.kick(3, 5.0, 10**9, 10**6, TOLERANCE) < 10**6
        assert chain.work > before


@pytest.mark.parametrize("d", [1, 2])
def test_kicks_end_where_no_order_is_another(d):
    """All patience there is, and nothing to do: the work has to end it."""
    precede = np.triu(np.ones((d, d), dtype=np.uint8), 1)
    with open_chain(np.eye(d), precede=precede) as chain:
        chain.start(np.arange(d, dtype=np.int32))
        assert chain.kick(3, 5.0, MUCH, 10**5, TOLERANCE) > 0


def test_rules_hold_through_moves_kicks_and_rivals():
    R, before = correlation(D, 4), np.zeros((D, D), dtype=np.uint8)
    before[[0, 1, 2], [5, 6, 7]] = 1
    with open_chain(R, precede=before) as chain:
        chain.start(np.arange(D, dtype=np.int32))
        chain.descend(MUCH, TOLERANCE)
        chain.kick(3, 5.0, 100, MUCH, TOLERANCE)
        order = chain.best()[1]
        place = np.argsort(order)
        assert all(place[i] < place[j] for i, j in np.argwhere(before))
        chain.start(order)
        for u, v in np.argwhere(chain.parents()).tolist():
            score = chain.rival(u, v, True, MUCH, TOLERANCE)
            assert np.isinf(score) == bool(before[u, v])
            if np.isfinite(score):
                reach = chain.parents().astype(int) | before
                assert not np.linalg.matrix_power(reach + np.eye(D, dtype=int), D)[u, v]


@pytest.mark.parametrize("seed", range(4))
def test_a_rival_does_not_depend_on_the_one_before_it(seed):
    R = correlation(D, seed)
    with open_chain(R) as chain, open_chain(R) as fresh:
        chain.start(permutation(D, seed))
        chain.descend(MUCH, TOLERANCE)
        order = chain.best()[1]
        chain.start(order)
        for u, v in np.argwhere(chain.parents()).tolist():
            for turned in (False, True):
                score = chain.rival(u, v, turned, MUCH, TOLERANCE)
                fresh.start(order)
                assert score == fresh.rival(u, v, turned, MUCH, TOLERANCE)
                np.testing.assert_array_equal(chain.parents(), fresh.parents())
                if not turned:
                    assert not chain.parents()[[u, v], [v, u]].any()
                assert chain.best()[0] == fresh.best()[0]


def test_without_work_a_rival_is_the_order_itself_without_the_edge():
    R = correlation(D, 1)
    with open_chain(R) as chain:
        chain.start(permutation(D, 1))
        chain.descend(MUCH, TOLERANCE)
        order = chain.best()[1]
        chain.start(order)
        for u, v in np.argwhere(chain.parents()).tolist():
            assert chain.rival(u, v, False, 0, TOLERANCE) == pytest.approx(score_of(R, order, (u, v)), abs=1e-8)


@pytest.mark.parametrize("pair", [(-1, 0), (0, D), (3, 3)])
def test_a_rival_is_of_two_nodes(pair):
    with open_chain(correlation(D)) as chain:
        chain.start(permutation(D))
        with pytest.raises(ValueError, match="two different nodes"):
            chain.rival(*pair, True, 1, TOLERANCE)


def test_more_parents_than_there_is_room_for_at_first():
    d = 40
    rows = np.random.default_rng(0).standard_normal((10**4, d))
    R = np.ascontiguousarray(np.corrcoef((rows @ np.triu(np.ones((d, d)) + np.eye(d))).T))
    with open_chain(R, n=1e4, cost=1.0) as chain:
        chain.start(np.arange(d, dtype=np.int32))
        score, parents = chain.best()[0], chain.parents()
    assert parents.sum() > 8 * d
    assert sum(cost(R, j, np.flatnonzero(parents[:, j]), 1e4, 1) for j in range(d)) == pytest.approx(score, rel=1e-9)


def test_what_has_no_order_yet_is_refused():
    with open_chain(correlation(D)) as chain:
        steps = [
            lambda: chain.descend(1, TOLERANCE),
            lambda: chain.kick(3, 5.0, 1, 1, TOLERANCE),
            lambda: chain.rival(0, 1, False, 1, TOLERANCE),
            chain.parents,
        ]
        for step in steps:
            with pytest.raises(ValueError, match="start it"):
                step()
        assert chain.best()[0] == np.inf
        with pytest.raises(Stopped):
            chain.start(permutation(D), SET)
        for step in steps:
            with pytest.raises(ValueError, match="start it"):
                step()
        chain.start(permutation(D))
        assert chain.descend(MUCH, TOLERANCE) > 0


def test_a_stopped_chain_keeps_its_best_and_starts_again_as_if_nothing_had_happened():
    R, flag, stops = dependent_columns(40, 500), np.zeros(1, dtype=np.int32), 0
    with open_chain(R) as chain, open_chain(R) as other:
        for k, seconds in enumerate((0, *np.geomspace(1e-4, 3e-2, 12))):
            start = permutation(40, k)
            for one in (chain, other):
                one.start(start)
            before = chain.best()[0]
            flag[0] = seconds == 0
            timer = threading.Timer(seconds, lambda: flag.fill(1))
            timer.start()
            stops += library().order_search_descend(chain._handle, MUCH, TOLERANCE, address(flag)) == STOPPED
            timer.join()
            score, order = chain.best()
            assert sorted(order.tolist()) == list(range(40)) and score <= before
            for one in (chain, other):
                one.start(order)
                assert one.best()[0] == score
    assert stops >= 1
