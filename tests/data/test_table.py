import datetime
import gzip
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from acyclic.data.columns import column_notes
from acyclic.data.moments import Moments
from acyclic.data.resampling import wishart
from acyclic.data.table import Kind, Table, read_table
from acyclic.errors import InputError, MissingExtraError
from acyclic.facts import Fact, NoRows, Note

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 3)) + np.array([0.0, 10.0, -1e4])
NAMES = ("a", "b", "c")
FRAME = pl.DataFrame(X, schema=list(NAMES))


def write(folder, content, name="t.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def assert_moments(moments, table):
    np.testing.assert_allclose(moments.mean, table.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(table.T, ddof=0), rtol=1e-9, atol=1e-12)
    assert moments.n == len(table)


def kinds(table):
    return [(note.kind, note.about[0] if note.about else "") for note in table.notes]


def source_of(kind, folder):
    """The same rows from every kind of source."""
    csv = FRAME.write_csv()
    if kind == "parquet folder":
        (folder / "deep").mkdir()
        FRAME[:25].write_parquet(folder / "0.parquet")
        FRAME[25:].write_parquet(folder / "deep" / "1.parquet")
        return folder
    if kind == "parquet":
        FRAME.write_parquet(folder / "t.parquet")
        return folder / "t.parquet"
    if kind == "arrow":
        return pytest.importorskip("pyarrow").table(dict(zip(NAMES, X.T)))
    if kind == "dask":
        dask = pytest.importorskip("dask.dataframe")
        return dask.from_pandas(pd.DataFrame(X, columns=list(NAMES)), npartitions=4)
    return {
        "pandas": lambda: pd.DataFrame(X, columns=list(NAMES)),
        "narwhals": lambda: nw.from_native(FRAME),
        "polars": lambda: FRAME,
        "lazy": lambda: FRAME.lazy(),
        "objects": lambda: pd.DataFrame(X.astype(object), columns=list(NAMES)),
        "csv": lambda: write(folder, csv),
        "csv as str path": lambda: str(write(folder, csv)),
        "crlf": lambda: write(folder, csv.replace("\n", "\r\n")),
        "old mac": lambda: write(folder, csv.replace("\n", "\r")),
        "no last newline": lambda: write(folder, csv.rstrip("\n")),
        "blank lines": lambda: write(folder, "\n" + csv.replace("\n", "\n\n")),
        "quoted": lambda: write(folder, FRAME.write_csv(quote_style="always")),
        "spaces": lambda: write(folder, csv.replace(",", " , ")),
        "semicolon": lambda: write(folder, csv.replace(",", ";"), "t.txt"),
        "bar": lambda: write(folder, csv.replace(",", "|"), "t.txt"),
        "tsv": lambda: write(folder, csv.replace(",", "\t"), "T.TSV"),
        "gz": lambda: write(folder, gzip.compress(csv.encode()), "t.csv.gz"),
        "gz without suffix": lambda: write(folder, gzip.compress(csv.encode())),
        "bom": lambda: write(folder, b"\xef\xbb\xbf" + csv.encode()),
    }[kind]()


SOURCES = [
    *(
        "pandas",
        "narwhals",
        "polars",
        "lazy",
        "objects",
        "arrow",
        "dask",
        "parquet",
        "parquet folder",
        "csv",
        "csv as str path",
    ),
    *("crlf", "old mac", "no last newline", "blank lines", "quoted", "spaces", "semicolon", "bar", "tsv", "gz"),
    *("gz without suffix", "bom"),
]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("size", [1 << 20, 64])
def test_every_source_gives_the_same_table(kind, size, tmp_path, monkeypatch):
    monkeypatch.setattr("acyclic.data.sources._BLOCK_VALUES", size)
    monkeypatch.setattr("acyclic.data.text._CHUNK_BYTES", size)
    table = read_table(source_of(kind, tmp_path))
    expected = read_table(X, names=NAMES)
    assert table.names == table.moments.names == NAMES and table.n_rows == 60
    assert_moments(table.moments, X)
    assert expected.moments == Moments.from_array(X, NAMES)
    # Sums of partitions are merged, all other rows are summed in blocks of one size.
    assert kind == "dask" or table.moments == expected.moments
    assert (table.digest, table.notes, table.kinds) == (expected.digest, (), expected.kinds)
    np.testing.assert_array_equal(table.rows(), X)
    assert table.rows().flags.c_contiguous and not table.rows().flags.writeable and table.rows() is table.rows()


@pytest.mark.parametrize("kind", ["array", *(kind for kind in SOURCES[:12] if kind != "dask"), "gz"])
def test_blocks_of_rows_change_no_bit(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("acyclic.data.moments._BLOCK_VALUES", 23)
    expected = read_table(X, names=NAMES).moments
    assert_moments(expected, X)
    monkeypatch.setattr("acyclic.data.sources._BLOCK_VALUES", 12)
    monkeypatch.setattr("acyclic.data.text._CHUNK_BYTES", 100)
    options = {"names": NAMES} if kind == "array" else {}
    assert read_table(X if kind == "array" else source_of(kind, tmp_path), **options).moments == expected


WHOLE = RNG.integers(-3, 4, size=(60, 3))


@pytest.mark.parametrize(
    "same",
    [
        WHOLE,
        WHOLE.astype(np.int8),
        WHOLE.astype(np.float32),
        WHOLE.astype(">f8"),
        WHOLE.astype(object),
        np.asfortranarray(WHOLE.astype(float)),
        np.repeat(WHOLE.astype(float), 2, axis=1)[:, ::2],
        WHOLE.tolist(),
        pd.DataFrame(WHOLE.astype(np.float32), columns=["x0", "x1", "x2"]),
        pl.DataFrame(WHOLE, schema=["x0", "x1", "x2"]),
        pl.LazyFrame(WHOLE.astype(np.int16), schema=["x0", "x1", "x2"]),
    ],
)
def test_type_and_layout_of_numbers_change_nothing(same):
    table, expected = Table.open(same), Table.open(WHOLE.astype(float))
    assert (table.moments, table.digest, table.notes) == (expected.moments, expected.digest, expected.notes)
    assert table.kinds == (Kind.CATEGORICAL,) * 3 and table.codings == expected.codings and len(table.notes) == 3
    np.testing.assert_array_equal(table.rows(), WHOLE)


def test_an_array_of_booleans_is_boolean():
    table = read_table(WHOLE > 0)
    assert set(table.kinds) == {Kind.CATEGORICAL} and set(table.levels.values()) == {("false", "true")}
    assert table.notes == tuple(Fact.of(Note.BOOLEAN, f"x{column}") for column in range(3))


def test_a_table_stays_the_same_object():
    table = Table.open(X, names=NAMES)
    assert Table.open(table) is table is read_table(table, missing="".join(["err", "or"]))
    with pytest.raises(InputError, match="read already; say columns, standardize where it is read"):
        Table.open(table, columns=["a"], standardize=True)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"log": ["x0"]},
        {"log": ["x0", "x1"]},
        {"standardize": True},
        {"log": ["x0"], "standardize": True},
        {"weights": np.ones(60)},
        {"weights": np.arange(60)},
        {"columns": ["x1", "x0"]},
        {"names": ["a", "b"]},
    ],
)
def test_equal_digests_mean_equal_tables(options):
    positive = np.abs(X[:, :2]) + 1
    table = read_table(positive, **options)
    assert table.digest == read_table(positive.tolist(), **options).digest
    plain = {read_table(positive, **other).digest for other in ({}, {"missing": "em"}, {"drop": []})}
    assert len(plain) == 1 and (table.digest in plain) == (not options)


