"""Sentences: what is said of each fact, in the only place where a test reads words."""

import html

import numpy as np
import pytest

from acyclic.data.cells import Form
from acyclic.data.table import read_table
from acyclic.facts import (
    Caution,
    Doubt,
    Empty,
    Ended,
    Fact,
    Grade,
    Ground,
    Note,
    Orientation,
    Remark,
    Removal,
    Standing,
    Step,
    cut_short,
)
from acyclic.judging import words
from acyclic.judging.alternatives import NamedAlternative
from acyclic.judging.verdict import Verdict
from acyclic.judging.words import assessing, say_note, say_notes
from acyclic.learners import LEARNERS
from acyclic.trust.adequacy import Adequacy, Claim

# --- What was noted about columns ------------------------------------------------------------------------------------

SENTENCES = {
    "'a' is constant: every row is 2.5": Fact.of(Note.CONSTANT, "a", value=2.5),
    "'F' is determined by others: constant +1.8·'C'": Fact.of(Note.DUPLICATE, "F", "C", C=1.8),
    "'e' is determined by others: constant +2·'b' -0.5·'d'": Fact.of(Note.COLLINEAR, "e", "b", "d", b=2.0, d=-0.5),
    "'z' is determined by others: constant +1·'a' and 2 more terms": Fact.of(Note.COLLINEAR, "z", "a", "b", "c", a=1.0),
    "'a', 'b', 'c' and 5 more are determined by others: there are 5 rows for 12 columns": Fact.of(
        Note.FEW_ROWS_COLLINEAR, *"abcdefgh", rows=5, columns=12
    ),
    "'a' is determined by others: there are 5 rows for 5 columns": Fact.of(
        Note.FEW_ROWS_COLLINEAR, "a", rows=5, columns=5
    ),
    "'yes' is boolean; true counts as 1 and false as 0": Fact.of(Note.BOOLEAN, "yes"),
    "'g' has only the 3 values 0, 1, 2, so it counts as a category; kinds can say otherwise": Fact.of(
        Note.CODES, "g", count=3, listed="0, 1, 2"
    ),
    "'c' is categorical, with 2 levels: blue, red": Fact.of(
        Note.LEVELS, "c", scale="categorical", count=2, listed="blue, red"
    ),
    "'c' is ordinal, with 2 levels, in this order: low, high": Fact.of(
        Note.LEVELS, "c", scale="ordinal", count=2, listed="low, high"
    ),
    "'c' has 2 rare levels, 7 rows in all, that count as 'other': teal, umber": Fact.of(
        Note.POOLED, "c", count=2, rows=7, level="other", listed="teal, umber"
    ),
    "'c' was left out: it is 'red' wherever it is given": Fact.of(Note.ONE_LEVEL, "c", level="red"),
    "'c' was left out: it holds 'red' and other text among numbers; kinds can say that it is a category": Fact.of(
        Note.MIXED, "c", level="red"
    ),
    "'a' was left out": Fact.of(Note.DROPPED, "a"),
    "left out, for they hold no numbers to learn from: the first column (row numbers), 'd', 'h' (dates or times)": Fact(
        Note.LEFT_OUT, ("", "d", "h"), (("", "row-numbers"), ("d", "dates"), ("h", "dates"))
    ),
    "'p' is written with a decimal comma and a point between thousands: '1.234,5' was read as 1234.5": Fact.of(
        Note.WRITTEN, "p", **Form(",", ".")._asdict(), example="1.234,5", value=1234.5, certain=True
    ),
    "'p', 'q' are written with a comma between thousands and the currency sign €: '€ 1,234' was read as 1234, which is "
    "a guess: say what the decimal mark is if it is wrong": Fact.of(
        Note.WRITTEN, "p", "q", **Form(".", ",", currency="€")._asdict(), example="€ 1,234", value=1234.0, certain=False
    ),
    "'p' is written as text: '5' was read as 5": Fact.of(
        Note.WRITTEN, "p", **Form()._asdict(), example="5", value=5.0, certain=True
    ),
    "columns without a name, or with that of another, are called 'column 2', 'a.1'": Fact.of(
        Note.RENAMED, "column 2", "a.1"
    ),
    "the first line holds numbers, but unlike those below: taken for names": Fact.of(Note.HEADER_OF_NUMBERS),
    "the first line holds numbers like those below: taken for a row; there are no names": Fact.of(Note.NO_HEADER),
    "lines passed over before the names, most of them comments: 3": Fact.of(Note.COMMENTS, count=3),
    "the text is no UTF-8; it was read as cp1252": Fact.of(Note.ENCODING, encoding="cp1252"),
    "zero bytes passed over in the beginning of the text: 2": Fact.of(Note.ZERO_BYTES, count=2),
    "'a' was multiplied by 2^539 (10^162.3): its values are near the ends of what floating-point numbers can hold": (
        Fact.of(Note.RESCALED, "a", exponent=539)
    ),
    "'a' was replaced by its natural logarithm": Fact.of(Note.LOG, "a"),
    "'w' counts the rows": Fact.of(Note.WEIGHTS, "w"),
    "every column was scaled to mean 0 and variance 1": Fact.of(Note.STANDARDIZED),
    "1 of 9 rows is far from all others (row 4 first; see 'a') and was set aside; outliers = keep uses it too": Fact.of(
        Note.OUTLIERS, count=1, rows=9, first=4, columns=1, column="a"
    ),
    "2 of 9 rows are far from all others (row 4 first; see 'a' and 3 more columns) and were set aside; "
    "outliers = keep uses them too": Fact.of(Note.OUTLIERS, count=2, rows=9, first=4, columns=4, column="a"),
    "'a' is missing in 1 of 6 rows (16.7 %)": Fact.of(Note.MISSING, "a", count=1, rows=6),
    "4 cells are missing, in 3 of 6 rows": Fact.of(Note.MISSING, cells=4, incomplete=3, rows=6),
    "4 cells are missing, in 3 of 6 rows; 2 rows were left out": Fact.of(
        Note.ROWS_LEFT_OUT, cells=4, incomplete=3, rows=6, left_out=2
    ),
    "100 of 600 rows, drawn at random, stand for all": Fact.of(Note.SAMPLED, rows=100, of=600),
    "each covariance is that of the rows that have both columns, 7 to 9 rows; n = 7.5 is the harmonic mean of these; "
    "covariances of different rows do not fit together, and closely correlated columns may seem linked for that": (
        Fact.of(Note.PAIRWISE, fewest=7.0, most=9.0, n=7.5)
    ),
    "an eigenvalue of the correlations was -0.2, so they were changed by up to 0.1": Fact.of(
        Note.REPAIRED, eigenvalue=-0.2, change=0.1
    ),
    "9 missing cells were filled with values of rows that resemble theirs; the 40 fullest of 60 rows are used, as many "
    "as have three columns at once on average": Fact.of(Note.IMPUTED, cells=9, rows=40, of=60),
    "the moments maximise the Gaussian likelihood of all 60 rows that have a value (EM, 12 iterations)": Fact.of(
        Note.EM, rows=60, iterations=12, step=1e-10
    ),
    "the moments maximise the Gaussian likelihood of all 60 rows that have a value, and count as 41.5 rows, as many as "
    "have three columns at once on average (EM, 12 iterations)": Fact.of(
        Note.EM, rows=60, n=41.5, iterations=12, step=1e-10
    ),
    "the moments maximise the Gaussian likelihood of all 60 rows that have a value, but EM stopped after 2 iterations "
    "at steps of 0.1 standard deviations": Fact.of(Note.EM_NOT_CONVERGED, rows=60, iterations=2, step=0.1),
    "as it was said before": Fact.of(Note.UNKNOWN, text="as it was said before"),
}


