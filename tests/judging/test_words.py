"""Sentences: what is said of each fact, in the only place where a test reads words."""

import numpy as np
import pytest

from acyclic.data.table import read_table
from acyclic.facts import Fact, Note
from acyclic.judging.words import say_note, say_notes

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
    "'g' has only the 3 values 0, 1, 2: if these are codes of categories, drop it": Fact.of(
        Note.CODES, "g", count=3, listed="0, 1, 2"
    ),
    "'a' was left out": Fact.of(Note.DROPPED, "a"),
    "'a' was replaced by its natural logarithm": Fact.of(Note.LOG, "a"),
    "'w' counts the rows": Fact.of(Note.WEIGHTS, "w"),
    "every column was scaled to mean 0 and variance 1": Fact.of(Note.STANDARDIZED),
    "'a' is missing in 1 of 6 rows (16.7 %)": Fact.of(Note.MISSING, "a", count=1, rows=6),
    "4 cells are missing, in 3 of 6 rows": Fact.of(Note.MISSING, cells=4, incomplete=3, rows=6),
    "4 cells are missing, in 3 of 6 rows; 2 rows were left out": Fact.of(
        Note.ROWS_LEFT_OUT, cells=4, incomplete=3, rows=6, left_out=2
    ),
    "each covariance is that of the rows that have both columns, 7 to 9 rows; n = 7.5 is the harmonic mean of these": (
        Fact.of(Note.PAIRWISE, fewest=7.0, most=9.0, n=7.5)
    ),
    "an eigenvalue of the correlations was -0.2, so they were changed by up to 0.1": Fact.of(
        Note.REPAIRED, eigenvalue=-0.2, change=0.1
    ),
    "the moments maximise the Gaussian likelihood of all 60 rows that have a value (EM, 12 iterations)": Fact.of(
        Note.EM, rows=60, iterations=12, step=1e-10
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
