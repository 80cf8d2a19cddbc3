"""The choice of penalty and threshold, and stability selection behind one of its criteria."""

import json
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

import acyclic
from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.facts import Fact, Remark
from acyclic.graphs.metrics import shd
from acyclic.trust.choice import Choice, choose_l1
from acyclic.trust.stability import Stability, stability_selection

DATA = acyclic.simulate(10, 400, random_state=6)
GRID = [3.0, 0.3, 0.03]


@cache
def errors_by_penalty(learner):
    return {l1: shd(DATA.graph, clone(learner).set_params(l1=l1).fit(DATA.X).causal_graph_) for l1 in GRID}


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["ebic", "cross-validation", "stability"])
@pytest.mark.parametrize("learner", [acyclic.Notears(), acyclic.Golem()], ids=["notears", "golem"])
def test_the_chosen_penalty_is_as_good_as_any_on_the_grid(learner, criterion):
    choice = choose_l1(learner, DATA.X, GRID, criterion=criterion, draws=6)
    error = errors_by_penalty(learner)
    assert error[choice.chosen] <= min(error.values()) + 2
    assert choice.values == (3.0, 0.3, 0.03) and choice.threshold == 0.3 and len(choice.scores) == 3


def test_extended_bic_is_its_formula():
    choice = choose_l1(acyclic.Notears(), DATA.X, [0.1])
    graph = acyclic.Notears(l1=0.1).fit(DATA.X).causal_graph_
    n, d = DATA.X.shape
    X = DATA.X - DATA.X.mean(axis=0)
    squares = 0.0
    for j in range(d):
        parents = X[:, graph.adjacency[:, j]]
        fitted = parents @ np.linalg.lstsq(parents, X[:, j], rcond=None)[0]
        squares += ((X[:, j] - fitted) ** 2).sum()
    expected = d * np.log(squares / (n * d)) + (np.log(n) + 2 * np.log(d)) * graph.n_edges / n
    assert choice.scores[0][0] == pytest.approx(expected)
    assert choice.edges == ((graph.n_edges,),)


def test_cross_validation_from_moments_is_that_of_rows():
    from acyclic.trust.choice import _judge

    train, rest, edges = DATA.X[:300], DATA.X[300:], DATA.graph.adjacency
    score, _ = _judge(Moments.from_array(train), Moments.from_array(rest), edges, False)
    total = 0.0
    for j in range(10):
        design, held = (np.column_stack([np.ones(len(X)), X[:, edges[:, j]]]) for X in (train, rest))
        slopes = np.linalg.lstsq(design, train[:, j], rcond=None)[0]
        variance = np.mean((train[:, j] - design @ slopes) ** 2)
        total += np.mean(0.5 * np.log(2 * np.pi * variance) + (rest[:, j] - held @ slopes) ** 2 / (2 * variance))
    assert score == pytest.approx(total)


def test_thresholds_are_those_of_separate_fits():
    choice = choose_l1(acyclic.Notears(), DATA.X, [0.1], thresholds=[0.05, 0.3, 0.8])
    fits = [acyclic.Notears(l1=0.1, threshold=cut).fit(DATA.X).causal_graph_.n_edges for cut in (0.8, 0.3, 0.05)]
    assert choice.thresholds == (0.8, 0.3, 0.05) and choice.edges == (tuple(fits),)
    assert choice.threshold in (0.3, 0.05)


def test_knowledge_holds_under_every_threshold():
    known = Knowledge(required=[("x0", "x1")])
    choice = choose_l1(acyclic.Notears(), DATA.X, [50.0], thresholds=[10.0, 0.3], knowledge=known)
    assert choice.edges[0][0] >= 1


@pytest.mark.slow
def test_the_default_grid_follows_the_units():
    small = choose_l1(acyclic.Notears(max_rounds=5, threshold=0.3), Moments.from_array(DATA.X[:, :4]))
    large = choose_l1(acyclic.Notears(max_rounds=5, threshold=0.3), Moments.from_array(10 * DATA.X[:, :4]))
    np.testing.assert_allclose(large.values, 100 * np.array(small.values))
    assert len(small.values) == 10


def test_ends_of_the_grid_are_remarked():
    choice = choose_l1(acyclic.Notears(), DATA.X, [30.0, 3.0, 0.3])
    assert choice.notes == (Fact.of(Remark.AT_THE_END, which="smallest"),)


def test_json_and_text():
    choice = choose_l1(acyclic.Golem(), DATA.X, [0.1, 0.02], thresholds=[0.3, 0.1])
    assert Choice.from_dict(json.loads(json.dumps(choice.to_dict(), allow_nan=False))) == choice
    assert str(choice).startswith(f"l1 = {choice.chosen:.3g}") and "*" in str(choice)
    with pytest.raises(InputError, match="no choice"):
        Choice.from_dict({})


def test_limits():
    with pytest.raises(InputError, match="before any penalty"):
        choose_l1(acyclic.Notears(), DATA.X, GRID, time_limit=0)
    early = choose_l1(acyclic.Notears(), DATA.X, GRID, callback=lambda progress: progress.step == 2)
    assert early.values == (3.0, 0.3)
    assert (early.notes[0].kind, early.notes[0]["done"], early.notes[0]["requested"]) == (Remark.CUT_SHORT, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"learner": "equal-variance"}, "EqualVariance has no penalty l1"),
        ({"learner": acyclic.learn}, "learn has no penalty l1"),
        ({"criterion": "aic"}, "criterion has to be .*got 'aic'"),
        ({"values": []}, "l1 values are"),
        ({"values": [-1.0]}, "l1 values are"),
        ({"values": [[0.1]]}, "l1 values are"),
        ({"thresholds": [np.inf]}, "thresholds are"),
        ({"thresholds": [0.1, 0.2], "criterion": "stability"}, "one threshold"),
        ({"folds": 1, "criterion": "cross-validation"}, "folds has to be .*got 1"),
        ({"table": Moments.from_array(DATA.X), "criterion": "cross-validation"}, "needs rows"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        choose_l1(**({"learner": acyclic.Notears(), "table": DATA.X, "values": GRID} | arguments))


def test_stability_counts_selections():
    found = stability_selection(acyclic.Golem(), DATA.X, [0.02, 0.5], 6)
    assert found.l1 == (0.5, 0.02) and found.probability.shape == (2, 10, 10) and found.draws == 6
    assert found.selected >= found.probability.sum(axis=(1, 2)).max()
    assert (found.highest[DATA.graph.adjacency] >= 0.5).mean() > 0.8
    assert found.false_edges(0.8) == pytest.approx(found.selected**2 / (0.6 * 90))
    by_hand = 2 * found.probability[0] * (1 - found.probability[0])
    assert found.instability()[0] == pytest.approx(by_hand.sum() / 90)
    assert "expected to be false" in str(found)
    again = Stability.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert again.probability.tobytes() == found.probability.tobytes() and again.selected == found.selected
    with pytest.raises(InputError, match="no stability selection"):
        Stability.from_dict({})
    for cut in (0.5, 1.2):
        with pytest.raises(InputError, match="cut ="):
            found.stable(cut)


@pytest.mark.slow
def test_stability_does_not_depend_on_processes():
    one = stability_selection("golem", DATA.X, [0.1, 0.02], 4)
    two = stability_selection("golem", DATA.X, [0.1, 0.02], 4, n_jobs=2)
    assert one.probability.tobytes() == two.probability.tobytes()
    late = stability_selection("golem", DATA.X, [0.1], 4, time_limit=0)
    assert late.draws == 0 and late.notes[0].kind is Remark.CUT_SHORT and not late.stable()
