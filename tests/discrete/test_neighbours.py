"""Preliminary neighbourhood selection: true neighbours stay, most others go."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from acyclic.data.simulate import simulate
from acyclic.discrete.neighbours import neighbours


@pytest.mark.slow
def test_true_neighbours_stay_and_most_others_go():
    data = simulate(12, 300, sem="gp", graph="ER1", random_state=1)
    skeleton = data.graph.adjacency | data.graph.adjacency.T
    found = np.column_stack([neighbours(data.X, j, trees=40) for j in range(12)])
    assert (found | found.T)[skeleton].mean() >= 0.95
    explained = data.graph.adjacency.any(axis=0)
    assert found[:, explained][~skeleton[:, explained]].mean() < 0.5 and not found.diagonal().any()


@pytest.mark.slow
def test_the_rule_is_a_share_of_the_mean_importance():
    rows = np.random.default_rng(0).normal(size=(80, 6))
    rows[:, 5] += rows[:, 0] + 0.4 * rows[:, 1]
    forest = ExtraTreesRegressor(400, random_state=0).fit(np.where(np.arange(6) == 5, 0.0, rows), rows[:, 5])
    expected = forest.feature_importances_ >= 0.75 / 6
    assert forest.feature_importances_[5] == 0 and not expected[5]
    margin = np.abs(forest.feature_importances_ - 0.75 / 6) > 0.02
    np.testing.assert_array_equal(neighbours(rows, 5, trees=400)[margin], expected[margin])
    assert neighbours(rows, 5, trees=7, share=0.0).tolist() == [True] * 5 + [False]
    assert not neighbours(rows, 5, trees=7, share=6.1).any()


def test_the_same_seed_gives_the_same_columns_whatever_was_drawn_before():
    rows = np.random.default_rng(1).normal(size=(40, 8))
    drawn = [neighbours(rows, 3, trees=9, random_state=seed).tolist() for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1] and any(other != drawn[0] for other in drawn[2:])


def test_work_can_be_ended_between_trees():
    calls = []
    neighbours(np.eye(10), 0, trees=45, pause=lambda: calls.append(1))
    assert len(calls) == 5

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        neighbours(np.eye(10), 0, trees=45, pause=stop)


def test_odd_columns():
    assert neighbours(np.arange(5.0)[:, None], 0, trees=3).tolist() == [False]
    rows = np.column_stack([np.ones(20), np.arange(20.0), np.ones(20)])
    assert not neighbours(rows, 1, trees=3)[1]
    # Nothing explains a constant, hence nothing is ruled out.
    assert neighbours(rows, 0, trees=3).tolist() == [False, True, True]
