import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LassoLarsIC, LinearRegression

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.facts import Ended, Orientation
from acyclic.graphs.metrics import shd
from acyclic.graphs.sortability import explained_by_others
from acyclic.learners.sortnregress import SortnRegress, adaptive_lasso


def published(X, order):
    """OLS, then LassoLarsIC on columns scaled by the OLS weights, along an order."""
    weights = np.zeros((X.shape[1], X.shape[1]))
    for place in range(1, len(order)):
        before, target = order[:place], order[place]
        size = np.abs(LinearRegression().fit(X[:, before], X[:, target]).coef_)
        path = LassoLarsIC(criterion="bic").fit(X[:, before] * size, X[:, target])
        weights[before, target] = path.coef_ * size
    return weights


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_published_baseline(seed):
    X = simulate(n_nodes=10, n=300, random_state=seed).X
    by_variance = SortnRegress().fit(X).adjacency_matrix_
    assert by_variance == pytest.approx(published(X, np.argsort(X.var(axis=0))), abs=1e-9)
    order = np.argsort(explained_by_others(np.cov(X.T)))
    assert SortnRegress(order="r2").fit(X).adjacency_matrix_ == pytest.approx(published(X, order), abs=1e-9)


def test_standardised_columns_defeat_variance_but_not_r2():
    data = simulate(n_nodes=10, n=1000, random_state=0)
    unit = 10.0 ** np.random.default_rng(0).uniform(-2, 2, size=10)
    raw, scaled = (SortnRegress(threshold=0.3).fit(X).causal_graph_ for X in (data.X, data.X / data.X.std(axis=0)))
    assert shd(data.graph, raw) < shd(data.graph, scaled)
    one, other = (SortnRegress(order="r2").fit(X).causal_graph_ for X in (data.X, data.X * unit))
    assert np.array_equal(one.adjacency, other.adjacency)


def test_knowledge_is_obeyed_and_required_parents_are_not_shrunk():
    data = simulate(n_nodes=6, n=400, random_state=2)
    largest, smallest = (data.names[k] for k in (data.X.var(axis=0).argmax(), data.X.var(axis=0).argmin()))
    knowledge = Knowledge(required=[(largest, smallest)], forbidden=[("*", "x1")] if largest != "x1" else [])
    model = SortnRegress(knowledge=knowledge).fit(Moments.from_array(data.X, data.names))
    assert knowledge.compile(data.names).check(model.adjacency_matrix_) == []
    # Beside required parents the residual is uncorrelated with them, as in least squares.
    target, source = data.names.index(smallest), data.names.index(largest)
    residual = model.transform(pd.DataFrame(data.X, columns=data.names))[:, target]
    assert np.corrcoef(residual, data.X[:, source])[0, 1] == pytest.approx(0, abs=1e-9)


def test_tiers_overrule_the_order():
    data = simulate(n_nodes=6, n=400, random_state=2)
    falling = [[data.names[k]] for k in np.argsort(-data.X.var(axis=0))]
    graph = SortnRegress(knowledge=Knowledge(tiers=falling)).fit(Moments.from_array(data.X, data.names)).causal_graph_
    rank = np.argsort(np.argsort(-data.X.var(axis=0)))
    sources, targets = np.nonzero(graph.weights)
    assert len(sources) and (rank[sources] < rank[targets]).all()


def test_few_rows_constant_and_duplicated_columns_end():
    X = np.random.default_rng(0).normal(size=(6, 9))
    X[:, 3], X[:, 4], X[:, 5] = 1.0, X[:, 0], X[:, 1] + X[:, 2]
    for order in ("variance", "r2"):
        weights = SortnRegress(order=order).fit(X).adjacency_matrix_
        assert np.isfinite(weights).all()
        assert not weights[3].any() and not weights[:, 3].any()


def test_nothing_is_found_in_noise():
    assert not adaptive_lasso(np.eye(3), np.full(3, 1e-3), 1.0, 1000).any()


def test_stopped_fits_return_what_they_have():
    X = simulate(n_nodes=6, n=100).X
    model = SortnRegress(callback=lambda progress: progress.step == 3).fit(X)
    assert model.verdict_.end.kind is Ended.CALLBACK
    assert np.count_nonzero(model.adjacency_matrix_.any(axis=0)) <= 2


def test_the_verdict_says_what_the_order_is():
    X = simulate(n_nodes=6, n=100).X
    assert SortnRegress().fit(X).verdict_.orientation is Orientation.VARIANCE_ORDER
    assert SortnRegress(order="r2").fit(X).verdict_.orientation is Orientation.R2_ORDER


def test_errors_say_what_is_wrong():
    with pytest.raises(InputError, match="order has to be one of variance, r2; got 'size'"):
        SortnRegress(order="size").fit(np.eye(4))
