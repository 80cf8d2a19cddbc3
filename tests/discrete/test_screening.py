"""The search among screened candidates: the same as among all where they are all, and nothing is missed."""

import numpy as np
import pytest

from acyclic._native import Candidates, OrderChain, screen_candidates
from acyclic.data.knowledge import Knowledge, compile_knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.deadline import Deadline
from acyclic.discrete.screening import eliminate_from_end, search_screened
from acyclic.discrete.selection import ParentCriterion, select_parents
from acyclic.facts import Ended

MUCH = 2**62


def all_pairs(moments, column=None):
    d = len(moments.names)
    nodes = np.concatenate([np.delete(np.arange(d), j) for j in range(d)]).astype(np.int32)
    column = np.arange(d, dtype=np.int32) if column is None else column
    scale = 1 / np.sqrt(np.diag(moments.covariance))[column]
    return Candidates(column, np.ascontiguousarray(scale), np.arange(d + 1, dtype=np.int64) * (d - 1), nodes)


def pairs_without(moments, lost):
    whole = all_pairs(moments)
    kept = [[i for i in range(len(moments.names)) if i != j and {i, j} != set(lost)] for j in range(len(moments.names))]
    start = np.cumsum([0, *map(len, kept)]).astype(np.int64)
    return Candidates(whole.column, whole.scale, start, np.concatenate(kept).astype(np.int32))


def open_chain(moments, matrix, candidates=None, unit=None):
    rules = float(moments.n), 12.0, unit, None, None, None, 20, 5, 10**6, 0
    return OrderChain(np.ascontiguousarray(matrix), *rules, candidates)


def table(d, seed, **options):
    data = simulate(d, 500, random_state=seed, **options)
    return data, Moments.from_array(data.X * np.exp(np.random.default_rng(seed).standard_normal(d)))


def suppressed():
    """x2 = x0 + x1 with cov(x0, x2) = 0: the first parent shows itself only beside the second."""
    S = np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, 1.0], [0.0, 1.0, 1.5]])
    return Moments(2000, np.zeros(3), S)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("equal", [False, True])
def test_a_chain_with_all_candidates_is_one_without(seed, equal):
    _, moments = table(15, seed)
    R, start = moments.correlation(), np.random.default_rng(seed).permutation(15).astype(np.int32)
    unit = np.full(15, 0.3) if equal else None
    answers = []
    for given in ((R,), (moments.covariance, all_pairs(moments))):
        with open_chain(moments, *given, unit=unit) as chain:
            chain.start(start)
            chain.descend(MUCH, 1e-6)
            score, order = chain.best()
            answers.append((score, order.tolist(), chain.parents().tolist()))
    assert answers[0][1:] == answers[1][1:]
    assert answers[0][0] == pytest.approx(answers[1][0], rel=1e-10)


def test_nodes_may_be_columns_in_another_order():
    _, moments = table(12, 4)
    order, shuffled = np.arange(12, dtype=np.int32), np.random.default_rng(1).permutation(12).astype(np.int32)
    with open_chain(moments, moments.covariance, all_pairs(moments)) as chain:
        chain.start(shuffled)
        plain = chain.parents()
    with open_chain(moments, moments.covariance, all_pairs(moments, shuffled)) as chain:
        chain.start(order)
        assert np.array_equal(chain.parents(), plain[np.ix_(shuffled, shuffled)])


def test_what_candidates_lack_is_missed_and_then_found():
    data, moments = table(12, 2)
    source, target = np.argwhere(data.graph.adjacency)[0].tolist()
    order, candidates = data.graph.order.astype(np.int32), pairs_without(moments, (source, target))
    with open_chain(moments, moments.covariance, all_pairs(moments)) as chain:
        chain.start(order)
        assert not len(chain.missed(8))
        whole = chain.parents()
    assert whole[source, target]
    with open_chain(moments, moments.covariance, candidates) as chain:
        chain.start(order)
        assert not chain.parents()[source, target]
        assert [target, source] in chain.missed(8, threads=2).tolist()
        chain.widen(all_pairs(moments), np.ones(12, dtype=np.uint8))
        chain.start(order)
        assert np.array_equal(chain.parents(), whole)


