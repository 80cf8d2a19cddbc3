"""Hostile tables, made here: each is read, or refused in one sentence; none hangs, and none leaves anything behind."""

import bz2
import gzip
import io
import json
import random
import zipfile
from encodings.aliases import aliases

import numpy as np
import polars as pl
import pytest

from acyclic.data.table import read_table
from acyclic.errors import AcyclicError, InputError

RNG = np.random.default_rng(11)
X = RNG.normal(size=(12, 3)).round(4)
FRAME = pl.DataFrame(X, schema=["a", "b", "c"])
CSV = FRAME.write_csv().encode()
GERMAN = 'Größe;Länge;"Ort, Land"\r\n'.encode("cp1252") + b"".join(
    f'{1000 + k}.{k}00,5;{k},25;"Köln\r\n{k}"\r\n'.encode("cp1252") for k in range(12)
)


def stored(writer):
    held = io.BytesIO()
    writer(held)
    return held.getvalue()


def zipped(members):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


# Whole tables of every format, to be cut and damaged.
WHOLE = {
    "plain.csv": CSV,
    "german.csv": GERMAN,
    "quoted.csv": FRAME.write_csv(quote_style="always").encode(),
    "wide.csv": CSV.decode().encode("utf-16"),
    "big.csv": CSV.decode().encode("utf-16-be"),
    "t.csv.gz": gzip.compress(CSV, mtime=0),
    "t.csv.bz2": bz2.compress(CSV),
    "t.zip": zipped({"t.csv": CSV}),
    "t.parquet": stored(FRAME.write_parquet),
    "t.feather": stored(FRAME.write_ipc),
    "t.arrow": stored(FRAME.write_ipc_stream),
    "t.jsonl": stored(FRAME.write_ndjson),
    "t.json": stored(FRAME.write_json),
}


def cut(content):
    """The table cut off at 24 places, at its ends and between."""
    places = {0, 1, 2, 3, 4, 7, 8, len(content) - 1, *np.linspace(5, len(content), 17, dtype=int).tolist()}
    return [content[:place] for place in sorted(places)]


def damaged(content, name):
    """The table with some bytes changed, doubled, left out or put in, twelve times."""
    chance = random.Random(name)
    for _ in range(12):
        bad = bytearray(content)
        for _ in range(chance.randrange(1, 9)):
            at = chance.randrange(len(bad))
            bad[at : at + chance.randrange(3)] = bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
        yield bytes(bad)


def rows_of(cell):
    return "a,b\n1,2\n2,5\n" + f"{cell},7\n" + "4,1\n5,3\n"


