"""Missing cells that are filled: what was seen stays, what is filled has the column's values and goes with the rest."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import acyclic
from acyclic.data import imputing
from acyclic.data.imputing import choose_rows, impute
from acyclic.data.table import Table, read_table
from acyclic.errors import InputError
from acyclic.facts import Caution, Note


def make_gaps(rows, share, seed=0):
    return np.where(np.random.default_rng(seed).random(rows.shape) < share, np.nan, rows)


def named(rows):
    return [f"x{k}" for k in range(rows.shape[1])]


def fill(rows, codes=None, seed=0, **options):
    return impute(rows, named(rows), codes or [None] * rows.shape[1], seed, **options)


def linked(n, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ (np.eye(d) + np.triu(rng.uniform(0.5, 1.5, (d, d)), 1))


CELLS = st.one_of(st.just(np.nan), st.integers(-2, 2).map(float), st.floats(-1e6, 1e6))


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=CELLS), st.data())
@settings(deadline=None)
def test_what_was_seen_stays_and_the_rest_are_values_of_the_column(rows, data):
    rows[0] = np.where(np.isnan(rows[0]), 0.0, rows[0])
    category = data.draw(st.lists(st.booleans(), min_size=rows.shape[1], max_size=rows.shape[1]))
    codes = [
        np.unique(np.nan_to_num(column), return_inverse=True)[1].ravel() if is_category else None
        for column, is_category in zip(rows.T, category)
    ]
    filled = fill(rows, codes)
    seen = ~np.isnan(rows)
    np.testing.assert_array_equal(filled[seen], rows[seen])
    for before, after in zip(rows.T, filled.T):
        assert set(after) <= set(before[~np.isnan(before)])
    np.testing.assert_array_equal(fill(filled), filled)
    again = fill(rows, codes, seed=1, start=filled)
    np.testing.assert_array_equal(again[seen], rows[seen])


def test_neither_the_order_nor_the_units_of_columns_matter():
    rows = make_gaps(linked(200), 0.2)
    filled, order = fill(rows), [2, 0, 3, 1]
    moved = impute(rows[:, order], [f"x{k}" for k in order], [None] * 4, 0)
    np.testing.assert_array_equal(moved, filled[:, order])
    # Powers of two, and a shift that every value takes without rounding.
    np.testing.assert_array_equal(fill(rows * [1024.0, 0.5, 2.0**-40, 8.0]), filled * [1024.0, 0.5, 2.0**-40, 8.0])
    # Any function that rises: what is drawn depends on ranks alone.
    np.testing.assert_array_equal(fill(np.sinh(rows)), np.sinh(filled))
    assert not np.array_equal(fill(rows, seed=1), filled)


def test_relations_are_those_of_all_cells():
    rows = linked(4000)
    filled = fill(make_gaps(rows, 0.2))
    # A correlation of so many rows is known to 1/sqrt(n); filled cells add their own chance.
    np.testing.assert_allclose(np.corrcoef(filled.T), np.corrcoef(rows.T), atol=4 / np.sqrt(4000))
    # The scatter about a regression is neither lost, as by means, nor added, as by random values.
    noise = [np.linalg.lstsq(x[:, :3], x[:, 3])[1][0] / len(x) for x in (rows, filled)]
    assert noise[1] == pytest.approx(noise[0], rel=0.15)


def test_curves_are_filled_as_curves():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    rows = np.column_stack([x, np.cos(2 * x) + 0.1 * rng.normal(size=3000)])
    holes = rows.copy()
    holes[::4, 1] = np.nan
    off = fill(holes)[::4, 1] - np.cos(2 * x[::4])
    # Five bends are no cosine; without them the error is the spread of the column, 0.7.
    assert np.sqrt(np.mean(off**2)) < 0.35


def test_levels_come_as_often_as_they_should():
    rng = np.random.default_rng(2)
    group = rng.integers(3, size=6000)
    answer = np.where(
        rng.random(6000) < np.array([0.1, 0.5, 0.9])[group], 2.0, rng.integers(2, size=6000).astype(float)
    )
    rows = np.column_stack([group.astype(float), answer])
    holes = rows.copy()
    gaps = rng.random(6000) < 0.3
    holes[gaps, 1] = np.nan
    filled = fill(holes, [group, np.nan_to_num(holes[:, 1]).astype(int)])
    for level, expected in enumerate((0.1, 0.5, 0.9)):
        here = gaps & (group == level)
        assert np.mean(filled[here, 1] == 2.0) == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(here.sum()))


def test_cells_that_are_missing_by_other_columns_are_no_loss():
    """y is missing more often where x is large: complete rows are biased, filled ones are not."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=8000)
    y = x + rng.normal(size=8000)
    gone = rng.random(8000) < 1 / (1 + np.exp(-2 * x))
    filled = fill(np.column_stack([x, np.where(gone, np.nan, y)]))
    assert abs(filled[:, 1].mean()) < 0.08
    assert y[~gone].mean() < -0.4


