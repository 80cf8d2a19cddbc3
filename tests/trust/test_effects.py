"""Total effects: the right numbers, and intervals that cover them."""

import json

import numpy as np
import pandas as pd
import pytest

import acyclic
from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.facts import Remark
from acyclic.graphs.dag import Dag
from acyclic.trust.effects import TotalEffects, total_effects

CHAIN = Dag.from_edges(
    [("dose", "level", 2.0), ("level", "pain", -1.5), ("dose", "pain", 0.5)], ["dose", "level", "pain"]
)


def rows_of_chain(n, seed):
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    level = 2 * dose + rng.normal(size=n)
    return np.column_stack([dose, level, -1.5 * level + 0.5 * dose + rng.normal(size=n)])


def test_effects_are_regressions_on_the_cause_and_what_precedes_it():
    X = rows_of_chain(500, 0)
    found = total_effects(CHAIN, X)
    centred = X - X.mean(axis=0)
    # In a complete order the total effect of the first is its plain regression coefficient.
    assert found.of("dose", "pain")[0] == pytest.approx(centred[:, 0] @ centred[:, 2] / (centred[:, 0] ** 2).sum())
    assert found.of("pain", "dose") == (0, 0, 0)


@pytest.mark.slow
def test_intervals_cover_the_truth_about_as_often_as_they_say():
    truth = CHAIN.total_effects()
    pairs = np.nonzero(truth)
    inside = []
    for seed in range(40):
        found = total_effects(CHAIN, rows_of_chain(150, seed), draws=60)
        inside.append((found.lower <= truth)[pairs] & (truth <= found.upper)[pairs])
    assert 0.8 <= np.mean(inside) <= 0.98


def test_columns_are_matched_by_name_and_others_left_aside():
    X = rows_of_chain(300, 1)
    frame = pd.DataFrame({"pain": X[:, 2], "noise": X[:, 0] ** 2, "dose": X[:, 0], "level": X[:, 1]})
    found, plain = total_effects(CHAIN, frame), total_effects(CHAIN, X)
    np.testing.assert_allclose(found.effect, plain.effect)
    np.testing.assert_allclose(found.lower, plain.lower)
    with pytest.raises(InputError, match="unknown columns"):
        total_effects(CHAIN, frame[["pain", "dose", "noise"]])


def test_results_and_moments_are_taken():
    data = acyclic.simulate(6, 500, random_state=1)
    result = acyclic.learn(data.X)
    found = total_effects(result, Moments.from_array(data.X), draws=50)
    assert [note.kind for note in found.notes] == [Remark.PARAMETRIC, Remark.GRAPH_TAKEN_AS_GIVEN]
    inside = (found.lower <= data.graph.total_effects()) & (data.graph.total_effects() <= found.upper)
    assert inside.mean() > 0.8


def test_table_json_and_text():
    found = total_effects(CHAIN, rows_of_chain(200, 2), draws=20, level=0.5)
    assert [row["cause"] for row in found.table()] == ["dose", "dose", "level"]
    again = TotalEffects.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert again.effect.tobytes() == found.effect.tobytes() and again.upper.tobytes() == found.upper.tobytes()
    assert "dose ⇝ pain" in str(found) and "50%" in str(found)
    with pytest.raises(InputError, match="no total effects"):
        TotalEffects.from_dict({"format": "x"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": np.zeros((3, 3))}, "graph is ndarray"),
        ({"draws": 0}, "draws has to be .*got 0"),
        ({"level": 1.0}, "level has to be .*got 1.0"),
        ({"random_state": -1}, "random_state has to be .*got -1"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        total_effects(**({"graph": CHAIN, "table": rows_of_chain(50, 0)} | arguments))
    with pytest.raises(InputError, match="no column is called 'age'"):
        total_effects(CHAIN, rows_of_chain(50, 0), draws=2).of("age", "pain")