CELLS = [
    *("9" * 400, "-" + "9" * 400, "1e999", "-1e999", "1e-999", "4.9e-324", "1.7976931348623157e308", "1" * 100_000),
    *(
        "inf",
        "-Infinity",
        "INF",
        "+inf",
        "nan",
        "NaN",
        "-nan",
        "NAN",
        "1.#INF",
        "1.#QNAN",
        "#N/A",
        "#REF!",
        "NULL",
        "None",
    ),
    *(
        "0x1F",
        "1_000",
        "1__0",
        "1e",
        "e5",
        ".",
        "-",
        "+",
        "--1",
        "+-1",
        "1-",
        "(1",
        "1)",
        "((1))",
        "(-1)",
        "()",
        "1e5.5",
    ),
    *(
        "1,5",
        '"1,5"',
        '"1,234"',
        '"1,23"',
        '"1,2,3"',
        '"1.234,5"',
        '"1,234.5"',
        "1 234",
        "1\u00a0234",
        "1\u202f234",
        "1'234",
    ),
    *(
        "10%",
        "%",
        "10%%",
        "%10",
        "€",
        "€5",
        "5€",
        "€5€",
        "$-5",
        "-$5",
        "$(5)",
        "5 USD",
        "USD5EUR",
        "5e3%",
        "½",
        "²",
        "٣",
        "１",
    ),
    *(
        "true",
        "TRUE",
        "yes",
        "2020-01-31",
        "31.12.2020",
        "12:30",
        "1.2.3",
        "=1+1",
        "=cmd|' /C calc'!A0",
        "@SUM(1)",
        "+1-2",
    ),
    *(
        '"',
        '""',
        '"""',
        '"x',
        'x"',
        '"x"y',
        'x"y"',
        "'1'",
        "\\",
        "\x00",
        "\x01",
        "\x1a",
        "\x1b[31m",
        "\u202e1",
        "\ufeff1",
        "\ud7ff",
    ),
    *(
        "\t",
        " ",
        "  1  ",
        "\x0b1",
        "\x0c",
        "\x85",
        "\u2028",
        "1\u2029",
        "a" * 200_000,
        "1 " * 30_000,
        "1," * 50,
        "." * 50_000,
    ),
]
LAYOUTS = {
    "nothing": "",
    "one byte": "x",
    "a blank": " ",
    "line ends": "\n\r\n\r\r\n",
    "byte order mark": "\ufeff",
    "byte order mark and line end": "\ufeff\n",
    "a name": "a",
    "names": "a,b,c",
    "names and line end": "a,b,c\n",
    "a number": "5",
    "one row": "a,b\n1,2\n",
    "one column": "a\n1\n2\n3\n",
    "one column of text": "a\nx\ny\n",
    "one column without names": "1.5\n2.5\n3.5\n",
    "separators": ",,,\n,,,\n,,,\n",
    "only quotes": '""\n""\n""\n',
    "comments": "# a\n# b\n# c\n",
    "comments and names": "# x\na,b\n",
    "comment marks": "#a,#b\n#1,#2\n",
    "separator said, nothing after": "sep=;",
    "separator said twice": "sep=;\nsep=,\na,b\n1,2\n3,4\n5,6\n",
    "odd separator said": "sep=x\naxb\n1x2\n3x4\n5x5\n",
    "swapped separators": "a,b;c\n1,2;3\n4;5,6\n",
    "two separators": "a;b,c;d\n1;2,3;4\n2;1,4;1\n",
    "short lines": "a,b,c\n1,2\n3\n\n4,5,6\n",
    "long lines": "a,b\n1,2,3\n1,2,3,4\n",
    "names shorter than rows by two": "a\n1,2,3\n3,2,1\n4,4,1\n",
    "no names": ",\n1,2\n2,1\n3,3\n",
    "blank names": " ,\t,\x00\n1,2,3\n2,1,1\n3,3,0\n",
    "same names": "a,a,a,a.1,a.1\n1,2,3,4,5\n2,1,1,5,0\n3,3,0,1,1\n",
    "names of quotes": '"""","\n","""a"""\n1,2,3\n2,1,0\n3,3,1\n',
    "names of commands": "=1+1,@x,\x1b[2J\n1,2,3\n2,1,0\n3,3,1\n",
    "long name": "a" * 300_000 + ",b\n1,2\n2,1\n3,0\n",
    "many names": ",".join(map(str, range(3000))) + "\n",
    "unclosed quote in names": '"a,b\n1,2\n3,4\n',
    "unclosed quote at the end": 'a,b\n1,2\n3,4\n5,"6',
    "quote in a number": 'a,b\n1"2,3\n4,5"6\n7,8\n',
    "quotes and line ends": 'a,b\n"1\n","2\r\n"\n"3","4"\n5,6\n',
    "all missing": "a,b\nNA,NA\nNA,NA\nNA,NA\n",
    "one value": "a,b\nNA,NA\n1,NA\nNA,NA\n",
    "constants": "a,b\n1,1\n1,1\n1,1\n",
    "nulls of every kind": "a,b\nNA,NULL\nNaN,null\n,#N/A\n1,2\n",
    "text": "to be or not to be\nthat is the question\nwhether it is nobler\n",
    "a page": "<!doctype html><html><body><table><tr><td>1</td></tr></table></body></html>\n",
    "xml": '<?xml version="1.0"?>\n<a>\n<b>1</b>\n</a>\n',
    "json": '{"a": [1, 2], "b": [2, 1]}\n',
    "python": "[[1, 2], [3, 4]]\n",
    "numbers of all sizes": "a,b\n1e-300,1e300\n-1e-300,1e300\n1e-310,-1e300\n",
    "largest": "a,b\n1.7e308,1\n-1.7e308,2\n1.7e308,4\n",
    "years": "2019,2020\n1,2\n2,1\n3,3\n",
    "control characters": "a,b\n" + "".join(map(chr, range(1, 32))) + "\n",
    "lines of blanks": "a b\n" + " " * 100_000 + "\n1 2\n2 1\n3 3\n",
    "one long line": "1," * 200_000,
    "tabs and blanks": "a\t b\n1 \t2\n 3\t4 \n5\t\t6\n",
}
JSONS = {
    "nothing": "",
    "not json": "a,b\n1,2\n",
    "deep": '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}\n",
    "deep objects": '{"a":' * 20_000 + "1" + "}" * 20_000,
    "numbers only": "1\n2\n3\n",
    "lists": "[1,2]\n[3,4]\n",
    "other keys": '{"a":1}\n{"b":2}\n{"c":3}\n',
    "other types": '{"a":1,"b":2}\n{"a":"x","b":1}\n{"a":[1],"b":3}\n',
    "nested": '{"a":{"x":1},"b":1}\n{"a":{"x":2},"b":2}\n{"a":null,"b":4}\n',
    "NaN": '{"a":NaN,"b":1}\n{"a":1,"b":2}\n',
    "huge": '{"a":' + "9" * 400 + ',"b":1}\n{"a":1,"b":2}\n{"a":1,"b":5}\n',
    "bad escapes": '{"a\\ud800":1}\n{"a\\ud800":2}\n',
    "same key twice": '{"a":1,"a":2}\n{"a":3,"a":5}\n{"a":0,"a":1}\n',
    "empty key": '{"":1,"b":2}\n{"":2,"b":1}\n{"":7,"b":7}\n',
    "strings": json.dumps({"a": "1,5", "b": "10%"}) + "\n" + json.dumps({"a": "2,5", "b": "11%"}) + "\n",
    "null": "null\nnull\n",
}
ARCHIVES = {
    "empty.zip": zipped({}),
    "pictures.zip": zipped({"a.png": b"\x89PNG" + bytes(99)}),
    "folders.zip": zipped({"a/": b"", "b/": b""}),
    "up.zip": zipped({"../../t.csv": CSV}),
    "absolute.zip": zipped({"/etc/t.csv": CSV}),
    "bomb.zip": zipped({"t.csv": b"1," * 3_000_000}),
    "nested.zip": zipped({"t.zip": zipped({"t.zip": zipped({"t.zip": zipped({"t.zip": zipped({"t.csv": CSV})})})})}),
    "office.zip": zipped({"[Content_Types].xml": "<Types/>"}),
    "t.xlsx": zipped({"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<workbook/>"}),
    "words.docx": zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": "<w/>"}),
    "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "t.csv.zst": b"\x28\xb5\x2f\xfd" + bytes(range(60)),
    "t.csv.xz": b"\xfd7zXZ\0" + bytes(range(60)),
    "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "program": b"\x7fELF" + bytes(200) + bytes(range(256)),
    "noise.csv": RNG.bytes(5000),
    "surrogates.csv": b"a,b\n\xed\xa0\x80,1\n\xed\xb0\x80,2\n\xf8\x88,3\n",
    "half of utf-16.csv": CSV.decode().encode("utf-16-le")[:-1],
    "surrogates in utf-16.csv": b"\xff\xfe" + b"\x00\xd8" * 40,
    "utf-32.csv": CSV.decode().encode("utf-32"),
    "ebcdic.csv": CSV.decode().encode("cp500"),
    "cut character.csv": b"a,b\n1,2\n2,1\n3,\xc3",
    "mark of utf-8 before latin-1.csv": b"\xef\xbb\xbfa\xe9,b\n1,2\n2,1\n3,4\n",
    "zeros.csv": bytes(4000),
    "zeros between.csv": CSV.replace(b",", b",\0"),
}


