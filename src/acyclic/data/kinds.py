"""What kind of column each one is, and which number in the rows is which level of a category.

The rules, each of which ``kinds=`` overrules:

- text, truth values and declared categories are categorical; declared categories with an order are ordinal;
- a column with two values only, whatever they are, is categorical of two levels;
- whole numbers with at most `FEW_VALUES` different values are categorical: they may be codes;
- other whole numbers from 0 whose mean is at most `SMALL_MEAN` are counts; all else is continuous.

A rule by values needs `ROWS_PER_LEVEL` rows for each value on average. Rare levels are pooled, see `find_rare`; text
with more than `MOST_LEVELS` levels after that names its rows, and is left out. Counts and ordinals are used as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar

import numpy as np

from acyclic.errors import Argument, InputError, suggest
from acyclic.facts import Fact, Note
from acyclic.types import Floats, Integers, Kind

__all__ = [
    "FEW_VALUES",
    "MOST_LABELS",
    "MOST_LEVELS",
    "ROWS_PER_LEVEL",
    "Coding",
    "Seen",
    "Told",
    "find_kinds",
    "find_rare",
    "read_kinds",
    "show_number",
    "sort_labels",
]

FEW_VALUES: Final = 10
"""Whole numbers with at most so many different values may be codes of categories."""
ROWS_PER_LEVEL: Final = 5
"""So many rows a level needs on average where a rule, and not the user, makes a column a category."""
MOST_LEVELS: Final = 30
"""A column with more levels is an identifier."""
MOST_LABELS: Final = 1000
"""With more different values, before rare ones are pooled, nobody counts on."""
SMALL_MEAN: Final = 10.0
"""Whole numbers from 0 are counts up to this mean; beyond it a count is as good as continuous."""
_RARE_ROWS, _RARE_SHARE = 5, 0.001
_OTHER: Final = ("other", "other levels", "all other levels")
_LISTED: Final = 12

_Key = TypeVar("_Key", bound=Hashable)


def find_rare(counts: Mapping[_Key, float]) -> frozenset[_Key]:
    """The levels to be pooled: those with fewer than five rows, or than one in a thousand, if there are two or more.

    Columns of two levels stay as they are, and so do those without any level that is not rare.

    >>> sorted(find_rare({"a": 40, "b": 3, "c": 2})), sorted(find_rare({"a": 40, "b": 30, "c": 2}))
    (['b', 'c'], [])
    """
    least = max(_RARE_ROWS, _RARE_SHARE * sum(counts.values()))
    rare = frozenset(level for level, count in counts.items() if count < least)
    return rare if 2 <= len(rare) < len(counts) and len(counts) > 2 else frozenset()


@dataclass(frozen=True)
class Coding:
    """Which number in the rows is which level of a column.

    Rows hold the numbers that were read, and for text the position of the label among `labels`. Codes count the levels
    from 0: several numbers have the same code where rare levels are pooled.

    Attributes
    ----------
    labels : tuple of str
        What each number is called.
    values : tuple of float
        The numbers.
    codes : tuple of int
        The code of each of them.
    levels : tuple of str
        What each code is called.
    nominal : bool
        Whether the levels are text, or were told to be categories: their numbers mean nothing.

    Examples
    --------
    >>> coding = Coding(("blue", "green", "red"), (0.0, 1.0, 2.0), (1, 1, 0), ("red", "other"), nominal=True)
    >>> coding.encode(np.array([2.0, 0.0, np.nan, 1.0])).tolist(), coding.pooled
    ([0, 1, -1, 1], ('blue', 'green'))
    """

    labels: tuple[str, ...]
    values: tuple[float, ...]
    codes: tuple[int, ...]
    levels: tuple[str, ...]
    nominal: bool = False

    @property
    def pooled(self) -> tuple[str, ...]:
        """The labels that share their code with others."""
        return tuple(label for label, code in zip(self.labels, self.codes) if self.codes.count(code) > 1)

    def encode(self, numbers: Floats) -> Integers:
        """Codes (n,) of numbers in the rows, each that of the nearest value; −1 where it is missing."""
        order = np.argsort(self.values)
        values, codes = np.array(self.values)[order], np.array(self.codes, dtype=np.intp)[order]
        # Halves are added, for the sum of two numbers near the end of floats would be infinite.
        found = codes[np.searchsorted(values[:-1] / 2 + values[1:] / 2, numbers)]
        return np.where(np.isnan(numbers), -1, found)

    def name(self, number: float) -> str:
        """The label of a number in the rows: that of the nearest value."""
        return self.labels[int(np.argmin(np.abs(np.array(self.values) - number)))]

    def in_units(self, change: Callable[[Floats], Floats]) -> Coding:
        """The same for rows whose values were changed."""
        return replace(self, values=tuple(change(np.array(self.values)).tolist()))


class Told(NamedTuple):
    """What the user says of a column: its kind and, where it is text with an order, its levels in that order."""

    kind: Kind
    order: tuple[str, ...] = ()


def read_kinds(given: Mapping[str, str] | None) -> dict[str, Told]:
    """The kinds of columns as the user states them.

    >>> read_kinds({"smoker": "categorical", "grade": "low < middle < high"})["grade"].order
    ('low', 'middle', 'high')
    """
    told = {}
    for name, word in (given or {}).items():
        if isinstance(word, str) and "<" in word:
            order = tuple(level.strip() for level in word.split("<"))
            if len(set(order)) < len(order) or "" in order:
                raise InputError(Argument("kinds"), f" names a level of {name!r} twice, or none: {word!r}")
            told[name] = Told(Kind.ORDINAL, order)
        elif isinstance(word, str) and word in list(Kind):
            told[name] = Told(Kind(word))
        else:
            accepted = ", ".join(Kind)
            hint = suggest(str(word), [kind.value for kind in Kind])
            raise InputError(
                Argument("kinds"),
                f" says {word!r} of {name!r}{hint}; it takes {accepted}, or levels in order as 'low<middle<high'",
            )
    return told


class Seen(NamedTuple):
    """What was seen of the values of a column, rows with missing cells that are left out not counted.

    ``counts`` are the rows of each value, None where there are too many; ``whole`` and ``least`` tell whether all are
    whole numbers and not negative.
    """

    counts: Mapping[float, float] | None
    whole: bool
    negative: bool


class Sorted(NamedTuple):
    """The kind of each column, the codings of those that are categorical or ordered text, and what is to be noted."""

    kinds: tuple[Kind, ...]
    codings: dict[str, Coding]
    notes: tuple[Fact[Note], ...]


def find_kinds(
    names: Sequence[str],
    seen: Sequence[Seen],
    means: Sequence[float],
    *,
    rows: float,
    labels: Mapping[str, Sequence[str]],
    booleans: frozenset[str],
    ordered: frozenset[str],
    told: Mapping[str, Told],
) -> Sorted:
    """Find the kind of every column by what was read of it, and by what the user says.

    Parameters
    ----------
    names, seen, means
        Of the columns, in order.
    rows : float
        How many there are.
    labels : mapping of str to sequence of str
        Of columns of text: what their numbers stand for.
    booleans, ordered : frozenset of str
        Columns of true and false, and declared categories with an order.
    told : mapping of str to Told
        What the user says of some.
    """
    kinds, codings, notes = [], {}, []
    for name, one, mean in zip(names, seen, means):
        stated, own = told.get(name), labels.get(name, ())
        kind = _by_rule(one, mean, rows, own, name in booleans, name in ordered) if stated is None else stated.kind
        _check_told(name, stated, one, own, name in ordered)
        if kind is Kind.CATEGORICAL or (kind is Kind.ORDINAL and own):
            called = own or (("false", "true") if name in booleans else ())
            nominal = kind is Kind.CATEGORICAL and (bool(own) or stated is not None)
            codings[name] = _code(one.counts or {}, called, nominal=nominal, pool=kind is Kind.CATEGORICAL)
            notes += _note_coding(name, kind, codings[name], one.counts or {}, own, name in booleans, stated)
        elif name in booleans:
            notes.append(Fact.of(Note.BOOLEAN, name))
        kinds.append(kind)
    return Sorted(tuple(kinds), codings, tuple(sorted(notes, key=lambda note: note.kind is not Note.BOOLEAN)))


def _by_rule(seen: Seen, mean: float, rows: float, labels: Sequence[str], boolean: bool, ordered: bool) -> Kind:
    if ordered:
        return Kind.ORDINAL
    if labels or boolean:
        return Kind.CATEGORICAL
    if seen.counts is not None and 1 < len(seen.counts) <= rows / ROWS_PER_LEVEL:
        if len(seen.counts) == 2 or (seen.whole and len(seen.counts) <= FEW_VALUES):
            return Kind.CATEGORICAL
        return Kind.CONTINUOUS
    many = seen.counts is None or len(seen.counts) > FEW_VALUES
    return Kind.COUNT if many and seen.whole and not seen.negative and mean <= SMALL_MEAN else Kind.CONTINUOUS


def _check_told(name: str, told: Told | None, seen: Seen, labels: Sequence[str], ordered: bool) -> None:
    """Raise an InputError if the values of a column cannot be what the user says."""
    if told is None:
        return
    drop = Argument("drop", [name])
    if labels and told.kind in (Kind.CONTINUOUS, Kind.COUNT):
        what = f"{name!r} holds text such as {labels[0]!r}, so it is not {told.kind.value}; say "
        raise InputError(what, Argument("kinds", {name: "categorical"}), " or leave it out with ", drop)
    if told.kind is Kind.COUNT and (seen.negative or not seen.whole):
        what = "negative numbers" if seen.negative else "fractions"
        raise InputError(f"{name!r} holds {what}, so it is no count; leave it out of ", Argument("kinds"))
    if told.kind is Kind.ORDINAL and labels and not (told.order or ordered):
        order = Argument("kinds", {name: "<".join(labels)})
        raise InputError(f"{name!r} holds text, whose order nobody can guess; give its levels in order, as ", order)
    if told.kind is Kind.ORDINAL and told.order and not labels:
        raise InputError(f"{name!r} holds numbers, which have an order; say ", Argument("kinds", {name: "ordinal"}))
    if told.kind is Kind.CATEGORICAL:
        levels = None if seen.counts is None else len(seen.counts) - max(len(find_rare(seen.counts)) - 1, 0)
        if levels is None or levels > MOST_LEVELS:
            many = f"more than {MOST_LABELS}" if levels is None else str(levels)
            said = f"{name!r} has {many} levels, and a category has at most {MOST_LEVELS}; leave it out with "
            raise InputError(said, drop, " or out of ", Argument("kinds"))


def _code(counts: Mapping[float, float], labels: Sequence[str], *, nominal: bool, pool: bool) -> Coding:
    """The levels in the order of their numbers, those pooled behind them; what no row has is no level."""
    values = sorted(counts)
    called = tuple(labels[int(value)] if labels else show_number(value) for value in values)
    rare = find_rare(counts) if pool else frozenset()
    kept = [name for name, value in zip(called, values) if value not in rare]
    place = {value: at for at, value in enumerate(value for value in values if value not in rare)}
    other = [next(name for name in (*_OTHER, "".join(kept)) if name not in kept)] if rare else []
    codes = tuple(place.get(value, len(kept)) for value in values)
    return Coding(called, tuple(values), codes, (*kept, *other), nominal)


def _note_coding(
    name: str,
    kind: Kind,
    coding: Coding,
    counts: Mapping[float, float],
    labels: Sequence[str],
    boolean: bool,
    told: Told | None,
) -> list[Fact[Note]]:
    listed = _list(coding.levels)
    notes = []
    if boolean:
        notes.append(Fact.of(Note.BOOLEAN, name))
    elif labels or told is not None:
        notes.append(Fact.of(Note.LEVELS, name, scale=kind.value, count=len(coding.levels), listed=listed))
    elif len(counts) > 2:
        # Two values are an outcome or a group, which linear models take as well as any number.
        notes.append(Fact.of(Note.CODES, name, count=len(counts), listed=_list(coding.labels)))
    if pooled := coding.pooled:
        rows = sum(count for value, count in counts.items() if coding.labels[coding.values.index(value)] in pooled)
        level = coding.levels[-1]
        notes.append(Fact.of(Note.POOLED, name, count=len(pooled), rows=rows, level=level, listed=_list(pooled)))
    return notes


def _list(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
    return ", ".join(labels[:_LISTED]) + more


def show_number(value: float) -> str:
    """The shortest text that is this number, a whole one without a point.

    >>> show_number(2.0), show_number(0.1), show_number(-1e300)
    ('2', '0.1', '-1e+300')
    """
    return repr(float(value) + 0.0).removesuffix(".0")


def sort_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels in the order of the numbers that they are, if all are; else in that of their characters.

    >>> sort_labels(["10", "9"]), sort_labels(["b10", "b9"])
    (('9', '10'), ('b10', 'b9'))
    """
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        return tuple(sorted(labels))
    # A label that is no finite number has no place among them.
    return (
        tuple(label for _, label in sorted(zip(numbers, labels)))
        if np.isfinite(numbers).all()
        else tuple(sorted(labels))
    )
