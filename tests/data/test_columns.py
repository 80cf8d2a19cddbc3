import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic.data.columns import ColumnValues, column_notes
from acyclic.data.kinds import find_kinds
from acyclic.data.moments import Moments, as_moments
from acyclic.facts import Fact, Note
from acyclic.types import Kind

RNG = np.random.default_rng(20)


def noted(X, names=None):
    return [(note.kind, note.about) for note in column_notes(as_moments(X, names))]


def test_independent_columns_have_no_notes():
    for d in (1, 2, 40):
        assert noted(RNG.standard_normal((100, d)) * 10.0 ** RNG.integers(-6, 7, d)) == []


@pytest.mark.parametrize("value", [0.0, 0.1, -1e6 / 3, 1e15 / 7, 1e-200])
@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 3, 1000)])
def test_constant_columns(value, weights):
    X = np.column_stack([RNG.standard_normal(1000), np.full(1000, value)])
    moments = Moments.from_array(X, weights=weights)
    (note,) = column_notes(moments)
    assert (note.kind, note.about) == (Note.CONSTANT, ("x1",)) and note["value"] == pytest.approx(value, rel=1e-15)
    if weights is None:
        assert moments.covariance[1, 1] == 0


def test_a_small_variation_on_a_large_mean_is_not_constant():
    assert noted(1.7e9 + RNG.standard_normal((500, 1))) == []
    assert noted(1e12 + RNG.standard_normal((500, 1)) * 0.01) == []


def test_duplicates_are_linear_functions_of_one_earlier_column():
    celsius = RNG.standard_normal(60) * 8 + 15
    X = np.column_stack([celsius, RNG.standard_normal(60), 32 + 1.8 * celsius, -celsius])
    notes = column_notes(as_moments(X, ["C", "other", "F", "minus"]))
    assert [(note.kind, note.about) for note in notes] == [
        (Note.DUPLICATE, ("F", "C")),
        (Note.DUPLICATE, ("minus", "C")),
    ]
    assert (notes[0]["C"], notes[1]["C"]) == pytest.approx((1.8, -1.0))


def test_high_correlation_is_no_duplicate():
    x = RNG.standard_normal(200)
    assert noted(np.column_stack([x, x + 1e-4 * RNG.standard_normal(200)])) == []


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1.0, 1e-5])
def test_collinear_columns_are_named_with_their_relation(offset, scale):
    X = RNG.standard_normal((300, 6)) + offset
    X[:, 4] = 2 * X[:, 1] - 0.5 * X[:, 3]
    notes = column_notes(Moments.from_array(X * scale, list("abcdef")))
    assert len(notes) == 1 and notes[0].kind is Note.COLLINEAR
    assert set(notes[0].about) == {"b", "d", "e"}
    # Whichever of the three is told by the others, it is one relation.
    terms = dict(notes[0].values) | {notes[0].about[0]: -1.0}
    np.testing.assert_allclose(np.array([terms[name] for name in "bde"]) / terms["e"], [-2, 0.5, 1], rtol=1e-6)


def test_two_relations_and_a_constant_and_a_duplicate():
    X = RNG.standard_normal((200, 8))
    X[:, 2] = X[:, 0] + X[:, 1]
    X[:, 5] = X[:, 3] - X[:, 4]
    X[:, 6] = 1
    X[:, 7] = X[:, 0] * 3
    notes = noted(X)
    assert [kind for kind, _ in notes] == [Note.CONSTANT, Note.DUPLICATE, Note.COLLINEAR, Note.COLLINEAR]
    relations = {frozenset(about) for kind, about in notes if kind is Note.COLLINEAR}
    assert relations == {frozenset({"x0", "x1", "x2"}), frozenset({"x3", "x4", "x5"})}