@pytest.mark.parametrize(("sentence", "fact"), SENTENCES.items())
def test_notes_in_words(sentence, fact):
    assert say_note(fact) == sentence == say_notes([fact])[0]


def test_every_kind_of_note_has_words():
    assert {fact.kind for fact in SENTENCES.values()} == set(Note)


def test_columns_of_which_the_same_is_said_share_a_line():
    facts = [Fact.of(Note.LOG, name) for name in "abcde"]
    facts += [Fact.of(Note.STANDARDIZED), Fact.of(Note.CONSTANT, "f", value=1.0)]
    assert say_notes(facts) == [
        "'a', 'b', 'c' and 2 more: each was replaced by its natural logarithm",
        "every column was scaled to mean 0 and variance 1",
        "'f' is constant: every row is 1",
    ]


def test_many_columns_that_differ_in_a_number_share_a_line():
    some = [Fact.of(Note.MISSING, f"x{count}", count=count, rows=90) for count in range(1, 9)]
    whole = Fact.of(Note.MISSING, cells=36, incomplete=30, rows=90)
    assert say_notes([*some, whole]) == [
        "'x1', 'x2', 'x3' and 5 more: each is missing in some rows",
        "36 cells are missing, in 30 of 90 rows",
    ]
    assert len(say_notes(some[:5])) == 5


