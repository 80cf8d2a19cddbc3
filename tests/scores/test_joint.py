"""The score of joint functions against its naive form, and that it wins only where parents do not add up."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from acyclic.scores import joint
from acyclic.scores.joint import JointScore, Reach


def draw(n=150, seed=0):
    rng = np.random.default_rng(seed)
    x, z, w = rng.normal(size=(3, n))
    return np.column_stack([x, z, w, x * z + 0.5 * rng.normal(size=n), x + np.sin(2 * z) + 0.5 * rng.normal(size=n)])


def kernel(score, parents, reach):
    X = score.Z[:, list(parents)]
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-squares / 2 / joint._LENGTHS[reach.length] ** 2)
    centre = np.eye(score.n) - 1 / score.n
    return joint._RATIOS[reach.ratio] * centre @ K @ centre


def naive(score, node, parents, reach):
    """−2 log of the normal density, the variance of the noise at its best, beside that of normal numbers alone."""
    A, y = np.eye(score.n) + kernel(score, parents, reach), score.Z[:, node]
    variance = y @ np.linalg.solve(A, y) / score.n
    ours, usual = (multivariate_normal.logpdf(y, cov=c) for c in (variance * A, np.eye(score.n)))
    return 2 * (usual - ours)


@pytest.mark.parametrize("reach", [Reach(1, 0), Reach(2, 1)])
@pytest.mark.parametrize("parents", [(0, 1), (0, 1, 2)])
def test_all_rows_give_the_marginal_likelihood(parents, reach):
    score = JointScore(draw())
    value = score.fine(3, parents, reach)[0] - score.price(len(parents))
    assert value == pytest.approx(naive(score, 3, parents, reach), rel=1e-9)


def test_a_kernel_of_some_rows_that_are_all_is_the_whole_one():
    score, every = JointScore(draw(60)), np.arange(60)
    X = score.Z[:, [0, 1]]
    whole = score._full_rank(joint._kernel(X, X, 1.0), 3, [0, 1])
    # The jitter of 1e-6 on 60 numbers that are 1 or less.
    assert score._low_rank(joint._kernel(X, X, 1.0), every, [3], [0, 1])[0] == pytest.approx(whole, abs=1e-2)


def test_interactions_win_where_there_are_some_and_lose_where_curves_add_up():
    score = JointScore(draw(400))
    assert score.rough(3, (0, 1))[0] < score.additive.score(3, [0, 1]) - 100
    assert score.rough(4, (0, 1))[0] > score.additive.score(4, [0, 1])
    assert score.score(4, [1, 0]) == pytest.approx(score.additive.family(4, (0, 1), most=1).score, rel=1e-12)


def test_sets_that_are_scored_for_all_columns_at_once_are_scored_as_alone():
    score = JointScore(draw(300))
    for node, parents in ((4, ()), (4, (0,)), (4, (0, 1, 2)), (3, (2,)), (0, (1, 4))):
        alone = score.additive.family(node, parents, most=1).score
        assert min(alone, score.rough(node, parents)[0] if len(parents) > 1 else np.inf) == pytest.approx(
            score.score(node, parents), rel=1e-12
        )


def test_the_waves_are_the_mean_of_the_process():
    score, reach = JointScore(draw(400)), Reach(1, 1)
    family = score.family(3, (0, 1), reach)
    rows = score.Z * score.deviations + score.mean
    K = kernel(score, (0, 1), reach)
    mean = K @ np.linalg.solve(np.eye(score.n) + K, score.Z[:, 3]) * score.deviations[3]
    # 150 random waves tell the kernel to about one part in twelve.
    assert np.corrcoef(family.together(rows[:, :2]), mean)[0, 1] > 0.98
    assert family.score == score.fine(3, (0, 1), reach)[0]


def test_slopes_of_waves_are_their_differences():
    waves = JointScore(draw()).family(3, (0, 1), Reach(1, 1)).together
    X, step = np.random.default_rng(1).normal(size=(5, 2)), 1e-5
    for k in range(2):
        ahead, behind = X.copy(), X.copy()
        ahead[:, k] += step
        behind[:, k] -= step
        assert waves.slopes(X)[:, k] == pytest.approx((waves(ahead) - waves(behind)) / (2 * step), abs=1e-6)
    order = np.array([1, 0])
    assert waves.permuted(order)(X[:, order]) == pytest.approx(waves(X))


def test_many_rows_are_told_by_a_part_of_them(monkeypatch):
    monkeypatch.setattr(joint, "_ALL_ROWS", 100)
    score = JointScore(draw(300))
    value, reach = score.fine(3, (0, 1))
    monkeypatch.setattr(joint, "_ALL_ROWS", 300)
    assert value == pytest.approx(JointScore(draw(300)).fine(3, (0, 1), reach)[0], abs=0.5)


def test_curves_never_fall_below_their_bound():
    score = JointScore(draw(200))
    for node, parents in ((3, (0, 1)), (4, (0, 1)), (4, (0, 1, 2, 3)), (0, (3, 4))):
        best = score.additive.family(node, parents, most=np.inf).score
        assert score._least_of_curves(node, parents) <= best