def test_what_is_done_about_missing_cells_is_in_the_digest_where_there_are_some():
    holes = np.where(RNG.random((60, 3)) < 0.1, np.nan, X)
    digests = {read_table(holes, missing=policy).digest for policy in ("drop-rows", "pairwise", "em", "impute")}
    assert len(digests) == 4


def test_a_file_is_parsed_once(tmp_path, monkeypatch):
    from acyclic.data.text import TextSource

    parsed = []
    blocks = TextSource.blocks
    monkeypatch.setattr(TextSource, "blocks", lambda self, columns: parsed.append(1) or blocks(self, columns))
    table = read_table(write(tmp_path, FRAME.write_csv()), log=["b"])
    expected = X.copy()
    expected[:, 1] = np.log(expected[:, 1])
    for _ in range(2):
        np.testing.assert_array_equal(table.rows(), expected)
    assert len(parsed) == 1
    monkeypatch.setattr("acyclic.data.reading._KEPT_VALUES", X.size - 1)
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.rows(), X)
    assert table.rows() is table.rows() and len(parsed) == 3


def test_an_array_is_not_copied_before_its_rows_are_asked_for():
    from acyclic.data.sources import ArraySource

    values = X.copy()
    (rows, _), *_ = ArraySource.open(values, NAMES).blocks(NAMES)
    assert np.shares_memory(rows, values)
    table = read_table(values)
    rows = table.rows()
    values[0, 0] = 9.0
    np.testing.assert_array_equal(rows, X)
    changed = read_table(values)
    values[0, 0] = 8.0
    with pytest.raises(InputError, match="changed since"):
        changed.rows()


NO_ROWS = {
    NoRows.MOMENTS_ONLY: lambda: read_table(Moments.from_array(X)),
    NoRows.WEIGHTED: lambda: read_table(X, weights=np.ones(60)),
    NoRows.INCOMPLETE: lambda: read_table(np.where(np.arange(180).reshape(60, 3) == 7, np.nan, X), missing="em"),
}


@pytest.mark.parametrize("kind", NO_ROWS)
def test_why_there_are_no_rows(kind):
    table = NO_ROWS[kind]()
    for each in (table, table.standardized(), table.scaled([1, 2, 3])):
        assert each.why_no_rows.kind is kind and not each.has_rows
        with pytest.raises(InputError):
            each.rows()
    with pytest.raises(InputError, match="cross-validation needs rows"):
        table.folds(2, np.random.default_rng(0))
    for drawn, n in ((table.resampled, table.moments.n), (table.halved, table.moments.n / 2)):
        draw = drawn(np.random.default_rng(3))
        assert draw.moments.n == n and draw.moments == wishart(table.moments, n, np.random.default_rng(3))


def test_long_tables_have_no_rows_unless_the_limit_is_raised(monkeypatch):
    monkeypatch.setattr("acyclic.data.reading.ROWS_LIMIT", 179)
    table = read_table(X)
    assert table.why_no_rows == Fact.of(NoRows.TOO_LARGE, rows=60, columns=3, limit=179)
    np.testing.assert_array_equal(table.rows(limit=180), X)
    with pytest.raises(InputError, match="more than the limit of 100 values"):
        table.rows(limit=100)


