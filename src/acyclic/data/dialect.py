"""How a text file is written, found from its beginning: encoding, separator, lines to pass over, names of columns."""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from acyclic.data.cells import as_float
from acyclic.errors import Argument, InputError
from acyclic.facts import Fact, Note

__all__ = [
    "BLANK",
    "Heading",
    "Record",
    "TextFormat",
    "find_encoding",
    "find_heading",
    "guess_encoding",
    "judge_header",
    "split_records",
]

BLANK: Final = " "
"""The separator that stands for any number of blanks."""

_BYTE_ORDER_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Letters and signs that stand in the tables of people who do not write English.
_LIKELY: Final = frozenset("äöüßÄÖÜéèêëáàâãåæçíìîïñóòôõøúùûýÅÆØÉÈÀÇÑÓÍÚÁœ€°µ²³£±–’“”…")
_CONTROL: Final = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1a")) + b"\x7f"
# More control characters than one in so many bytes are no text.
_SELDOM: Final = 100
# The covariances of so many columns take 320 GB; what has more is no table to learn from.
_MOST_COLUMNS: Final = 200_000
_CSV_LIMIT = threading.Lock()

Record = tuple[int, list[str]]
"""The fields of a line, after its number; of the last line where quotes hold line ends."""


class TextFormat(NamedTuple):
    """How a text file is written, as `read_table` defines it; None for what is to be found out."""

    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    null_values: tuple[str, ...] = ()

    def checked(self) -> TextFormat:
        """The same, or an error if some part of it cannot be."""
        if self.separator is not None and not (
            isinstance(self.separator, str) and len(self.separator) == 1 and self.separator.isascii()
        ):
            raise InputError(f"separator is {self.separator!r}; give one ASCII character, such as ',' or '\\t'")
        if self.separator is not None and self.separator in '\r\n"\0':
            raise InputError(f"separator is {self.separator!r}, which cannot separate fields; give one such as ','")
        if self.decimal not in (None, ".", ",") or (self.decimal is not None and self.decimal == self.separator):
            raise InputError(f"decimal is {self.decimal!r}; give '.' or ',', and not the separator")
        if not all(isinstance(mark, str) for mark in self.null_values):
            raise InputError(f"null_values is {self.null_values!r}; give a list of strings")
        try:
            codecs.getincrementaldecoder("utf-8" if self.encoding is None else self.encoding)
            b"text".decode("utf-8" if self.encoding is None else self.encoding)
        except UnicodeDecodeError:
            pass
        except (LookupError, ValueError, TypeError) as error:
            raise InputError(f"encoding {self.encoding!r} is unknown; give one such as 'utf-8' or 'latin-1'") from error
        return self


def find_encoding(start: bytes, name: str) -> str:
    """The encoding of a text by its first bytes, or by some that are no UTF-8.

    A byte order mark tells; so do the zeros of UTF-16; what is valid is UTF-8. Else it is the one of cp1252 and
    MacRoman that makes likelier letters, and latin-1 where a byte has no meaning in cp1252.

    >>> [find_encoding("größer".encode(each), "t.csv") for each in ("utf-8", "utf-16", "cp1252", "mac_roman")]
    ['utf-8', 'utf-16', 'cp1252', 'mac_roman']
    """
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return encoding
    if b"\0" in start:
        return _by_zeros(start, name)
    controls = len(start) - len(start.translate(None, _CONTROL))
    if controls * _SELDOM > len(start) + _SELDOM:
        raise InputError(f"{name} is a binary file, not text; save the table as CSV or Parquet")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
        return "utf-8"
    except UnicodeDecodeError:
        return guess_encoding(start)


def guess_encoding(text: bytes) -> str:
    """The likeliest encoding with one byte for each character of a text that is no UTF-8."""
    odd = bytes(byte for byte in text if byte > 127)
    if _likeliness(odd, "mac_roman") > _likeliness(odd, "cp1252"):
        return "mac_roman"
    return "latin-1" if "\ufffd" in odd.decode("cp1252", errors="replace") else "cp1252"


def _likeliness(odd: bytes, encoding: str) -> float:
    counts = Counter(odd.decode(encoding, errors="replace"))
    return sum(count for sign, count in counts.items() if sign in _LIKELY) - 2 * counts["\ufffd"]


