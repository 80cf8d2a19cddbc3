"""A verdict of facts survives its file, and so does one that was written when verdicts were sentences."""

import json

from hypothesis import given
from hypothesis import strategies as st

from acyclic import Notears, Verdict, simulate
from acyclic.facts import Caution, Empty, Ended, Fact, Note, Orientation, Removal, Standing

texts = st.text(max_size=8)
values = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9) | texts | st.none()


def facts(kinds):
    return st.builds(
        Fact,
        st.sampled_from(kinds),
        st.lists(texts, max_size=3).map(tuple),
        st.dictionaries(texts, values, max_size=3).map(lambda plain: tuple(plain.items())),
    )


@given(
    st.builds(
        Verdict,
        texts,
        st.dictionaries(texts, st.integers() | texts, max_size=2),
        facts(Ended),
        st.sampled_from(Orientation),
        st.integers(0, 9),
        st.integers(0, 9),
        h=st.floats(allow_nan=False),
        threshold=st.floats(0, 1),
        n_cut=st.integers(0, 9),
        removed=st.lists(facts(Removal), max_size=3).map(tuple),
        empty=st.none() | facts(Empty),
        notes=st.lists(facts(Note), max_size=3).map(tuple),
        cautions=st.lists(facts(Caution), max_size=3).map(tuple),
        support=st.dictionaries(st.tuples(texts, texts), st.sampled_from(Orientation), max_size=3),
        standing=st.lists(facts(Standing), max_size=3).map(tuple),
        details=st.dictionaries(texts, st.integers() | texts, max_size=2),
    )
)
def test_a_verdict_survives_json(verdict):
    read = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())), verdict.support)
    assert read == verdict


def test_the_verdict_of_a_fit_survives_json():
    found = Notears(time_limit=0, threshold=0.0).fit(simulate(6, 100, random_state=4).X).verdict_
    read = Verdict.from_dict(json.loads(json.dumps(found.to_dict())), found.support)
    assert found.removed and read == found and str(read) == str(found)


FORMAT_1 = {
    "method": "NOTEARS (least squares)",
    "converged": False,
    "reason": "the time limit of 3 s was reached",
    "assumption": "they rest on equal noise variances",
    "n_nodes": 3,
    "n_edges": 1,
    "h": None,
    "threshold": 0.3,
    "n_cut": 1,
    "removed": [["b", "a", 0.5]],
    "rule": "the weakest",
    "empty": "",
    "notes": ["'c' is constant"],
    "warnings": ["mind the units"],
    "details": {"penalty per parent": 3.0},
    "acyclic": True,
}


def test_a_verdict_of_format_1_keeps_its_sentences_and_decides_nothing_by_them():
    support = {("a", "b"): Orientation.EQUAL_VARIANCES}
    verdict = Verdict.from_format_1(FORMAT_1, support)
    assert not verdict.converged and verdict.end.kind is Ended.UNKNOWN
    assert verdict.orientation is Orientation.EQUAL_VARIANCES and verdict.support == support
    assert verdict.removed[0].about == ("b", "a") and verdict.empty is None
    said = str(verdict)
    for sentence in (FORMAT_1["reason"], *FORMAT_1["notes"], *FORMAT_1["warnings"]):
        assert sentence in said
    assert Verdict.from_format_1({**FORMAT_1, "converged": True}, support).converged
    read = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())), support)
    assert str(read) == said