def test_a_table_with_fewer_rows_than_columns_gets_one_line():
    (line,) = say_notes(read_table(np.random.default_rng(0).normal(size=(300, 1000))).notes)
    assert line.endswith("and 698 more are determined by others: there are 300 rows for 1000 columns")


# --- End of what was noted about columns -----------------------------------------------------------------------------

# --- How a run ended, what orients, what was removed, what to beware of ----------------------------------------------

TABLES = {
    Ended: words.ENDS,
    Orientation: words.ORIENTATIONS,
    Standing: words.STANDINGS,
    Empty: words.EMPTIES,
    Removal: words.REMOVALS,
    Caution: words.CAUTIONS,
    Doubt: words.DOUBTS,
    Remark: words.REMARKS,
    Grade: assessing.GRADES,
    Ground: assessing.GROUNDS,
    Step: assessing.STEPS,
}


@pytest.mark.parametrize("kinds", TABLES, ids=lambda kinds: kinds.__name__)
def test_every_member_has_words(kinds):
    assert set(TABLES[kinds]) == set(kinds)


def test_every_orientation_has_words_for_one_edge():
    assert set(words.SUPPORTS) == set(Orientation)


def test_every_method_has_a_title():
    assert set(words.METHODS) == set(LEARNERS)


@pytest.mark.parametrize(
    "kinds", [Ended, Standing, Empty, Removal, Caution, Doubt, Remark], ids=lambda kinds: kinds.__name__
)
def test_a_fact_without_its_numbers_can_still_be_said(kinds):
    """A file that was written by hand, or by a later version, may lack some."""
    for kind in kinds:
        assert words.say(Fact.of(kind, "a", "b"))


SAID = {
    "the time limit of 2.5 s was reached": Fact.of(Ended.TIME_LIMIT, seconds=2.5),
    "90 evaluations were made, as many as were allowed": Fact.of(Ended.EVALUATIONS_SPENT, evaluations=90),
    "the constraint fell to 1.0e-09, at most 1e-08": Fact.of(Ended.CONSTRAINT_MET, h=1e-9, h_tol=1e-8),
    "Adam made its 10 steps without reaching a minimum": Fact.of(Ended.STEPS_SPENT, minimiser="Adam", steps=10),
    "the largest weight is 0.1, below the threshold of 0.3; lower it or rescale": Fact.of(
        Empty.BELOW_THRESHOLD, largest=0.1, threshold=0.3
    ),
    "a → b is there because it is required; the data give it no weight": Fact.of(
        Caution.REQUIRED_WITHOUT_WEIGHT, "a", "b"
    ),
    "3 of 10 draws were done when it was interrupted": Fact.of(
        Remark.CUT_SHORT, done=3, requested=10, what="draws", end="interrupted"
    ),
    "0 of 4 refits were done when the time limit of 2.5 s was reached": cut_short(
        Fact.of(Ended.TIME_LIMIT, seconds=2.5), "refits", done=0, requested=4
    ),
    "2 of 3 penalties were done when the run ended": cut_short(None, "penalties", done=2, requested=3),
    "the noise of 5 of 9 columns is not Gaussian (a, b, c, d, …); methods for non-Gaussian noise could orient more": (
        Fact.of(Remark.ODD_NOISE, *"abcde", count=5, columns=9)
    ),
    "the draws are parametric, since rows that have weights cannot be drawn: each takes mean and covariance from their "
    "sampling distribution under Gaussian rows (Wishart)": Fact.of(Remark.PARAMETRIC, why="weighted"),
    "the shares of draws are not turned into probabilities: the rule for that was fitted on 80 to 20000 rows, and "
    "there are 50": Fact.of(Remark.UNCALIBRATED, why="rows", value=50, least=80, most=20_000),
    "of the edges that were left out some 1.5 are expected to be there; likeliest is one between a and b, with a "
    "probability of 40%": Fact.of(Remark.MISSED, "a", "b", probability=0.4, expected=1.53),
    "12 of 90 independencies were tested, drawn at random": Fact.of(Remark.CLAIMS_SAMPLED, chosen=12, implied=90),
    "the rows contradict independencies that the graph implies (p = 1e-05 of all together; by themselves 2 of 90 fail "
    "beyond chance), as "
    "that of a and b": Fact.of(Doubt.VIOLATED, "a", "b", count=2, tested=90, p_value=1e-5),
}


