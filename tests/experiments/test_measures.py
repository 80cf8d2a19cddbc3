"""Measures: the numbers of a fit are those of the library, called by hand."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import acyclic
from acyclic._native.watching import run_watched
from acyclic.constraints.catalogue import constraint
from acyclic.discrete.skeleton import mmpc
from acyclic.errors import InputError
from acyclic.experiments.capped import Capped, Count
from acyclic.experiments.cases import Case, pairs
from acyclic.experiments.measures import MEASURES, Stopwatch, check_constraint, draw_truth
from acyclic.graphs.metrics import shd, shd_cpdag, varsortability

DATA = {"sem": "linear", "graph": "ER2", "noise": "gaussian", "n_nodes": 10, "n": 300}


def measured(method, data=DATA, measure="fit", run=0, limit=None):
    case = Case(measure, pairs(data), pairs(method), run, limit)
    return case, MEASURES[measure].compute(case)


def test_a_fit_is_the_learner_on_the_rows_of_the_seed():
    case, outcome = measured({"learner": "Notears", "constraint": "exponential", "l1": 0.2})
    data = acyclic.simulate(10, 300, graph="ER2", random_state=case.seed)
    fit = acyclic.Notears(constraint="exponential", l1=0.2).fit(data.X)
    expected = acyclic.compare(data.graph, fit.causal_graph_)
    values = outcome.values
    assert (values["shd"], values["shd_cpdag"]) == (expected.shd, expected.shd_cpdag)
    assert (values["fdr"], values["tpr"], values["fpr"]) == (expected.fdr, expected.tpr, expected.fpr)
    assert (values["n_edges"], values["n_true"]) == (fit.causal_graph_.n_edges, data.graph.n_edges)
    assert values["h"] == fit.verdict_.h and values["converged"] and not values["stopped_early"]
    assert values["cut_cyclic"] is bool(fit.verdict_.removed) and values["rows"] == 300
    assert values["varsortability"] == varsortability(data.graph, np.cov(data.X.T, ddof=0))
    assert values["edges"] == np.argwhere(fit.causal_graph_.adjacency).tolist()
    assert outcome.verdict == str(fit.verdict_) and 0 < outcome.cpu_seconds
    json.dumps(values, allow_nan=False)


def test_large_graphs_are_not_listed():
    _, outcome = measured({"learner": "EqualVariance"}, {**DATA, "n_nodes": 31})
    assert "edges" not in outcome.values and outcome.values["shd"] >= 0


def test_ges_is_scored_as_a_class_with_undirected_edges_as_both_arcs():
    case, outcome = measured({"learner": "Ges"}, {**DATA, "graph": "ER1"}, run=1)
    data = draw_truth(case)
    cpdag = acyclic.Ges().fit(data.X).cpdag_
    assert cpdag.undirected.any()
    assert outcome.values["shd"] == shd(data.graph, cpdag) > outcome.values["shd_favourable"]
    assert outcome.values["shd_cpdag"] == shd_cpdag(data.graph, cpdag)
    assert outcome.values["cut_cyclic"] is None
    assert outcome.values["n_edges"] == len(cpdag.undirected_edges()) + len(cpdag.directed_edges())


def test_learn_is_called_with_the_limit_and_its_settings():
    case, outcome = measured({"learner": "learn", "threshold": 0.3}, limit=50.0)
    result = acyclic.learn(draw_truth(case).X, threshold=0.3, time_limit=50.0)
    assert (
        outcome.verdict and outcome.verdict in str(result.verdict) and outcome.values["n_edges"] == result.graph.n_edges
    )
    assert outcome.values["cut_cyclic"] is None


@pytest.mark.parametrize(("then", "thorough"), [("kkt_search", True), ("kkt_search-published", False)])
def test_a_search_after_the_learner(then, thorough):
    settings = {"learner": "Notears", "constraint": "exponential"}
    case, outcome = measured({**settings, "then": then}, {**DATA, "n_nodes": 15})
    data = draw_truth(case)
    before = acyclic.Notears(constraint="exponential").fit(data.X).causal_graph_
    after = acyclic.kkt_search(data.X, before, thorough=thorough)
    assert outcome.values["edges"] == np.argwhere(after.adjacency).tolist()


def test_the_empty_graph():
    _, outcome = measured({"learner": "empty"}, {"dataset": "sachs"})
    assert (outcome.values["shd"], outcome.values["shd_cpdag"], outcome.values["rows"]) == (17, 17, 853)
    assert outcome.values["varsortability"] is None and outcome.values["cut_cyclic"] is None


def test_real_rows_are_raw_or_standardised():
    raw = draw_truth(Case("fit", pairs({"dataset": "sachs"}), (), 0))
    assert np.array_equal(raw.X, acyclic.load_sachs().X)
    scaled = draw_truth(Case("fit", pairs({"dataset": "sachs-all", "standardize": True}), (), 0))
    assert scaled.X.shape == (7466, 11) and np.allclose(scaled.X.std(axis=0), 1)
    with pytest.raises(InputError, match="dataset is 'mtcars'; give sachs"):
        draw_truth(Case("fit", pairs({"dataset": "mtcars"}), (), 0))


def test_the_seed_of_a_learner_is_the_run():
    data = {**DATA, "n": 20, "n_nodes": 12}
    case, outcome = measured({"learner": "OrderSearch"}, data, run=3)
    graph = acyclic.OrderSearch(random_state=3).fit(draw_truth(case).X).causal_graph_
    assert outcome.values["edges"] == np.argwhere(graph.adjacency).tolist()


def test_a_limit_that_the_learner_heeds_is_told():
    spectral = {"learner": "Notears", "constraint": "spectral-radius"}
    _, outcome = measured(spectral, {**DATA, "n_nodes": 30}, limit=0.05)
    assert outcome.values["stopped_early"] and not outcome.values["converged"]
    for learner in ("learn", "OrderSearch", "EqualVariance", "Ges", "Mmhc"):
        _, whole = measured({"learner": learner}, {**DATA, "n_nodes": 60, "n": 70}, limit=1e-6)
        assert whole.values["stopped_early"] and not whole.values["converged"], learner


CAPPED = {
    "Notears": {"constraint": "exponential"},
    "Notears by L-BFGS-B": {"inner": "lbfgs"},
    "Golem": {"constraint": "fast-tmpi"},
    "Golem by Adam": {"inner": "adam"},
    "NoCurl": {"inner": "lbfgs"},
    "NotearsMlp": {},
    "NotearsMlp by L-BFGS-B": {"inner": "lbfgs"},
    "DagGnn": {},
    "GranDag": {},
    "Mmpc": {"max_conditioning": "none"},
}


@pytest.mark.parametrize("name", CAPPED)
def test_a_cap_on_evaluations_ends_every_kind_of_fit_at_the_same_place_each_time(name):
    learner = name.partition(" ")[0]
    if learner in ("NotearsMlp", "DagGnn", "GranDag"):
        pytest.importorskip("torch")
    case = Case("fit", pairs({**DATA, "n": 100}), pairs({"learner": learner, **CAPPED[name]}), 0, None, 15)
    first, second = (MEASURES["fit"].compute(case).values for _ in range(2))
    assert first == second and first["stopped_early"] and not first["converged"]
    assert first["ended"] == "evaluations-spent" and 15 < first["evaluations"] <= 20


def test_evaluations_are_counted_and_change_nothing():
    case, outcome = measured({"learner": "Notears", "constraint": "exponential"})
    fit = acyclic.Notears(constraint="exponential").fit(draw_truth(case).X)
    assert outcome.values["edges"] == np.argwhere(fit.causal_graph_.adjacency).tolist()
    assert outcome.values["evaluations"] > fit.solution_.steps and outcome.values["ended"] == "constraint-met"
    assert measured({"learner": "EqualVariance"})[1].values["evaluations"] is None


def test_options_of_the_constraint_are_settings_of_the_method():
    case, outcome = measured({"learner": "Golem", "constraint": "spectral-radius", "bound": "nobears", "rounds": 3})
    chosen = acyclic.constraint("spectral-radius", bound="nobears", rounds=3)
    fit = acyclic.Golem(constraint=chosen).fit(draw_truth(case).X)
    assert outcome.values["edges"] == np.argwhere(fit.causal_graph_.adjacency).tolist()
    other = measured({"learner": "Golem", "constraint": "spectral-radius"})[1]
    assert other.values["h"] != outcome.values["h"]


def test_mmpc_is_scored_as_a_skeleton_with_every_edge_as_both_arcs():
    case, outcome = measured({"learner": "Mmpc", "max_conditioning": "none"})
    data = draw_truth(case)
    skeleton = mmpc(acyclic.Moments.from_array(data.X), max_conditioning=None)
    assert outcome.values["n_edges"] == len(skeleton.undirected_edges()) > 0
    assert outcome.values["shd"] == shd(data.graph, skeleton) >= outcome.values["n_edges"]
    assert outcome.values["converged"] and outcome.values["ended"] == "complete"


def test_mmhc_without_a_cap_conditions_on_sets_of_all_sizes():
    case, outcome = measured({"learner": "Mmhc", "max_conditioning": "none"})
    fit = acyclic.Mmhc(max_conditioning=None).fit(draw_truth(case).X)
    assert outcome.values["edges"] == np.argwhere(fit.causal_graph_.adjacency).tolist()


@pytest.mark.parametrize(
    ("measure", "x", "name"), [("gradient-norms", "orders", "geometric"), ("truncation", "k", "power")]
)
def test_series_are_measured_along_a_whole_fit(measure, x, name):
    _, outcome = measured({"constraint": "exponential"}, measure=measure)
    values = outcome.values
    json.dumps(values, allow_nan=False)
    assert values[x] == list(range(1, 11)) and 32 <= values["points"] <= 64
    curves = zip(values["low"][name], values[name], values["high"][name])
    assert all(low <= middle <= high for low, middle, high in curves)
    # The last matrices are all but acyclic, the first ones are not.
    assert values["low"][name][-1] < 0.1 * values["high"][name][-1]
    assert values["way"].startswith("NOTEARS") and "exponential" in values["way"]


def test_products_are_those_of_a_matrix_with_the_radius():
    data = {"graph": "ER2", "n_nodes": 12, "spectral_radius": 0.4}
    _, outcome = measured({"constraint": "geometric"}, data, "products")
    assert outcome.values["products"] == 11 and outcome.values["spectral_radius"] == pytest.approx(0.4)
    json.dumps(outcome.values, allow_nan=False)


def test_constraints_are_checked():
    check_constraint({"constraint": "tmpi", "eps": 1e-4})
    for settings in ({}, {"constraint": "tmpo"}, {"constraint": "tmpi", "alpha": 1}):
        with pytest.raises(InputError, match=r"constraint|option"):
            check_constraint(settings)


@pytest.mark.parametrize("learner", [acyclic.Notears, acyclic.Golem])
def test_a_cap_that_the_last_step_just_meets_ends_nothing(learner):
    X = acyclic.simulate(6, 100, random_state=1).X
    free = Count()
    whole = learner(constraint=Capped(inside=constraint("fast-tmpi"), count=free)).fit(X)
    # The last evaluation of all says where the fit ended: it is the first beyond this cap.
    held = Count(most=free.used - 1)
    model = learner(constraint=Capped(inside=constraint("fast-tmpi"), count=held)).fit(X)
    assert model.verdict_.end == whole.verdict_.end
    np.testing.assert_array_equal(model.adjacency_matrix_, whole.adjacency_matrix_)


def spin() -> float:
    """Processor seconds that this thread was kept busy for, at least 50 ms."""
    start = time.thread_time()
    while time.thread_time() - start < 0.05:
        pass
    return time.thread_time() - start


def test_seconds_of_kernels_in_threads_of_their_own_count():
    watch = Stopwatch()
    with watch.running():
        spent = run_watched(lambda flag: spin())
    assert watch.cpu_seconds >= spent


def test_seconds_of_other_cases_in_the_process_do_not_count():
    def measure() -> Stopwatch:
        watch = Stopwatch()
        with watch.running(), ThreadPoolExecutor(1) as beside:
            beside.submit(spin).result()
        return watch

    with ThreadPoolExecutor(1) as worker:
        watch = worker.submit(measure).result()
    assert watch.cpu_seconds < 0.05 <= watch.seconds
