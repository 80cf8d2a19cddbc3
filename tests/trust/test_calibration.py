"""Probabilities from shares: what they have to be whatever the coefficients are, and where there are none."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import acyclic
from acyclic.facts import Orientation, Remark, Unreached
from acyclic.judging.verdict import Margin
from acyclic.learners import make_learner
from acyclic.report.folder import edge_list
from acyclic.trust.bootstrap import Bootstrap, bootstrap
from acyclic.trust.calibration import ROWS, Known, calibrate, describe_directions

DATA = acyclic.simulate(8, 300, random_state=2)
DRAWN = bootstrap("auto", DATA.X, 40)
LEADS = Margin(9.0, 20.0), Margin(2.0, None), Margin(None, 7.0)


def draw_shares(seed, d):
    """Shares as a bootstrap has them, and an answer that agrees with most of them."""
    rng = np.random.default_rng(seed)
    edge = np.triu(rng.random((d, d)) ** 4, 1) * (rng.random((d, d)) < 0.5)
    learned = edge > 0.5
    return edge + 0.3 * (edge.T > 0) * (1 - edge.T), learned, learned & (rng.random((d, d)) < 0.6)


@pytest.mark.parametrize("seed", range(5))
def test_both_directions_add_up_and_pairs_have_one_probability(seed):
    edge, learned, decided = draw_shares(seed, 9)
    joined, pointed = calibrate(Known(edge, 50, learned, decided, decided, 5.0 * learned, 500, by_variances=False))
    assert np.array_equal(joined, joined.T) and (joined >= 0).all() and (joined <= 1).all()
    assert pointed + pointed.T == pytest.approx(np.ones((9, 9)))


def test_the_order_of_columns_makes_no_difference():
    edge, learned, decided = draw_shares(0, 9)
    turned = [matrix[::-1, ::-1] for matrix in (edge, learned, decided)]
    one, other = (
        calibrate(Known(edge, 50, learned, decided, decided, 5.0 * learned, 500, by_variances=False))
        for edge, learned, decided in ((edge, learned, decided), turned)
    )
    for here, there in zip(one, other):
        assert here == pytest.approx(there[::-1, ::-1])


@pytest.mark.parametrize("d", [7, 60])
@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("certain", [0.7, 1.0])
@pytest.mark.parametrize("by_variances", [False, True])
def test_a_pair_that_more_draws_join_is_likelier_joined(n, d, certain, by_variances):
    learned = np.zeros((d, d), dtype=bool)
    learned[0, 1:] = True
    edge = np.where(learned, certain, 0.0)
    drawn, others = [0.2, 0.5, 0.8], [0.0, 0.1, 0.3, 0.6, 0.95]
    edge[0, 1:4], edge[1, 2:7] = drawn, others
    known = Known(edge, 50, learned, learned, learned, 9.0 * learned, n, by_variances=by_variances)
    joined = calibrate(known).joined
    assert (np.diff(joined[0, 1:4]) > 0).all() and (np.diff(joined[1, 2:7]) > 0).all()


def test_what_is_known_tells_directions_that_are_decided_from_those_that_are_not():
    graph = acyclic.Dag.from_edges([("a", "b"), ("b", "c"), ("c", "d")], names=list("abcd"))
    said = [Orientation.INDEPENDENCE, Orientation.CONTESTED, Orientation.UNDETERMINED]
    support = dict(zip([("a", "b"), ("b", "c"), ("c", "d")], said))
    verdict = SimpleNamespace(support=support, margins=dict(zip(support, LEADS)), orientation=Orientation.INDEPENDENCE)
    known = Known.of(graph.adjacency.astype(float), 50, graph, verdict, 500)
    assert [known.lead[i, i + 1] for i in range(3)] == [9.0, 2.0, 0.0] and known.lead.sum() == 11
    assert np.argwhere(known.oriented).tolist() == [[0, 1], [1, 2]] and np.argwhere(known.firm).tolist() == [[0, 1]]
    assert not known.by_variances
    pointed = calibrate(known).pointed
    assert pointed[0, 1] > pointed[1, 2] > 0.5


def list_class(skeleton):
    """All orientations of a tree's edges in which no column has two causes: one for each column that comes first."""
    steps = np.where(skeleton, 1.0, np.inf)
    np.fill_diagonal(steps, 0)
    for k in range(len(steps)):
        steps = np.minimum(steps, steps[:, k, None] + steps[k])
    return [skeleton & (steps[root][:, None] < steps[root]) for root in range(len(steps))]


