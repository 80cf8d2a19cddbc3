"""Alternatives: what another class would change, by name, in memory and in files."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acyclic import Dag
from acyclic.discrete.rivals import Alternative, Rivals
from acyclic.facts import Ended, Fact, Orientation
from acyclic.judging.alternatives import NamedAlternative, name_alternatives
from acyclic.judging.verdict import Verdict
from strategies import dags

NAMES = tuple("abcd")


def matrix(*edges):
    return Dag.from_edges(edges, NAMES).adjacency


def judged(orientation=Orientation.INDEPENDENCE, support=None):
    return Verdict("m", {}, Fact.of(Ended.COMPLETE), orientation, 4, 2, support=support or {})


def named(answer, *others, verdict=None):
    unknown = np.full((4, 4), np.nan)
    met = Rivals(False, 2, 2, 1.0, unknown, unknown, tuple(Alternative(matrix(*other), 1.0) for other in others))
    return name_alternatives(met, Dag.from_edges(answer, NAMES), verdict or judged())


COLLIDER = [("a", "c"), ("b", "c")]


def test_classes_are_compared_not_the_graphs_that_stand_for_them():
    chain, same_chain = [("a", "c"), ("c", "b")], [("b", "c"), ("c", "a")]
    for other in (chain, same_chain):
        (opened,) = named(COLLIDER, other)
        assert opened.turned == tuple(COLLIDER) and not (opened.fixed or opened.removed or opened.added)
        assert opened.edges == tuple(sorted(other)) and opened.cpdag == Dag.from_edges(other, NAMES).cpdag()
    (closed,) = named(chain, COLLIDER)
    assert closed.fixed == tuple(COLLIDER) and not (closed.turned or closed.removed or closed.added)


def test_edges_that_come_and_go():
    (other,) = named(COLLIDER, [("b", "c"), ("b", "d")])
    assert (other.removed, other.added, other.turned) == ((("a", "c"),), (("b", "d"),), (("b", "c"),))


def test_where_directions_count_a_class_is_one_graph():
    (other,) = named([("a", "b"), ("c", "d")], [("b", "a"), ("c", "d")], verdict=judged(Orientation.EQUAL_VARIANCES))
    assert other.turned == (("a", "b"),) and not (other.fixed or other.removed or other.added)


def test_what_knowledge_fixes_is_not_turned_by_a_class_that_leaves_it_open():
    known = judged(support={("b", "c"): Orientation.KNOWLEDGE})
    (other,) = named(COLLIDER, [("b", "c"), ("c", "a")], verdict=known)
    assert other.turned == (("a", "c"),)


def test_without_rivals_there_are_none():
    assert name_alternatives(None, Dag.empty(NAMES), judged()) == named(COLLIDER) == ()


@given(dags(max_nodes=5), st.data(), st.sampled_from([Orientation.INDEPENDENCE, Orientation.EQUAL_VARIANCES]))
def test_an_alternative_survives_json_and_leads_from_the_answer_to_its_graph(answer, data, claim):
    other = data.draw(dags(min_nodes=answer.n_nodes, max_nodes=answer.n_nodes))
    unknown = np.full(answer.weights.shape, np.nan)
    met = Rivals(False, 0, 0, 0.5, unknown, unknown, (Alternative(other.adjacency, 0.5),))
    (made,) = name_alternatives(met, answer, judged(claim))
    assert np.array_equal(made.adjacency, other.adjacency)
    pairs = [edge[:2] for edge in answer.edges()]
    assert NamedAlternative.from_dict(json.loads(json.dumps(made.to_dict(pairs))), answer.names, pairs) == made
    same = not (made.turned or made.fixed or made.removed or made.added)
    by_class = claim is Orientation.INDEPENDENCE
    assert same == (made.cpdag == answer.cpdag() if by_class else np.array_equal(other.adjacency, answer.adjacency))
