"""The learners made of an order and a selection."""

import numpy as np
import pytest

import acyclic
from acyclic.errors import InputError
from acyclic.facts import Empty, Ended


def test_equal_variance_finds_the_graph():
    distances = []
    for seed in range(10):
        data = acyclic.simulate(n_nodes=20, n=1000, random_state=seed)
        model = acyclic.EqualVariance().fit(data.X)
        distances.append(acyclic.compare(data.graph, acyclic.Dag(model.adjacency_matrix_, data.names)).shd)
        assert sorted(model.order_) == list(range(20))
    assert np.mean(distances) <= 0.5


def test_order_search_sees_correlations_only():
    distances = []
    for seed in range(6):
        data = acyclic.simulate(n_nodes=12, n=2000, variances=(0.5, 4.0), random_state=seed)
        plain, scaled = acyclic.OrderSearch().fit(data.X), acyclic.OrderSearch().fit(data.X * np.arange(1, 13) ** 3)
        assert plain.cpdag_ == scaled.cpdag_
        distances.append(acyclic.compare(data.graph, acyclic.Dag(plain.adjacency_matrix_, data.names)).shd_cpdag)
    assert np.mean(distances) <= 2


@pytest.mark.parametrize("learner", [acyclic.EqualVariance, acyclic.OrderSearch])
class TestBoth:
    def test_rows_and_moments_agree(self, learner):
        data = acyclic.simulate(n_nodes=9, n=300, random_state=1)
        from_rows, from_moments = learner().fit(data.X), learner().fit(acyclic.Moments.from_array(data.X))
        assert (from_rows.adjacency_matrix_ == from_moments.adjacency_matrix_).all()

    def test_threshold_and_penalty_are_used(self, learner):
        data = acyclic.simulate(n_nodes=9, n=300, random_state=1)
        assert learner(threshold=100.0).fit(data.X).causal_graph_.n_edges == 0
        assert learner(penalty=1e9).fit(data.X).causal_graph_.n_edges == 0
        loose, strict = learner(penalty=0.5).fit(data.X), learner(penalty="ebic").fit(data.X)
        assert loose.causal_graph_.n_edges > strict.causal_graph_.n_edges
        assert learner(threshold=100.0).fit(data.X).verdict_.empty.kind is Empty.BELOW_THRESHOLD

    def test_wrong_threshold(self, learner):
        with pytest.raises(InputError, match="threshold"):
            learner(threshold=-1).fit(np.random.default_rng(0).standard_normal((20, 3)))

    def test_knowledge(self, learner):
        data = acyclic.simulate(n_nodes=9, n=300, random_state=1)
        tiers = [list(data.names[5:]), list(data.names[:5])]
        weights = learner(knowledge=acyclic.Knowledge(tiers=tiers)).fit(data.X).adjacency_matrix_
        assert not weights[:5, 5:].any()


def test_time_limit_is_said():
    data = acyclic.simulate(n_nodes=60, n=300, variances=(0.5, 4.0), random_state=1)
    verdict = acyclic.OrderSearch(time_limit=0.0).fit(data.X).verdict_
    assert not verdict.converged
    assert verdict.end.kind is Ended.TIME_LIMIT


def test_unpolished_order_is_an_option():
    data = acyclic.simulate(n_nodes=40, n=150, random_state=4)
    moments = acyclic.Moments.from_array(data.X)
    raw, polished = acyclic.EqualVariance(polished=False).fit(moments), acyclic.EqualVariance().fit(moments)
    assert (raw.order_ != polished.order_).any()