def _by_zeros(start: bytes, name: str) -> str:
    """UTF-16 without mark, where every other byte is zero; text in which a few zeros are to be passed over."""
    half = len(start) // 2
    even, odd = start[0::2].count(0), start[1::2].count(0)
    if odd * 5 > half * 2 and even * 20 < half:
        return "utf-16-le"
    if even * 5 > half * 2 and odd * 20 < half:
        return "utf-16-be"
    if (even + odd) * _SELDOM > len(start) + _SELDOM:
        raise InputError(f"{name} is a binary file, not text; save the table as CSV or Parquet")
    return find_encoding(start.replace(b"\0", b""), name)


class Heading(NamedTuple):
    """What stands above the rows: the separator, how many lines to skip, the names, and what had to be assumed."""

    separator: str
    skipped: int
    names: list[str] | None
    sample: list[Record]
    facts: tuple[Fact[Note], ...]


def find_heading(head: str, text: TextFormat, name: str, names: Sequence[str] | None, most: int) -> Heading:
    """Find separator, comments and names in the first lines of a file, and the first ``most`` rows after them."""
    lines = head.split("\n")
    skipped, told = _count_comments(lines)
    comments = [line.lstrip("# \t") for line in lines[:skipped] if line.startswith("#")]
    body = "\n".join(lines[skipped:])
    separator = text.separator or told or ("\t" if ".tsv" in name.lower() else _sniff(lines[skipped : skipped + 40]))
    records = list(split_records(body, separator, skipped + 1, name, most + 1))
    if not records:
        raise InputError(f"{name} is empty")
    if (width := len(records[0][1])) > _MOST_COLUMNS:
        raise InputError(f"line {records[0][0]} of {name} has {width} fields; at most {_MOST_COLUMNS} columns are read")
    facts = [Fact.of(Note.COMMENTS, count=skipped)] if skipped and not told else []
    above = _named_by_comment(comments, records, separator) if text.header is None else None
    if above is not None:
        return Heading(separator, skipped, above, records[:most], tuple(facts))
    has_header, why = _has_header(records, text, name, names)
    facts += [Fact.of(why)] if why else []
    if not has_header:
        return Heading(separator, skipped, None, records[:most], tuple(facts))
    found = _aligned([field.strip() for field in records[0][1]], records[1:])
    return Heading(separator, records[0][0], found, records[1:], tuple(facts))


def _count_comments(lines: list[str]) -> tuple[int, str | None]:
    """How many lines are comments, blank, or Excel's ``sep=;``, and the separator that this names."""
    told, count = None, 0
    for line in lines:
        if re.fullmatch(r"(?i)sep=[^\r\n\"]", line.rstrip("\n")):
            told = line[4]
        elif line.strip() and not line.startswith("#"):
            break
        count += 1
    # Blank lines before anything else need no mention, and an empty file has nothing to skip.
    return (0, None) if count == len(lines) or not any(line.strip() for line in lines[:count]) else (count, told)


def _named_by_comment(comments: list[str], records: list[Record], separator: str) -> list[str] | None:
    """The names in the last comment, as numpy.savetxt writes them, if it has one for each column of numbers."""
    if not comments or not all(as_float(field.strip()) is not None for field in records[0][1]):
        return None
    fields = [field.strip() for field in next(iter(split_records(comments[-1], separator, 1, "", 1)), (0, []))[1]]
    fits = len(fields) == len(records[0][1]) and len(fields) > 1
    return fields if fits and all(as_float(field) is None for field in fields) else None


def _has_header(
    records: list[Record], text: TextFormat, name: str, names: Sequence[str] | None
) -> tuple[bool, Note | None]:
    """Whether the first line names the columns, and what to note where that is not evident."""
    if text.header is not None:
        return text.header, None
    return judge_header(records[0][1], [record for _, record in records[1:]], name, names)


def judge_header(
    first_line: Sequence[str], lines: Sequence[Sequence[str]], name: str, names: Sequence[str] | None
) -> tuple[bool, Note | None]:
    """Whether a first line names the columns of the lines below it, where nobody said so.

    It does unless it is all numbers. Numbers are names if they are integers, all different, above fractions, or if they
    count 0, 1, 2, … or rise along at least eight columns as no other line does. With a fraction they are a row.
    """
    first = [as_float(field.strip()) for field in first_line]
    numbers = [value for value in first if value is not None]
    if len(numbers) < len(first):
        return True, None
    rest = [[as_float(field.strip()) for field in record] for record in lines]
    whole = all(value == round(value) for value in numbers if abs(value) < 1e300)
    unique = len(set(numbers)) == len(numbers)
    if unique and _differs(numbers, whole, rest):
        return True, Note.HEADER_OF_NUMBERS
    if names is not None:
        return True, None
    if not whole and rest:
        return False, Note.NO_HEADER
    yes, no = Argument("header", True), Argument("header", False)
    what = f"the first line of {name} is all numbers; say "
    raise InputError(what, yes, " if these are the columns' names, ", no, " if not, or give the names")


