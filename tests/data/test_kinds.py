"""Kinds of columns: the rules, what the user says instead, levels and their codes, whatever the source."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acyclic
from acyclic.data.kinds import find_rare
from acyclic.data.table import Table, encode, read_table
from acyclic.errors import InputError
from acyclic.facts import Note
from acyclic.types import Kind

RNG = np.random.default_rng(8)
N = 120
X = RNG.standard_normal(N)
COLOUR = np.array(["red", "blue", "green"])[np.arange(N) % 3]
ANSWER = np.array(["yes", "no"])[np.arange(N) % 2]
FRAME = pd.DataFrame(
    {"x": X, "colour": COLOUR, "visits": RNG.poisson(7, N), "answer": ANSWER, "grade": np.arange(N) % 4}
)
POLARS = pl.DataFrame(FRAME.to_dict("list"))
KINDS = (Kind.CONTINUOUS, Kind.CATEGORICAL, Kind.COUNT, Kind.CATEGORICAL, Kind.CATEGORICAL)
LEVELS = {"colour": ("blue", "green", "red"), "answer": ("no", "yes"), "grade": ("0", "1", "2", "3")}


def noted(table):
    return {(note.kind, *note.about) for note in table.notes}


SOURCES = {
    "pandas": lambda folder: FRAME,
    "categories": lambda folder: FRAME.astype({"colour": "category", "answer": "category"}),
    "polars": lambda folder: POLARS,
    "lazy": lambda folder: POLARS.lazy(),
    "lazy categories": lambda folder: POLARS.lazy().with_columns(pl.col("colour").cast(pl.Categorical)),
    "objects": lambda folder: FRAME.to_numpy(dtype=object),
    "csv": lambda folder: FRAME.to_csv(folder / "t.csv", index=False) or folder / "t.csv",
    "parquet": lambda folder: POLARS.write_parquet(folder / "t.parquet") or folder / "t.parquet",
}


@pytest.mark.parametrize("kind", SOURCES)
def test_kinds_levels_and_digest_are_those_of_the_content(kind, tmp_path):
    names = {"names": list(FRAME)} if kind == "objects" else {}
    table, expected = read_table(SOURCES[kind](tmp_path), **names), read_table(FRAME)
    assert (table.kinds, table.levels, table.digest) == (KINDS, LEVELS, expected.digest)
    assert table.codings == expected.codings and table.notes == expected.notes
    for name in ("colour", "answer"):
        assert [table.levels[name][code] for code in table.codes(name)] == FRAME[name].tolist()
    np.testing.assert_array_equal(table.rows()[:, [0, 2, 4]], FRAME[["x", "visits", "grade"]])


@pytest.mark.parametrize("size", [64, 700])
@pytest.mark.parametrize("parser", ["polars", "pandas"])
def test_levels_that_show_late_in_a_file_are_found(size, parser, tmp_path, monkeypatch):
    if parser == "pandas":
        monkeypatch.setitem(__import__("sys").modules, "polars", None)
    monkeypatch.setattr("acyclic.data.text._CHUNK_BYTES", size)
    frame = pd.DataFrame({"c": ["a", "b"] * 250 + ["late", "later"] * 5, "x": np.arange(510) / 7, "d": "k"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table, expected = read_table(tmp_path / "t.csv"), read_table(frame)
    assert table.levels == {"c": ("a", "b", "late", "later")} and table.digest == expected.digest
    assert (Note.ONE_LEVEL, "d") in noted(table) and table.notes == expected.notes


def test_numbers_stay_as_they_are_in_the_rows():
    rows = np.column_stack([X, np.where(X > 0, 7.5, -2.0), np.arange(N) % 3])
    table = read_table(rows)
    np.testing.assert_array_equal(table.rows(), rows)
    assert table.kinds == (Kind.CONTINUOUS, Kind.CATEGORICAL, Kind.CATEGORICAL)
    assert table.levels == {"x1": ("-2", "7.5"), "x2": ("0", "1", "2")}
    np.testing.assert_array_equal(table.codes("x1"), X > 0)
    told = read_table(rows, kinds={"x1": "continuous", "x2": "continuous"})
    assert told.moments == table.moments and told.kinds == (Kind.CONTINUOUS,) * 3 and not told.codings
    assert told.digest != table.digest
    assert acyclic.learn(rows, method="order-search").graph == acyclic.learn(told, method="order-search").graph


def test_codes_follow_rows_and_units():
    table = read_table(FRAME)
    drawn = table.resampled(np.random.default_rng(1))
    chosen = drawn._origin._positions
    for name in LEVELS:
        codes = table.codes(name)
        np.testing.assert_array_equal(drawn.codes(name), codes[chosen])
        np.testing.assert_array_equal(table.select(["x", name]).codes(name), codes)
        np.testing.assert_array_equal(table.standardized().codes(name), codes)
        np.testing.assert_array_equal(table.scaled([1.0, -3.0, 2.0, -1.0, 1e-3]).codes(name), codes)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(table)).codes(name), codes)
    assert table.select(["grade", "x"]).kinds == (Kind.CATEGORICAL, Kind.CONTINUOUS)


def test_codes_in_other_units_of_the_table():
    tiny = read_table(np.column_stack([X * 1e-200, np.where(X > 0, 1e-200, 0.0), np.exp(X)]), log=["x2"])
    assert tiny.exponents is not None
    np.testing.assert_array_equal(tiny.codes("x1"), X > 0)
    logged = read_table(np.column_stack([X, np.where(X > 0, 3.0, 1.0)]), log=["x1"])
    np.testing.assert_array_equal(logged.codes("x1"), X > 0)


def test_rare_levels_are_pooled_and_noted():
    cells = ["common"] * 60 + ["usual"] * 40 + ["odd"] * 3 + ["rare"] * 2
    table = read_table(pd.DataFrame({"c": cells, "x": np.arange(105.0) / 7}))
    assert table.levels["c"] == ("common", "usual", "other") and table.codings["c"].pooled == ("odd", "rare")
    (note,) = [note for note in table.notes if note.kind is Note.POOLED]
    assert (note["count"], note["rows"], note["level"]) == (2, 5, "other")
    assert np.bincount(table.codes("c")).tolist() == [60, 40, 5]
    taken = read_table(pd.DataFrame({"c": ["other"] * 60 + cells, "x": np.arange(165.0) / 7}))
    assert len(set(taken.levels["c"])) == 4


@given(st.dictionaries(st.text(max_size=2), st.integers(1, 3000), min_size=1, max_size=12))
def test_pooling_leaves_at_least_two_levels_or_none_pooled(counts):
    rare = find_rare(counts)
    assert len(rare) != 1 and (not rare or len(counts) - len(rare) >= 1)
    assert all(counts[level] <= min(counts[other] for other in counts if other not in rare) for level in rare)


LEFT_OUT = {
    "identifier": ([f"p{k}" for k in range(N)], Note.LEFT_OUT),
    "many levels": ([f"town{k % 24}{k % 7}" for k in range(20 * N)], Note.LEFT_OUT),
    "one level": (["red"] * N, Note.ONE_LEVEL),
    "mixed": (["12", "red", "13", "blue", "green", "teal"] * 20, Note.MIXED),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_no_category_is_left_out_with_a_note(what, tmp_path):
    cells, kind = LEFT_OUT[what]
    frame = pd.DataFrame({"t": cells, "x": RNG.standard_normal(len(cells))})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for table in (
        read_table(frame),
        read_table(tmp_path / "t.csv"),
        read_table(pl.DataFrame(frame.to_dict("list")).lazy()),
    ):
        assert table.names == ("x",) and (kind, "t") in noted(table)
    if kind in (Note.ONE_LEVEL, Note.MIXED):
        assert table.notes[0]["level"] == "red"
    if what in ("one level", "mixed"):
        told = read_table(frame, kinds={"t": "categorical"})
        assert told.levels["t"] == tuple(sorted(set(cells)))


def test_a_stray_word_names_column_and_level():
    for frame in (pd.DataFrame({"t": ["12", "13"] * 20 + ["red"], "x": 1.5}),):
        with pytest.raises(InputError, match=r"'t' holds 'red' in row 40.*kinds=\{'t': 'categorical'\}"):
            read_table(frame)
        assert read_table(frame, kinds={"t": "categorical"}).levels["t"] == ("12", "13", "red")


WRONG = {
    "unknown kind": ({"x": "categorial"}, r"did you mean 'categorical'"),
    "unknown column": ({"y": "count"}, "names 'y'"),
    "text as numbers": ({"colour": "continuous"}, "'colour' holds text such as 'blue'"),
    "fractions as counts": ({"x": "count"}, "'x' holds negative numbers"),
    "many levels": ({"x": "categorical"}, "'x' has 120 levels"),
    "text without order": ({"colour": "ordinal"}, r"kinds=\{'colour': 'blue<green<red'\}"),
    "order of others": ({"colour": "red<blue"}, "'colour' holds 'green' in row 2, which is none of its levels"),
    "order of numbers": ({"grade": "0<1<2<3"}, "'grade' holds numbers"),
    "level twice": ({"colour": "red<blue<red"}, "'colour' twice"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_said_of_a_column(what):
    kinds, message = WRONG[what]
    with pytest.raises(InputError, match=message):
        read_table(FRAME, kinds=kinds)


def test_order_is_told_or_declared():
    told = read_table(FRAME, kinds={"colour": "red<green<blue", "grade": "ordinal", "visits": "continuous"})
    assert told.kinds == (Kind.CONTINUOUS, Kind.ORDINAL, Kind.CONTINUOUS, Kind.CATEGORICAL, Kind.ORDINAL)
    assert told.levels == {"colour": ("red", "green", "blue"), "answer": ("no", "yes")}
    order = pd.CategoricalDtype(["red", "green", "blue"], ordered=True)
    enum = POLARS.with_columns(pl.col("colour").cast(pl.Enum(["red", "green", "blue"])))
    for frame in (FRAME.astype({"colour": order}), enum, enum.lazy()):
        table = read_table(frame)
        assert table.kinds[1] is Kind.ORDINAL and table.levels["colour"] == ("red", "green", "blue")
        np.testing.assert_array_equal(table.rows()[:, 1], told.rows()[:, 1])


def test_missing_cells_are_no_level():
    frame = FRAME.assign(colour=np.where(np.arange(N) % 10 == 0, None, COLOUR))
    table = read_table(frame, missing="drop-rows")
    assert table.levels["colour"] == LEVELS["colour"] and table.codes("colour").min() == 0
    # A level that only incomplete rows have is none.
    frame = FRAME.assign(colour=np.where(np.arange(N) < 9, "teal", COLOUR), x=np.where(np.arange(N) < 9, np.nan, X))
    assert read_table(frame, missing="drop-rows").levels["colour"] == LEVELS["colour"]


def test_learners_that_see_numbers_only_refuse_nominal_columns_by_name():
    with pytest.raises(InputError, match=r"'colour' is a category.*ges cannot use.*drop=\['colour'\]"):
        acyclic.Ges().fit(FRAME)
    with pytest.raises(InputError, match="'grade' is a category"):
        acyclic.Ges().fit(read_table(FRAME, drop=["colour"], kinds={"grade": "categorical"}))
    model = acyclic.Ges().fit(FRAME.drop(columns="colour"))
    assert model.causal_graph_.names == ("x", "visits", "answer", "grade")
    assert model.transform(FRAME.drop(columns="colour")).shape == (N, 4)
    assert model.transform(FRAME.drop(columns="colour").iloc[:1]).shape == (1, 4)
    with pytest.raises(InputError, match="'answer' has the level 'maybe'"):
        model.transform(FRAME.drop(columns="colour").assign(answer="maybe"))


def test_new_rows_get_the_numbers_of_the_old():
    table = read_table(FRAME)
    new = FRAME.iloc[[5, 3]].assign(x=np.nan)[["grade", "colour", "answer", "visits", "x"]]
    rows = encode(new, table.codings, table.names)
    np.testing.assert_array_equal(rows[:, 1:], table.rows()[[5, 3], 1:])
    assert np.isnan(rows[:, 0]).all()
    np.testing.assert_array_equal(encode(table, table.codings), table.rows())
    for name, level in (("colour", "teal"), ("grade", 9)):
        with pytest.raises(InputError, match=f"'{name}' has the level '{level}'"):
            encode(FRAME.assign(**{name: level}), table.codings, table.names)
    with pytest.raises(InputError, match="no column 'colour'"):
        encode(FRAME[["x"]], table.codings, table.names)
    truth = read_table(pd.DataFrame({"b": np.arange(N) % 2 == 0, "x": X}))
    assert encode(pd.DataFrame({"b": [1, 0], "x": [0.5, 1.5]}), truth.codings).tolist() == [[1.0, 0.5], [0.0, 1.5]]


def test_results_tell_kinds_and_levels(tmp_path):
    result = acyclic.learn(FRAME, drop=["colour"])
    result.save(tmp_path / "r.json")
    again = acyclic.load(tmp_path / "r.json")
    assert again.kinds == result.kinds == (KINDS[0], *KINDS[2:])
    assert again.levels == {name: LEVELS[name] for name in ("answer", "grade")}
    result.report(tmp_path / "r.html")
    assert "&#x27;answer&#x27; (no, yes)" in (tmp_path / "r.html").read_text()
    text = (tmp_path / "r.json").read_text()
    for wrong in (text.replace('"continuous"', '"contnuous"'), text.replace('"answer": [', '"other": [')):
        with pytest.raises(InputError, match="not a result file"):
            type(result).from_json(wrong)


def test_the_representation_says_kinds():
    assert repr(Table.open(FRAME)).endswith("x, colour (3 levels), visits (count), answer (2 levels), …)")


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 12),
    st.floats(allow_nan=True, allow_infinity=False, width=16),
    st.sampled_from(["a", "b ", "", "NA", "1", "2,5", "true", "x y", "é", "2020-01-01"]),
)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=8), st.integers(1, 12), st.sampled_from([None, "told"]))
@settings(deadline=None, max_examples=150)
def test_odd_columns_are_read_or_refused(cells, times, told):
    kinds = {"kinds": {"x0": "categorical"}} if told else {}
    rows = [list(pair) for pair in cells] * times
    try:
        table = read_table(np.array(rows, dtype=object), missing="drop-rows", **kinds)
    except InputError:
        return
    assert len(table.kinds) == len(table.names)
    for name, levels in table.levels.items():
        codes = table.codes(name)
        assert set(codes.tolist()) == set(range(len(levels))) and len(set(levels)) == len(levels)