@pytest.mark.parametrize("kind", ["polars", "csv"])
def test_draws_are_weighted_moments_and_the_rows_drawn(kind, tmp_path):
    table = read_table(source_of(kind, tmp_path))
    for drawn, positions in (
        (table.resampled(np.random.default_rng(5)), np.random.default_rng(5).integers(60, size=60)),
        (table.halved(np.random.default_rng(5)), np.sort(np.random.default_rng(5).permutation(60)[:30])),
    ):
        counts = np.bincount(positions, minlength=60)
        assert drawn.moments == Moments.from_array(X, NAMES, counts)
        np.testing.assert_array_equal(drawn.rows(), X[positions])
        assert_moments(drawn.moments, drawn.rows())
        assert (drawn.names, drawn.n_rows, drawn.kinds) == (NAMES, len(positions), table.kinds)
        assert drawn.notes == () and drawn.digest not in (
            table.digest,
            table.resampled(np.random.default_rng(6)).digest,
        )
        copy = pickle.loads(pickle.dumps(drawn))
        assert (copy.moments, copy.digest) == (drawn.moments, drawn.digest)


def test_draws_know_how_often_they_repeat_their_rows():
    table, rng = read_table(X), np.random.default_rng(5)
    drawn = table.resampled(rng)
    _, counts = np.unique(drawn.rows(), axis=0, return_counts=True)
    assert table.repeats == table.halved(rng).repeats == 1
    assert drawn.repeats == (counts**2).sum() / 60
    assert drawn.standardized().repeats == drawn.select(["x0", "x2"]).repeats == drawn.repeats
    # Half of the rows of a draw hold half of the repetitions.
    assert drawn.halved(rng).repeats > 1
    many = read_table(np.random.default_rng(0).normal(size=(20_000, 2))).resampled(rng)
    # A row that was drawn is there 1 + Poisson(1) times; a draw of a draw adds one more. The deviation is about 1/100.
    assert many.repeats == pytest.approx(2, abs=0.05) and many.resampled(rng).repeats == pytest.approx(3, abs=0.1)


def test_draws_leave_out_the_rows_that_were_left_out():
    holes = np.where(np.arange(180).reshape(60, 3) % 50 == 0, np.nan, X)
    complete = X[~np.isnan(holes).any(axis=1)]
    table = read_table(holes, missing="drop-rows")
    assert table.moments == Moments.from_array(complete) and table.n_rows == 60
    np.testing.assert_array_equal(table.rows(), complete)
    positions = np.random.default_rng(1).integers(len(complete), size=len(complete))
    np.testing.assert_array_equal(table.resampled(np.random.default_rng(1)).rows(), complete[positions])


def test_folds_together_are_the_table():
    parts = read_table(X[:59]).folds(4, np.random.default_rng(0))
    assert sorted(part.n for part in parts) == [14, 15, 15, 15]
    assert_moments(Moments.merged(parts), X[:59])
    with pytest.raises(InputError, match="folds = 31; give a number from 2 to 30"):
        read_table(X).folds(31, np.random.default_rng(0))


def test_other_units_of_a_table_are_other_units_of_its_rows():
    values = np.column_stack([X, np.full(60, 0.1), 2 * X[:, 0] + 1])
    table, factors = read_table(values), [2.0, -1.0, 1e-3, 5.0, 1.0]
    scaled = table.scaled(factors)
    assert scaled.moments == table.moments.scaled(factors)
    np.testing.assert_array_equal(scaled.rows(), values * factors)
    assert [(note.kind, note.about) for note in scaled.notes] == [(note.kind, note.about) for note in table.notes]
    assert scaled.notes[1]["x0"] == pytest.approx(table.notes[1]["x0"] / 2)
    standard = scaled.standardized()
    assert standard.moments == scaled.moments.standardized()
    np.testing.assert_allclose(standard.rows().T @ standard.rows() / 60, standard.moments.covariance, atol=1e-12)
    assert len({each.digest for each in (table, scaled, standard, table.standardized(), table.scaled([3.0] * 5))}) == 5
    for factor in ([1.0], [0.0] * 5):
        with pytest.raises(InputError, match="5 finite numbers other than 0"):
            table.scaled(factor)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "csv", "parquet"])
def test_a_pickled_table_carries_its_rows(kind, tmp_path):
    table = read_table(source_of(kind, tmp_path), standardize=True)
    stored = pickle.dumps(table)
    for path in tmp_path.iterdir():
        path.unlink()
    copy = pickle.loads(stored)
    assert (copy.moments, copy.digest, copy.notes) == (table.moments, table.digest, table.notes)
    np.testing.assert_array_equal(copy.rows(), table.rows())


@pytest.mark.parametrize("kind", ["csv", "blank lines", "quoted", "semicolon", "gz", "bom"])
def test_pandas_reads_text_if_polars_is_missing(kind, tmp_path, monkeypatch):
    source = source_of(kind, tmp_path)
    monkeypatch.setitem(sys.modules, "polars", None)
    table = read_table(source)
    assert_moments(table.moments, X)
    assert table.digest == read_table(X, names=NAMES).digest


def test_files_need_the_extra_if_nothing_can_read_them(tmp_path, monkeypatch):
    FRAME.write_parquet(tmp_path / "t.parquet")
    path = write(tmp_path, FRAME.write_csv())
    for name in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    for source in (path, tmp_path / "t.parquet"):
        with pytest.raises(MissingExtraError, match=r"acyclic\[files\]"):
            read_table(source)


@pytest.mark.slow
def test_importing_loads_no_table_library():
    code = "import sys, acyclic.data.table; assert not {'polars', 'pandas', 'dask', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def text(lines):
    return "\n".join(lines) + "\n"


GOOD = "a,b\n1,2\n2,1\n3,5\n"

