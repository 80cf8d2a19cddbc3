"""Stored fits computed again: what is taken, and when they count as out of date."""

from dataclasses import replace
from random import Random

import pytest

from acyclic.experiments.cases import Case, pairs
from acyclic.experiments.rechecking import Pair, Recheck, choose, recheck
from acyclic.experiments.runner import compute
from acyclic.experiments.store import Record

DATA = {"sem": "linear", "graph": "ER1", "noise": "gaussian", "n_nodes": 5, "n": 100}


@pytest.fixture(scope="module")
def stored():
    """Ten fits of two settings each."""
    learners = [pairs({"learner": "EqualVariance"}), pairs({"learner": "Ges"})]
    return [compute(Case("fit", pairs(DATA), learner, run)) for run in range(5) for learner in learners]


def moved(record: Record, by: float) -> Record:
    return replace(record, values={**record.values, "shd": record.values["shd"] + by, "edges": []})


def test_one_fit_of_each_setting_that_is_finished_and_cheap(stored):
    chosen = choose(stored, 1e6, Random(1))
    assert len(chosen) == 2 and len({record.case.setting for record in chosen}) == 2
    assert {record.case.run for seed in range(20) for record in choose(stored, 1e6, Random(seed))} == set(range(5))
    assert not choose([replace(record, cpu_seconds=6.0) for record in stored], 100, Random(1))
    assert choose([replace(record, cpu_seconds=4.0) for record in stored], 100, Random(1))
    cut = [replace(record, values={**record.values, "stopped_early": True}) for record in stored]
    failed = [replace(record, status="failed") for record in stored]
    others = [replace(record, case=replace(record.case, measure="products")) for record in stored]
    assert not choose([*cut, *failed, *others], 1e6, Random(1))


def test_the_same_program_gives_the_same_graphs(stored):
    found = recheck(stored, 60, Random(0))
    assert len(found.pairs) == 2 and not found.others and not found.stale and found.change.value == 0


def test_no_time_computes_one_and_ends(stored):
    assert len(recheck([replace(record, cpu_seconds=0.0) for record in stored], 1e-9).pairs) <= 1


def paired(stored, changes):
    return tuple(
        Pair(stored[0], moved(stored[0], by) if by is not None else replace(stored[0], status="failed"))
        for by in changes
    )


@pytest.mark.parametrize(
    ("changes", "stale"),
    [
        ([0] * 50, False),
        ([0] * 49 + [4], False),  # one graph by rounding
        ([0] * 40 + [3, -3, 2, -2, 1, -1], False),  # to both sides
        ([0] * 30 + [1, 2, 2, 3, 1, 1, 2, 4, 2, 1, 1, 2, 3, 1, 1], True),
        ([-5] * 3, True),
        ([5], False),
        ([], False),
        ([0] * 9 + [None], True),
    ],
)
def test_when_they_are_out_of_date(stored, changes, stale):
    assert Recheck(paired(stored, changes), False).stale is stale


def test_a_graph_that_is_not_stored_edge_by_edge_is_known_by_its_errors(stored):
    large = replace(stored[0], values={m: v for m, v in stored[0].values.items() if m != "edges"})
    assert Pair(large, stored[0]).same and not Pair(large, moved(large, 1)).same
