"""The search under the score of mixed tables, against all graphs of few columns."""

from itertools import permutations, product

import numpy as np
import pytest

import acyclic
from acyclic.data.mask import Mask
from acyclic.deadline import Deadline
from acyclic.discrete.mixed import find_mixed, near_pairs
from acyclic.facts import Orientation
from acyclic.graphs.equivalence import find_cpdag
from acyclic.scores.blocks import BlockScore
from acyclic.scores.mixed import MixedScore

COUNTS = (0, 3, 2, 0)


@pytest.fixture(scope="module")
def score():
    rng = np.random.default_rng(3)
    n = 400
    x, level = rng.normal(size=n), rng.integers(3, size=n)
    choice = x + (level == 1) + rng.logistic(size=n) > 0.5
    rows = np.column_stack([x, level, choice, choice + rng.normal(size=n)])
    return MixedScore(BlockScore.of(rows, COUNTS, mechanisms="linear"), rows, COUNTS)


@pytest.fixture(scope="module")
def everything(score):
    """All graphs of four columns with their scores."""
    graphs = {}
    for order in permutations(range(4)):
        pairs = [(order[a], order[b]) for a in range(4) for b in range(a + 1, 4)]
        for chosen in product([False, True], repeat=6):
            graph = np.zeros((4, 4), dtype=bool)
            for (i, j), there in zip(pairs, chosen):
                graph[i, j] = there
            graphs[graph.tobytes()] = graph
    assert len(graphs) == 543
    return [(score.total(graph), graph) for graph in graphs.values()]


def is_open(graph, i, j):
    """Whether a graph joins two columns, and its class does not say which way round."""
    return graph[i, j] and not find_cpdag(graph).directed[i, j]


def test_the_best_graph_and_its_margins_are_found(score, everything):
    graph, total, rivals = find_mixed(score, [np.zeros((4, 4), dtype=bool)], Mask.unrestricted(4))
    best = min(everything, key=lambda pair: pair[0])
    np.testing.assert_array_equal(graph, best[1])
    assert total == best[0] and graph.any()
    for i, j in np.argwhere(graph).tolist():
        turned = min(value for value, other in everything if other[j, i] or is_open(other, i, j))
        left_out = min(value for value, other in everything if not (other[i, j] or other[j, i]))
        if find_cpdag(graph).directed[i, j]:
            assert rivals.turned[i, j] == pytest.approx(turned - total)
        assert rivals.left_out[i, j] == pytest.approx(left_out - total)
    assert rivals.gap == pytest.approx(min(value for value, other in everything if (other != graph).any()) - total)


def test_prior_knowledge_is_obeyed(score):
    allowed, required = ~np.eye(4, dtype=bool), np.zeros((4, 4), dtype=bool)
    allowed[0, 2], required[3, 2] = False, True
    allowed[2, 3] = False
    limits = (np.broadcast_to(limit, (4, 4)) for limit in (-np.inf, np.inf))
    graph, _, rivals = find_mixed(score, [required], Mask(tuple("abcd"), allowed, required, *limits))
    assert graph[3, 2] and not graph[0, 2] and rivals.turned[3, 2] == np.inf


def test_a_deadline_ends_the_look_around(score):
    start = np.zeros((4, 4), dtype=bool)
    graph, total, rivals = find_mixed(score, [start], Mask.unrestricted(4), Deadline(0.0))
    assert rivals is None and total == score.total(graph)


def test_near_pairs_have_a_column_between_them_at_most():
    chain = np.eye(4, k=1, dtype=bool)
    assert not near_pairs([chain])[0, 3] and near_pairs([chain])[0, 2]


def test_noise_of_any_shape_orients_numbers_beside_a_category():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=600)
    y = x + rng.exponential(size=600)
    group = rng.choice(list("abc"), size=600)
    found = acyclic.learn({"y": y, "group": group, "x": x})
    assert found.support == {("x", "y"): Orientation.NOISE_SHAPE}


def test_a_number_of_few_values_orients_nothing():
    rng = np.random.default_rng(0)
    grade = rng.integers(1, 4, size=600)
    pay = np.exp(grade + rng.normal(size=600) / 2)
    found = acyclic.learn({"grade": grade, "pay": pay}, kinds={"grade": "ordinal"})
    assert [orientation.is_decided for orientation in found.support.values()] == [False]


def test_far_from_categories_margins_are_those_of_the_search_before(monkeypatch):
    rng = np.random.default_rng(5)
    n = 500
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    c = rng.normal(size=n) + b
    choice = (c + rng.logistic(size=n) > 0).astype(float)
    rows = np.column_stack([a, b, c, choice])
    table = acyclic.read_table(rows, names=list("abcd"))
    whole = acyclic.learn(table)
    monkeypatch.setattr("acyclic.discrete.mixed._FEW", 0.0)
    near = acyclic.learn(table)
    assert {edge[:2] for edge in near.graph.edges()} == {edge[:2] for edge in whole.graph.edges()}
    margins = near.verdict.margins
    assert set(margins) == set(whole.verdict.margins) and all(m.left_out is not None for m in margins.values())
    # a and b are joined with no category: their margin is of lines, which it is in both.
    pair = next(pair for pair in margins if set(pair) == {"a", "b"})
    assert margins[pair].left_out == pytest.approx(whole.verdict.margins[pair].left_out, rel=0.05)