def test_screening_finds_a_parent_without_correlation():
    moments = suppressed()
    assert moments.covariance[0, 2] == 0
    scale = 1 / np.sqrt(np.diag(moments.covariance))
    found, chosen = screen_candidates(moments.covariance, scale, 2000.0, 12.0, 3, 5, 1, 3)
    assert set(found[2, : chosen[2]].tolist()) == {0, 1}


def test_a_parent_without_correlation_that_is_no_candidate_is_missed():
    moments = suppressed()
    with open_chain(moments, moments.covariance, pairs_without(moments, (0, 2))) as chain:
        chain.start(np.arange(3, dtype=np.int32))
        assert chain.parents()[:, 2].tolist() == [False, True, False]
        assert chain.missed(4).tolist() == [[2, 0]]


@pytest.mark.parametrize("width", [1, 8])
def test_parents_are_those_among_all_columns(width):
    _, moments = table(40, 7)
    found = search_screened(moments, ParentCriterion.of(moments, "ebic", None, None), width=width)
    answer = np.zeros((40, 40), dtype=bool)
    answer[found.sources, found.targets] = True
    assert np.array_equal(answer, select_parents(moments, found.order) != 0)


def test_equal_noise_variances_give_the_graph():
    data = simulate(60, 2000, random_state=3)
    moments = Moments.from_array(data.X)
    found = search_screened(moments, ParentCriterion.of(moments, "ebic", None, None), noise="equal")
    answer = np.zeros((60, 60), dtype=bool)
    answer[found.sources, found.targets] = True
    assert np.array_equal(answer, data.graph.adjacency)


def test_threads_and_column_order_change_nothing():
    _, moments = table(40, 5)
    turned = moments.select(moments.names[::-1])
    answers = [
        search_screened(given, ParentCriterion.of(given, "ebic", None, None), threads=threads)
        for given, threads in ((moments, 1), (moments, 2), (turned, 1))
    ]
    edges = [
        {(names[i], names[j]) for i, j in zip(found.sources.tolist(), found.targets.tolist())}
        for found, names in zip(answers, (moments.names, moments.names, turned.names))
    ]
    assert edges[0] == edges[1] == edges[2]


def test_prior_knowledge_is_obeyed():
    _, moments = table(30, 6)
    knowledge = Knowledge(required=[("x3", "x1")], forbidden=[("x0", "x2"), ("x2", "x0")])
    mask = compile_knowledge(knowledge, moments.names)
    found = search_screened(moments, ParentCriterion.of(moments, "ebic", mask, None))
    edges = set(zip(found.sources.tolist(), found.targets.tolist()))
    assert (3, 1) in edges
    assert not edges & {(0, 2), (2, 0)}


def test_a_passed_deadline_gives_a_whole_order():
    _, moments = table(30, 6)
    found = search_screened(moments, ParentCriterion.of(moments, "ebic", None, None), deadline=Deadline(0))
    assert found.end.kind is Ended.TIME_LIMIT
    assert sorted(found.order.tolist()) == list(range(30))
    assert not len(found.sources)


@pytest.mark.parametrize("nodes", [[1, 2, 0, 2, 0, 0], [2, 1, 0, 2, 0, 1], [1, 3, 0, 2, 0, 1], [0, 1, 0, 2, 0, 1]])
def test_candidates_that_a_kernel_cannot_read_are_refused(nodes):
    ranks, start = np.arange(3, dtype=np.int32), np.array([0, 2, 4, 6], dtype=np.int64)
    with pytest.raises(ValueError, match="candidates"):
        Candidates(ranks, np.ones(3), start, np.array(nodes, dtype=np.int32)).check(3)


def test_the_moral_graph_of_a_tree_is_taken_apart_from_its_leaves():
    """A node with one neighbour goes first: of a chain both ends, so that nothing has two parents in what is left."""
    R = 0.5 ** np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    place = np.argsort(eliminate_from_end(R, 1000, 10.0, 6, threads=1, deadline=None))
    for node in range(7):
        neighbours = [other for other in (node - 1, node + 1) if 0 <= other < 7]
        assert sum(place[other] < place[node] for other in neighbours) <= 1
