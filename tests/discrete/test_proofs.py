"""Proofs under the scores of counts and of blocks: against all graphs there are, one by one."""

from itertools import chain, combinations, product
from math import inf, log

import numpy as np
import pytest

import acyclic
from acyclic._native import ScoredTables, count_all_sets
from acyclic.data.knowledge import Knowledge, compile_knowledge
from acyclic.data.table import read_table
from acyclic.deadline import Deadline
from acyclic.discrete.categorical import search_counts
from acyclic.discrete.fitted import World
from acyclic.discrete.worlds import Worlds
from acyclic.facts import Standing
from acyclic.graphs.cycles import is_acyclic
from acyclic.scores.counts import CountScore

SMALL = 1e-9  # sums of a hundred logarithms


def draw_codes(d, n, seed):
    data = acyclic.simulate(n_nodes=d, n=n, graph="ER1", scheme="iscm", random_state=seed)
    return np.digitize(data.X / data.X.std(axis=0), [-0.5, 0.5])


def sets_of(nodes):
    return chain.from_iterable(combinations(nodes, k) for k in range(len(nodes) + 1))


def all_graphs(d):
    pairs = list(combinations(range(d), 2))
    for ways in product(range(3), repeat=len(pairs)):
        adjacency = np.zeros((d, d), dtype=bool)
        for (i, j), way in zip(pairs, ways):
            adjacency[(i, j) if way == 1 else (j, i)] = way > 0
        if is_acyclic(adjacency):
            yield adjacency


@pytest.mark.parametrize("rule", ["bic", "bdeu"])
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_proved_best_of_all_graphs_with_the_margins_of_all(rule, seed):
    score = CountScore.of(draw_codes(4, 150, seed), rule=rule)
    found = search_counts(score)
    local = {(j, p): score.score(j, p) for j in range(4) for p in sets_of([i for i in range(4) if i != j])}
    totals = [(sum(local[j, tuple(np.flatnonzero(a[:, j]).tolist())] for j in range(4)), a) for a in all_graphs(4)]
    best = min(total for total, _ in totals)
    adjacency = found.weights != 0
    assert found.rivals.proved and abs(found.score - best) < SMALL and abs(score.total(adjacency) - best) < SMALL
    for i, j in np.argwhere(adjacency).tolist():
        turned, apart = (min(t for t, a in totals if a[j, i] == way and not a[i, j]) for way in (True, False))
        assert abs(found.rivals.turned[i, j] - (turned - best)) < SMALL
        assert abs(found.rivals.left_out[i, j] - (apart - best)) < SMALL


def test_sets_that_are_not_counted_are_worse_than_a_subset_by_more_than_the_slack():
    score = CountScore.of(draw_codes(7, 80, 2))
    left_out, slack = 0, log(80)
    scores = count_all_sets(score.criterion, None, None, 6, slack=slack, most_work=1e9)
    for j in range(7):
        for parents in sets_of([i for i in range(7) if i != j]):
            found = scores[j, sum(1 << (i - (i > j)) for i in parents)]
            if found == inf:
                left_out += 1
                subsets = min(score.score(j, p) for p in sets_of(parents) if len(p) < len(parents))
                assert len(parents) > 2 and score.score(j, parents) > subsets + slack - SMALL
            else:
                assert abs(found - score.score(j, parents)) < SMALL
    assert left_out > 100


def test_too_many_sets_are_not_counted_to_the_end():
    score = CountScore.of(draw_codes(6, 80, 2))
    assert count_all_sets(score.criterion, None, None, 5, slack=1.0, most_work=1000) is None


def test_a_proof_finds_what_a_search_misses_and_says_so_in_the_verdict():
    codes = draw_codes(6, 400, 1)
    found = acyclic.learn(codes, kinds={f"x{k}": "categorical" for k in range(6)})
    assert next(fact.kind for fact in found.verdict.standing) is Standing.PROVED
    assert search_counts(CountScore.of(codes), effort=0.0).rivals is None


@pytest.mark.parametrize("world", [World("linear", "any"), World("curved", "gaussian")])
def test_blocks_are_proved_best_of_all_graphs(world):
    data = acyclic.simulate(n_nodes=3, n=200, graph="ER1", sem="gp-add", noise="laplace", random_state=3)
    worlds = Worlds(read_table(data.X))
    found = worlds.search(world).found
    score = worlds.score(world)
    totals = [score.total(adjacency) for adjacency in all_graphs(3)]
    assert found.rivals.proved and abs(found.score - min(totals)) < SMALL
    canon = np.ix_(worlds.canon, worlds.canon)
    assert abs(score.total((found.weights != 0)[canon]) - min(totals)) < SMALL


def test_a_proof_obeys_what_is_known():
    codes = draw_codes(5, 300, 4)
    free = search_counts(CountScore.of(codes))
    names = tuple(f"x{k}" for k in range(5))
    i, j = np.argwhere(free.weights != 0)[0].tolist()
    mask = compile_knowledge(Knowledge(required=[(names[j], names[i])], forbidden=[(names[0], names[1])]), names)
    found = search_counts(CountScore.of(codes), names, mask=mask)
    assert found.rivals.proved and found.weights[j, i] != 0 and found.weights[0, 1] == 0
    assert found.score >= free.score - SMALL


def test_a_proof_that_has_no_time_leaves_it_to_the_search():
    # Columns enough for a proof that takes longer than asking for the time.
    found = search_counts(CountScore.of(draw_codes(14, 300, 4)), deadline=Deadline(0))
    assert found.rivals is None and is_acyclic(found.weights != 0)


def test_the_columns_above_a_target_move_down():
    scores = np.zeros((3, 4))
    scores[1] = [0.0, -1.0, -2.0, -9.0]  # 1 given nothing, 0, 2, both
    assert ScoredTables(scores).best_parents(1e-7).tolist() == [0, 5, 0]
