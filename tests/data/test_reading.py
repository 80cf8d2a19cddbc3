"""Tables as they come from spreadsheets, databases and other people: what is read, and what is noted."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest

import acyclic
from acyclic.data import memory
from acyclic.data.cells import Form
from acyclic.data.table import read_table
from acyclic.errors import InputError, MissingExtraError
from acyclic.facts import Fact, Note

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3)).round(6)
NAMES = ("a", "b", "c")
CSV = pl.DataFrame(X, schema=list(NAMES)).write_csv()
PLAIN = read_table(X, names=NAMES)


def write(folder, content, name="t.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def kinds(table):
    return {note.kind for note in table.notes} - {
        Note.CONSTANT,
        Note.DUPLICATE,
        Note.COLLINEAR,
        Note.FEW_ROWS_COLLINEAR,
    }


def column(cells, separator=",", other="b"):
    lines = [
        f'"{cell}"{separator}{k * k % 7}.5' if separator in cell else f"{cell}{separator}{k * k % 7}.5"
        for k, cell in enumerate(cells)
    ]
    return "\n".join([f"a{separator}{other}", *lines]) + "\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "mac_roman"])
def test_encodings_are_recognised_and_noted(encoding, tmp_path):
    text = CSV.replace("a,b,c", "größe,länge,öl für das auto")
    table = read_table(write(tmp_path, text, encoding=encoding))
    assert table.names == ("größe", "länge", "öl für das auto")
    assert table.moments.covariance.tobytes() == PLAIN.moments.covariance.tobytes()
    noted = [note["encoding"] for note in table.notes if note.kind is Note.ENCODING]
    assert noted == ([] if encoding == "utf-8-sig" else [encoding])


def test_latin_1_where_a_byte_means_nothing_elsewhere_and_late_odd_bytes(tmp_path):
    assert [n["encoding"] for n in read_table(write(tmp_path, b"\xfc\xfc\xfc\xfc\x81,b\n1,2\n2,1\n3,5\n")).notes][
        :1
    ] == ["latin-1"]
    late = b"a,city,b\n" + b"1,Rome,2\n2,Bonn,5\n" * 300000 + b"3,K\xf6ln,4\n"
    table = read_table(write(tmp_path, late))
    assert table.n_rows == 600001 and table.levels["city"] == ("Bonn", "Köln", "Rome")


def test_zero_bytes_are_passed_over(tmp_path):
    table = read_table(write(tmp_path, CSV.encode()[:300] + b"\0\0" + CSV.encode()[300:]))
    assert table.digest == PLAIN.digest and [note["count"] for note in table.notes] == [2]


LAYOUTS = {
    "mixed line ends": CSV.replace("\n", "\r\n", 9).replace("\n", "\r", 3),
    "excel names the separator": "sep=;\r\n" + CSV.replace(",", ";").replace("\n", "\r\n"),
    "trailing separators": CSV.replace("\n", ",\n"),
    "trailing separators below the names": "a,b,c\n" + CSV.split("\n", 1)[1].replace("\n", ",\n"),
    "blanks": CSV.replace(",", "   "),
    "indented blanks and tabs": CSV.replace(",", " \t").replace("\n", " \n  "),
    "bar": CSV.replace(",", "|"),
    "comments": "# from the lab\n# in 2020\n" + CSV,
    "names in a comment": "# " + CSV,
    "names of R": '"a" "b" "c"\n' + "".join(f'"{k}" {" ".join(map(repr, row))}\n' for k, row in enumerate(X.tolist())),
    "names of R, tabs": "a\tb\tc\n" + "".join(f"s{k}\t{u}\t{v}\t{w}\n" for k, (u, v, w) in enumerate(X.tolist())),
    "index of pandas": pd.DataFrame(X, columns=list(NAMES)).to_csv(),
    "index from 1": pd.DataFrame(X, columns=list(NAMES), index=range(1, 41)).to_csv(),
    "shuffled index": pd.DataFrame(X, columns=list(NAMES), index=RNG.permutation(90)[:40]).to_csv(),
    "labels": pd.DataFrame(X, columns=list(NAMES), index=[f"patient {k}" for k in range(40)]).to_csv(),
    "identifier": pd.DataFrame({"ID": range(100, 140)} | dict(zip(NAMES, X.T))).to_csv(index=False),
    "text, dates and times": "t,day,clock,note," + CSV.rstrip().replace("\n", "\nred,2020-01-31,12:30,it was cold,"),
    "quoted line ends": 'note,' + CSV.replace("\n", '\n"two\nlines",').removesuffix('"two\nlines",'),
    "decimal comma": CSV.replace(",", ";").replace(".", ","),
    "decimal comma, tabs": CSV.replace(",", "\t").replace(".", ","),
    "quoted decimal comma": '"' + CSV.rstrip().replace(",", '","').replace("\n", '"\n"').replace(".", ",") + '"',
    "per cent": CSV.replace(",", "%,").replace("\n", "%\n").replace("a%,b%,c%", "a,b,c"),
    "euros": CSV.replace(",", " €;").replace("\n", " €\n").replace("a €;b €;c €", "a;b;c").replace(".", ","),
    "dollars and parentheses": "a,b,c\n"
    + "".join(",".join(f"(${-v!r})" if v < 0 else f"${v!r}" for v in row) + "\n" for row in X.tolist()),
    "typographic minus": CSV.replace("-", "\u2212"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("parser", ["polars", "pandas"])
def test_layouts_give_the_same_table(name, parser, tmp_path, monkeypatch):
    if parser == "pandas":
        monkeypatch.setitem(sys.modules, "polars", None)
    table = read_table(write(tmp_path, LAYOUTS[name], "t.txt"))
    assert (table.names, table.n_rows, table.digest) == (NAMES, 40, PLAIN.digest)


HELD = {
    "index of pandas": {"": "row-numbers"},
    "labels": {"": "row-numbers"},
    "names of R": {"": "row-numbers"},
    "identifier": {"ID": "identifier"},
    "text, dates and times": {"day": "dates", "clock": "dates"},
    "trailing separators": {"column 4": "nothing"},
}


@pytest.mark.parametrize("name", HELD)
def test_what_is_left_out_is_one_note_and_refused_if_strict(name, tmp_path):
    path = write(tmp_path, LAYOUTS[name], "t.txt")
    (note,) = [note for note in read_table(path).notes if note.kind is Note.LEFT_OUT]
    assert dict(note.values) == HELD[name] and note.about == tuple(HELD[name])
    with pytest.raises(InputError, match="not numbers: "):
        read_table(path, strict=True)


# cells of the first column, separator, how they are written, the numbers; the second column has decimal points.
WRITTEN = {
    "german thousands": (["1.234,56", "7,5", "-1.000.000"], ";", Form(",", "."), [1234.56, 7.5, -1e6]),
    "english thousands": (["7,598.07", "1,000", "12"], ",", Form(".", ","), [7598.07, 1000, 12]),
    "french": (["1\u202f234,5", "1\u00a0000,25", "2\u2009000,5"], ";", Form(",", " "), [1234.5, 1000.25, 2000.5]),
    "swiss": (["1'234.5", "10\u2019000.25", "3.5"], ",", Form(".", "'"), [1234.5, 10000.25, 3.5]),
    "per cent": (["10.3%", "5 %", "0"], ",", Form(percent=True), [10.3, 5, 0]),
    "pounds": (["£5", "£1,250.50", "7"], ",", Form(".", ",", currency="£"), [5, 1250.5, 7]),
    "codes": (["5 EUR", "6.5 EUR", "USD"], ",", None, None),
    "losses": (["(5.5)", "6", "(1,000.25)"], ",", Form(".", ",", accounting=True), [-5.5, 6, -1000.25]),
    "scientific": (["1,5E+03", "2,25e-1", "3"], ";", Form(","), [1500, 0.225, 3]),
    "leading zero": (["0,123", "1,234", "2,345"], ";", Form(","), [0.123, 1.234, 2.345]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_marked_numbers_are_read_and_noted(name, tmp_path):
    cells, separator, form, expected = WRITTEN[name]
    path = write(tmp_path, column(cells, separator))
    frame = pd.DataFrame({"a": cells, "b": [0.5, 1.5, 4.5]})
    if form is None:
        with pytest.raises(InputError, match="holds 'USD' in"):
            read_table(path)
        return
    for table in (read_table(path), read_table(frame)):
        np.testing.assert_array_equal(table.rows()[:, 0], expected)
        (note,) = [note for note in table.notes if note.kind is Note.WRITTEN]
        assert note.about == ("a",) and Form(**{key: note[key] for key in Form._fields}) == form and note["certain"]
        assert form.number(note["example"]) == note["value"]


def test_a_doubtful_comma_is_decided_by_the_whole_column_and_the_table(tmp_path):
    def read(cells, separator, other="b"):
        table = read_table(write(tmp_path, column(cells, separator, other)))
        (note,) = [note for note in table.notes if note.kind is Note.WRITTEN]
        return table.rows()[0, 0], note["certain"]

    doubtful = ["1,234"] + ["2,345", "3,456"] * 300
    # The other column has a decimal point, so that the comma stands between thousands.
    assert read(doubtful, ";") == (1234.0, False)
    # One cell far below settles it.
    assert read([*doubtful, "4,5"], ";") == (1.234, True)
    assert read([*doubtful, "1,234,567"], ";") == (1234.0, True)
    whole = "a;b\n" + "".join(f"{cell};{k % 5}\n" for k, cell in enumerate(doubtful))
    table = read_table(write(tmp_path, whole))
    assert table.rows()[0, 0] == 1.234 and not table.notes[0]["certain"]
    german = whole.replace(";", ",5;").replace("a,5;", "a;").replace(",234,5", ".234").replace(",345,5", ".345")
    german = german.replace(",456,5", ".456").replace("\n", ",5\n").replace("b,5", "b")
    table = read_table(write(tmp_path, german))
    assert table.rows()[0].tolist() == [1234.0, 0.5]
    assert read_table(write(tmp_path, whole), decimal=".").rows()[0, 0] == 1234.0


def test_a_form_that_shows_late_is_found(tmp_path):
    cells = ["12"] * 500 + ["1.234,5", "3,25", "7"]
    table = read_table(write(tmp_path, "a;b\n" + "".join(f"{cell};{k}\n" for k, cell in enumerate(cells))))
    assert table.rows()[-3:, 0].tolist() == [1234.5, 3.25, 7.0]
    tickets = ["113803"] * 300 + ["A/5 21171", "PC 17599", "STON/O2", "CA. 2343", "W.E.P. 5734"]
    table = read_table(write(tmp_path, "t,b\n" + "".join(f"{cell},{k}\n" for k, cell in enumerate(tickets))))
    assert table.names == ("b",) and table.notes[0] == Fact.of(Note.MIXED, "t", level="A/5 21171")


HEADERS = {
    "integers above fractions": ("265768,3,17\n", 3, Note.HEADER_OF_NUMBERS),
    "counted": ("0,1,2\n", 3, Note.HEADER_OF_NUMBERS),
    "a row": ("0.25,1.5,2.75\n", 3, Note.NO_HEADER),
}


@pytest.mark.parametrize("name", HEADERS)
def test_first_lines_of_numbers(name, tmp_path):
    line, d, expected = HEADERS[name]
    path = write(tmp_path, line + CSV.split("\n", 1)[1])
    table = read_table(path)
    assert kinds(table) == {expected} and len(table.names) == d
    assert table.n_rows == 40 + (expected is Note.NO_HEADER)
    assert read_table(path, header=True).names == tuple(line.strip().split(","))
    assert read_table(path, header=False).names == ("x0", "x1", "x2") and read_table(path, header=False).n_rows == 41
    assert kinds(read_table(path, header=True)) == kinds(read_table(path, header=False)) == set()


def test_names_that_rise_over_whole_numbers_and_names_that_cannot_be_told(tmp_path):
    spectra = RNG.integers(0, 90, size=(30, 10))
    lines = [",".join(map(str, row)) for row in [range(400, 420, 2), *spectra.tolist()]]
    assert read_table(write(tmp_path, "\n".join(lines))).names == tuple(map(str, range(400, 420, 2)))
    with pytest.raises(InputError, match="say header=True if these are the columns' names, header=False if not"):
        read_table(write(tmp_path, "2019,2020\n5,3\n1,2\n2,1\n"))


def test_missing_and_repeated_names(tmp_path):
    table = read_table(write(tmp_path, "a,,a,a.1\n1,2,3,5\n2,1,3,4\n5,5,1,1\n"))
    assert table.names == ("a", "column 2", "a.1", "a.1.1")
    assert [note.about for note in table.notes if note.kind is Note.RENAMED] == [("column 2", "a.1", "a.1.1")]


PACKED = {
    "t.csv.gz": gzip.compress,
    "t.csv.bz2": bz2.compress,
    "t.csv.xz": lzma.compress,
    "t.zip": lambda text: zipped({"t.csv": text, "README.txt": b"words", "__MACOSX/._t.csv": b"x", "sub/": b""}),
    "twice.gz": lambda text: gzip.compress(zipped({"t.csv": text})),
    "unnamed": lambda text: text,
    "table.data": lambda text: text,
}


def zipped(members):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


@pytest.mark.parametrize("name", PACKED)
def test_packed_tables(name, tmp_path):
    assert read_table(write(tmp_path, PACKED[name](CSV.encode()), name)).digest == PLAIN.digest


def test_zstandard(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    assert read_table(write(tmp_path, zstandard.compress(CSV.encode()), "t.csv.zst")).digest == PLAIN.digest


def test_one_of_several_files_in_an_archive_is_chosen(tmp_path):
    path = write(tmp_path, zipped({"t.csv": CSV, "u.csv": GOOD}), "t.zip")
    with pytest.raises(InputError, match=r"has 2 files: 't.csv', 'u.csv'; say sheet='t.csv'"):
        read_table(path)
    with pytest.raises(InputError, match=r"has no file 'v.csv'; it has 't.csv', 'u.csv'"):
        read_table(path, sheet="v.csv")
    assert read_table(path, sheet="t.csv").digest == PLAIN.digest


GOOD = "a,b\n1,2\n2,1\n3,5\n"
FRAME = pl.DataFrame(X, schema=list(NAMES))
WRITERS = {
    "t.feather": FRAME.write_ipc,
    "t.arrow": FRAME.write_ipc_stream,
    "t.jsonl": FRAME.write_ndjson,
    "t.json": FRAME.write_json,
    "t.parquet": FRAME.write_parquet,
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_formats(name, packed, tmp_path):
    WRITERS[name](tmp_path / name)
    path = tmp_path / name
    if packed:
        path = write(tmp_path, zipped({name: path.read_bytes()}), "t.zip")
    table = read_table(path)
    assert (table.digest, table.notes) == (PLAIN.digest, ())
    with pytest.raises(InputError, match="for text files only"):
        read_table(path, separator=";")


def workbook(sheets):
    """The least that a workbook has to be."""
    start, main = '<?xml version="1.0"?>', "http://schemas.openxmlformats.org"
    office, package = f"{main}/officeDocument/2006/relationships", f"{main}/package/2006"
    kinds = "application/vnd.openxmlformats"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        f'ContentType="{kinds}-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}-officedocument.spreadsheetml.sheet.main+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    }
    names = "".join(f'<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>' for k, name in enumerate(sheets, 1))
    files["xl/workbook.xml"] = (
        f'<workbook xmlns="{main}/spreadsheetml/2006/main" xmlns:r="{office}"><sheets>{names}</sheets></workbook>'
    )
    links = "".join(
        f'<Relationship Id="rId{k}" Type="{office}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in range(1, len(sheets) + 1)
    )
    files["xl/_rels/workbook.xml.rels"] = f'<Relationships xmlns="{package}/relationships">{links}</Relationships>'
    for k, rows in enumerate(sheets.values(), 1):
        body = "".join(f"<row>{''.join(map(cell_of_sheet, row))}</row>" for row in rows)
        files[f"xl/worksheets/sheet{k}.xml"] = (
            f'<worksheet xmlns="{main}/spreadsheetml/2006/main"><sheetData>{body}</sheetData></worksheet>'
        )
    return zipped({name: start + content for name, content in files.items()})


def cell_of_sheet(value):
    if value is None:
        return "<c/>"
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>' if isinstance(value, str) else f"<c><v>{value!r}</v></c>"


def test_workbooks(tmp_path):
    pytest.importorskip("fastexcel", reason="workbooks need the extra excel")
    rows = X.tolist()
    one = write(tmp_path, workbook({"Data": [NAMES, *rows], "Empty": []}), "t.xlsx")
    table = read_table(one)
    assert (table.digest, table.notes) == (PLAIN.digest, ())
    assert read_table(write(tmp_path, zipped({"t.xlsx": one.read_bytes()}), "t.zip")).digest == PLAIN.digest
    two = write(tmp_path, workbook({"Data": [NAMES, *rows], "More": [NAMES, *rows]}), "two.xlsx")
    with pytest.raises(InputError, match=r"has 2 sheets: 'Data', 'More'; say sheet='Data'"):
        read_table(two)
    assert read_table(two, sheet="More").digest == PLAIN.digest
    indexed = [[None, *NAMES, "share"], *([k, *row, f"{k}.5%"] for k, row in enumerate(rows))]
    table = read_table(write(tmp_path, workbook({"Data": indexed}), "index.xlsx"))
    assert table.names == (*NAMES, "share") and kinds(table) == {Note.LEFT_OUT, Note.WRITTEN}
    bare = write(tmp_path, workbook({"Data": rows}), "bare.xlsx")
    assert read_table(bare).n_rows == 40 and kinds(read_table(bare)) == {Note.NO_HEADER}
    with pytest.raises(InputError, match="cannot be read"):
        read_table(write(tmp_path, one.read_bytes()[:-400], "cut.xlsx"))


def test_a_missing_extra_is_said_in_one_sentence(tmp_path, monkeypatch):
    for module in ("fastexcel", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"needs fastexcel; install it with: pip install 'acyclic\[excel\]'$"):
        read_table(write(tmp_path, workbook({"Data": [NAMES, *X.tolist()]}), "t.xlsx"))
    if sys.version_info < (3, 14):
        with pytest.raises(MissingExtraError, match=r"pip install 'acyclic\[zstd\]'$"):
            read_table(write(tmp_path, b"\x28\xb5\x2f\xfd" + bytes(20), "t.csv.zst"))


def test_the_standard_input_can_be_read_again_and_again(monkeypatch):
    given = io.TextIOWrapper(io.BytesIO(gzip.compress(CSV.encode())))
    monkeypatch.setattr("sys.stdin", given)
    monkeypatch.setattr("acyclic.data.reading._KEPT_VALUES", 5)
    table = read_table("-")
    np.testing.assert_array_equal(table.rows(), X)
    assert table.digest == PLAIN.digest


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    monkeypatch.setattr("acyclic.data.opening._PATIENCE", 0.2)
    with pytest.raises(InputError, match=r"nothing came through the pipe .* for 0.2 s"):
        read_table(pipe)
    monkeypatch.setattr("acyclic.data.opening._PATIENCE", 20.0)
    writer = threading.Thread(target=pipe.write_text, args=(CSV,))
    writer.start()
    assert read_table(pipe).digest == PLAIN.digest
    writer.join()
    for device in ("/dev/zero", "/dev/null"):
        with pytest.raises(InputError, match="is a device"):
            read_table(device)


def test_a_line_longer_than_the_limit_of_the_csv_module(tmp_path):
    values = RNG.normal(size=(8, 9000)).round(9)
    lines = [",".join(f'"gene {k}"' for k in range(9000)), *(",".join(map(repr, row)) for row in values.tolist())]
    table = read_table(write(tmp_path, "\n".join(lines)), columns=["gene 0", "gene 8999"])
    assert min(map(len, lines)) > 131072 - 60000 and max(map(len, lines)) < 200000
    np.testing.assert_array_equal(table.rows(), values[:, [0, 8999]])
    note = '"' + "long, " * 40000 + '"'
    assert read_table(write(tmp_path, f"a,note,b\n1,{note},2\n2,x,4\n3,y,1\n")).names == ("a", "b")


def test_the_memory_of_a_wide_table_is_said_before_its_rows_are_read(tmp_path, monkeypatch):
    d = 6000
    head = ",".join(f"x{k}" for k in range(d)) + "\n" + ",".join(["1.5"] * d) + "\n"
    path = write(tmp_path, head + "this line, would be an error\n")
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    with pytest.raises(InputError, match=r"6000 columns needs about 1.1 GiB .* but 1.0 GiB are available"):
        read_table(path)
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    monkeypatch.setattr(memory, "_WORTH_A_WORD", 2**30)
    with pytest.warns(memory.MemoryNeeded, match="1.1 GiB"), pytest.raises(InputError, match="line 3"):
        read_table(path)
    assert memory.available_memory.__module__ == __name__ or memory.available_memory() is None


def test_available_memory_is_positive_where_the_system_tells():
    found = memory.available_memory()
    assert found is None or found > 2**20


def test_frames_and_arrays_with_text_give_the_notes_of_the_file(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "kind": ["x", "y"] * 20, "b": X[:, 1], "share": [f"{k}.5%" for k in range(40)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    from_file, from_frame = read_table(tmp_path / "t.csv"), read_table(frame)
    from_array = read_table(frame.to_numpy(dtype=object), names=list(frame))
    assert from_file.notes == from_frame.notes == from_array.notes and len(from_file.notes) == 2
    assert from_file.digest == from_frame.digest == from_array.digest
    learned = [acyclic.learn(source).verdict.notes for source in (frame, tmp_path / "t.csv", from_frame)]
    assert learned[0] == learned[1] == learned[2] == from_frame.notes


def test_learn_takes_the_options_of_reading():
    holes = pd.DataFrame(np.where(RNG.random((40, 3)) < 0.1, np.nan, X), columns=list(NAMES))
    for options in ({"missing": "em"}, {"missing": "pairwise", "drop": ["b"]}):
        through = acyclic.learn(holes, **options)
        direct = acyclic.learn(read_table(holes, **options))
        assert through.verdict == direct.verdict and through.graph == direct.graph
    with pytest.raises(InputError, match="has no setting 'separate'"):
        acyclic.learn(holes, separate=";")


def test_an_estimator_that_left_columns_out_transforms_those_it_used():
    frame = pd.DataFrame(X, columns=list(NAMES)).assign(kind=[f"label{row}" for row in range(40)])
    model = acyclic.OrderSearch().fit(frame)
    assert model.n_features_in_ == 3 and model.transform(frame[list(NAMES)]).shape == (40, 3)


SCALES = {"tiny": 1e-162, "denormal": 1e-306, "huge": 1e300, "both ends": np.array([1e-200, 1.0, 1e250])}


@pytest.mark.parametrize("scale", SCALES)
def test_columns_near_the_ends_of_floats_are_rescaled(scale, tmp_path):
    values = X * SCALES[scale]
    pl.DataFrame(values, schema=list(NAMES)).write_csv(tmp_path / "t.csv")
    for table in (read_table(values, names=NAMES), read_table(tmp_path / "t.csv")):
        exponents = {note.about[0]: note["exponent"] for note in table.notes if note.kind is Note.RESCALED}
        assert len(exponents) == (2 if scale == "both ends" else 3)
        np.testing.assert_array_equal(table.rows(), np.ldexp(values, [exponents.get(name, 0) for name in NAMES]))
        np.testing.assert_allclose(table.moments.correlation(), PLAIN.moments.correlation(), atol=1e-9)
        # One unit for all stays one unit for all.
        assert scale == "both ends" or len(set(exponents.values())) == 1
    assert (
        0.01 < np.diag(table.moments.covariance)[[0, 2]].min() < np.diag(table.moments.covariance)[[0, 2]].max() < 100
    )


@pytest.mark.parametrize(
    "method", ["auto", "equal-variance", "ges", "golem", "mmhc", "nocurl", "order-search", "sortnregress"]
)
def test_learners_find_the_same_graph_near_the_ends_of_floats(method):
    data = acyclic.simulate(n_nodes=5, n=200, graph="ER1", random_state=3)
    expected = acyclic.learn(data.X, method=method).graph.adjacency
    for scale in (1e-162, 1e300):
        model = acyclic.learners.make_learner(method).fit(data.X * scale)
        assert (model.causal_graph_.adjacency == expected).all()
        assert np.isfinite(model.score(data.X * scale))


def test_constant_and_zero_columns_need_no_other_units():
    values = np.column_stack([X, np.zeros(40), np.full(40, 1e-200), np.full(40, 1e300)])
    assert Note.RESCALED not in kinds(read_table(values))


def test_two_values_are_an_outcome_and_not_told_to_be_dropped():
    table = read_table(np.column_stack([X, np.arange(40) % 2, np.arange(40) % 3]))
    assert [note.about for note in table.notes if note.kind is Note.CODES] == [("x4",)]