@pytest.mark.parametrize(("sentence", "fact"), SAID.items())
def test_facts_in_words(sentence, fact):
    assert words.say(fact) == sentence


def test_an_adequacy_in_words():
    claim = Claim("a", "b", ("c",), 1e-6, 0.31)
    said = words.say_adequacy(Adequacy(1e-5, 90, 90, 1, (claim,), (claim,), (Claim("a", "b", (), 1e-6, 0.3),)))
    assert said.splitlines() == [
        "The rows do NOT bear out the independencies that the graph implies: p = 1e-05 of all together, violated "
        "beyond chance: 1 of 90 tested.",
        "Violated: a and b should be independent given c: p = 1e-06, strength 0.31.",
        "A hidden common cause, or an edge that was left out, would explain why what their parents leave of these "
        "depends on each other: a and b.",
    ]
    assert words.say_adequacy(Adequacy(float("nan"), 0, 0)) == "The graph implies no independence that could be tested."


def verdict(**changes):
    plain = {
        "method": "notears",
        "settings": {"l1": 0.1},
        "end": Fact.of(Ended.COMPLETE),
        "orientation": Orientation.VARIANCE_ORDER,
        "n_nodes": 3,
        "n_edges": 2,
    }
    return Verdict(**{**plain, **changes})


def test_a_fit_that_converged():
    assert str(verdict()) == (
        "NOTEARS (l1 0.1) found 2 edges between 3 variables; the graph is acyclic (checked edge by edge).\n"
        "It converged: every stage was completed.\n"
        f"Directions: {words.ORIENTATIONS[Orientation.VARIANCE_ORDER]}."
    )


def test_what_went_wrong_stands_out():
    said = words.say_verdict(verdict(end=Fact.of(Ended.INTERRUPTED), cautions=(Fact.of(Caution.STANDARDIZED),)))
    assert [line.text for line in said if line.warns] == [
        "It did NOT converge: it was interrupted.",
        f"Warning: {words.CAUTIONS[Caution.STANDARDIZED]}.",
    ]


def test_one_of_a_kind_is_singular():
    assert "found 1 edge between 1 variable;" in str(verdict(n_edges=1, n_nodes=1))
    assert "1 weight below 0.3 in absolute value was cut." in str(verdict(threshold=0.3, n_cut=1))
    assert "no weights below 0.3 in absolute value were cut." in str(verdict(threshold=0.3))
    assert "cut" not in str(verdict())


def test_removed_edges_are_listed_up_to_five():
    edges = tuple(Fact.of(Removal.WEAKEST, f"a{i}", f"b{i}", weight=0.1 * i + 0.01) for i in range(7))
    assert "1 edge had to go (the weakest edges of the graph" in str(verdict(removed=edges[:1]))
    said = str(verdict(removed=edges))
    assert "7 edges had to go" in said and "a0 → b0 (0.01), " in said
    assert "a4 → b4 (0.41) and 2 more." in said and "a5" not in said


