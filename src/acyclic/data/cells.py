"""What a column of written cells holds: numbers, however they are written, or something that is no number.

Hides decimal commas, thousands marks, per cent, currencies and the rules by which text, dates and identifiers are told
apart. Text files and text in frames are judged here, alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import islice, pairwise
from typing import Final, NamedTuple

from acyclic.data.kinds import MOST_LABELS, MOST_LEVELS, ROWS_PER_LEVEL, Told, find_rare, sort_labels
from acyclic.types import Kind

__all__ = [
    "NULLS",
    "PLAIN",
    "Evidence",
    "Form",
    "Held",
    "Look",
    "Reason",
    "as_float",
    "is_identifier",
    "may_be_labels",
    "settle_decimal",
]

NULLS: Final = frozenset(
    ["", "NA", "NaN", "nan", "-nan", "-NaN", "null", "NULL", "N/A", "n/a", "#N/A", "<NA>", "None", "#NV", "#DIV/0!"]
)
"""What marks a missing cell without being told."""
# So many different words among numbers are text; fewer may be marks of missing values, or slips of the pen.
_MOST_STRAYS: Final = 3
_LISTED: Final = 1000
_CURRENCY: Final = r"[€$£¥₹₽₩₺¢]|EUR|USD|GBP|CHF|JPY"
_WRAPPED: Final = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+-]?)\s*(?P<before>{_CURRENCY})?\s*"
    r"(?P<core>[+-]?[\d.,' ]*\d[\d.,' ]*(?:[eE][+-]?\d+)?)"
    rf"\s*(?P<after>{_CURRENCY}|%)?\s*(?P<close>\))?",
)
_SPACES: Final = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " ") | {"\u2212": "-", "\u2019": "'"})
_DATE: Final = re.compile(
    r"(\d{4}[-/.]\d\d?([-/.]\d\d?)?|\d\d?([./-])\d\d?\3\d{2,4})([T ]+\d\d?:\d\d.*)?"
    r"|\d\d?:\d\d(:\d\d([.,]\d+)?)?\s*([AaPp]\.?[Mm]\.?)?"
    r"|\d\d?\.?[ -][^\W\d_]{3,9}\.?[ -]\d{2,4}|[^\W\d_]{3,9} \d\d?,? \d{4}"
)
_IDENTIFIER: Final = re.compile(
    r"(?i:id|ids|identifier|index|idx|row[ _.]?(names?|id|number|no|nr)|uuid|guid|key|nr|no\.?|#)"
    r"|.*[_. -](?i:id)|.*[a-z]I[Dd]"
)


class Held(StrEnum):
    """What a column holds that is not used as numbers."""

    TEXT = "text"
    MIXED = "mixed"
    """Text among numbers."""
    CATEGORIES = "categories"
    ONE_LEVEL = "one-level"
    MANY_LEVELS = "many-levels"
    DATES = "dates"
    IDENTIFIER = "identifier"
    ROW_NUMBERS = "row-numbers"
    NOTHING = "nothing"
    OTHER = "other"


class Reason(NamedTuple):
    """Why a column is not used: what it holds, as a value and in the words of an error, with an example."""

    held: Held
    why: str
    example: str = ""


class Form(NamedTuple):
    """How the numbers of a column are written.

    >>> Form(decimal=",", group=".").number("1.234,5"), Form(percent=True).number("10.3 %"), PLAIN.number("n/a")
    (1234.5, 10.3, None)
    """

    decimal: str = "."
    group: str = ""
    percent: bool = False
    currency: str = ""
    accounting: bool = False
    """Whether parentheses, or a typographic minus, mark negative numbers."""

    def number(self, cell: str) -> float | None:
        """The number that a cell is; None if it is none in this form. Nothing is divided: 10.3 % is 10.3."""
        if self == PLAIN or not _DIGIT.search(cell):
            return as_float(cell)
        written = _unwrap(cell)
        if written is None or (written.percent != self.percent and _COUNTING.search(cell)):
            return None
        if written.currency not in ("", self.currency) or not _pattern(self.decimal, self.group).fullmatch(
            written.core
        ):
            return None
        core = written.core.replace(self.group, "") if self.group else written.core
        return written.sign * float(core.replace(self.decimal, "."))


PLAIN: Final = Form()
_DIGIT: Final = re.compile("[0-9]")
_COUNTING: Final = re.compile("[1-9]")
# What is longer is no number that a person or a program wrote with marks.
_LONGEST: Final = 60
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
# Every pair of a decimal and a thousands mark that is in use, the simplest first.
_PAIRS: Final = tuple((decimal, group) for group in ("", ",", ".", " ", "'") for decimal in ".," if decimal != group)


class _Written(NamedTuple):
    core: str
    sign: int
    percent: bool
    currency: str
    accounting: bool


def as_float(text: str, decimal: str = ".") -> float | None:
    """The number that a plain text is; None if it is none."""
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return None


def is_identifier(name: str, values: Sequence[float]) -> bool:
    """Whether a column is called an identifier and holds integers, all different, that rise from row to row."""
    if not _IDENTIFIER.fullmatch(name.strip()) or len(values) < 2:
        return False
    return all(value == int(value) for value in values) and all(a < b for a, b in pairwise(values))


@cache
def _pattern(decimal: str, group: str) -> re.Pattern[str]:
    whole = r"\d+" + (rf"|[1-9]\d{{0,2}}(?:{re.escape(group)}\d{{3}})+" if group else "")
    mark = re.escape(decimal)
    return re.compile(rf"(?:(?:{whole})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def _unwrap(cell: str) -> _Written | None:
    """A cell without sign, parentheses, currency and per cent; None if it is no number by any reading."""
    found = _WRAPPED.fullmatch(cell.translate(_SPACES).strip()) if len(cell) <= _LONGEST else None
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    core, signs = found["core"].strip(), found["sign"] + ("-" if found["open"] else "")
    if core[:1] in "+-":
        core, signs = core[1:], signs + core[0]
    if len(signs) > 1:
        return None
    after = found["after"] or ""
    currency = found["before"] or (after if after != "%" else "")
    if found["before"] and after:
        return None
    odd_minus = bool(found["open"]) or "\u2212" in cell
    return _Written(core, -1 if "-" in signs else 1, after == "%", currency, odd_minus)


@dataclass
class Look:
    """What a column was found to hold: numbers in a form, truth values, labels, or a reason why it is not used."""

    form: Form = PLAIN
    boolean: bool = False
    labels: tuple[str, ...] = ()
    reason: Reason | None = None
    example: str = ""
    certain: bool = True
    stray: tuple[int, str] | None = None


@dataclass
class Evidence:
    """What the cells of one column show, gathered cell by cell; ``unit`` is what counts them, "line" or "row"."""

    unit: str = "line"
    n_given: int = 0
    n_plain: int = 0
    n_booleans: int = 0
    n_dates: int = 0
    n_points: int = 0
    """Plain numbers whose point cannot stand between thousands."""
    n_either: int = 0
    """Plain numbers whose point may be either, such as 1.234."""
    marked: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many of the others are numbers under each pair of marks."""
    percents: int = 0
    accounting: bool = False
    currencies: Counter[str] = field(default_factory=Counter)
    odd: dict[str, int] = field(default_factory=dict)
    """Cells that are no plain numbers, with the place of the first of each."""
    words: dict[str, int] = field(default_factory=dict)
    """Those of them that are numbers by no reading."""
    first: str = ""
    """The first cell that is a plain number."""
    tally: Counter[str] = field(default_factory=Counter)
    """How often each cell comes; complete unless there are more than `MOST_LABELS` different ones."""

    @classmethod
    def of(cls, cell: str) -> Evidence:
        """The evidence of one cell."""
        one = cls()
        one.add([(0, cell)])
        return one

    def add(self, cells: Iterable[tuple[int, str]]) -> None:
        """Add cells that are given, each with its place."""
        first: dict[str, int] = {}
        counts: Counter[str] = Counter()
        for place, cell in cells:
            first.setdefault(cell, place)
            counts[cell] += 1
        for cell, count in counts.items():
            self.add_cell(cell, first[cell], count)

    def add_cell(self, cell: str, place: int, count: int) -> None:
        """Add a cell that comes so often, first at this place."""
        self.n_given += count
        if len(self.tally) <= MOST_LABELS or cell in self.tally:
            self.tally[cell] += count
        if as_float(cell) is None:
            self._add_odd(cell, place, count)
            return
        self.n_plain += count
        self.first = self.first or cell
        if "." in cell:
            either = bool(_THOUSANDS.fullmatch(cell))
            self.n_either += count * either
            self.n_points += count * (not either)

    def joined(self, later: Evidence) -> Evidence:
        """The evidence of both, in that order."""
        both = Evidence(self.unit)
        for count in ("n_given", "n_plain", "n_booleans", "n_dates", "n_points", "n_either", "percents"):
            setattr(both, count, getattr(self, count) + getattr(later, count))
        both.marked, both.currencies = self.marked + later.marked, self.currencies + later.currencies
        both.accounting, both.first = self.accounting or later.accounting, self.first or later.first
        both.odd, both.words = _first_of(self.odd, later.odd), _first_of(self.words, later.words)
        both.tally = Counter(dict(islice((self.tally + later.tally).items(), MOST_LABELS + 1)))
        return both

    def _add_odd(self, cell: str, place: int, count: int) -> None:
        if len(self.odd) < _LISTED:
            self.odd.setdefault(cell, place)
        written = _unwrap(cell)
        fits = [pair for pair in _PAIRS if written is not None and _pattern(*pair).fullmatch(written.core)]
        if written is None or not fits:
            self.n_booleans += count * (cell.lower() in ("true", "false"))
            self.n_dates += count * (len(cell) <= _LONGEST and bool(_DATE.fullmatch(cell)))
            if len(self.words) < _LISTED:
                self.words.setdefault(cell, place)
            return
        self.marked.update(dict.fromkeys(fits, count))
        self.percents += count * written.percent
        self.accounting |= written.accounting
        self.currencies.update({written.currency: count} if written.currency else {})

    @property
    def pairs(self) -> Counter[tuple[str, str]]:
        """How many cells with a mark are numbers under each pair of marks."""
        plain = {pair: self.n_points + self.n_either for pair in _PAIRS if pair[0] == "."} | {(",", "."): self.n_either}
        return self.marked + Counter(plain)

    @property
    def has_numbers(self) -> bool:
        """Whether some cell is a number by some reading."""
        return self.n_plain > 0 or bool(self.marked)

    def decimals(self) -> set[str]:
        """The decimal marks under which most cells are numbers; both where the column does not tell."""
        tally = self.pairs
        best = max(tally.values(), default=0)
        return {decimal for (decimal, _), count in tally.items() if count == best} or {".", ","}

    @property
    def is_ambiguous(self) -> bool:
        """Whether cells like 1,234 could be decimals or thousands for all that this column shows."""
        marked = any("," in cell for cell in self.odd if cell not in self.words)
        return marked and len(self.decimals()) == 2

    def look(self, decimal: str | None, usual: str = ".", *, told: bool = False, stated: Told | None = None) -> Look:
        """What the column holds.

        ``decimal`` is the mark that other columns show, if they do, or that no column may differ from, if ``told``;
        ``usual`` is what a doubtful comma is taken with; ``stated`` is what the user says of the column.
        """
        if decimal is None:
            decimal = usual if self.is_ambiguous else "."
        if self.n_given and self.n_booleans == self.n_given:
            return Look(boolean=True)
        if self.words and stated is not None and stated.kind in (Kind.CATEGORICAL, Kind.ORDINAL):
            return self.label(stated)
        if not self.has_numbers:
            return self._look_at_words() if self.n_given else Look()
        if len(self.words) > _MOST_STRAYS:
            return Look(reason=self._why_mixed())
        form = self._form(decimal, told)
        strays = [(place, cell) for cell, place in self.odd.items() if form.number(cell) is None]
        fitting = [cell for cell in self.odd if form.number(cell) is not None]
        example = max(fitting, key=len, default="") if form != PLAIN else ""
        unsure = not told and (self.is_ambiguous or (form.group == "." and len(self.decimals()) == 2))
        return Look(form, example=example, certain=not unsure, stray=min(strays, default=None))

    def _form(self, decimal: str, told: bool) -> Form:
        pairs, tally = [pair for pair in _PAIRS if not told or pair[0] == decimal], self.pairs
        best = max(tally[pair] for pair in pairs)
        fits = [pair for pair in pairs if tally[pair] == best]
        mark, group = next((pair for pair in fits if pair[0] == decimal), fits[0])
        currency = self.currencies.most_common(1)[0][0] if self.currencies else ""
        percent = 2 * self.percents > self.n_given
        return Form(mark if best else decimal, group if best else "", percent, currency, self.accounting)

    def _look_at_words(self) -> Look:
        first, place = next(iter(self.words.items()), ("", 0))
        where = f"first {first!r} in {self.unit} {place}"
        if 2 * self.n_dates > self.n_given:
            return Look(reason=Reason(Held.DATES, f"holds dates or times, {where}"))
        if len(self.tally) == 1:
            return Look(reason=Reason(Held.ONE_LEVEL, f"holds text, {where}, and nothing else", first))
        if len(self.tally) == self.n_given > 2 and not any(" " in cell or len(cell) > 40 for cell in self.words):
            return Look(reason=Reason(Held.IDENTIFIER, f"holds text, all different, {where}"))
        if len(self.tally) > self.n_given / ROWS_PER_LEVEL:
            held = Held.CATEGORIES if len(self.tally) <= 2 else Held.TEXT
            return Look(reason=Reason(held, f"holds text, {where}"))
        return self.label()

    def label(self, stated: Told | None = None) -> Look:
        """The cells as levels of a category, unless there are too many."""
        rare = find_rare(self.tally)
        if len(self.tally) - max(len(rare) - 1, 0) > MOST_LEVELS or len(self.tally) > MOST_LABELS:
            many = f"{len(self.tally)}" if len(self.tally) <= MOST_LABELS else f"more than {MOST_LABELS}"
            why = f"has {many} levels, and a category has at most {MOST_LEVELS}"
            return Look(reason=Reason(Held.MANY_LEVELS, why))
        return Look(labels=stated.order if stated is not None and stated.order else sort_labels(list(self.tally)))

    def _why_mixed(self) -> Reason:
        first, place = next(iter(self.words.items()), ("", 0))
        return Reason(Held.MIXED, f"holds {first!r} in {self.unit} {place} and other text among numbers", first)


def _first_of(cells: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    """The first cells of both, each with its first place."""
    more = {cell: place for cell, place in later.items() if cell not in cells}
    return dict(islice({**cells, **more}.items(), _LISTED))


def may_be_labels(look: Look) -> bool:
    """Whether rows beyond the first ones may show that a column of text is a category, or that it is none."""
    wordy = (Held.TEXT, Held.CATEGORIES, Held.IDENTIFIER, Held.ONE_LEVEL, Held.MANY_LEVELS)
    return bool(look.labels) or (look.reason is not None and look.reason.held in wordy)


def settle_decimal(columns: Iterable[Evidence]) -> str | None:
    """The decimal mark that the columns of a table show; None where they show none or both."""
    shown = [marks for column in columns if column.pairs and len(marks := column.decimals()) == 1]
    votes = Counter(mark for marks in shown for mark in marks)
    return None if votes["."] == votes[","] else max(".,", key=lambda mark: votes[mark])