# name of the file, its content, options, what the error must say
BROKEN_FILES = {
    "empty": ("t.csv", "", {}, "t.csv is empty"),
    "blank lines only": ("t.csv", "\n\n\n", {}, "t.csv is empty"),
    "header only": ("t.csv", "a,b\n", {}, r"0 sample\(s\) \(rows\); at least 2"),
    "one row": ("t.csv", "a,b\n1,2\n", {}, r"1 sample\(s\) \(rows\); at least 2"),
    "missing file": (None, "", {}, "there is no file"),
    "wrong suffix": ("t.xlsx", GOOD, {}, r"no .xlsx file: it begins with b'a,b.*give a text file"),
    "binary": ("t.csv", bytes(range(256)), {}, "binary file"),
    "half of a UTF-16 character": ("t.csv", GOOD.encode("utf-16")[:-1], {}, "t.csv is not utf-16"),
    "latin-1 in a cell": ("t.csv", b"a,b\n1,2\n3,\xe9\n", {}, "holds 'é' in line 3"),
    "not the encoding said": ("t.csv", b"a,b\n1,2\n3,\xe9\n", {"encoding": "ascii"}, "t.csv is not ascii"),
    "unknown encoding": ("t.csv", GOOD, {"encoding": "utf-99"}, "encoding 'utf-99' is unknown"),
    "broken gzip": ("t.csv.gz", gzip.compress(GOOD.encode() * 99)[:-20], {}, "t.csv.gz cannot be read"),
    "all numbers in the first line": ("t.csv", "1,2\n2,1\n3,5\n", {}, "all numbers; say header=True if"),
    "unnamed column": ("t.csv", ",a\n0,2\n1,5\n2,3\n", {"strict": True}, r"'' has no name .*drop=\[''\]"),
    "short line": ("t.csv", "a,b\n1,2\n3\n4,5\n", {}, "line 3 of .*t.csv has 1 fields, but there are 2 columns"),
    "short line, missing cells welcome": (
        "t.csv",
        "a,b\n1,2\n3\n4,5\n",
        {"missing": "em"},
        "line 3 of .* has 1 fields",
    ),
    "short line in quotes": (
        "t.csv",
        'a,b,c\n1,2,"x,y"\n3,4\n',
        {"drop": ["c"], "missing": "em"},
        "line 3 of .* 2 fields",
    ),
    "long line": ("t.csv", "a,b\n1,2\n\n3,4,5\n", {}, "line 4 of .* has 3 fields"),
    "short and long": ("t.csv", "a,b\n1,2\n3\n3,4,5\n", {"missing": "em"}, "line 3 of .* has 1 fields"),
    "line beyond a quoted line end": ("t.csv", 'a,b\n1,"x\ny"\n3,z\n4\n', {"drop": ["b"]}, "line 5 of .* 1 fields"),
    "quote without end": ("t.csv", 'a,b\n1,"2\n3,4\n5,6\n', {}, "quote without end, in line 2"),
    "text": (
        "t.csv",
        "a,city\n1,Paris\n2,Rome\n",
        {"strict": True},
        r"'city' holds text, first 'Paris' in line 2.*drop=\['city'\]",
    ),
    "dates": (
        "t.csv",
        "a,when\n1,2020-01-31\n2,2020-02-01\n",
        {"strict": True},
        "'when' holds dates or times, first '2020-01-31' in line 2",
    ),
    "text that was asked for": ("t.csv", "a,city\n1,Paris\n2,Rome\n", {"columns": ["a", "city"]}, "'city' holds text"),
    "text only": ("t.csv", "city,land\nParis,France\nRome,Italy\n", {}, "not numbers: 'city' holds text"),
    "stray mark": ("t.csv", "a,b\n1,2\n3,??\n4,-\n", {}, r"'b' of .* holds '\?\?' in line 3 .*null_values=\['\?\?'\]"),
    "stray dash": ("t.csv", "a,b\n1,-\n3,4\n4,5\n", {}, "holds '-' in line 2"),
    "two decimal marks": (
        "t.csv",
        "a;b\n1,5;2\n2,5;3\n3.5;4\n",
        {},
        "holds '3.5' in line 4 among numbers like '1,5'; wr",
    ),
    "another mark than said": ("t.csv", "a;b\n1,5;2\n2;3\n", {"decimal": "."}, "holds '1,5' in line 2 among numbers"),
    "per cent and none": ("t.csv", "a,b\n1%,2\n2%,3\n0.03,4\n", {}, "holds '0.03' in line 4 .* like '1%'; write all"),
    "two currencies": ("t.csv", "a,b\n$1,2\n$2,3\n€3,4\n", {}, "holds '€3' in line 4 .* like '\\$1'; write all"),
    "underscore": ("t.csv", "a,b\n1_000,2\n2,3\n", {}, "holds '1_000' in line 2"),
    "numbers that are no numbers": (
        "t.csv",
        "a,b\n1,red\n" + "2,blue\n" * 300 + "3,red\n",
        {"kinds": {"b": "continuous"}},
        "'b' holds text such as 'blue', so it is not continuous",
    ),
    "text in numbers": ("t.csv", "a,b\n1,1.5\n" + "2,2.5\n" * 300 + "3,maybe\n", {}, "holds 'maybe' in line 303"),
    "infinity": ("t.csv", "a,b\n1,2\n3,-inf\n4,1\n", {}, r"infinite.*'b' \(first in line 3\)"),
    "beyond floats": ("t.csv", "a,b\n1,2\n3,1e999\n4,1\n", {}, r"beyond the range.*'b' \(first in line 3\)"),
    "missing cell": (
        "t.csv",
        "a,b\n1,2\n\n3,\n,1\n",
        {},
        r"'a' \(first in line 5\), 'b' \(first in line 4\); say missing",
    ),
    "NA": ("t.csv", "a,b\n1,2\nNA,5\n", {}, r"missing \(NaN or null\): 'a' \(first in line 3\)"),
    "column without values": ("t.csv", "a,b\n1,\n3,\n4,\n", {"missing": "em"}, r"'b' has 0 value\(s\); drop=\['b'\]"),
    "logarithm of zero": ("t.csv", "a,b\n1,2\n3,0\n4,1\n", {"log": ["b"]}, "'b' is 0 in line 3: only values above 0"),
    "negative weight": ("t.csv", "a,w\n1,2\n3,-1\n4,1\n", {"weights": "w"}, "weight of line 3 is -1.0"),
    "long separator": ("t.csv", GOOD, {"separator": "::"}, "separator is '::'; give one ASCII character"),
    "odd decimal mark": ("t.csv", GOOD, {"decimal": "'"}, "decimal is \"'\"; give '.' or ','"),
    "nulls as one string": ("t.csv", GOOD, {"null_values": [5]}, "null_values has to be text, or a list of names"),
    "too few names": ("t.csv", GOOD, {"names": ["q"]}, "1 names were given for 2 nodes"),
    "parquet that is not": ("t.parquet", GOOD, {}, "no .parquet file: it begins with b'a,b"),
    "broken parquet": ("t.parquet", b"PAR1" + bytes(40), {}, "cannot be read as a table"),
    "folder without tables": ("sub/t.csv", GOOD, {}, "folder without .parquet files"),
    "text option for parquet": ("u.parquet", None, {"separator": ";"}, "for text files only"),
}


