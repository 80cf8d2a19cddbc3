"""Edge confidence: what is counted, consensus, files, limits and wrong arguments."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence

import acyclic
from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.discrete.search import search_graph
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact, Remark
from acyclic.graphs.dag import Dag
from acyclic.trust.bootstrap import Bootstrap, bootstrap
from acyclic.trust.fitting import fit, settle_price

DATA = acyclic.simulate(n_nodes=8, n=300, random_state=2)
NO_RULE = Fact.of(Remark.UNCALIBRATED, why="method")


class Scripted:
    """A learner that returns given graphs in turn, the first for the table itself."""

    def __init__(self, *graphs):
        self.graphs = list(graphs)

    def __call__(self, table):
        return self.graphs.pop(0)


def same_bits(one, other):
    fields = ("edge", "weight", "lower", "upper")
    return one.draws == other.draws and all(getattr(one, f).tobytes() == getattr(other, f).tobytes() for f in fields)


def informed(table, time_limit=None, start=None):
    return acyclic.learn(table, time_limit=time_limit, start=start, knowledge=Knowledge())


def test_frequencies_are_counts_of_the_graphs():
    forward, backward = Dag([[0, 2.0], [0, 0]]), Dag([[0, 0], [0.5, 0]])
    empty = Dag(np.zeros((2, 2)))
    learner = Scripted(forward, forward, backward, Dag([[0, 4.0], [0, 0]]), empty)
    found = bootstrap(learner, DATA.X[:, :2], 4)
    assert found.edge.tolist() == [[0, 0.5], [0.25, 0]]
    assert found.adjacency.tolist() == [[0, 0.75], [0.75, 0]]
    assert found.direction[0, 1] == pytest.approx(2 / 3) and np.isnan(found.direction[0, 0])
    assert found.weight[0, 1] == 3 and found.lower[0, 1] == pytest.approx(2.1)
    assert found.upper[0, 1] == pytest.approx(3.9) and np.isnan(found.upper[0, 0])
    assert found.graph.edges() == [("x0", "x1", 2.0)]


def test_edges_that_the_class_leaves_open_count_half_both_ways():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    rows = np.column_stack([x, x + rng.normal(size=2000)])
    rows /= rows.std(axis=0)
    for learner in (acyclic.learn, acyclic.OrderSearch(), "order-search"):
        found = bootstrap(learner, rows, 5)
        assert found.edge.tolist() == [[0, 0.5], [0.5, 0]]
        assert found.consensus().n_edges == 1


def test_the_true_graph_comes_back_under_equal_variances():
    found = bootstrap(acyclic.learn, DATA.X, 30)
    truth = DATA.graph.adjacency
    assert found.edge[truth].mean() > 0.9 and found.edge[~truth].max() < 0.5
    assert (found.consensus().adjacency == truth).all()
    inside = (found.lower <= DATA.graph.weights) & (DATA.graph.weights <= found.upper)
    assert inside[truth].mean() > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("learner", [acyclic.learn, acyclic.Golem()], ids=["learn", "golem"])
def test_the_number_of_processes_does_not_change_a_bit(learner):
    one = bootstrap(learner, DATA.X, 6, n_jobs=1, random_state=4)
    two = bootstrap(learner, DATA.X, 6, n_jobs=2, random_state=4)
    assert same_bits(one, two)
    assert not same_bits(one, bootstrap(learner, DATA.X, 6, random_state=5))
    assert same_bits(bootstrap(learner, DATA.X, 3, random_state=SeedSequence(4)),
                     bootstrap(learner, DATA.X, 3, random_state=SeedSequence(4)))  # fmt: skip


def test_moments_are_drawn_from_their_distribution_and_the_result_says_so():
    found = bootstrap("equal-variance", Moments.from_array(DATA.X), 10)
    assert found.notes == (Fact.of(Remark.PARAMETRIC, why="moments-only"), NO_RULE) and "parametric" in str(found)
    assert found.edge[DATA.graph.adjacency].mean() > 0.9


def test_warm_starts_reach_the_same_graphs_of_a_convex_enough_problem():
    warm = bootstrap(acyclic.Golem(), DATA.X, 5)
    cold = bootstrap(acyclic.Golem(), DATA.X, 5, warm_start=False)
    assert np.abs(warm.edge - cold.edge).max() <= 0.2


@pytest.mark.parametrize(
    ("method", "module"),
    [("auto", "auto"), ("order-search", "order_search"), (acyclic.learn, "auto"), (informed, "auto")],
)
def test_each_draw_is_one_descent_from_the_order_of_the_answer(method, module, monkeypatch):
    rows, seen = acyclic.simulate(8, 300, variances=(0.5, 4.0), standardize=True, random_state=2).X, []

    def watched(moments, starts, *given, effort, **options):
        seen.append((effort, [list(start) for start in starts]))
        return search_graph(moments, starts, *given, effort=effort, **options)

    monkeypatch.setattr(f"acyclic.learners.{module}.search_graph", watched)
    found = bootstrap(method, rows, 3)
    assert [effort for effort, _ in seen] == [1.0, 0.0, 0.0, 0.0]
    assert all(starts == [found.graph.order.tolist()] for _, starts in seen[1:])
    seen.clear()
    bootstrap(method, rows, 2, warm_start=False, time_limit=600)
    assert [effort for effort, _ in seen] == [1.0, 1.0, 1.0]


def test_a_function_whose_method_takes_no_start_gets_none():
    found = bootstrap(partial(acyclic.learn, method="ges"), DATA.X, 2)
    assert found.draws == 2 and found.notes == (NO_RULE,)


def test_learners_that_need_rows_get_rows():
    X = (DATA.X[:, :3] > 0).astype(int)
    with pytest.raises(InputError, match="needs rows"):
        bootstrap(acyclic.Notears(loss="logistic"), Moments.from_array(X), 2)
    known = acyclic.Knowledge(required=[("b", "a")])
    table = acyclic.read_table(X, names=["a", "b", "c"])
    found = bootstrap(acyclic.Notears(loss="logistic", l1=0.01, knowledge=known), table, 3)
    assert found.draws == 3 and found.notes == (NO_RULE,)
    assert found.edge[1, 0] == 1


def test_names_come_from_the_table():
    names = [f"column {i}" for i in range(8)]
    found = bootstrap("equal-variance", pd.DataFrame(DATA.X, columns=names), 3)
    assert found.names == found.graph.names == found.consensus().names == tuple(names)


def test_every_draw_obeys_knowledge():
    known = Knowledge(forbidden=[("x0", "x1"), ("x1", "x0")], required=[("x5", "x6")])
    for learner in (acyclic.learn, acyclic.Golem()):
        found = bootstrap(learner, DATA.X, 3, knowledge=known)
        assert found.edge[5, 6] == 1 and found.adjacency[0, 1] == 0
    with pytest.raises(InputError, match="takes no knowledge"):
        bootstrap(lambda table: DATA.graph, DATA.X, 3, knowledge=known)


def test_json_and_back():
    found = bootstrap(acyclic.learn, DATA.X, 5)
    again = Bootstrap.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert same_bits(found, again)
    assert (again.names, again.notes, again.graph, again.requested) == (found.names, found.notes, found.graph, 5)
    assert again.end == found.end
    for broken in ({}, {"format": "other"}, {**found.to_dict(), "edges": [{"source": "nobody"}]}):
        with pytest.raises(InputError, match="no bootstrap frequencies"):
            Bootstrap.from_dict(broken)


def test_the_text_lists_edges_by_frequency():
    text = str(bootstrap("equal-variance", DATA.X, 10))
    assert text.startswith("10 of 10 draws") and "→" in text and "100.0%" in text


@pytest.mark.slow
def test_the_time_limit_returns_what_is_done():
    none = bootstrap(acyclic.learn, DATA.X, 50, time_limit=0)
    assert none.draws == 0 and none.requested == 50
    assert none.end == Fact.of(Ended.TIME_LIMIT, seconds=0)
    note = none.notes[0]
    assert (note.kind, note["done"], note["requested"]) == (Remark.CUT_SHORT, 0, 50)
    assert none.consensus().n_edges == 0
    some = bootstrap(acyclic.learn, DATA.X, 5_000, time_limit=1.0)
    assert 0 < some.draws < 5_000
    # Those that were done are the first of the same sequence.
    assert same_bits(some, bootstrap(acyclic.learn, DATA.X, some.draws))


@pytest.mark.slow
def test_the_time_limit_ends_other_processes_too():
    some = bootstrap(acyclic.learn, DATA.X, 5_000, time_limit=2.0, n_jobs=2)
    assert some.draws < 5_000 and some.end.kind is Ended.TIME_LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_callback_sees_each_draw_and_can_end_the_run(n_jobs):
    seen = []

    def enough(progress):
        seen.append(progress)
        return progress.step == 4

    found = bootstrap("equal-variance", DATA.X, 40, callback=enough, n_jobs=n_jobs)
    assert found.draws == 4 and found.end.kind is Ended.CALLBACK
    assert [p.step for p in seen] == [1, 2, 3, 4] and seen[0].stage == "draw 1 of 40"


def test_an_interrupt_returns_what_is_done():
    def interrupt(progress):
        if progress.step == 3:
            raise KeyboardInterrupt

    found = bootstrap("equal-variance", DATA.X, 40, callback=interrupt)
    assert found.draws == 3 and found.end.kind is Ended.INTERRUPTED


def test_a_draw_that_fails_is_reported_and_costs_no_other():
    calls = []

    def learner(table):
        calls.append(1)
        if len(calls) == 3:
            raise ZeroDivisionError("by chance")
        return DATA.graph

    found = bootstrap(learner, DATA.X, 5)
    assert found.draws == 4 and found.edge.max() == 1
    assert found.notes == (Fact.of(Remark.LOST, count=1, reason="ZeroDivisionError: by chance"), NO_RULE)
    assert found.end.kind is Ended.COMPLETE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"learner": "notear"}, "no method 'notear'"),
        ({"learner": 3}, "learner is 3"),
        ({"learner": lambda table: 1}, "returned int"),
        ({"draws": 0}, "draws has to be .*got 0"),
        ({"draws": 2.5}, "draws has to be .*got 2.5"),
        ({"random_state": -1}, "random_state has to be .*got -1"),
        ({"n_jobs": 0}, "n_jobs has to be .*got 0"),
        ({"n_jobs": "2"}, "n_jobs has to be .*got '2'"),
        ({"time_limit": -1}, "time_limit has to be"),
        ({"time_limit": float("nan")}, "time_limit has to be"),
        ({"table": [[1.0, 2.0]]}, "at least 2"),
    ],
)
def test_wrong_arguments(arguments, message):
    given = {"learner": "equal-variance", "table": DATA.X, "draws": 2} | arguments
    with pytest.raises(InputError, match=message):
        bootstrap(**given)
    with pytest.raises(InputError, match=r"cut = 1\.5"):
        bootstrap("equal-variance", DATA.X, 2).consensus(1.5)


@st.composite
def frequencies(draw):
    d = draw(st.integers(1, 7))
    shares = np.array(draw(st.lists(st.integers(0, 10), min_size=d * d, max_size=d * d))).reshape(d, d) / 20
    np.fill_diagonal(shares, 0)
    weight = np.where(shares > 0, draw(st.sampled_from([1.0, -2.0])), np.nan)
    names = tuple(f"x{i}" for i in range(d))
    return Bootstrap(names, 20, 20, shares, weight, weight.copy(), weight.copy(), Dag(np.zeros((d, d)), names))


@given(frequencies(), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
@settings(max_examples=200, deadline=None)
def test_the_consensus_is_a_dag_of_frequent_edges(found, cut):
    graph = found.consensus(cut)  # a Dag cannot have cycles
    edges = graph.adjacency
    assert (found.adjacency[edges] >= cut).all() and (found.edge >= found.edge.T)[edges].all()
    # Nothing is left out that could be added.
    reach = np.linalg.matrix_power(np.eye(len(edges)) + edges, len(edges)) > 0
    missing = (found.adjacency >= cut) & (found.adjacency > 0) & (found.edge > found.edge.T) & ~edges
    assert reach.T[missing].all()


def test_the_most_frequent_edge_of_a_cycle_stays():
    shares = np.array([[0, 0.9, 0], [0, 0, 0.8], [0.7, 0, 0]])
    weight = np.where(shares > 0, 1.0, np.nan)
    names = ("a", "b", "c")
    found = Bootstrap(names, 10, 10, shares, weight, weight.copy(), weight.copy(), Dag.empty(names))
    assert [edge[:2] for edge in found.consensus().edges()] == [("a", "b"), ("b", "c")]


def test_draws_pay_the_price_that_the_whole_table_suggests():
    """Rows that are drawn twice would look like evidence of more edges."""
    table = acyclic.simulate(8, 300, graph="ER2", scheme="dao", random_state=1).X
    learner = acyclic.OrderSearch(penalty="adaptive")
    whole = fit(learner, Table.open(table))
    assert settle_price(learner, whole).penalty == whole.verdict.details["price of a parent"]
    assert settle_price(acyclic.OrderSearch(), whole).penalty == "ebic"
    assert bootstrap(learner, table, draws=2).draws == 2