def _differs(numbers: list[float], whole: bool, rest: list[list[float | None]]) -> bool:
    """Whether a first line of different numbers is of another kind than those below it."""
    if not rest:
        return False
    fractions = sum(any(value is not None and value % 1 != 0 for value in column) for column in zip(*rest))
    if whole and 2 * fractions > len(numbers):
        return True
    counts = (
        whole
        and len(numbers) > 1
        and numbers
        in (
            [float(k) for k in range(len(numbers))],
            [float(k + 1) for k in range(len(numbers))],
        )
    )
    rises = len(numbers) >= 8 and all(a < b for a, b in pairwise(numbers))
    others = [line for line in rest if None not in line and all(a < b for a, b in pairwise(line))]  # type: ignore[operator]
    return (counts or rises) and not others


def _aligned(found: list[str], rows: list[Record]) -> list[str]:
    """Names for all columns where the rows have one field more: trailing separators, or row names as R writes them."""
    if not rows or any(len(record) != len(found) + 1 for _, record in rows):
        return found
    return [*found, ""] if all(not record[-1].strip() for _, record in rows) else ["", *found]


def _sniff(lines: list[str]) -> str:
    """The separator that cuts the first lines into equally many fields, or else the first line into most."""
    bare = [re.sub(r'"[^"]*"', "q", line) for line in lines if line.strip()][:20]
    # The last line may be cut off, or the header be shorter by one field than the rows.
    widths = {mark: [line.count(mark) for line in bare] for mark in "\t;|,"}
    for mark, width in widths.items():
        if min(width, default=0) == max(width, default=0) > 0:
            return mark
    for mark, width in widths.items():
        if len(width) > 2 and min(width[1:]) == max(width[1:]) > 0 and width[0] == width[1] - 1:
            return mark
    blanks = [len(line.split()) for line in bare]
    even = len(blanks) > 1 and min(blanks[1:]) == max(blanks[1:]) > 1 and blanks[0] in (blanks[1], blanks[1] - 1)
    if even and not any(max(width) for width in widths.values()):
        return BLANK
    return max(reversed(widths), key=lambda mark: (widths[mark] or [0])[0])


def split_records(text: str, separator: str, line: int, name: str, most: int | None = None) -> Iterator[Record]:
    """Records with the number of their last line; blank lines are passed over."""
    if '"' in text:
        records = _split_quoted(text, separator, line, name, most)
    else:
        rows = enumerate(text.split("\n"), line)
        records = ((at, _cut_at_blanks(row) if separator == BLANK else row.split(separator)) for at, row in rows)
    kept = (pair for pair in records if pair[1] and (len(pair[1]) > 1 or pair[1][0].strip()))
    for count, record in enumerate(kept):
        if most is not None and count >= most:
            return
        yield record


def _cut_at_blanks(row: str) -> list[str]:
    # Only those: a blank that does not break belongs to a number.
    return [field for field in row.replace("\t", " ").split(" ") if field]


def _split_quoted(text: str, separator: str, line: int, name: str, most: int | None) -> Iterator[Record]:
    blank = separator == BLANK
    source = (" ".join(_cut_at_blanks(row)) + "\n" for row in text.split("\n")) if blank else None
    reader = csv.reader(source or io.StringIO(text, newline="\n"), delimiter=separator)
    found: list[Record] = []
    # The library has one limit of the length of a field for the whole process; a line may be one field.
    with _CSV_LIMIT:
        before = csv.field_size_limit(2**31 - 1)
        try:
            for record in reader:
                found.append((line + reader.line_num - 1, record))
                if most is not None and len(found) > 2 * most + 100:
                    return iter(found)
        except csv.Error as error:
            at = line + reader.line_num - 1
            raise InputError(f"line {at} of {name} cannot be split into fields: {error}") from error
        finally:
            csv.field_size_limit(before)
    if text.count('"') % 2 and any("\n" in field for field in found[-1][1]):
        at = found[-2][0] + 1 if len(found) > 1 else line
        raise InputError(f"{name} has a quote without end, in line {at} or later; close it")
    return iter(found)
