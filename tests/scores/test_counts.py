"""The score of counts: its values, and the kernel against the plain form."""

import threading
import time
from contextlib import suppress
from itertools import permutations
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic._native import CountChain, CountCriterion
from acyclic.deadline import Stopped
from acyclic.errors import InputError
from acyclic.graphs.equivalence import find_cpdag
from acyclic.scores.counts import CountScore


def draw_codes(rng, n, levels, strength=0.7):
    """Rows of a chain with a collider: every third column depends on the two before it."""
    columns = []
    for j, q in enumerate(levels):
        own = rng.integers(q, size=n)
        follows = (columns[j - 1] + (columns[j - 2] if j % 3 == 2 else 0)) % q if j else own
        columns.append(np.where(rng.random(n) < strength, follows, own))
    return np.column_stack(columns)


def open_chain(score, allowed=None, required=None, precede=None, most=20):
    return CountChain(score.criterion, allowed, required, precede, most, 5, 10**6, 0)


def test_value_by_hand():
    score = CountScore.of(np.array([[0, 0]] * 30 + [[0, 1]] * 10 + [[1, 0]] * 5 + [[1, 1]] * 55), penalty="bic")
    alone = -2 * (35 * log(0.35) + 65 * log(0.65))
    split = -2 * (30 * log(30 / 40) + 10 * log(10 / 40) + 5 * log(5 / 60) + 55 * log(55 / 60))
    assert score.score(1, [0]) == pytest.approx(split - alone + log(100), rel=1e-12)
    assert score.score(1, []) == 0
    assert len(score.weight) == 4  # equal rows are one


def test_bdeu_by_hand():
    """One row: every level is as likely, whatever the parents."""
    score = CountScore.of(np.array([[0, 2]]), [2, 3], rule="bdeu", penalty="bic", sample_size=4.0)
    assert score.misfit(1, [0]) == pytest.approx(-2 * log(1 / 3), rel=1e-12)
    # Two equal rows: a/(qr) of the first cell, then (1 + a/(qr)) / (1 + a/q).
    score = CountScore.of(np.array([[0, 2]] * 2), [2, 3], rule="bdeu", penalty="bic", sample_size=4.0)
    assert score.misfit(1, [0]) == pytest.approx(-2 * log((1 / 3) * (1 + 4 / 6) / (1 + 4 / 2)), rel=1e-12)


@pytest.mark.parametrize("rule", ["bic", "bdeu"])
def test_equivalent_graphs_have_equal_totals(rule):
    rng = np.random.default_rng(1)
    score = CountScore.of(draw_codes(rng, 400, [2, 4, 3, 2]), rule=rule)
    totals = {}
    for _ in range(200):
        order = rng.permutation(4)
        upper = np.triu(rng.random((4, 4)) < 0.5, 1)
        adjacency = np.zeros((4, 4), dtype=bool)
        adjacency[np.ix_(order, order)] = upper
        totals.setdefault(find_cpdag(adjacency).arcs.tobytes(), []).append(score.total(adjacency))
    assert sum(len(group) > 1 for group in totals.values()) > 20
    for group in totals.values():
        assert np.ptp(group) <= 1e-12 * 400 * 10 * 4  # eps · rows · log-likelihood of a row · columns, with room


@pytest.mark.parametrize("rule", ["bic", "bdeu"])
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_kernel_scores_its_parents_as_the_plain_form(rule, data):
    levels = data.draw(st.lists(st.integers(1, 31), min_size=1, max_size=6))
    n, seed = data.draw(st.integers(1, 120)), data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    codes = draw_codes(rng, n, levels, data.draw(st.sampled_from([0.0, 0.8, 1.0])))
    penalty = data.draw(st.sampled_from(["ebic", "bic", 0.5]))
    score, d = CountScore.of(codes, levels, rule=rule, penalty=penalty), len(levels)
    rules = np.zeros((2, d, d), dtype=np.uint8)
    if data.draw(st.booleans()):
        rules[1] = np.tril(rng.random((d, d)) < 0.2, -1)
        rules[0] = (rng.random((d, d)) < 0.7) | rules[1]
    else:
        rules[0] = 1
    with open_chain(score, rules[0], rules[1]) as chain:
        for _ in range(3):
            chain.start(np.arange(d, dtype=np.int32) if rules[1].any() else rng.permutation(d).astype(np.int32))
            parents = chain.parents()
            size = 2 * n * log(31) * d + abs(score.price(0, range(d)))
            assert chain.best()[0] == pytest.approx(score.total(parents), rel=0, abs=1e-12 * (1 + size))
            assert (parents.T >= rules[1]).all()
            assert not (parents.T & (rules[0] == 0)).any()