def corpus():
    for name, content in WHOLE.items():
        for number, piece in enumerate(cut(content)):
            yield f"cut {number} {name}", piece
        for number, piece in enumerate(damaged(content, name)):
            yield f"damaged {number} {name}", piece
    for number, cell in enumerate(CELLS):
        yield f"cell {number}.csv", rows_of(cell).encode("utf-8", "surrogatepass")
        yield f"cells {number}.txt", f"a;b\n{cell};1\n{cell};2\n{cell};4\n".encode("utf-8", "surrogatepass")
        yield f"name {number}.tsv", f"{cell}\tb\n1\t2\n2\t1\n3\t0\n".encode("utf-8", "surrogatepass")
    for name, text in LAYOUTS.items():
        yield f"{name}.csv", text.encode()
        yield f"{name} 16.csv", text.encode("utf-16")
    for name, text in JSONS.items():
        yield f"{name}.jsonl", text.encode()
        yield f"{name}.json", text.encode()
    yield from ARCHIVES.items()


CORPUS = dict(corpus())
GROUPS = sorted(
    {name.split()[0] if name.split()[0] in ("cut", "damaged", "cell", "cells", "name") else "whole" for name in CORPUS}
)


def is_read_or_refused(path, **options):
    try:
        return len(read_table(path, **options).names) > 0
    except InputError as error:
        return bool(str(error)) and "\n" not in str(error).strip()


