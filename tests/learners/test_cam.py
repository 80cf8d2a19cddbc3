import numpy as np
import pytest

from acyclic import Cam, Knowledge, Moments, simulate
from acyclic.data.mask import Mask
from acyclic.discrete.cam import _gains, add_greedily
from acyclic.errors import InputError
from acyclic.facts import Empty, Ended, Orientation
from acyclic.scores.blocks import BlockScore

DATA = simulate(6, 500, graph="ER1", sem="gp-add", least_share=0.1, random_state=3)


def test_curves_are_found_and_their_functions_kept():
    model = Cam().fit(DATA.X)
    assert np.array_equal(model.causal_graph_.adjacency, DATA.graph.adjacency)
    assert model.verdict_.orientation is Orientation.CURVATURE and model.verdict_.converged
    residuals = model.transform(DATA.X)
    linear = DATA.X - DATA.X.mean(axis=0)
    assert np.all(residuals.var(axis=0) <= linear.var(axis=0) * (1 + 1e-9))
    assert np.abs(residuals.var(axis=0) - 1).max() < 0.3


@pytest.mark.parametrize("parents", [[], [0], [0, 3, 5]])
def test_gains_are_differences_of_residual_variances(parents):
    score = BlockScore.of(DATA.X)
    size = score.features.maps[0].size

    def variance(node, given):
        return np.exp(score.fit(node, given, [size] * len(given)).misfit / score.features.n)

    gains = _gains(score, 1, parents)
    for i in np.flatnonzero(np.isfinite(gains)):
        expected = score.features.n * np.log(variance(1, parents) / variance(1, [*parents, int(i)]))
        assert gains[i] == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert not np.isfinite(gains[[1, *parents]]).any()


def test_the_first_edge_explains_most_and_no_cycle_is_closed():
    score, told = BlockScore.of(DATA.X), []
    edges = add_greedily(score, Mask.unrestricted(6), lambda edges, gain: told.append((edges.copy(), gain)))
    gains = np.stack([_gains(score, j, []) for j in range(6)], axis=1)
    assert told[0][1] == gains.max() and np.array_equal(np.argwhere(told[0][0]), np.argwhere(gains == gains.max()))
    assert np.array_equal(told[-1][0], edges)


def test_a_stricter_cutoff_keeps_fewer_edges_and_says_so_when_none_is_left():
    model = Cam(cutoff=0.0).fit(DATA.X)
    assert not model.causal_graph_.n_edges and model.verdict_.empty.kind is Empty.UNTESTED
    noise = Cam().fit(np.random.default_rng(0).normal(size=(200, 4)))
    assert noise.verdict_.empty.kind is not Empty.UNTESTED


def test_knowledge_is_obeyed():
    source, target = np.argwhere(DATA.graph.adjacency)[0]
    knowledge = Knowledge(required=[(f"x{target}", f"x{source}")])
    assert Cam(knowledge=knowledge).fit(DATA.X).causal_graph_.adjacency[target, source]
    barred = Knowledge(forbidden=[(f"x{source}", "*")])
    assert not Cam(knowledge=barred).fit(DATA.X).causal_graph_.adjacency[source].any()


def test_a_stopped_run_has_the_edges_added_so_far():
    stopped = Cam(callback=lambda progress: progress.step == 2).fit(DATA.X)
    assert stopped.verdict_.end.kind is Ended.CALLBACK and stopped.causal_graph_.n_edges == 2
    assert Cam(time_limit=0.0).fit(DATA.X).verdict_.end.kind is Ended.TIME_LIMIT


def test_constant_and_copied_columns_are_borne():
    model = Cam().fit(np.column_stack([DATA.X, DATA.X[:, 0], np.full(500, 3.7)]))
    assert not model.causal_graph_.adjacency[7].any() and not model.causal_graph_.adjacency[:, 7].any()


def test_moments_are_refused():
    with pytest.raises(InputError, match="needs rows"):
        Cam().fit(Moments.from_array(DATA.X))
