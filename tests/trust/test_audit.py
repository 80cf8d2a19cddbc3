"""The audit: sound where equal variances hold in the units given, not where units are gone."""

import json

import numpy as np
import pytest

import acyclic
from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.facts import Doubt, Ended, Fact, Remark
from acyclic.graphs.dag import Dag
from acyclic.trust.audit import Audit, audit

DATA = acyclic.simulate(12, 1000, random_state=4)


def kinds(facts):
    return [fact.kind for fact in facts]


@pytest.mark.slow
def test_raw_equal_variance_rows_are_sound_and_standardised_ones_are_not():
    sound = 0
    for seed in range(3):
        data = acyclic.simulate(15, 1000, random_state=seed)
        sound += audit(data.X, rescalings=0).sound
        flagged = audit(data.X / data.X.std(axis=0), rescalings=0)
        assert not flagged.sound and Doubt.STANDARDIZED in kinds(flagged.reasons)
    assert sound >= 2


def test_a_constant_column_makes_no_difference_to_units_that_are_gone():
    rows = DATA.X / DATA.X.std(axis=0)
    plain, padded = (audit(table, rescalings=0) for table in (rows, np.column_stack([rows, np.full(1000, 0.1)])))
    assert plain.reasons and padded.reasons == plain.reasons


def test_unequal_variances_are_not_sound_while_directions_are_open():
    data = acyclic.simulate(12, 1000, variances=(0.2, 8.0), random_state=0)
    found = audit(data.X, rescalings=1)
    assert not found.sound and found.reasons[0].kind is Doubt.UNEQUAL_VARIANCES


def test_every_edge_has_one_fate():
    found = audit(DATA.X)
    fates = [*found.surviving, *found.turning, *found.undetermined, *found.vanishing]
    assert sorted(fates) == sorted((a, b) for a, b, _ in found.graph.edges())
    assert found.refits == 4 and 0.5 <= found.varsortability <= 1 and found.sorting_alone >= 0


def test_edges_that_no_units_orient_are_called_undetermined():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    rows = np.column_stack([x, 0.2 * x + 0.3 * rng.normal(size=2000)])
    found = audit(rows)
    assert len(found.undetermined) == 1 and not found.surviving and not found.turning


def test_what_other_units_change_is_owed_to_units():
    heavy = Dag([[0, 1.0], [0, 0]])

    def by_variance(table):
        low, high = np.argsort(np.diag(table.moments.covariance), kind="stable")
        weights = np.zeros((2, 2))
        weights[low, high] = 1.0
        return Dag(weights, table.names)

    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    rows = np.column_stack([x, x + rng.normal(size=500)])
    found = audit(rows, learner=by_variance, rescalings=10)
    assert found.sound and found.graph.edges() == heavy.edges()
    assert found.turning == (("x0", "x1"),) and not found.surviving
    # A learner that forgets the pair in other units loses the edge itself.
    empty = Dag(np.zeros((2, 2)))
    found = audit(rows, learner=lambda t: heavy if t.moments.covariance[1, 1] > 1.5 else empty, rescalings=0)
    assert found.vanishing == (("x0", "x1"),)


def test_bent_relations_are_not_sound():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    rows = np.column_stack([x, x + 0.7 * x**2 + rng.normal(size=1000)])
    found = audit(rows, learner="order-search")
    assert not found.sound and Doubt.BENT in kinds(found.reasons)
    # A learner of curves finds one that nothing speaks against.
    assert audit(rows).sound


def test_noise_that_is_not_gaussian_is_only_a_note():
    data = acyclic.simulate(10, 1000, noise="exponential", random_state=2)
    found = audit(data.X, rescalings=0)
    assert Remark.ODD_NOISE in kinds(found.notes)
    assert found.sound or set(kinds(found.reasons)) == {Doubt.UNEQUAL_VARIANCES}


def test_moments_are_enough_for_units():
    found = audit(Moments.from_array(DATA.X), rescalings=1)
    assert found.sound == audit(DATA.X, rescalings=1).sound
    assert Remark.NO_ROWS in kinds(found.notes)


def test_tables_without_edges():
    found = audit(np.random.default_rng(0).normal(size=(200, 4)))
    assert not found.graph.n_edges and found.sound and np.isnan(found.varsortability)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["varsortability"] is None


def test_json_and_back():
    found = audit(DATA.X, learner="equal-variance", rescalings=1)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert Audit.from_dict(plain) == found
    with pytest.raises(InputError, match="no audit"):
        Audit.from_dict({"format": "acyclic audit 2"})


def test_the_same_seed_gives_the_same_audit():
    assert audit(DATA.X, random_state=3) == audit(DATA.X, random_state=3)


def test_limits_end_the_refits():
    late = audit(DATA.X, time_limit=0)
    assert late.refits == 0 and not late.sound and late.reasons[-1].kind is Doubt.NOT_CONVERGED
    assert late.end == Fact.of(Ended.TIME_LIMIT, seconds=0)
    asked = audit(DATA.X, callback=lambda progress: progress.step == 1)
    assert asked.refits == 1 and asked.end.kind is Ended.CALLBACK
    assert (asked.notes[0].kind, asked.notes[0]["done"], asked.notes[0]["requested"]) == (Remark.CUT_SHORT, 1, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rescalings": -1}, "rescalings has to be .*got -1"),
        ({"rescalings": 1.5}, "rescalings has to be .*got 1.5"),
        ({"decades": 0}, "decades has to be .*got 0"),
        ({"decades": 7}, "decades has to be .*got 7"),
        ({"learner": "pc"}, "no method 'pc'"),
        ({"time_limit": -2}, "time_limit"),
        ({"random_state": "a"}, "random_state has to be .*got 'a'"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        audit(DATA.X, **arguments)


def test_what_is_left_of_two_levels_is_not_held_against_a_mechanism():
    rng = np.random.default_rng(3)
    x = rng.normal(size=1500)
    y = (rng.random(1500) < 1 / (1 + np.exp(-2 * x))).astype(float)
    table = acyclic.read_table(np.column_stack([x, y]), names=["x", "y"], kinds={"y": "categorical"})
    found = audit(table, learner="order-search", rescalings=0)
    assert found.graph.n_edges == 1 and not {Doubt.BENT, Doubt.SPREADING} & set(kinds(found.reasons))