def test_more_rows_than_are_looked_at_together(monkeypatch):
    monkeypatch.setattr(imputing, "_TOGETHER", 50)
    rows = linked(500)
    filled = fill(make_gaps(rows, 0.2))
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(np.corrcoef(filled.T), np.corrcoef(rows.T), atol=0.25)


@given(st.integers(3, 6), st.floats(0, 0.7), st.integers(0, 2**32 - 1))
def test_the_fullest_rows_are_used_as_many_as_have_three_columns(d, share, seed):
    present = np.random.default_rng(seed).random((40, d)) >= share
    chosen = choose_rows(present)
    counts = [max(present[:, triple].all(axis=1).sum(), 1) for triple in combinations(range(d), 3)]
    complete = present.all(axis=1).sum()
    expected = max(int(max(len(counts) / sum(1 / count for count in counts), 2) + 1e-7), complete)
    assert len(chosen) == min(expected, present.any(axis=1).sum())
    assert (np.diff(chosen) > 0).all() and present[chosen].any(axis=1).all()
    left = np.setdiff1d(np.arange(40), chosen)
    assert not len(left) or not len(chosen) or present[chosen].sum(axis=1).min() >= present[left].sum(axis=1).max()
    assert set(np.flatnonzero(present.all(axis=1))) <= set(chosen.tolist())


@pytest.fixture(scope="module")
def mixed():
    data = acyclic.simulate(10, 500, graph="ER2", sem="mixed", random_state=3)
    rows = make_gaps(data.X, 0.1)
    frame = pd.DataFrame(rows, columns=list(data.names))
    for name, levels in zip(data.names, data.levels):
        if levels:
            frame[name] = frame[name].map(lambda code: None if np.isnan(code) else f"level {code:g}")
    return data, frame


def test_a_mixed_table_has_complete_rows(mixed):
    _, frame = mixed
    table = Table.open(frame, missing="impute")
    rows = table.rows()
    assert table.has_rows and np.isfinite(rows).all() and len(rows) == table.moments.n
    assert frame.notna().all(axis=1).sum() < len(rows) < table.n_rows == len(frame)
    note = next(note for note in table.notes if note.kind is Note.IMPUTED)
    assert (note["rows"], note["of"]) == (len(rows), len(frame)) and 0 < note["cells"] < frame.isna().sum().sum()
    np.testing.assert_allclose(table.moments.mean, rows.mean(axis=0), atol=1e-9)
    for name in table.codings:
        assert (table.codes(name) >= 0).all()
    assert table.digest != Table.open(frame, missing="drop-rows").digest
    copy = pickle.loads(pickle.dumps(table))
    np.testing.assert_array_equal(copy.rows(), rows)
    assert copy.digest == table.digest