@pytest.mark.parametrize("rule", ["bic", "bdeu"])
def test_search_finds_the_best_graph_of_all(rule):
    """Every order of four columns, and every subset of predecessors, by the plain form."""
    score = CountScore.of(draw_codes(np.random.default_rng(3), 300, [2, 3, 2, 3]), rule=rule)
    best = min(sum(best_family(score, order[:k], order[k]) for k in range(4)) for order in permutations(range(4)))
    with open_chain(score) as chain:
        chain.start(np.arange(4, dtype=np.int32))
        chain.descend(10**9, 1e-9)
        chain.kick(3, 5.0, 50, 10**8, 1e-9)
        assert chain.best()[0] == pytest.approx(best, rel=1e-12)


def best_family(score, before, node):
    sets = [[i for k, i in enumerate(before) if bits >> k & 1] for bits in range(2 ** len(before))]
    return min(score.score(node, parents) for parents in sets)


def test_counts_beyond_the_tabulated_logarithms():
    score = CountScore.of(draw_codes(np.random.default_rng(4), 500, [3, 3, 3]))
    few = score.criterion._replace(logs=np.zeros(2))
    found = []
    for given_ in (score.criterion, few):
        with CountChain(given_, None, None, None, 3, 5, 10**6, 0) as chain:
            chain.start(np.arange(3, dtype=np.int32))
            found.append(chain.best()[0])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_strength_is_between_nothing_and_all():
    rng = np.random.default_rng(5)
    x, z = rng.integers(3, size=(2, 1000))
    noisy = np.where(rng.random(1000) < 0.5, x, rng.integers(3, size=1000))
    score = CountScore.of(np.column_stack([x, z, (x + z) % 3, noisy]))
    assert score.strength(2, [0, 1], 0) == 1
    assert 0.3 < score.strength(3, [0], 0) < 0.9
    assert score.strength(3, [1], 1) < 0.15


@pytest.mark.parametrize(
    ("codes", "options"),
    [
        (np.array([[0.5]]), {}),
        (np.array([[-1]]), {}),
        (np.array([[3]]), {"levels": [3]}),
        (np.array([[1]]), {"rule": "k2"}),
        (np.array([[1]]), {"rule": "bdeu", "sample_size": 0.0}),
        (np.zeros((0, 2), dtype=int), {}),
    ],
)
def test_refused(codes, options):
    with pytest.raises(InputError):
        CountScore.of(codes, **options)


def test_kernel_refuses_codes_that_are_no_levels():
    codes = np.array([[0, 3], [0, 0]], dtype=np.uint8)
    ones = np.ones(2, dtype=np.int32)
    with pytest.raises(ValueError, match="not one of the levels"):
        CountChain(CountCriterion(codes, ones, ones[:1] * 2, np.zeros(1), 1.0, 0.0, 0.0), None, None, None, 1, 1, 10, 0)


def test_a_stopped_chain_goes_on_as_if_it_had_not_been():
    """Gains that were cut short must not stay in the trees."""
    score = CountScore.of(draw_codes(np.random.default_rng(6), 3000, [3] * 12))
    order, flag = np.arange(12, dtype=np.int32)[::-1].copy(), np.zeros(1, dtype=np.int32)
    with open_chain(score) as chain, open_chain(score) as stopped:
        chain.start(order)
        for wait in (0.0, 1e-4, 1e-3, 3e-3):
            flag[0] = 0
            timer = threading.Thread(target=lambda wait=wait: (time.sleep(wait), flag.fill(1)))
            timer.start()
            with suppress(Stopped):
                stopped.start(order, flag)
            timer.join()
        stopped.start(order)
        assert stopped.best()[0] == pytest.approx(chain.best()[0], rel=1e-12)
        np.testing.assert_array_equal(stopped.parents(), chain.parents())


def test_parents_that_explain_something_only_together_are_found():
    """Neither of the two says anything of their sum modulo 3 alone."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(3, size=(2, 800))
    noisy = np.where(rng.random(800) < 0.8, (x + y) % 3, rng.integers(3, size=800))
    with open_chain(CountScore.of(np.column_stack([x, y, noisy]))) as chain:
        chain.start(np.arange(3, dtype=np.int32))
        chain.descend(10**9, 1e-9)
        chain.kick(3, 5.0, 50, 10**8, 1e-9)
        chain.start(chain.best()[1])
        assert sorted(chain.parents().sum(axis=0)) == [0, 0, 2]  # any of the three is as good a sum of the others