def test_open_edges_point_as_often_as_in_the_graphs_of_the_class():
    rng = np.random.default_rng(3)
    learned = np.zeros((9, 9), dtype=bool)
    learned[[rng.integers(k) for k in range(1, 9)], range(1, 9)] = True
    nothing = np.zeros_like(learned)
    known = Known(0.5 * (learned | learned.T), 50, learned, nothing, nothing, 0.0 * learned, 500, by_variances=False)
    members = np.mean(list_class(learned | learned.T), axis=0)
    share = describe_directions(known)[:, -2]
    i, j = np.triu_indices(9, 1)
    there = learned[i, j]
    assert (
        share[there] == pytest.approx(np.log(members[i, j][there] / members[j, i][there])) and not share[~there].any()
    )


def test_a_column_that_open_edges_join_to_many_is_rather_a_cause():
    learned = np.zeros((7, 7), dtype=bool)
    learned[0, 1:] = True
    nothing = np.zeros_like(learned)
    known = Known(0.5 * (learned | learned.T), 50, learned, nothing, nothing, 0.0 * learned, 500, by_variances=False)
    assert (calibrate(known).pointed[0, 1:] > 0.8).all()


def test_a_bootstrap_has_probabilities_and_keeps_them_in_files():
    assert DRAWN.probability is not None and Remark.UNCALIBRATED not in [note.kind for note in DRAWN.notes]
    drawn = DRAWN.graph.adjacency
    assert DRAWN.probability[drawn].min() > DRAWN.unseen
    again = Bootstrap.from_dict(json.loads(json.dumps(DRAWN.to_dict())))
    some = (DRAWN.adjacency > 0) | ~(drawn | drawn.T)
    assert np.array_equal(again.probability[some], DRAWN.probability[some])
    assert again.direction_probability[drawn] == pytest.approx(DRAWN.direction_probability[drawn])


def test_what_was_left_out_has_a_probability_too():
    missed = DRAWN.missed()
    joined = DRAWN.graph.adjacency | DRAWN.graph.adjacency.T
    assert len(missed) == (~joined[np.triu_indices(8, 1)]).sum()
    assert [pair[2] for pair in missed] == sorted((pair[2] for pair in missed), reverse=True)


def test_the_table_of_edges_has_both_probabilities_everywhere():
    result = acyclic.learn(DATA.X)
    assert "probability" not in result.edge_columns() and result.edges()[0]["probability"] is None
    sure = result.with_evidence(confidence=DRAWN)
    names, at = ["probability", "direction_probability"], {name: k for k, name in enumerate(DRAWN.names)}
    for row in acyclic.Result.from_json(sure.to_json()).edges():
        place = at[row["source"]], at[row["target"]]
        assert row["probability"] == pytest.approx(DRAWN.probability[place])
        assert row["direction_probability"] == pytest.approx(DRAWN.direction_probability[place])
    assert set(names) < set(sure.edge_columns()) and set(names) < set(edge_list(sure).splitlines()[0].split(","))


OBSTACLES = {
    Unreached.METHOD: lambda: bootstrap("ges", DATA.X, 2),
    Unreached.SETTINGS: lambda: bootstrap(make_learner("auto").set_params(penalty="bic"), DATA.X, 2),
    Unreached.KNOWLEDGE: lambda: bootstrap("auto", DATA.X, 2, knowledge=acyclic.Knowledge(forbidden=[("x0", "x1")])),
    Unreached.VARIANCES: lambda: bootstrap("auto", acyclic.simulate(8, 300, variances=(0.7, 1.4), random_state=2).X, 2),
    Unreached.ROWS: lambda: bootstrap("auto", DATA.X[:70], 2),
    Unreached.COLUMNS: lambda: bootstrap("auto", DATA.X[:, :4], 2),
    Unreached.DRAWS: lambda: bootstrap("auto", DATA.X, 2),
    Unreached.WORLD: lambda: bootstrap("auto", (DATA.X > 0).astype(int) + (DATA.X > 1), 2),
}


@pytest.mark.parametrize("why", Unreached)
def test_where_the_rule_does_not_reach_there_is_a_reason_and_no_number(why):
    found = OBSTACLES[why]()
    assert found.probability is None and found.unseen is None and found.missed() == []
    assert found.notes[-1].kind is Remark.UNCALIBRATED and Unreached(found.notes[-1]["why"]) is why
    assert found.table()[0]["probability"] is None and Bootstrap.from_dict(found.to_dict()).probability is None
