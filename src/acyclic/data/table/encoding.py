"""Rows in the numbers that another table has for its levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from acyclic.data.kinds import Coding, Told, show_number
from acyclic.data.reading import join_rows, open_source
from acyclic.data.sources import check_numbers
from acyclic.data.table.table import Table
from acyclic.data.text import TextFormat
from acyclic.errors import InputError
from acyclic.types import Floats, Kind

__all__ = ["encode"]


def encode(
    source: Any,
    codings: Mapping[str, Coding],
    names: Sequence[str] | None = None,
    given: Sequence[str] | None = None,
) -> Floats:
    """Rows (n, d) with the numbers that another table has for its levels, as a model that was fitted to it needs them.

    Parameters
    ----------
    source : Table, or anything with rows that `read_table` takes
        New rows, of any number; missing cells are NaN.
    codings : mapping of str to Coding
        Of the table that was learned from.
    names : sequence of str, optional
        Its columns; if left out, those of the source.
    given : sequence of str, optional
        The columns of a source that is an array.

    Raises
    ------
    InputError
        For a level that the other table did not have, by its column and its name.

    Examples
    --------
    >>> learned = Table.open([["red", 1.5], ["blue", 2.5], ["red", 0.5]] * 4, names=["colour", "size"])
    >>> import pandas
    >>> encode(pandas.DataFrame({"size": [0.1], "colour": ["red"]}), learned.codings, learned.names)
    array([[1. , 0.1]])
    """
    if isinstance(source, Table):
        found, rows, own = source.names, source.rows(), source.codings
    else:
        told = {name: Told(Kind.CATEGORICAL) for name, coding in codings.items() if coding.nominal}
        opened = open_source(source, given, TextFormat(), told=told)
        check_numbers(opened, opened.names if names is None else [n for n in names if n in opened.names], labels=True)
        found = opened.names if names is None else tuple(name for name in opened.names if name in set(names))
        rows = join_rows([block for block, _ in opened.blocks(found)], len(found))
        own = {name: _coding_of(labels) for name, labels in opened.labels.items()}
        own |= {name: _coding_of(("false", "true")) for name in opened.booleans}
    wanted = found if names is None else tuple(names)
    if absent := [name for name in wanted if name not in found]:
        raise InputError(f"the rows have no column {absent[0]!r}; they have {', '.join(map(repr, found))}")
    rows = np.array(rows[:, [found.index(name) for name in wanted]])
    for column, name in enumerate(wanted):
        if name in codings:
            rows[:, column] = _translate(name, rows[:, column], own.get(name), codings[name])
    return rows


def _coding_of(labels: Sequence[str]) -> Coding:
    codes = tuple(range(len(labels)))
    return Coding(tuple(labels), tuple(map(float, codes)), codes, tuple(labels))


def _translate(name: str, values: Floats, own: Coding | None, other: Coding) -> Floats:
    """The numbers of another coding for values of this one, or for plain numbers."""
    found, inverse = np.unique(values, return_inverse=True)
    known = dict(zip(other.labels, other.values))
    numbers = []
    for value in found.tolist():
        label = show_number(value) if own is None else own.name(value)
        # Where true and false were learned from, or two numbers, the same numbers will do.
        number = known.get(label, value if not other.nominal and own is None and value in other.values else None)
        if number is None and not np.isnan(value):
            listed = ", ".join(map(repr, other.labels[:12])) + (" …" if len(other.labels) > 12 else "")
            raise InputError(f"column {name!r} has the level {label!r}, which was not learned from; known are {listed}")
        numbers.append(np.nan if number is None else number)
    return np.array(numbers)[inverse]
