import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from acyclic.experiments.summary import (
    Mean,
    blocks,
    cut_share,
    describe,
    mean_of,
    n_cut,
    n_failed,
    number,
    paired_ratio,
    rival,
    runs_of,
    unfinished,
)
from experiments import made_up

counts = st.lists(st.integers(0, 50), min_size=3, max_size=30)


@pytest.fixture
def where():
    return made_up.plan().settings()[0]


def test_a_mean_has_the_standard_error_of_the_sample():
    # Squared deviations from 5 sum to 9 + 1 + 1 + 9 = 20; 20 / 3 / 4 = 5 / 3.
    mean = Mean.over([2, 4, 6, 8])
    assert (mean.value, mean.runs, mean.best) == (5.0, 4, 2.0)
    assert mean.error == pytest.approx(math.sqrt(5 / 3), rel=1e-15)


def test_a_single_run_has_no_error_and_none_has_no_mean():
    alone = Mean.over([3.0])
    assert alone.value == 3.0 and math.isnan(alone.error) and alone.interval() == (-math.inf, math.inf)
    assert Mean.over([]) is None


def test_the_interval_is_that_of_student():
    sample = [3.0, 7.0, 4.0, 4.0, 9.0]
    expected = stats.t.interval(0.95, 4, np.mean(sample), stats.sem(sample))
    assert Mean.over(sample).interval() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("mean", "text"),
    [
        (Mean(45.2, 6.44, 20, 0), "45.2 ± 6.4 (20)"),
        (Mean(3.607, 0.2, 100, 0), "3.61 ± 0.20 (100)"),
        (Mean(0.00412, 0.00021, 7, 0), "0.0041 ± 0.0002 (7)"),
        (Mean(2.0, 0.0, 5, 0), "2.00 ± 0.00 (5)"),
        (Mean(123.4, 31.0, 9, 0), "123 ± 31 (9)"),
        (Mean(7.0, math.nan, 1, 7), "7.00 (1)"),
    ],
)
def test_the_text_of_a_mean_has_two_digits_of_its_error(mean, text):
    assert str(mean) == text


def test_a_paired_ratio_uses_the_runs_that_both_have():
    ratio = paired_ratio({0: 2, 1: 2, 2: 2, 9: 100}, {0: 4, 1: 3, 2: 5, 7: 1000})
    assert ratio.value == 6 / 12 and ratio.runs == 3
    assert str(ratio) == f"0.50 [{ratio.low:.2f}, {ratio.high:.2f}] (3)"


@given(counts, st.integers(1, 40), st.integers(0, 1000))
def test_the_ends_of_the_interval_are_where_the_t_test_turns(numbers, offset, seed):
    below = dict(enumerate(number + offset for number in numbers))
    noise = np.random.default_rng(seed).poisson(3, len(numbers)).tolist()
    above = {run: value / 2 + extra for (run, value), extra in zip(below.items(), noise)}
    ratio = paired_ratio(above, below)
    assert 0 <= ratio.low <= ratio.value <= ratio.high
    for end in (ratio.low, ratio.high):
        differences = [above[run] - end * below[run] for run in below]
        if 0 < end < math.inf and np.ptp(differences) > 1e-6:
            assert stats.ttest_1samp(differences, 0).pvalue == pytest.approx(0.05, rel=1e-5)


def test_few_runs_or_a_divisor_near_zero_leave_the_ratio_unbounded():
    assert paired_ratio({0: 1.0}, {0: 2.0}).high == math.inf
    assert paired_ratio({0: 1, 1: 2}, {0: 0, 1: 1}).high == math.inf
    assert str(paired_ratio({0: 1.0}, {0: 2.0})) == "0.50 [0.00, ∞] (1)"


def test_there_is_no_ratio_without_common_runs_or_with_a_divisor_of_zero():
    assert paired_ratio({0: 1.0}, {1: 1.0}) is None
    assert paired_ratio({}, {}) is None
    assert paired_ratio({0: 1.0, 1: 2.0}, {0: 0.0, 1: 0.0}) is None


