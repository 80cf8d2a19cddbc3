"""Draws: rows counted again, halves, folds, and the Wishart distribution."""

import numpy as np
import pandas as pd
import pytest
from acyclic.trust.resampling import PARAMETRIC, Source, draw_seeds, wishart
from numpy.random import SeedSequence, default_rng

from acyclic.data.moments import Moments
from acyclic.data.table import read_table
from acyclic.errors import InputError
from acyclic.trust.bootstrap import bootstrap

ROWS = default_rng(1).normal(size=(60, 4)) @ np.triu(np.ones((4, 4)))


def test_a_draw_has_the_moments_of_the_rows_drawn():
    drawn = Source.of(ROWS).resampled(default_rng(5))
    picked = ROWS[np.sort(default_rng(5).integers(60, size=60))]
    assert drawn.n == 60
    np.testing.assert_allclose(drawn.mean, picked.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(drawn.covariance, np.cov(picked.T, bias=True), atol=1e-12)


def test_resampled_rows_and_resampled_moments_are_the_same_draw():
    source = Source.of(ROWS)
    rows = source.resampled_rows(default_rng(5))
    np.testing.assert_allclose(np.cov(rows.T, bias=True), source.resampled(default_rng(5)).covariance, atol=1e-12)


def test_halves_hold_half_of_the_rows():
    assert Source.of(ROWS).halved(default_rng(0)).n == 30
    assert Source.of(Moments.from_array(ROWS)).halved(default_rng(0)).n == 30


def test_folds_together_are_the_table():
    source = Source.of(ROWS[:59])
    parts = source.folds(4, default_rng(0))
    assert sorted(part.n for part in parts) == [14, 15, 15, 15]
    merged = Moments.merged(parts)
    np.testing.assert_allclose(merged.covariance, source.moments.covariance, atol=1e-12)


def test_frames_keep_their_names_and_rows():
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    source = Source.of(frame)
    assert source.moments.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(source.rows, ROWS)
    assert source.notes == ()
    assert Source.of(Moments.from_frame(frame)).notes == (PARAMETRIC,)


def test_files_and_what_read_table_returns(tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame(ROWS, columns=list("abcd")).to_csv(path, index=False)
    source = Source.of(path)
    np.testing.assert_allclose(source.rows, ROWS)
    assert Source.of(read_table(path)).moments == source.moments == Source.of(str(path)).moments
    weighted = Source.of(read_table(path, weights=np.ones(60)))
    assert weighted.rows is None and weighted.notes[0].startswith(PARAMETRIC) and "weights" in weighted.notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 5, 50])
def test_wishart_draws_have_the_right_mean_and_spread(n):
    S = np.array([[2.0, 1.0, 0.0, 0.5], [1.0, 3.0, -1.0, 0.0], [0.0, -1.0, 1.0, 0.2], [0.5, 0.0, 0.2, 4.0]])
    moments, rng = Moments(n, [1.0, 0.0, -1.0, 2.0], S), default_rng(3)
    draws = [wishart(moments, n, rng) for _ in range(4000)]
    mean = np.mean([draw.covariance for draw in draws], axis=0)
    spread = np.var([draw.covariance for draw in draws], axis=0)
    expected = (n - 1) / n**2 * (S**2 + np.outer(np.diag(S), np.diag(S)))
    np.testing.assert_allclose(mean, S * (n - 1) / n, atol=5 * np.sqrt(expected.max() / 4000))
    np.testing.assert_allclose(spread, expected, rtol=0.25)
    np.testing.assert_allclose(np.mean([draw.mean for draw in draws], axis=0), moments.mean, atol=0.15)
    np.testing.assert_allclose(np.cov(np.array([draw.mean for draw in draws]).T), S / n, atol=0.1)


def test_wishart_draws_keep_exact_relations_and_constants():
    rows = np.column_stack([ROWS[:, 0], 2 * ROWS[:, 0], np.full(60, 7.0), ROWS[:, 1] * 1e9])
    drawn = wishart(Moments.from_array(rows), 60, default_rng(0))
    assert drawn.covariance[2].tolist() == [0, 0, 0, 0]
    assert drawn.covariance[1, 1] == pytest.approx(4 * drawn.covariance[0, 0], rel=1e-6)


def test_seeds_are_fixed_by_the_state_and_leave_it_unchanged():
    state = SeedSequence(7)
    once, again = draw_seeds(state, 3), draw_seeds(state, 3)
    assert [s.generate_state(2).tolist() for s in once] == [s.generate_state(2).tolist() for s in again]
    assert len({tuple(s.generate_state(2)) for s in draw_seeds(0, 50)}) == 50
    # More draws continue the first ones.
    assert draw_seeds(0, 5)[2].spawn_key == draw_seeds(0, 50)[2].spawn_key


@pytest.mark.parametrize("state", [-1, 1.5, "x", None, True])
def test_wrong_states_are_named(state):
    with pytest.raises(InputError, match="random_state is"):
        draw_seeds(state, 1)


@pytest.mark.parametrize("count", [0, -3, 2.0, True, None])
def test_wrong_counts_are_named(count):
    with pytest.raises(InputError, match="draws ="):
        draw_seeds(0, count)


def test_what_needs_rows_says_so():
    source = Source.of(Moments.from_array(ROWS))
    with pytest.raises(InputError, match="cross-validation needs rows"):
        source.folds(5, default_rng(0))
    with pytest.raises(InputError, match="rows are needed"):
        bootstrap("notears", source.moments, 2, rows=True)
    with pytest.raises(InputError, match="folds = 31"):
        Source.of(ROWS).folds(31, default_rng(0))