@pytest.mark.parametrize("parser", ["polars", "pandas"])
@pytest.mark.parametrize("case", BROKEN_FILES)
def test_broken_file(case, parser, tmp_path, monkeypatch):
    name, content, options, message = BROKEN_FILES[case]
    path = tmp_path / (name or "nowhere.csv")
    path.parent.mkdir(exist_ok=True)
    if content is None:
        FRAME.write_parquet(path)
    elif name:
        write(path.parent, content, path.name)
    if parser == "pandas":
        if path.suffix == ".parquet":
            pytest.skip("only Polars reads Parquet")
        monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match=message):
        read_table(path.parent if case == "folder without tables" else path, **options)


TODAY = datetime.datetime(2020, 1, 31)
BROKEN_FRAMES = {
    "text": (
        lambda: pd.DataFrame({"a": [1, 2], "s": ["x", "y"]}),
        {"strict": True},
        r"'s' holds text, first 'x' in row 0; .*drop=\['s'\]",
    ),
    "lazy text": (
        lambda: pl.LazyFrame({"a": [1, 2], "s": ["x", "y"]}),
        {"strict": True},
        "'s' holds text, first 'x' in row 0",
    ),
    "stray text": (lambda: pl.DataFrame({"s": ["1", "-"], "a": [1, 2]}), {}, "'s' holds '-' in row 1, which is no num"),
    "stray object": (lambda: pd.DataFrame({"s": [1, "??"]}, dtype=object), {}, r"'s' holds '\?\?' in row 1"),
    "dates": (
        lambda: pd.DataFrame({"d": [TODAY] * 2, "a": [1, 2]}),
        {"strict": True},
        r"'d' holds dates or times \(Datetime",
    ),
    "durations": (lambda: pl.DataFrame({"d": [TODAY - TODAY] * 2}), {}, "'d' holds dates or times"),
    "categories": (lambda: pd.DataFrame({"k": pd.Categorical(["x", "y"])}), {}, "'k' holds Categorical"),
    "lists": (lambda: pl.DataFrame({"l": [[1], [2]]}), {}, "'l' holds List"),
    "complex": (lambda: pd.DataFrame({"z": [1j, 2.0]}), {}, "'z' holds Unknown"),
    "huge integer": (
        lambda: pd.DataFrame({"z": [10**400, 1]}),
        {},
        r"beyond the range of floats: 'z' \(first in row 0",
    ),
    "two names alike": (lambda: pd.DataFrame([[1, 2]] * 2, columns=["a", "a"]), {}, "cannot be read as a table"),
    "names alike as text": (lambda: pd.DataFrame([[1, 2]] * 2, columns=[1, "1"]), {}, "more than one node"),
    "no columns": (lambda: pd.DataFrame(index=[0, 1]), {}, "the table has no columns"),
    "no rows": (lambda: pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Float64, "b": pl.Float64}), {}, "0 sample"),
    "all null": (
        lambda: pl.DataFrame({"a": [1, 2], "b": [None, None]}),
        {},
        r"missing \(NaN or null\): 'b' \(first in row 0\)",
    ),
    "missing": (
        lambda: pl.DataFrame({"a": [1, None], "b": [1, 2]}),
        {},
        r"missing \(NaN or null\): 'a' \(first in row 1\)",
    ),
    "infinite": (lambda: pl.DataFrame({"a": [1.0, np.inf], "b": [1, 2]}), {"missing": "em"}, "infinite.*'a'"),
    "first row infinite": (
        lambda: pl.DataFrame({"a": [np.inf, 1.0]}),
        {"missing": "em"},
        r"infinite.*'a' \(first in row 0",
    ),
    "series": (lambda: pd.Series([1, 2]), {}, r"Series of shape \(2,\) is no table"),
    "mapping of columns of different lengths": (lambda: {"a": [1, 2], "b": [1]}, {}, "differ in length"),
    "mapping of numbers": (lambda: {"a": 1, "b": 2}, {}, "differ in length, or are none"),
    "empty mapping": (dict, {}, "differ in length, or are none"),
    "mapping with other names": (lambda: {"a": [1, 2]}, {"names": ["b"]}, "names are for arrays"),
    "nothing": (lambda: None, {}, r"NoneType of shape \(\) is no table"),
    "ragged lists": (lambda: [[1, 2], [3]], {}, "differ in length"),
    "flat array": (lambda: np.arange(4.0), {}, r"shape \(4,\) is no table"),
    "no columns in array": (lambda: np.ones((4, 0)), {}, r"shape \(4, 0\) is no table"),
    "text array": (lambda: np.array([["a", "b"]]), {}, "the array holds <U1"),
    "complex array": (lambda: np.array([[1j]]), {}, "the array holds complex128"),
    "objects": (lambda: np.array([[1, "x"], [2, 3]], dtype=object), {}, "'x1' holds 'x' in row 0"),
    "sparse": (lambda: sparse.eye_array(3), {}, r"sparse; pass table.toarray\(\)"),
    "NaN in array": (lambda: np.array([[1, np.nan], [2, 3]]), {}, r"'x1' \(first in row 0\)"),
    "unknown column": (lambda: FRAME, {"columns": ["a", "q"]}, r"columns names 'q'; the columns are 'a', 'b', 'c'"),
    "unknown drop": (lambda: FRAME, {"drop": ["q"]}, "drop names 'q'"),
    "drop as string": (lambda: FRAME, {"drop": "a"}, r"give a list, drop=\['a'\]"),
    "all dropped": (lambda: FRAME, {"drop": NAMES}, "no column is left"),
    "column listed twice": (lambda: FRAME, {"columns": ["a", "a"]}, "more than one node"),
    "unknown log": (lambda: FRAME, {"log": ["q"]}, "log names 'q'"),
    "log of negative": (lambda: FRAME, {"log": ["c"]}, "'c' is -.* in row 0"),
    "unknown policy": (lambda: FRAME, {"missing": "mean"}, "missing is 'mean'; give one of 'error'"),
    "unknown weights": (lambda: FRAME, {"weights": "w"}, "weights names 'w'; the columns are"),
    "weights too short": (lambda: FRAME, {"weights": [1.0] * 59}, "there is no weight for row 59"),
    "weights as text": (lambda: FRAME, {"weights": ["x"] * 60}, "weights must be numbers or the name of a column"),
    "weights as table": (lambda: FRAME, {"weights": X}, r"weights have shape \(60, 3\)"),
    "weights too long": (lambda: FRAME, {"weights": [1.0] * 61}, r"one weight per row, \(60,\)"),
    "weights normalised": (lambda: FRAME, {"weights": np.full(60, 1 / 60)}, "must not be normalised"),
    "text option": (lambda: FRAME, {"header": False}, "for text files only"),
    "names for a frame": (lambda: FRAME, {"names": NAMES}, "rename its columns"),
    "moments with log": (lambda: Moments.from_array(X), {"log": True}, "moments have no rows"),
}