def test_a_file_is_filled_as_the_frame(mixed, tmp_path):
    _, frame = mixed
    frame.to_csv(tmp_path / "t.csv", index=False)
    one, two = Table.open(tmp_path / "t.csv", missing="impute"), Table.open(frame, missing="impute")
    np.testing.assert_array_equal(one.rows(), two.rows())


CHANGES = {
    "as it is": (lambda table: table, lambda rows: rows),
    "columns turned round": (lambda table: table.select(table.names[::-1]), lambda rows: rows[:, ::-1]),
    "doubled": (lambda table: table.scaled(np.full(10, 2.0)), lambda rows: 2 * rows),
    # Draws keep the scale of the table, and their own mean.
    "standardized": (lambda table: table.standardized(), lambda rows: rows / rows.std(axis=0)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_draws_fill_their_own_gaps(mixed, change):
    make, expect = CHANGES[change]
    table = Table.open(mixed[1], missing="impute")
    changed, n = make(table), int(table.moments.n)
    positions = np.random.default_rng(5).integers(n, size=n)
    drawn = changed.resampled(np.random.default_rng(5))
    gaps = table._origin.gaps[positions]
    gaps = gaps[:, ::-1] if change == "columns turned round" else gaps
    same = np.isclose(drawn.rows(), expect(table.rows())[positions])
    assert same[~gaps].all()
    assert 0.05 < same[gaps].mean() < 0.95
    np.testing.assert_allclose(drawn.moments.covariance, np.cov(drawn.rows().T, ddof=0), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(changed.resampled(np.random.default_rng(5)).rows(), drawn.rows())
    halves = changed.split(np.random.default_rng(0))
    assert sum(len(half.rows()) for half in halves) == n and all(np.isfinite(half.rows()).all() for half in halves)


def test_it_finds_more_than_complete_rows_do(mixed):
    data, frame = mixed
    true = data.graph.adjacency | data.graph.adjacency.T

    def lost(missing):
        found = acyclic.learn(frame, missing=missing).graph.adjacency
        return int(np.triu(true & ~(found | found.T)).sum())

    assert lost("impute") < lost("drop-rows")


def test_bootstrap_and_audit_take_it(mixed):
    _, frame = mixed
    table = Table.open(frame, missing="impute")
    result = acyclic.learn(table)
    assert Caution.LINES_FOR_MISSING not in {fact.kind for fact in result.verdict.cautions}
    confidence = acyclic.bootstrap("auto", table, draws=4)
    assert confidence.draws == 4
    assert acyclic.audit(table, rescalings=1) is not None


def test_without_gaps_it_is_as_any_other():
    rows = linked(50)
    assert Table.open(rows, missing="impute").digest == Table.open(rows).digest
    assert not [note for note in Table.open(rows, missing="impute").notes if note.kind is Note.IMPUTED]


def test_of_two_columns_complete_rows_are_all_that_tells():
    rows = make_gaps(linked(80, 2), 0.2)
    np.testing.assert_array_equal(
        Table.open(rows, missing="impute").rows(), Table.open(rows, missing="drop-rows").rows()
    )


def test_what_cannot_be_filled_is_refused():
    rows = make_gaps(linked(60), 0.1)
    with pytest.raises(InputError, match="weights cannot be filled"):
        read_table(rows, missing="impute", weights=np.ones(60))
    rows[:, 1] = np.nan
    with pytest.raises(InputError, match="'x1' has 0 value"):
        read_table(rows, missing="impute")


def test_outliers_and_rows_without_any_value():
    rows = make_gaps(linked(200), 0.1)
    rows[7], rows[9] = np.nan, 1e4
    table = Table.open(rows, missing="impute")
    assert table.rows().shape == (int(table.moments.n), 4)
    kept = table.inliers
    assert kept.rows().max() < 100
    drawn = kept.resampled(np.random.default_rng(0))
    assert np.isfinite(drawn.rows()).all() and drawn.rows().max() < 100
