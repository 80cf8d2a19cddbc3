"""One grade, by one rule, of the very rows that the table of edges shows; and what to do next."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acyclic
from acyclic.facts import Caution, Doubt, Ended, Fact, Grade, Ground, Orientation, Standing, Step
from acyclic.graphs.dag import Dag
from acyclic.judging.verdict import Verdict
from acyclic.judging.weighing import BEST, BY_SHARE, SHARED, Evidence, allow, weigh

CHAIN = Dag.from_edges([("a", "b"), ("b", "c"), ("c", "d")], ["a", "b", "c", "d", "e"])


def row(source, target, support=Orientation.INDEPENDENCE, **known):
    plain = dict.fromkeys(("this_way", "either_way", "left_out", "turned"))
    return {"source": source, "target": target, "support": support.value, **plain, **known}


def rows_of(graph, support=Orientation.UNDETERMINED, **known):
    return [row(a, b, support, **known) for a, b, _ in graph.edges()]


def verdict_on(graph, **changes):
    plain = {"method": "order-search", "settings": {}, "end": Fact.of(Ended.COMPLETE)}
    plain |= {"orientation": Orientation.INDEPENDENCE, "n_nodes": graph.n_nodes, "n_edges": graph.n_edges}
    return Verdict(**{**plain, **changes})


def weighed(graph, rows, verdict=None, **evidence):
    known = {"n_rows": 500.0, **evidence}
    return weigh(verdict or verdict_on(graph), Evidence(rows, graph.cpdag(), **known))


def kinds(facts):
    return [fact.kind for fact in facts]


def test_every_ground_allows_a_grade_and_shares_do_so_by_steps():
    assert set(BEST) | set(SHARED) <= set(Ground)
    for least, grade in BY_SHARE:
        assert allow(Fact.of(Ground.LINKS_REDRAWN, firm=math.ceil(least * 30), of=30)) is grade
    assert allow(Fact.of(Ground.LINKS_REDRAWN, firm=26, of=30)) is Grade.FAIR


@pytest.mark.parametrize(
    ("share", "grade"), [(0.95, Grade.STRONG), (0.5, Grade.POOR)], ids=["in nearly all draws", "in half of them"]
)
def test_links_that_come_back_make_the_grade(share, grade):
    found = weighed(CHAIN, rows_of(CHAIN, this_way=share / 2, either_way=share), draws=100)
    assert found.grade is grade and found.open == 3 and found.apart == ("e",)
    assert kinds(found.grounds) == [Ground.LINKS_REDRAWN]


def test_an_open_direction_is_not_claimed_and_lowers_no_grade():
    loose = weighed(CHAIN, rows_of(CHAIN, this_way=0.5, either_way=1.0), draws=50)
    claimed = weighed(CHAIN, rows_of(CHAIN, Orientation.CURVATURE, this_way=0.5, either_way=1.0), draws=50)
    assert loose.grade is Grade.STRONG and claimed.grade is Grade.POOR
    assert claimed.grounds[0].kind is Ground.DIRECTIONS_REDRAWN and claimed.grounds[0]["firm"] == 0


def test_probabilities_count_rather_than_shares_where_they_are_known():
    likely = {"probability": 0.7, "direction_probability": 0.95}
    found = weighed(
        CHAIN, rows_of(CHAIN, Orientation.EQUAL_VARIANCES, this_way=1.0, either_way=1.0, **likely), draws=99
    )
    assert kinds(found.grounds) == [Ground.LINKS_LIKELY, Ground.DIRECTIONS_LIKELY]
    assert found.grade is Grade.FAIR and found.grounds[0]["expected"] == pytest.approx(3 * 0.7)


def test_what_knowledge_decides_is_not_counted_as_found():
    found = weighed(CHAIN, rows_of(CHAIN, Orientation.KNOWLEDGE, this_way=1.0, either_way=1.0), draws=50)
    assert Ground.DIRECTIONS_REDRAWN not in kinds(found.grounds)
    assert found.grounds[-1]["fixed"] == 3


def test_without_draws_no_grade_is_better_than_fair_and_the_first_advice_is_to_draw():
    found = weighed(CHAIN, rows_of(CHAIN, Orientation.EQUAL_VARIANCES, left_out=100.0))
    assert found.grade is Grade.FAIR and kinds(found.steps) == [Step.REDRAW]


def test_a_few_draws_tell_nothing_and_the_advice_is_to_make_more():
    found = weighed(CHAIN, rows_of(CHAIN, Orientation.EQUAL_VARIANCES, this_way=0.5, either_way=0.5), draws=2)
    assert found.grade is Grade.FAIR and kinds(found.grounds) == [Ground.FEW_DRAWS]
    assert found.grounds[0]["draws"] == 2 and kinds(found.steps) == [Step.MORE_DRAWS]


DOUBTED = (Fact.of(Doubt.UNEQUAL_VARIANCES, spread=9.0, open=1, edges=3),)


def test_a_doubt_about_units_counts_only_where_something_rests_on_them():
    known = {"this_way": 1.0, "either_way": 1.0}
    by_class = weighed(CHAIN, rows_of(CHAIN, **known), draws=50, audited=True, doubts=DOUBTED)
    by_units = weighed(
        CHAIN, rows_of(CHAIN, Orientation.EQUAL_VARIANCES, **known), draws=50, audited=True, doubts=DOUBTED
    )
    assert by_class.grade is Grade.STRONG and Ground.AUDIT_PASSED in kinds(by_class.grounds)
    assert by_units.grade is Grade.POOR and by_units.grounds[0].kind is Ground.UNITS_DOUBTED
    # Directions that units cannot carry are open: what follows from one of them is told.
    assert Step.ORIENT in kinds(by_units.steps)


@pytest.mark.parametrize(
    ("orientation", "step"),
    [(Orientation.INDEPENDENCE, Step.OTHER_MODEL), (Orientation.CURVATURE, Step.LOOK_AT_ROWS)],
)
def test_mechanisms_that_do_not_fit_lower_the_grade_and_pass_no_audit(orientation, step):
    bent = (Fact.of(Doubt.BENT, "a", "b", count=1),)
    rows = rows_of(CHAIN, orientation, this_way=1.0, either_way=1.0)
    found = weighed(CHAIN, rows, verdict_on(CHAIN, orientation=orientation), draws=50, audited=True, doubts=bent)
    assert found.grade is Grade.WEAK and Ground.AUDIT_PASSED not in kinds(found.grounds)
    assert step in kinds(found.steps)


def test_that_a_spread_changes_is_no_news_where_it_was_learned():
    rows = rows_of(CHAIN, Orientation.MEAN_AND_SCALE, this_way=1.0, either_way=1.0)
    wide = (Fact.of(Doubt.SPREADING, "a", "b", count=1),)
    known = {"draws": 50, "audited": True, "doubts": wide}
    verdict = verdict_on(CHAIN, orientation=Orientation.MEAN_AND_SCALE)
    assert weighed(CHAIN, rows, verdict, **known).grade is Grade.STRONG


@pytest.mark.parametrize(("broken", "grade"), [(1, Grade.FAIR), (30, Grade.WEAK)])
def test_independencies_that_do_not_hold_lower_the_grade_and_hint_at_what_is_hidden(broken, grade):
    known = {"draws": 50, "audited": True, "claims": 100, "hidden": (("a", "e"),)}
    doubt = Fact.of(Doubt.VIOLATED, "a", "e", count=broken, tested=100, p_value=1e-6)
    rows = rows_of(CHAIN, this_way=1.0, either_way=1.0)
    found = weighed(CHAIN, rows, doubts=(doubt,), p_value=1e-6, **known)
    assert found.grade is grade and found.grounds[0].kind is Ground.IMPLICATIONS_BROKEN
    assert Fact.of(Step.HIDDEN_CAUSE, "a", "e") in found.steps
    fine = weighed(CHAIN, rows, p_value=0.4, **known)
    assert fine.grade is Grade.STRONG and {Ground.IMPLICATIONS_HOLD, Ground.AUDIT_PASSED} <= set(kinds(fine.grounds))
    assert Step.HIDDEN_CAUSE not in kinds(fine.steps)


@pytest.mark.parametrize(
    ("changes", "ground", "grade"),
    [
        ({"end": Fact.of(Ended.TIME_LIMIT, seconds=1.0)}, Ground.ENDED_EARLY, Grade.WEAK),
        ({"cautions": (Fact.of(Caution.FEW_ROWS, rows=5, columns=5),)}, Ground.FEW_ROWS, Grade.WEAK),
        ({"standing": (Fact.of(Standing.CHAINS, chains=8, agreeing=1),)}, Ground.LONE_CHAIN, Grade.FAIR),
        ({"standing": (Fact.of(Standing.KNOWLEDGE_PRICED, price=20.0),)}, Ground.KNOWLEDGE_AGAINST_DATA, Grade.FAIR),
        ({"standing": (Fact.of(Standing.KNOWLEDGE_PRICED, price=1.0),)}, Ground.KNOWLEDGE, Grade.STRONG),
    ],
)
def test_what_is_known_of_the_search_caps_the_grade(changes, ground, grade):
    rows = rows_of(CHAIN, this_way=1.0, either_way=1.0)
    found = weighed(CHAIN, rows, verdict_on(CHAIN, **changes), draws=50)
    assert found.grade is grade and ground in kinds(found.grounds)


def test_an_empty_graph_has_nothing_to_believe():
    empty = Dag(np.zeros((3, 3)))
    found = weighed(empty, [])
    assert found.grade is Grade.NOTHING and not found.grounds and not found.steps


def test_the_most_useful_direction_comes_first():
    # A star with a tail: the edge into the hub from the tail's end directs all rays.
    graph = Dag.from_edges([("t", "h"), ("h", "x"), ("h", "y"), ("h", "z"), ("z", "w")], list("thxyzw"))
    first, *_ = weighed(graph, rows_of(graph)).steps
    assert first.kind is Step.ORIENT
    counts = {
        tuple(step.about): (step["forward"], step["backward"])
        for step in weighed(graph, rows_of(graph)).steps
        if step.kind is Step.ORIENT
    }
    assert counts["t", "h"] == (4, 0) or counts["h", "z"] == (1, 3)
    assert first["forward"] + first["backward"] == max(sum(both) for both in counts.values())


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_rows_have_a_grade_that_is_the_worst_that_its_grounds_allow(data):
    share = st.floats(0, 1)
    rows = []
    for a, b, _ in CHAIN.edges():
        either = data.draw(share)
        support = data.draw(st.sampled_from([kind for kind in Orientation if kind is not Orientation.NO_EDGE]))
        rows.append(
            row(a, b, support, either_way=either, this_way=either * data.draw(share), left_out=data.draw(share))
        )
    found = weighed(CHAIN, rows, draws=data.draw(st.sampled_from([0, 10])))
    assert found.grade.rank == max(allow(ground).rank for ground in found.grounds)
    assert [allow(ground).rank for ground in found.grounds] == sorted(
        (allow(g).rank for g in found.grounds), reverse=True
    )


# --- The verdict of a result -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told():
    data = acyclic.simulate(7, 300, graph="ER1", random_state=4, scheme="dao")
    result = acyclic.learn(data.X, method="order-search")
    confidence = acyclic.bootstrap("order-search", data.X, draws=12)
    return result.with_evidence(
        confidence=confidence, audit=acyclic.audit(data.X, learner="order-search", rescalings=1)
    )


def test_what_is_said_on_top_agrees_with_the_table(told):
    found, rows = told.verdict.assessment, told.edges()
    by_kind = {ground.kind: ground for ground in found.grounds}
    assert found.links == len(rows) == told.graph.n_edges
    assert found.decided == sum(Orientation(row["support"]).is_decided for row in rows)
    assert by_kind[Ground.LINKS_REDRAWN]["firm"] == sum(row["either_way"] >= 0.8 for row in rows)
    assert by_kind[Ground.LINKS_REDRAWN]["draws"] == told.confidence["draws"] == 12
    assert [ends[:2] for ends in found.strongest] == [(row["source"], row["target"]) for row in rows[:3]]


def test_evidence_changes_the_verdict_and_a_file_keeps_it(told):
    bare = dataclasses.replace(told, confidence=None, audit=None)
    assert Ground.NOT_REDRAWN in kinds(bare.verdict.assessment.grounds)
    assert Ground.NOT_REDRAWN not in kinds(told.verdict.assessment.grounds)
    again = acyclic.Result.from_json(told.to_json())
    assert again.verdict.assessment == told.verdict.assessment and str(again) == str(told) == str(told.verdict)


def test_knowledge_is_priced_and_what_follows_from_it_is_credited():
    X = acyclic.simulate(6, 400, graph="ER1", random_state=2, scheme="dao").X
    free = acyclic.learn(X, method="order-search")
    (source, target), *_ = [edge for edge, kind in free.support.items() if kind is not Orientation.INDEPENDENCE]
    held = acyclic.learn(X, method="order-search", knowledge=acyclic.Knowledge(required=[(target, source)]))
    (priced,) = [fact for fact in held.verdict.standing if fact.kind is Standing.KNOWLEDGE_PRICED]
    assert priced["price"] >= 0 and held.support[target, source] is Orientation.KNOWLEDGE
    assert not any(fact.kind is Standing.KNOWLEDGE_PRICED for fact in free.verdict.standing)
    impossible = acyclic.Knowledge(forbidden=[(source, target), (target, source)])
    against = acyclic.learn(X, method="order-search", knowledge=impossible)
    (cost,) = [fact["price"] for fact in against.verdict.standing if fact.kind is Standing.KNOWLEDGE_PRICED]
    # Without the edge the best score is higher by the margin that the edge had against being left out.
    assert cost == pytest.approx(free.verdict.margins[source, target].left_out, rel=1e-6, abs=1e-6)