def test_how_an_answer_stands_against_others_is_one_line():
    proved = (Fact.of(Standing.PROVED), Fact.of(Standing.NEARLY_TIED, gap=1.83, limit=6.21, kept=4))
    (line,) = [line for line in words.say_verdict(verdict(standing=proved)) if line.text.startswith("Against")]
    assert line.text == (
        "Against other graphs: none that is allowed has a lower score, which is proved; the best one of another class "
        "scores only 1.8 more; alternatives that were kept within log n = 6.2: 4."
    )
    assert not line.warns


@pytest.mark.parametrize(("agreeing", "warns"), [(1, True), (2, False), (8, False)])
def test_an_answer_that_no_second_chain_found_stands_out(agreeing, warns):
    standing = (Fact.of(Standing.CHAINS, chains=8, agreeing=agreeing),)
    line = words.say_verdict(verdict(standing=standing))[2]
    said = f"Against other graphs: {agreeing} of 8 independent chains of the search ended in this class."
    assert line == (said, warns)


def test_a_contested_edge_is_not_called_compelled_without_its_rival():
    said = words.say_support(Orientation.CONTESTED, 1.83)
    assert said == "compelled in this class; another class within 1.8 turns it"
    assert words.say_support(Orientation.NEAR_TIE, 0.4) == "a near-tie; another graph within 0.4 turns it"
    assert words.say_support(Orientation.CONTESTED)


def test_an_alternative_says_what_it_would_change():
    edges = (("a", "b"), ("b", "c"))
    other = NamedAlternative(1.83, tuple("abcd"), edges, turned=edges[:1], removed=(("c", "d"), ("a", "d")))
    assert words.say_alternative(other) == "1.8 behind: turns a → b; leaves out c → d, a → d"


# --- The verdict in paragraphs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ways", "said"),
    [
        ((7, 2), "that age is no effect of bmi decides 7 more directions (2 if it is bmi that is no effect of age)"),
        ((0, 1), "that bmi is no effect of age decides 1 more direction (none if it is the other way round)"),
        ((3, 3), "which way age – bmi points decides 3 more directions"),
    ],
)
def test_what_follows_from_a_direction_is_said_of_both_ways(ways, said):
    step = Fact.of(Step.ORIENT, "age", "bmi", forward=ways[0], backward=ways[1])
    assert words.say_step(step) == f"telling it {said}"


def test_knowledge_is_named_with_its_price():
    ground = Fact.of(Ground.KNOWLEDGE_AGAINST_DATA, fixed=3, of=9, price=12.345, limit=6.2)
    assert words.say_ground(ground).startswith("prior knowledge fixes the direction of 3 of 9 links and costs 12.3 in")
    free = Fact.of(Ground.KNOWLEDGE, fixed=1, of=9, price=0.0, limit=6.2)
    assert words.say_ground(free).endswith("1 of 9 links, at no cost in score")


def test_a_share_of_nothing_and_a_count_of_nothing_are_said_so():
    assert (
        words.say_step(Fact.of(Step.CHECK_LINK, "a", "b", share=0.0))
        == "treat a – b as a guess: none of the draws have it"
    )
    together = words.say_ground(Fact.of(Ground.IMPLICATIONS_BROKEN, broken=0, claims=90, p=2e-4))
    assert together.startswith("taken together, the 90 independencies")


def test_a_number_that_a_file_lacks_is_unknown():
    assert words.say_ground(Fact.of(Ground.IMPLICATIONS_BROKEN, broken=3, claims=9, p=None)).endswith("(p = unknown)")


def test_every_term_is_found_in_its_text_once_and_hostile_text_stays_text():
    marked = words.mark_terms(
        "<b> 2 links: one link is open", lambda form, term: f"[{form}|{term.anchor}]", html.escape
    )
    assert marked == "&lt;b&gt; 2 [links|term-link]: one link is [open|term-open]"
    assert len({term.anchor for term in words.TERMS.values()}) == len(words.TERMS)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("weight", -0.12345, "−0.123"),
        ("weight", 1234.5, "+1.23e+03"),
        ("this_way", 0.666, "67%"),
        ("margin", float("inf"), "∞"),
        ("margin", None, "–"),
        ("rests_on", "prior knowledge", "prior knowledge"),
    ],
)
def test_cells_of_the_table_of_edges(column, value, text):
    assert words.show_cell({column: value}, column) == text
