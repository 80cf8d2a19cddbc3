"""Cases: names by content that never change, and seeds that methods share."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acyclic
from acyclic.errors import InputError
from acyclic.experiments.cases import Case, pairs
from acyclic.experiments.measures import draw_truth

DATA = {"sem": "linear", "graph": "ER2", "noise": "gaussian", "n_nodes": 10, "n": 1000}
TMPI = {"learner": "Notears", "constraint": "fast-tmpi", "l1": 0.1, "threshold": 0.3}


def case(data=DATA, method=TMPI, run=0, **others):
    return Case("fit", pairs(data), pairs(method), run, **others)


def test_names_and_seeds_stay_as_they_are():
    # Stored results are found by these: another value here makes every store useless.
    assert case().key == "d27262eb3b40138cdad685ef5e261e241b5ac5ab6117a45c1478c1ea4181705d"
    assert case().setting == "e29558075cad8bc204d94f31d8264d670383cdf5a1da4732b1bfd215c6c93e84"
    assert case().seed == 233261938878452


def test_the_order_of_settings_does_not_matter():
    orders = list(itertools.permutations(DATA))[::17]
    assert len({case({name: DATA[name] for name in order}).key for order in orders}) == 1


def test_whole_numbers_are_the_same_in_any_spelling_but_not_truth_values():
    assert case({**DATA, "n": 1000.0}) == case() and case({**DATA, "n": 1000.0}).key == case().key
    assert case(method={**TMPI, "h_tol": 1}).key != case(method={**TMPI, "h_tol": True}).key


def test_the_key_depends_on_all_but_the_limit():
    first = case()
    others = [
        case(run=1),
        case({**DATA, "n": 200}),
        case(method={**TMPI, "l1": 0.2}),
        Case("truncation", first.data, first.method, 0),
    ]
    assert len({first.key, *(other.key for other in others)}) == 5
    assert case(time_limit=5.0).key == first.key and case(time_limit=5.0) == first
    assert {other.setting for other in others} - {first.setting} == {other.setting for other in others[1:]}
    assert others[0].setting == first.setting


def test_all_methods_see_the_same_rows_and_runs_others():
    first, other = case(), case(method={"learner": "Ges"})
    assert draw_truth(first).X.tobytes() == draw_truth(other).X.tobytes()
    assert not np.array_equal(draw_truth(case(run=1)).X, draw_truth(first).X)
    assert not np.array_equal(draw_truth(case({**DATA, "noise": "gumbel"})).X, draw_truth(first).X)


def test_fewer_rows_are_the_first_of_more():
    many, few = draw_truth(case()), draw_truth(case({**DATA, "n": 200}))
    assert few.X.tobytes() == many.X[:200].tobytes() and few.graph == many.graph


def test_the_seed_of_a_case_gives_the_rows_of_simulate():
    drawn = acyclic.simulate(10, 1000, graph="ER2", random_state=case().seed)
    assert draw_truth(case()).X.tobytes() == drawn.X.tobytes()


@pytest.mark.parametrize(
    ("limit", "other", "expected"),
    [(None, None, True), (None, 5, False), (5, None, True), (5, 5, True), (6, 5, False)],
)
@pytest.mark.parametrize("name", ["time_limit", "evaluations"])
def test_limits_are_compared(name, limit, other, expected):
    one, two = case(**{name: limit}), case(**{name: other})
    assert one.within(two) is expected and one.key == two.key
    assert getattr(one.widened(two), name) == (None if None in (limit, other) else max(limit, other))
    assert one.within(one.widened(two)) and two.within(one.widened(two))


def test_less_time_does_not_make_up_for_more_evaluations():
    assert not case(time_limit=5.0, evaluations=9).within(case(time_limit=6.0, evaluations=8))


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, math.nan, math.inf])
def test_settings_are_plain_and_finite(value):
    with pytest.raises(InputError, match="the setting l1 is"):
        pairs({"l1": value})


SCALARS = st.one_of(st.text(), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.dictionaries(st.text(), SCALARS, max_size=5))
def test_pairs_are_sorted_and_idempotent(settings):
    found = pairs(settings)
    assert [name for name, _ in found] == sorted(settings)
    assert pairs(dict(found)) == found
    assert Case("fit", found, (), 0).key == Case("fit", pairs(dict(reversed(found))), (), 0).key
