"""The verdict: what it says in each case, and its way through JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acyclic.data.knowledge import Knowledge
from acyclic.data.simulate import simulate
from acyclic.judging.verdict import Verdict
from acyclic.learners.golem import Golem
from acyclic.learners.notears import Notears


def verdict(**changes):
    plain = {
        "method": "A method",
        "converged": True,
        "reason": "the constraint fell",
        "assumption": "they rest on time",
        "n_nodes": 3,
        "n_edges": 2,
    }
    return Verdict(**{**plain, **changes})


def test_a_fit_that_converged():
    assert str(verdict()) == (
        "A method found 2 edges between 3 variables; the graph is acyclic (checked edge by edge).\n"
        "It converged: the constraint fell.\n"
        "Directions: they rest on time."
    )


def test_a_fit_that_did_not_converge():
    said = str(verdict(converged=False, reason="the time limit of 2 s was reached"))
    assert "It did NOT converge: the time limit of 2 s was reached." in said


def test_one_of_a_kind_is_singular():
    assert "found 1 edge between 1 variable;" in str(verdict(n_edges=1, n_nodes=1))
    assert "1 weight below 0.3 in absolute value was cut." in str(verdict(threshold=0.3, n_cut=1))
    assert "no weights below 0.3 in absolute value were cut." in str(verdict(threshold=0.3))
    assert "cut" not in str(verdict())


def test_removed_edges_are_listed_up_to_five():
    edges = tuple((f"a{i}", f"b{i}", 0.1 * i + 0.01) for i in range(7))
    said = str(verdict(removed=edges[:1], rule="the weakest"))
    assert "Beyond that 1 edge had to go (the weakest): a0 → b0 (0.01)." in said
    said = str(verdict(removed=edges, rule="the weakest"))
    assert "Beyond that 7 edges had to go (the weakest): a0 → b0 (0.01), " in said
    assert "a4 → b4 (0.41) and 2 more." in said and "a5" not in said


def test_notes_and_warnings_end_the_text():
    said = str(verdict(notes=("'x' is constant",), warnings=("mind the units",)))
    assert said.endswith("Note: 'x' is constant.\nWarning: mind the units.")


def independent(n=200, d=3, scale=1.0):
    return scale * np.random.default_rng(0).standard_normal((n, d))


def chain(scale=1.0):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200)
    return scale * np.column_stack([x, x + rng.standard_normal(200)])


@pytest.mark.parametrize(
    ("learner", "X", "why"),
    [
        (Notears(), independent(d=1), "there is one column"),
        (Notears(knowledge=Knowledge(forbidden=[("*", "*")])), chain(), "prior knowledge forbids every edge"),
        (Notears(), np.ones((10, 3)), "no two columns vary together"),
        (Notears(), np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]), "no two columns vary together"),
        (Notears(threshold=5.0), chain(), "below the threshold of 5; lower it or rescale"),
        (Notears(), chain(scale=1e-3), "the L1 penalty outweighs what any edge explains; lower l1, or rescale"),
        (Golem(l1=100.0), chain(), "the L1 penalty outweighs what any edge explains"),
        (
            Notears(knowledge=Knowledge(bounds=dict.fromkeys((("x0", "x1"), ("x1", "x0")), (50.0, 60.0)))),
            chain(),
            "every weight is outside of its bounds in prior knowledge",
        ),
    ],
)
def test_an_empty_graph_says_why(learner, X, why):
    found = learner.fit(X).verdict_
    assert found.n_edges == 0 and why in found.empty
    assert f"The graph is empty because {found.empty}." in str(found)
    assert "found no edges" in str(found) and "Directions: there is no edge to orient." in str(found)


def test_a_fit_stopped_at_its_start_blames_no_penalty():
    found = Notears(callback=lambda progress: True).fit(chain(scale=1e-3)).verdict_
    assert found.empty == "the fit ended before any weight left zero" and not found.converged


def test_a_graph_with_edges_is_not_called_empty():
    found = Notears().fit(chain()).verdict_
    assert found.n_edges == 1 and found.empty == "" and "empty" not in str(found)
    assert "equal noise variances in the units given" in found.assumption


def test_odd_columns_are_noted():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 100))
    fit = Notears().fit(np.column_stack([x, y, np.full(100, 2.0), 3 * x, x + y]))
    said = str(fit.verdict_)
    assert "Note: 'x2' is constant: every row is 2." in said
    assert "Note: 'x3' is determined by others: constant +3·'x0'." in said
    assert "Note: 'x4' is determined by others:" in said or "Note: 'x1' is determined by others:" in said


def test_assumptions_differ_by_method():
    X = simulate(6, 500, random_state=4).X
    likelihood = Golem(noise="unequal").fit(X).verdict_
    assert "only the equivalence class is identified" in likelihood.assumption
    assert "equal noise variances" in Golem().fit(X).verdict_.assumption
    binary = Notears(loss="logistic", l1=0.001, threshold=0.0).fit(X > 0).verdict_
    assert "the logistic loss of all columns together is smallest" in binary.assumption


def test_counts_add_up():
    X = simulate(8, 300, random_state=2).X
    fit = Notears().fit(X)
    weights, graph = fit.solution_.weights, fit.causal_graph_
    assert fit.verdict_.n_edges == graph.n_edges
    assert fit.verdict_.n_cut + len(fit.verdict_.removed) + graph.n_edges == np.count_nonzero(weights)
    powers, B = np.eye(8), weights**2
    geometric = 0.0
    for _ in range(8):
        powers = powers @ B
        geometric += np.trace(powers)
    assert fit.verdict_.h == pytest.approx(geometric, rel=1e-9, abs=1e-20)


texts = st.text(max_size=8)
edges = st.lists(st.tuples(texts, texts, st.floats(allow_nan=False)), max_size=3).map(tuple)
several = st.lists(texts, max_size=3).map(tuple)


@given(
    st.builds(
        Verdict,
        texts,
        st.booleans(),
        texts,
        texts,
        st.integers(0, 9),
        st.integers(0, 9),
        h=st.floats(allow_nan=False),
        threshold=st.floats(0, 1),
        n_cut=st.integers(0, 9),
        removed=edges,
        rule=texts,
        empty=texts,
        notes=several,
        warnings=several,
        details=st.dictionaries(texts, st.integers() | texts, max_size=2),
    )
)
def test_a_verdict_survives_json(given_verdict):
    read = Verdict.from_dict(json.loads(json.dumps(given_verdict.to_dict())))
    assert read == given_verdict and str(read) == str(given_verdict)


def test_the_verdict_of_a_fit_survives_json():
    found = Notears(time_limit=0, threshold=0.0).fit(simulate(6, 100, random_state=4).X).verdict_
    assert found.removed and Verdict.from_dict(json.loads(json.dumps(found.to_dict()))) == found