def test_equal_runs_have_the_ratio_one():
    same = {0: 3, 1: 4, 2: 9, 3: 5, 4: 6}
    ratio = paired_ratio(same, same)
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((1, 1, 1))


def test_runs_leave_out_what_failed_and_what_is_no_number(where):
    some = [
        made_up.record(where, 0, shd=4, cpu_seconds=2.5),
        made_up.record(where, 1, status="failed"),
        made_up.record(where, 2, shd=None, cpu_seconds=1.5),
        made_up.record(where, 3, shd=math.nan),
        made_up.record(where, 4, shd=6),
    ]
    assert runs_of(some, "shd") == {0: 4.0, 4: 6.0}
    assert runs_of(some, "cpu_seconds") == {0: 2.5, 2: 1.5, 3: 1.0, 4: 1.0}
    assert runs_of(some, "seconds")[0] == 5.0
    assert mean_of(some, "shd") == Mean(5.0, 1.0, 2, 4.0)
    assert mean_of([], "shd") is None


def test_failures_and_ends_by_the_limit_are_told_apart(where):
    fine = [made_up.record(where, 0, shd=1, stopped_early=False)]
    bad = [
        made_up.record(where, 1, shd=9, stopped_early=True),
        made_up.record(where, 2, status="failed", stopped_early=True),
        made_up.record(where, 3, status="failed", verdict="ValueError: no"),
    ]
    assert (n_failed(fine + bad), n_cut(fine + bad)) == (1, 2)
    assert unfinished(bad[:1]) and unfinished(bad[2:]) and not unfinished(fine) and not unfinished([])


def test_the_share_of_cycles_counts_runs_that_had_a_threshold(where):
    some = [made_up.record(where, run, cut_cyclic=cut) for run, cut in enumerate([True, False, False, True, None])]
    assert cut_share(some) == 0.5
    assert cut_share([made_up.record(where, status="failed"), *some[4:]]) is None


def test_the_rival_differs_in_the_constraint_alone():
    methods = {
        "exponential": made_up.notears("exponential", l1=0.1),
        "other penalty": made_up.notears("exponential", l1=0.2),
        "binomial": made_up.notears("binomial", l1=0.1),
        "TMPI": made_up.notears("fast-tmpi", l1=0.1),
        "TMPI with search": made_up.notears("fast-tmpi", l1=0.1, then="kkt_search"),
        "DAG-GNN": made_up.method({"learner": "DagGnn", "constraint": "binomial"}),
        "DAG-GNN/TMPI": made_up.method({"learner": "DagGnn", "constraint": "fast-tmpi"}),
    }
    plan = made_up.plan(methods=methods)
    found = {s.label: rival(s, plan.settings()) for s in plan.settings() if s.data["n_nodes"] == 30}
    assert {label: other.label for label, other in found.items() if other} == {
        "TMPI": "exponential",
        "DAG-GNN/TMPI": "DAG-GNN",
    }
    assert found["TMPI"].data["n_nodes"] == 30


def test_blocks_keep_the_order_of_the_plan():
    settings = made_up.plan_of("grid").settings()
    assert [describe(block[0].data, ["n", "n_nodes"]) for block in blocks(settings)] == [
        f"{graph}, {noise} noise" for graph in ("ER2", "ER3") for noise in ("Gaussian", "Exponential", "Gumbel")
    ]
    assert len(blocks(settings, ["noise", "n_nodes"])) == 2
    assert sorted(s.key for block in blocks(settings) for s in block) == sorted(s.key for s in settings)


def test_data_are_described_in_words():
    assert describe({"dataset": "sachs", "standardize": True}) == "Sachs data, unknown scale"
    assert describe({"sem": "cos", "graph": "ER1", "n_nodes": 50}) == "ER1, d = 50, SEM cos"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.5, "0.500"), (12.345, "12.3"), (99999.4, "99999"), (-0.25, "-0.250"), (2e9, "2.0e+09")],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text
