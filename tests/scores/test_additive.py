"""Additive spline regression and CAM's F-test: exactness, calibration, power, dependent columns, few rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from acyclic.scores.additive import AdditiveModel, Spline, prune_parents, significance


def naive_p_value(rows, target, parents, k):
    """The F-test by two regressions on designs written out."""
    size = min(10, len(rows) // (3 * len(parents)))
    blocks = [Spline.of(rows[:, i], size)(rows[:, i]) for i in parents]

    def fit(chosen):
        design = np.hstack([np.ones((len(rows), 1)), *chosen])
        beta, _, rank, _ = np.linalg.lstsq(design, rows[:, target], rcond=1e-10)
        return np.sum((rows[:, target] - design @ beta) ** 2), rank

    full, rank = fit(blocks)
    reduced, smaller = fit(blocks[:k] + blocks[k + 1 :])
    free = len(rows) - rank
    return stats.f.sf((reduced - full) / (rank - smaller) / (full / free), rank - smaller, free)


@pytest.mark.parametrize("n", [40, 100, 500])
def test_p_values_are_those_of_two_regressions(n):
    rows = np.random.default_rng(1).normal(size=(n, 4))
    rows[:, 3] += 0.3 * np.cos(rows[:, 0]) + 0.2 * rows[:, 1]
    found = significance(rows, 3, (0, 1, 2))
    np.testing.assert_allclose(found, [naive_p_value(rows, 3, (0, 1, 2), k) for k in range(3)], rtol=1e-6)


def test_one_parent_with_one_function_is_the_t_test():
    rows = np.random.default_rng(0).normal(size=(5, 2))
    expected = stats.linregress(rows[:, 0], rows[:, 1]).pvalue
    assert significance(rows, 1, (0,)) == pytest.approx([expected])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "shape"), [(60, "normal"), (400, "normal"), (400, "heavy"), (400, "levels")])
def test_p_values_are_uniform_where_a_parent_explains_nothing(n, shape):
    rng = np.random.default_rng(7)
    draw = {
        "normal": rng.normal,
        "heavy": lambda size: rng.standard_t(2, size),
        "levels": lambda size: rng.integers(4, size=size),
    }
    values = []
    for _ in range(250):
        rows = np.array(draw[shape](size=(n, 3)), dtype=float)
        rows[:, 2] = 0.5 * rows[:, 0] + rng.normal(size=n)
        values.append(significance(rows, 2, (0, 1))[1])
    assert stats.kstest(values, "uniform").pvalue > 0.02
    assert np.mean(np.array(values) < 0.05) == pytest.approx(0.05, abs=0.035)


def test_pruning_keeps_true_parents_and_drops_false_ones():
    rng = np.random.default_rng(3)
    kept = np.zeros(4)
    for _ in range(60):
        rows = rng.normal(size=(300, 5))
        rows[:, 4] += np.sin(2 * rows[:, 0]) + 0.5 * rows[:, 1] ** 2
        adjacency = np.zeros((5, 5), dtype=bool)
        adjacency[:4, 4] = True
        kept += prune_parents(rows, adjacency, 0.001)[:4, 4]
    assert (kept[:2] >= 59).all() and kept[2:].sum() <= 2


def test_a_looser_cutoff_keeps_more_and_required_edges_stay():
    rows = np.random.default_rng(4).normal(size=(100, 6))
    adjacency = np.triu(np.ones((6, 6), dtype=bool), 1)
    required = np.zeros_like(adjacency)
    required[0, 5] = required[1, 2] = True
    before = adjacency.copy()
    found = [prune_parents(rows, adjacency, cutoff, required) for cutoff in (1e-6, 0.4, 0.7, 1.1)]
    counts = [kept.sum() for kept in found]
    assert counts[0] == 2 < counts[1] < counts[2] < counts[3] == 15
    assert all((kept >= required).all() for kept in found)
    np.testing.assert_array_equal(adjacency, before)


def test_of_doubled_parents_one_stays():
    rng = np.random.default_rng(5)
    cause, other = rng.normal(size=(2, 200))
    rows = np.column_stack([cause, other, cause, -3 * cause + 1, np.sin(cause) + 0.1 * rng.normal(size=200)])
    adjacency = np.zeros((5, 5), dtype=bool)
    adjacency[:4, 4] = True
    assert np.isnan(significance(rows, 4, (0, 1, 2))[[0, 2]]).all()
    assert prune_parents(rows, adjacency)[:, 4].tolist() == [True, False, False, False, False]
    required = np.zeros_like(adjacency)
    required[2, 4] = True
    assert prune_parents(rows, adjacency, required=required)[:, 4].tolist() == [False, False, True, False, False]


def test_a_target_that_a_parent_determines_has_no_other():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(200, 5))
    rows[:, 4] = 2 * rows[:, 0] + 1
    found = significance(rows, 4, (0, 1, 2, 3))
    assert found[0] == 0 and (found[1:] > 0.9).all()


@pytest.mark.parametrize(("n", "parents"), [(2, 1), (3, 2), (6, 5), (6, 6)])
def test_too_few_rows_for_a_test_say_nothing(n, parents):
    rows = np.random.default_rng(0).normal(size=(n, parents + 1))
    found = significance(rows, parents, tuple(range(parents)))
    assert ((found == 1) | np.isnan(found)).all() or n > parents + 1


def test_constant_columns_explain_nothing_and_are_explained_by_nothing():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    rows[:, 1] = 4.0
    assert np.isnan(significance(rows, 0, (1, 2))[0])
    assert significance(rows, 1, (0, 2)).tolist() == [1.0, 1.0]
    assert not prune_parents(rows, np.triu(np.ones((3, 3), dtype=bool), 1)).any()


@pytest.mark.parametrize("levels", [2, 3, 8])
def test_every_function_of_few_values_is_in_the_basis(levels):
    rng = np.random.default_rng(levels)
    x = rng.integers(levels, size=300).astype(float)
    y = rng.normal(size=levels)[x.astype(int)]
    rows = np.column_stack([x, y])
    model = AdditiveModel.fit(rows, np.array([[False, True], [False, False]]))
    np.testing.assert_allclose(model.predict(rows)[:, 1], y, atol=1e-9)
    assert Spline.of(x, 10)(x).shape[1] == levels - 1


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 10])
def test_a_basis_has_the_size_asked_for_and_is_constant_beyond_the_values(size):
    x = np.random.default_rng(0).exponential(size=200)
    spline = Spline.of(x, size)
    values = spline(x)
    assert values.shape == (200, size)
    assert np.linalg.matrix_rank(np.column_stack([np.ones(200), values])) == size + 1
    np.testing.assert_array_equal(spline(np.array([x.max() + 9, 1e300])), spline(np.array([x.max()] * 2)))
    np.testing.assert_array_equal(spline(np.array([-9.0])), spline(np.array([x.min()])))


def test_the_model_finds_additive_mechanisms():
    rng = np.random.default_rng(8)
    rows, new = rng.uniform(-2, 2, size=(2, 2000, 3))
    adjacency = np.zeros((3, 3), dtype=bool)
    adjacency[:2, 2] = True
    for table in (rows, new):
        table[:, 2] = np.sin(2 * table[:, 0]) + table[:, 1] ** 2 + 0.1 * table[:, 2]
    predicted = AdditiveModel.fit(rows, adjacency).predict(new)
    truth = np.sin(2 * new[:, 0]) + new[:, 1] ** 2
    assert np.abs(predicted[:, 2] - truth).mean() < 0.02
    np.testing.assert_allclose(predicted[:, :2], np.broadcast_to(rows[:, :2].mean(axis=0), (2000, 2)), rtol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 40),
    d=st.integers(1, 5),
    scale=st.sampled_from([1e-150, 1e-9, 1.0, 1e9, 1e150]),
    digits=st.sampled_from([0, 1, 15]),
)
@settings(max_examples=80, deadline=None)
def test_any_table_gives_finite_answers(seed, n, d, scale, digits):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(n, d)), digits) * scale
    adjacency = np.triu(rng.random((d, d)) < 0.7, 1)
    predicted = AdditiveModel.fit(rows, adjacency).predict(rows)
    assert np.isfinite(predicted).all()
    # A regression never leaves more than the mean does.
    centred = (rows - rows.mean(axis=0)) / scale
    assert (np.mean(((rows - predicted) / scale) ** 2, axis=0) <= np.mean(centred**2, axis=0) + 1e-9).all()
    kept = prune_parents(rows, adjacency, 0.05)
    assert (kept <= adjacency).all()