@pytest.mark.parametrize("case", BROKEN_FRAMES)
def test_broken_frame(case):
    make, options, message = BROKEN_FRAMES[case]
    with pytest.raises(InputError, match=message):
        read_table(make(), **options)


def test_broken_lazy_query():
    with pytest.raises(InputError, match="LazyFrame cannot be read as a table"):
        read_table(FRAME.lazy().select("q"))
    late = pl.LazyFrame({"a": ["1"] * 900 + ["x"], "b": range(901)}).with_columns(pl.col("a").cast(pl.Float64))
    with pytest.raises(InputError, match="Polars could not read the table"):
        read_table(late)


def test_columns_are_chosen_ordered_and_transformed():
    frame = pl.DataFrame({"a": [1.0, 2.0, 4.0], "s": ["x", "y", "z"], "b": [3, 1, 7], "w": [1.0, 0.0, 2.0]})
    table = read_table(frame, columns=["b", "a", "w"], drop=["w"], log=["a"])
    assert table.moments.names == ("b", "a")
    assert_moments(table.moments, np.array([[3, 0], [1, np.log(2)], [7, np.log(4)]]))
    assert kinds(table) == [("dropped", "s"), ("dropped", "w"), ("log", "a")]
    np.testing.assert_allclose(table.rows(), [[3, 0], [1, np.log(2)], [7, np.log(4)]])


def test_numbers_of_every_type_are_read():
    polars = pl.DataFrame(
        {
            "tiny": pl.Series([1, None, 3, 5], dtype=pl.Int8),
            "big": pl.Series([1, 2, 3, 9], dtype=pl.UInt64),
            "single": pl.Series([0.5, 1, 2, 4], dtype=pl.Float32),
            "decimal": pl.Series(["1.5", "2", "0", "7"]).cast(pl.Decimal(10, 2)),
            "flag": [True, False, True, True],
        }
    )
    objects = [Fraction(1, 2), None, Decimal(2), np.float32(4)]
    pandas = pd.DataFrame(
        {
            0: pd.array([1, None, 3, 5], dtype="Int64"),
            "0.5": pd.array([True, None, False, True], dtype="boolean"),
            ("x", 1): pd.Series(objects, dtype=object),
        }
    )
    table = read_table(polars, missing="drop-rows")
    assert_moments(table.moments, np.array([[1, 1, 0.5, 1.5, 1], [3, 3, 2, 0, 1], [5, 9, 4, 7, 1]]))
    assert ("boolean", "flag") in kinds(table)
    table = read_table(pandas, missing="drop-rows")
    assert table.moments.names == ("0", "0.5", "('x', 1)")
    assert_moments(table.moments, np.array([[1, 1, 0.5], [3, 0, 2], [5, 1, 4]]))