def test_the_corpus_is_large():
    assert len(CORPUS) >= 800


@pytest.mark.filterwarnings("ignore::acyclic.data.memory.MemoryNeeded")
@pytest.mark.parametrize("missing", ["error", "em"])
@pytest.mark.parametrize("group", GROUPS)
def test_hostile_tables_are_read_or_refused(group, missing, tmp_path):
    failed = {}
    for name, content in CORPUS.items():
        if (name.split()[0] if name.split()[0] in GROUPS else "whole") != group:
            continue
        path = tmp_path / name.replace("/", "_")
        path.write_bytes(content)
        try:
            table = read_table(path, missing=missing)
            if not (np.isfinite(table.moments.mean).all() and np.isfinite(table.moments.covariance).all()):
                failed[name] = "not finite"
            assert len(table.notes) < 20
        except AcyclicError as error:
            if "\n" in str(error).strip() or len(str(error)) > 1500 or not str(error):
                failed[name] = f"not one sentence: {str(error)[:2000]!r}"
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"[:300]
        if path.read_bytes() != content:
            failed[name] = "changed"
        path.unlink()
    assert not failed, f"{len(failed)} of the inputs: {failed}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", sorted({*aliases.values(), "idna", "undefined", "hex", "base64", "rot13", "utf-99", "", "\0"})
)
def test_every_encoding_that_can_be_named_is_used_or_refused(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV)
    assert is_read_or_refused(path, encoding=name)


OPTIONS = [
    *({"separator": mark} for mark in ("", "::", "\n", '"', "\0", "é", " ", "a", "1", ".", "-")),
    *({"decimal": mark} for mark in ("", "x", ";", " ", "..")),
    *({"header": value} for value in (True, False)),
    *({"null_values": value} for value in ("", "1", ["a", "b"], ["1.5"] * 1000, [5], ["\n"])),
    *({"names": value} for value in ([], ["x"], ["x", "x", "y"], ["x", "y", "z"], "abc")),
    *({"columns": value} for value in ([], ["a"], ["q"], "a", ["a", "a"])),
    *({"sheet": value} for value in ("", "t", "../t")),
    *({"weights": value} for value in ("a", "q", [1], [])),
    {"strict": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_odd_options_are_used_or_refused(options, tmp_path):
    path = tmp_path / "t.csv"
    for content in (CSV, GERMAN, b""):
        path.write_bytes(content)
        assert is_read_or_refused(path, **options)
