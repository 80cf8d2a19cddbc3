"""The words for what is noted about columns: one line for all columns of which the same is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log10
from typing import TYPE_CHECKING, Final

from acyclic.facts import Fact, Note

if TYPE_CHECKING:
    from acyclic.types import Kind

# So many columns are named where the same is said of more.
_NAMED_COLUMNS: Final = 3
# Beyond so many lines of one kind that differ in their numbers only, one line tells what they share.
_MOST_LINES: Final = 5


def say_note(fact: Fact[Note]) -> str:
    """A sentence on a column or on the table, without a full stop.

    >>> say_note(Fact.of(Note.CONSTANT, "dose", value=2.5))
    "'dose' is constant: every row is 2.5"
    """
    if fact.kind in _OF_A_COLUMN and fact.about:
        return f"{fact.about[0]!r} {_OF_A_COLUMN[fact.kind](fact)}"
    return _OF_A_TABLE[fact.kind](fact)


def say_notes(facts: Iterable[Fact[Note]]) -> list[str]:
    """The sentences on all columns, one line for the columns of which the same is said.

    >>> say_notes(Fact.of(Note.LOG, name) for name in "abcde")
    ["'a', 'b', 'c' and 2 more: each was replaced by its natural logarithm"]
    """
    told = list(facts)
    lines: dict[tuple[Note, str], list[str]] = {}
    for fact in told:
        of_column = fact.kind in _OF_A_COLUMN and bool(fact.about)
        rest = _OF_A_COLUMN[fact.kind](fact) if of_column else say_note(fact)
        lines.setdefault((fact.kind, rest), []).extend(fact.about[:1] if of_column else ())
    many = {kind for kind in _OF_MANY if sum(key[0] is kind and bool(lines[key]) for key in lines) > _MOST_LINES}
    shared: dict[tuple[Note, str], list[str]] = {}
    for (kind, rest), names in lines.items():
        shared.setdefault((kind, _OF_MANY[kind] if kind in many and names else rest), []).extend(names)
    return [_say_of(names, rest) for (_, rest), names in shared.items()]


def say_kinds(names: Sequence[str], kinds: Sequence[Kind], levels: Mapping[str, Sequence[str]]) -> str:
    """What the columns hold, in one line; nothing where all are continuous.

    >>> from acyclic.types import Kind
    >>> say_kinds(["dose", "smoker"], [Kind.CONTINUOUS, Kind.CATEGORICAL], {"smoker": ["no", "yes"]})
    "columns: 1 continuous; categorical: 'smoker' (no, yes)"
    """
    held: dict[str, list[str]] = {}
    for name, kind in zip(names, kinds):
        held.setdefault(kind.value, []).append(name)
    numbers = len(held.pop("continuous", ()))
    parts = [f"{numbers} continuous"] if numbers else []
    for scale, columns in held.items():
        shown = [_say_column(name, levels.get(name, ())) for name in columns[:_MOST_LEFT_OUT]]
        more = f" and {len(columns) - len(shown)} more" if len(columns) > len(shown) else ""
        parts.append(f"{scale}: {', '.join(shown)}{more}")
    return f"columns: {'; '.join(parts)}" if held else ""


def _say_column(name: str, levels: Sequence[str]) -> str:
    shown = ", ".join(levels) if len(levels) <= _NAMED_COLUMNS else f"{len(levels)} levels"
    return f"{name!r} ({shown})" if levels else repr(name)


def _say_of(names: Sequence[str], rest: str) -> str:
    if len(names) < 2:
        return " ".join([*map(repr, names), rest])
    return f"{_list_columns(names)}: each {rest}"


def _list_columns(names: Sequence[str], most: int = _NAMED_COLUMNS) -> str:
    shown, more = ", ".join(repr(name) if name else "the first column" for name in names[:most]), len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


def _say_relation(fact: Fact[Note]) -> str:
    relation = " ".join(f"{term:+.4g}·{other!r}" for other, term in fact.values)
    more = len(fact.about) - 1 - len(fact.values)
    return f"is determined by others: constant {relation}" + (f" and {more} more terms" if more > 0 else "")


def _say_missing(fact: Fact[Note]) -> str:
    share = 100 * fact["count"] / fact["rows"]
    return f"is missing in {fact['count']} of {fact['rows']} rows ({share:.3g} %)"


def _say_cells(fact: Fact[Note]) -> str:
    said = f"{fact['cells']} cells are missing, in {fact['incomplete']} of {fact['rows']} rows"
    return f"{said}; {fact['left_out']} rows were left out" if fact.get("left_out") else said


def _say_pairwise(fact: Fact[Note]) -> str:
    rows = f"{fact['fewest']:g} to {fact['most']:g} rows"
    return (
        f"each covariance is that of the rows that have both columns, {rows}; "
        f"n = {fact['n']:.6g} is the harmonic mean of these; covariances of different rows do not fit together, "
        "and closely correlated columns may seem linked for that"
    )


def _say_em(fact: Fact[Note]) -> str:
    said = f"the moments maximise the Gaussian likelihood of all {fact['rows']:g} rows that have a value"
    if fact.get("n"):
        said += f", and count as {fact['n']:.6g} rows, as many as have three columns at once on average"
    if fact.kind is Note.EM:
        return f"{said} (EM, {fact['iterations']} iterations)"
    step = f"{fact['step']:.2g} standard deviations"
    return f"{said}, but EM stopped after {fact['iterations']} iterations at steps of {step}"


def _say_imputed(fact: Fact[Note]) -> str:
    return (
        f"{fact['cells']} missing cells were filled with values of rows that resemble theirs; the {fact['rows']} "
        f"fullest of {fact['of']} rows are used, as many as have three columns at once on average"
    )


def _say_few_rows(fact: Fact[Note]) -> str:
    verb = "is" if len(fact.about) == 1 else "are"
    why = f"there are {fact['rows']:g} rows for {fact['columns']} columns"
    return f"{_list_columns(fact.about)} {verb} determined by others: {why}"


def _say_left_out(fact: Fact[Note]) -> str:
    """Which columns were left out, gathered by what they hold."""
    by_kind: dict[str, list[str]] = {}
    for name in fact.about:
        by_kind.setdefault(str(fact.get(name, "other")), []).append(name)
    parts = [f"{_list_columns(names, _MOST_LEFT_OUT)} ({_HELD[kind]})" for kind, names in by_kind.items()]
    return f"left out, for they hold no numbers to learn from: {', '.join(parts)}"


def _say_written(fact: Fact[Note]) -> str:
    marks = [
        "a decimal comma" if fact["decimal"] == "," else "",
        f"{_GROUPS[fact['group']]} between thousands" if fact["group"] else "",
        "a per cent sign" if fact["percent"] else "",
        f"the currency sign {fact['currency']}" if fact["currency"] else "",
        "a mark of their own for negative numbers" if fact["accounting"] else "",
    ]
    how = " and ".join(filter(None, marks))
    verb = "is" if len(fact.about) == 1 else "are"
    said = f"{_list_columns(fact.about)} {verb} written {'with ' + how if how else 'as text'}"
    doubt = "" if fact["certain"] else ", which is a guess: say what the decimal mark is if it is wrong"
    return f"{said}: {fact['example']!r} was read as {fact['value']:.15g}{doubt}"


def _say_levels(fact: Fact[Note]) -> str:
    many = "one level" if fact["count"] == 1 else f"{fact['count']} levels"
    order = ", in this order" if fact["scale"] == "ordinal" else ""
    return f"is {fact['scale']}, with {many}{order}: {fact['listed']}"


def _say_pooled(fact: Fact[Note]) -> str:
    rows = f"{fact['rows']:g} rows"
    return f"has {fact['count']} rare levels, {rows} in all, that count as {fact['level']!r}: {fact['listed']}"


def _say_outliers(fact: Fact[Note]) -> str:
    one = fact["count"] == 1
    many = f"{fact['count']} of {fact['rows']:g} rows {'is' if one else 'are'} far from all others"
    others = "" if fact["columns"] == 1 else f" and {fact['columns'] - 1} more columns"
    what = f"{'was' if one else 'were'} set aside; outliers = keep uses {'it' if one else 'them'} too"
    return f"{many} (row {fact['first']} first; see {fact['column']!r}{others}) and {what}"


def _say_renamed(fact: Fact[Note]) -> str:
    return f"columns without a name, or with that of another, are called {_list_columns(fact.about)}"


# So many columns of a kind are named where columns are left out: nobody else names them.
_MOST_LEFT_OUT: Final = 12
_GROUPS: Final = {",": "a comma", ".": "a point", " ": "a blank", "'": "an apostrophe"}
_HELD: Final = {
    "text": "text",
    "mixed": "text among numbers",
    "categories": "categories",
    "one-level": "one level",
    "many-levels": "too many levels",
    "dates": "dates or times",
    "identifier": "an identifier",
    "row-numbers": "row numbers",
    "nothing": "empty",
    "other": "no numbers",
}
_OF_A_COLUMN: Final[dict[Note, Callable[[Fact[Note]], str]]] = {
    Note.CONSTANT: lambda fact: f"is constant: every row is {fact['value']:.6g}",
    Note.DUPLICATE: _say_relation,
    Note.COLLINEAR: _say_relation,
    Note.BOOLEAN: lambda fact: "is boolean; true counts as 1 and false as 0",
    Note.CODES: lambda fact: (
        f"has only the {fact['count']} values {fact['listed']}, so it counts as a category; kinds can say otherwise"
    ),
    Note.LEVELS: _say_levels,
    Note.POOLED: _say_pooled,
    Note.ONE_LEVEL: lambda fact: f"was left out: it is {fact['level']!r} wherever it is given",
    Note.MIXED: lambda fact: (
        f"was left out: it holds {fact['level']!r} and other text among numbers; kinds can say that it is a category"
    ),
    Note.DROPPED: lambda fact: "was left out",
    Note.RESCALED: lambda fact: (
        f"was multiplied by 2^{fact['exponent']} (10^{fact['exponent'] * log10(2):.1f}): its values are near the ends "
        "of what floating-point numbers can hold"
    ),
    Note.LOG: lambda fact: "was replaced by its natural logarithm",
    Note.WEIGHTS: lambda fact: "counts the rows",
    Note.MISSING: _say_missing,
}
_OF_A_TABLE: Final[dict[Note, Callable[[Fact[Note]], str]]] = {
    Note.LEFT_OUT: _say_left_out,
    Note.WRITTEN: _say_written,
    Note.RENAMED: _say_renamed,
    Note.HEADER_OF_NUMBERS: lambda fact: "the first line holds numbers, but unlike those below: taken for names",
    Note.NO_HEADER: lambda fact: "the first line holds numbers like those below: taken for a row; there are no names",
    Note.COMMENTS: lambda fact: f"lines passed over before the names, most of them comments: {fact['count']}",
    Note.ENCODING: lambda fact: f"the text is no UTF-8; it was read as {fact['encoding']}",
    Note.ZERO_BYTES: lambda fact: f"zero bytes passed over in the beginning of the text: {fact['count']}",
    Note.STANDARDIZED: lambda fact: "every column was scaled to mean 0 and variance 1",
    Note.OUTLIERS: _say_outliers,
    Note.FEW_ROWS_COLLINEAR: _say_few_rows,
    Note.MISSING: _say_cells,
    Note.ROWS_LEFT_OUT: _say_cells,
    Note.SAMPLED: lambda fact: f"{fact['rows']} of {fact['of']} rows, drawn at random, stand for all",
    Note.PAIRWISE: _say_pairwise,
    Note.REPAIRED: lambda fact: (
        f"an eigenvalue of the correlations was {fact['eigenvalue']:.3g}, so they were changed by up to "
        f"{fact['change']:.3g}"
    ),
    Note.EM: _say_em,
    Note.IMPUTED: _say_imputed,
    Note.EM_NOT_CONVERGED: _say_em,
    Note.UNKNOWN: lambda fact: str(fact["text"]),
}
_OF_MANY: Final[dict[Note, str]] = {
    Note.CONSTANT: "is constant",
    Note.DUPLICATE: "is determined by another",
    Note.COLLINEAR: "is determined by others",
    Note.CODES: "has only a few values, so it counts as a category; kinds can say otherwise",
    Note.LEVELS: "has levels",
    Note.POOLED: "has rare levels that count as one",
    Note.MISSING: "is missing in some rows",
    Note.RESCALED: "was multiplied by a power of two: its values are near the ends of what numbers can be",
}