def test_text_in_dask_is_refused_and_a_row_is_named_with_its_partition():
    dask = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": range(20), "s": ["x"] * 20, "b": [1.0] * 15 + [-1.0] * 5})
    frame = dask.from_pandas(frame, npartitions=2)
    with pytest.raises(InputError, match="'s' holds text, first 'x' in row 0"):
        read_table(frame, strict=True)
    with pytest.raises(InputError, match="'b' is -1 in row 5 of partition 1"):
        read_table(frame, drop=["s"], log=["b"])


def test_logarithms_of_all_columns():
    positive = np.exp(X / 1e4)
    assert_moments(read_table(positive, log=True).moments, np.log(positive))


def test_weights_as_column_or_array_count_rows():
    counts = RNG.integers(0, 4, size=60)
    expected = Moments.from_array(np.repeat(X, counts, axis=0), NAMES)
    named = read_table(FRAME.with_columns(w=counts), weights="w")
    given = read_table(FRAME, weights=counts)
    for table in (named, given):
        assert (table.moments.n, table.moments.names) == (counts.sum(), NAMES)
        np.testing.assert_allclose(table.moments.covariance, expected.covariance, rtol=1e-9)
        np.testing.assert_allclose(table.moments.mean, expected.mean, rtol=1e-12)
        assert table.n_rows == np.count_nonzero(counts)
        with pytest.raises(InputError, match="rows have weights"):
            table.rows()
    assert named.digest == given.digest != read_table(FRAME).digest
    assert kinds(named) == [("weights", "w")]


def test_line_of_an_error_is_right_where_rows_of_weight_zero_are_skipped(tmp_path):
    path = write(tmp_path, "a,w\n1,0\n2,1\n-3,1\n4,1\n")
    with pytest.raises(InputError, match="'a' is -3 in line 4"):
        read_table(path, weights="w", log=["a"])


def test_standardised_moments_and_rows_agree():
    values = np.column_stack([X, np.full(60, 0.1)])
    table = read_table(values, standardize=True)
    expected = read_table(values).moments.standardized()
    assert table.moments == expected
    rows = table.rows()
    np.testing.assert_allclose(rows.T @ rows / 60, expected.covariance, atol=1e-12)
    assert table.digest == read_table(values).standardized().digest
    assert kinds(table) == [("standardized", ""), ("constant", "x3")]


def test_moments_pass_unchanged():
    moments = Moments.from_array(X, NAMES)
    table = read_table(moments)
    assert table.moments is moments and table.n_rows == 60 and table.digest == moments.digest()
    assert read_table(moments, drop=["b"], standardize=True).moments == moments.select(["a", "c"]).standardized()
    with pytest.raises(InputError, match="no rows behind moments"):
        table.rows()


def test_notes_on_columns():
    n = np.arange(40)
    frame = pd.DataFrame(
        {
            "x": RNG.normal(size=40),
            "y": RNG.normal(size=40),
            "constant": 5.0,
            "grade": n % 4,
            "yes": n % 3 == 0,
            "count": n,
        }
    )
    frame["twin"] = 2 * frame["x"] + 1
    frame["sum"] = frame["x"] + frame["y"]
    table = read_table(frame)
    assert table.notes[:4] == (
        Fact.of(Note.BOOLEAN, "yes"),
        Fact.of(Note.CODES, "grade", count=4, listed="0, 1, 2, 3"),
        Fact.of(Note.CONSTANT, "constant", value=5.0),
        Fact.of(Note.DUPLICATE, "twin", "x", x=pytest.approx(2.0)),
    )
    assert [note.kind for note in table.notes[4:]] == [Note.COLLINEAR]
    found = dict(zip(table.names, table.kinds))
    assert found == dict.fromkeys(frame, Kind.CONTINUOUS) | dict.fromkeys(("grade", "yes"), Kind.CATEGORICAL)


def test_text_files_with_booleans_headers_decimals_and_encodings(tmp_path):
    table = read_table(write(tmp_path, "a,b\nTrue,1\nFALSE,2\ntrue,4\n"))
    assert table.moments.mean.tolist() == pytest.approx([2 / 3, 7 / 3])
    assert kinds(table) == [("boolean", "a")]
    assert read_table(write(tmp_path, "1,2\n2,1\n"), header=False).moments.names == ("x0", "x1")
    assert read_table(write(tmp_path, "1,2\n2,1\n"), header=False, names=["p", "q"]).moments.names == ("p", "q")
    assert read_table(write(tmp_path, "2019,2020\n1,2\n2,1\n"), names=["p", "q"]).moments.n == 2
    table = read_table(write(tmp_path, "a;b\n1,5;2\n2,5;4\n"), decimal=",")
    assert table.moments.mean.tolist() == [2.0, 3.0]
    table = read_table(write(tmp_path, "größe,b\n1,5\n2,4\n", encoding="latin-1"), encoding="latin-1")
    assert table.moments.names == ("größe", "b")
    assert read_table(write(tmp_path, GOOD, encoding="utf-16"), encoding="utf-16").moments.names == ("a", "b")
    assert read_table(write(tmp_path, "a\n1\n\n3\n")).moments.mean.tolist() == [2.0]
    table = read_table(write(tmp_path, 'i,a,"city, state"\n0,1,"x, y"\n1,3,"p ""q"""\n'), drop=["i", "city, state"])
    assert table.moments.mean.tolist() == [2.0]