@given(st.integers(2, 8), st.integers(0, 3), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_as_many_collinear_columns_as_the_rank_lacks(d, dependent, seed):
    rng = np.random.default_rng(seed)
    free = rng.standard_normal((60, d))
    X = np.column_stack([free, free @ rng.uniform(0.5, 2, (d, dependent))])[:, rng.permutation(d + dependent)]
    notes = column_notes(Moments.from_array(X))
    assert len(notes) == dependent
    for note in notes:
        column, *others = (int(name[1:]) for name in note.about)
        design = np.column_stack([X[:, others], np.ones(60)])
        residual = X[:, column] - design @ np.linalg.lstsq(design, X[:, column])[0]
        assert np.abs(residual).max() < 1e-6


@pytest.mark.parametrize(("n", "d"), [(5, 12), (8, 8), (300, 1000)])
def test_fewer_rows_than_columns_are_one_fact(n, d):
    (note,) = column_notes(Moments.from_array(RNG.standard_normal((n, d))))
    assert note.kind is Note.FEW_ROWS_COLLINEAR and len(note.about) == d - n + 1
    assert (note["rows"], note["columns"]) == (n, d)


def test_long_relations_name_all_columns_and_the_first_coefficients():
    X = RNG.standard_normal((100, 10))
    X[:, 9] = X[:, :9].sum(axis=1)
    (note,) = column_notes(Moments.from_array(X))
    assert len(note.about) == 10 and len(note.values) == 6


def test_only_constants():
    assert [kind for kind, _ in noted(np.ones((4, 3)))] == [Note.CONSTANT] * 3


def values_of(rows, pieces=1, weights=None):
    values = ColumnValues(tuple(f"x{column}" for column in range(rows.shape[1])))
    for part in np.array_split(np.arange(len(rows)), pieces):
        values.add(rows[part], None if weights is None else weights[part])
    return values


def kinds_of(values, **given):
    rest = {"labels": {}, "booleans": frozenset(), "ordered": frozenset(), "told": {}} | given
    return find_kinds(values.names, values.seen(), [0.0] * len(values.names), rows=values.n_rows, **rest)


def test_codes_are_few_integers_in_many_rows():
    n = np.arange(100)
    rows = np.column_stack([n % 3, n % 11, n % 2 + 0.5, np.where(n > 98, 0.5, n % 2), n * 0 + 4, n, -(n % 2)]) * 1.0
    rows[::7, 0] = np.nan
    for pieces in (1, 3, 40):
        found = kinds_of(values_of(rows, pieces), booleans=frozenset(["x6"]))
        expected = ["categorical", "count", "categorical", "continuous", "continuous", "count", "categorical"]
        assert found.kinds == tuple(expected)
        assert list(found.notes) == [
            Fact.of(Note.BOOLEAN, "x6"),
            Fact.of(Note.CODES, "x0", count=3, listed="0, 1, 2"),
        ]
        assert found.codings["x2"].levels == ("0.5", "1.5")
    # With ten values in 49 rows each comes too seldom to be a category.
    assert kinds_of(values_of((np.arange(49.0) % 10)[:, None])).kinds == (Kind.CONTINUOUS,)


@pytest.mark.parametrize("cuts", [[20], [0, 1, 7, 7, 59], [60]])
def test_what_is_seen_of_parts_is_merged_into_what_is_seen_of_all(cuts):
    codes, labels = np.arange(60.0) % 7, np.arange(60.0) % 20
    rows = np.column_stack([RNG.standard_normal(60), codes, labels, codes == 3, np.where(codes == 1, -0.5, codes)])
    rows[5, 0], rows[17, 1] = np.nan, np.nan
    weights = RNG.integers(1, 4, 60).astype(float)
    names = ("x", "codes", "labels", "two", "mixed")
    whole, merged = ColumnValues(names, ["labels"]), ColumnValues(names, ["labels"])
    whole.add(rows, weights)
    for part, share in zip(np.split(rows, cuts), np.split(weights, cuts)):
        one = ColumnValues(names, ["labels"])
        one.add(part, share)
        merged.merge(one)
    assert merged.digest() == whole.digest() and merged.seen() == whole.seen()
    assert merged.n_rows == 60 and [one.counts is None for one in merged.seen()] == [True, False, False, False, True]


def test_a_part_of_zeros_and_an_order_of_parts_change_the_digest():
    parts = np.zeros((2, 1)), np.array([[0.0], [1.0]]), np.array([[2.0]])
    digests = set()
    for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2), (0, 2)):
        merged = ColumnValues(("x",))
        for at in order:
            one = ColumnValues(("x",))
            one.add(parts[at], None)
            merged.merge(one)
        digests.add(merged.digest())
    assert len(digests) == 5


def test_the_digest_is_that_of_the_values_whatever_the_blocks_layout_or_nan():
    rows = np.where(RNG.random((60, 3)) < 0.1, np.nan, RNG.standard_normal((60, 3)))
    weights = RNG.random(60) + 0.5
    expected = values_of(rows, weights=weights).digest()
    other_nan = np.where(np.isnan(rows), -np.nan, rows)
    for same in (np.asfortranarray(rows), other_nan, np.repeat(rows, 2, axis=1)[:, ::2]):
        assert values_of(same, pieces=7, weights=weights).digest() == expected
    changed = rows.copy()
    changed[59, 2] = np.nextafter(0.1, 1)
    different = {
        expected,
        values_of(changed, weights=weights).digest(),
        values_of(rows[::-1], weights=weights).digest(),
        values_of(rows, weights=weights + 1).digest(),
        values_of(rows).digest(),
        values_of(rows, weights=weights).digest(log=("x0",)),
        values_of(rows, weights=weights).digest(missing="em"),
    }
    assert len(different) == 7
