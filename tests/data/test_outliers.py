"""Rows that are far from all others are found, heavy tails are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic.data.outliers import find_outliers
from acyclic.data.table import read_table
from acyclic.facts import Note

LAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "laplace": lambda rng, shape: rng.laplace(size=shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "t5": lambda rng, shape: rng.standard_t(5, shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "two values": lambda rng, shape: (rng.random(shape) < 0.03).astype(float),
    "counts": lambda rng, shape: rng.poisson(0.1, shape).astype(float),
}


def far_rows(X):
    return np.flatnonzero(find_outliers(X, np.ones(X.shape[1], dtype=bool))[0]).tolist()


def mixed_rows(rng, n=1000, d=8):
    return rng.standard_normal((n, d)) @ (np.eye(d) + np.triu(rng.uniform(-1, 1, (d, d)), 1))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [60, 300, 3000])
def test_no_smooth_tail_is_taken_for_outliers(law, n):
    rng = np.random.default_rng(7)
    assert all(far_rows(LAWS[law](rng, (n, 6))) == [] for _ in range(5))


@pytest.mark.parametrize("seed", range(3))
def test_rows_and_single_cells_that_are_wild_are_found(seed):
    rng = np.random.default_rng(seed)
    X = mixed_rows(rng)
    rows, cells = X.copy(), X.copy()
    rows[:10] *= 20
    cells[np.arange(10), rng.integers(8, size=10)] += 40 * rng.choice([-1, 1], 10)
    assert far_rows(rows) == far_rows(cells) == list(range(10))


def test_a_cell_that_is_wild_only_beside_its_row_is_found_with_others():
    X = mixed_rows(np.random.default_rng(1))
    X[:, 1] = X[:, 0] + 0.05 * X[:, 1]
    X[0, 2] = 1000.0
    X[1, 1] = X[1, 0] + 3.0
    assert far_rows(X) == [0, 1]


def test_a_third_of_the_rows_is_a_group_and_no_outlier():
    X = mixed_rows(np.random.default_rng(1), n=900)
    X[:15] *= 1000.0
    X[15:315, 0] += 15.0
    assert far_rows(X) == list(range(15))


def test_units_do_not_matter():
    X = mixed_rows(np.random.default_rng(1))
    X[5] *= 30.0
    assert far_rows(X * 10.0 ** np.arange(-140, 180, 40)) == far_rows(X + 1e6) == [5]


CELLS = st.tuples(st.integers(0, 59), st.integers(0, 2), st.floats(-1e300, 1e300))


@settings(max_examples=50)
@given(st.lists(CELLS, max_size=40), st.booleans())
def test_any_finite_numbers_will_do(cells, varies):
    X = np.random.default_rng(0).normal(size=(60, 3)) * varies
    for row, column, value in cells:
        X[row, column] = value
    far, columns = find_outliers(X, np.array([True, False, True]))
    assert not columns[1] and far.sum() <= 20 and far.any() == columns.any()


def test_a_table_without_outliers_says_how_many_there_were_and_keeps_its_other_notes():
    X = mixed_rows(np.random.default_rng(1), d=3)
    X[[4, 9]] *= 50.0
    table = read_table(np.column_stack([X, np.ones(1000)]))
    kept = table.inliers
    note = kept.notes[-1]
    assert (note.kind, note["count"], note["rows"], note["first"], note["columns"]) == (Note.OUTLIERS, 2, 1000, 4, 3)
    assert [each.kind for each in kept.notes[:-1]] == [each.kind for each in table.notes] == [Note.CONSTANT]
    assert np.array_equal(kept.rows(), np.delete(table.rows(), [4, 9], axis=0))
    assert kept.moments == read_table(kept.rows()).moments and kept.digest != table.digest


def test_categories_and_tables_without_rows_have_none():
    codes = np.r_[np.zeros(950), np.ones(49), 9.0]
    table = read_table(np.column_stack([codes, codes[::-1]]), kinds={"x0": "categorical", "x1": "categorical"})
    assert table.inliers is table
    of_moments = read_table(read_table(mixed_rows(np.random.default_rng(1))).moments)
    assert of_moments.inliers is of_moments