def test_missing_marks_of_text_files(tmp_path):
    path = write(tmp_path, "a,b\n1,2\nNA,5\n3,\n4,?\n5,NaN\n6,7\n")
    table = read_table(path, missing="drop-rows", null_values="?")
    assert_moments(table.moments, np.array([[1.0, 2.0], [6.0, 7.0]]))
    assert table.n_rows == 6
    assert list(table.notes) == [
        *column_notes(table.moments),
        Fact.of(Note.MISSING, "a", count=1, rows=6),
        Fact.of(Note.MISSING, "b", count=3, rows=6),
        Fact.of(Note.ROWS_LEFT_OUT, cells=4, incomplete=4, rows=6, left_out=4),
    ]
    np.testing.assert_array_equal(table.rows(), [[1.0, 2.0], [6.0, 7.0]])


@pytest.mark.parametrize("missing", ["pairwise", "em"])
def test_streams_with_missing_cells_agree_with_memory(missing, tmp_path, monkeypatch):
    holes = np.where(RNG.random((400, 3)) < 0.2, np.nan, RNG.normal(size=(400, 3)) @ RNG.normal(size=(3, 3)) + 50)
    frame = pl.DataFrame(holes, schema=list(NAMES), nan_to_null=True)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    expected = read_table(holes, names=NAMES, missing=missing)
    monkeypatch.setattr("acyclic.data.sources._BLOCK_VALUES", 90)
    monkeypatch.setattr("acyclic.data.text._CHUNK_BYTES", 500)
    for source in (tmp_path / "t.parquet", tmp_path / "t.csv", frame, frame.lazy(), holes):
        table = read_table(source, missing=missing, names=NAMES if source is holes else None)
        assert table.moments == expected.moments
        assert (table.digest, table.notes) == (expected.digest, expected.notes)
        with pytest.raises(InputError, match="missing='drop-rows' gives complete rows"):
            table.rows()


def test_quoted_line_ends_never_split_a_chunk(tmp_path, monkeypatch):
    lines = [f'{k},"text\n,{k}\n""quoted"""' for k in range(200)]
    path = write(tmp_path, "a,s\n" + text(lines))
    for size in (7, 64, 1000):
        monkeypatch.setattr("acyclic.data.text._CHUNK_BYTES", size)
        table = read_table(path, drop=["s"])
        assert (table.n_rows, table.moments.mean[0]) == (200, pytest.approx(99.5))


def test_a_quote_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("acyclic.data.text._CHUNK_BYTES", 64)
    path = write(tmp_path, "a,b\n1,2\n" * 20 + '5,"6\n' + "3,4\n" * 1000)
    with pytest.raises(InputError, match=r"quote without end, after line \d+|holds"):
        read_table(path)


def test_rows_of_a_changed_file_that_was_too_long_to_keep_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("acyclic.data.reading._KEPT_VALUES", 5)
    table = read_table(write(tmp_path, GOOD))
    write(tmp_path, GOOD.replace("5", "6"))
    with pytest.raises(InputError, match="changed since"):
        table.rows()


def test_rows_keep_to_the_limit():
    with pytest.raises(InputError, match="more than the limit of 100 values"):
        read_table(X).rows(limit=100)


def test_source_is_left_alone_and_order_of_rows_matters():
    values = np.asfortranarray(np.abs(X))
    frames = [values.copy(order="F"), pd.DataFrame(values), pl.DataFrame(values), pl.DataFrame(values[:, :1])]
    for frame in frames:
        before = pickle.dumps(frame)
        read_table(frame, log=True, standardize=True).rows()
        assert pickle.dumps(frame) == before
    assert read_table(X[::-1]).digest != read_table(X).digest


def test_table_can_be_pickled(tmp_path):
    table = read_table(write(tmp_path, GOOD))
    copy = pickle.loads(pickle.dumps(table))
    assert copy.moments == table.moments
    np.testing.assert_array_equal(copy.rows(), table.rows())


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.floats(-10, 10),
    st.sampled_from([Decimal("1.5"), Decimal("sNaN"), Fraction(1, 3), np.float32(2), np.bool_(True), pd.NA, pd.NaT]),
    st.text(max_size=3),
    st.sampled_from(["1.5", "n/a", b"x", 1j, TODAY, [1], {}, object()]),
)
NUMBERS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-1e6, 1e6))


@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_frame_of_odd_columns_gives_finite_moments_or_says_why(data):
    rows, d = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 3))
    columns = [
        data.draw(st.lists(data.draw(st.sampled_from([CELLS, NUMBERS])), min_size=rows, max_size=rows))
        for _ in range(d)
    ]
    missing = data.draw(st.sampled_from(["error", "drop-rows", "pairwise", "em", "impute"]))
    frame = pd.DataFrame({f"c{k}": pd.Series(column, dtype=object) for k, column in enumerate(columns)})
    if data.draw(st.booleans()):
        frame = frame.infer_objects()
    try:
        table = read_table(frame, missing=missing, log=data.draw(st.sampled_from([None, True])))
    except InputError:
        return
    assert np.isfinite(table.moments.mean).all() and np.isfinite(table.moments.covariance).all()
    assert np.linalg.eigvalsh(table.moments.standardized().covariance)[0] > -1e-8


@given(st.text(alphabet='ab1.,;\n\r"\t -eN\x00é', max_size=60), st.sampled_from(["error", "em", "drop-rows", "impute"]))
@settings(max_examples=200, deadline=None)
def test_any_text_gives_finite_moments_or_says_why(tmp_path_factory, content, missing):
    path = tmp_path_factory.mktemp("any") / "t.csv"
    path.write_bytes(content.encode())
    try:
        table = read_table(path, missing=missing)
    except InputError:
        return
    assert np.isfinite(table.moments.covariance).all()
