"""Ranges: what a parameter or a field of a file may be, declared once where it is, checked here, said in one form.

A range is a test and the words for it: "l1 has to be at least 0 and finite; got -1". Ranges of lists and records look
inside, and say where the fault is: "edges[3].weight has to be a finite number; got 'x'".
"""

from __future__ import annotations

import os
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from inspect import signature
from math import inf
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.random import SeedSequence

from acyclic.deadline import Deadline, is_time_limit
from acyclic.errors import Argument, InputError, suggest

Given = ParamSpec("Given")
Returned = TypeVar("Returned")
Parts = Iterator[tuple[str, Any, "Range"]]
"""What is inside a value: the place of each part, the part, and what it may be."""


def _nothing_inside(value: Any, place: str) -> Parts:
    return iter(())


@dataclass(frozen=True)
class Range:
    """What a value may be: ``accepts`` decides, ``words`` follow "has to be", ``inside`` gives the parts to look at."""

    words: str
    accepts: Callable[[Any], bool]
    inside: Callable[[Any, str], Parts] = _nothing_inside

    def __or__(self, other: Range) -> Range:
        def inside(value: Any, place: str) -> Parts:
            return (self if self.accepts(value) else other).inside(value, place)

        words = f"{self.words}, or {other.words}"
        return Range(words, lambda value: self.accepts(value) or other.accepts(value), inside)

    def find_fault(self, value: Any, place: str) -> str:
        """What is wrong with a value, or with a part of it; empty where nothing is.

        Examples
        --------
        >>> record({"weight": number()}).find_fault({"weight": "x"}, "edge")
        "edge.weight has to be a finite number; got 'x'"
        """
        if not self.accepts(value):
            return f"{place} has to be {self.words}; got {show_value(value)}"
        return next(filter(None, (one.find_fault(part, where) for where, part, one in self.inside(value, place))), "")


NONE = Range("None", lambda value: value is None)
FLAG = Range("True or False", lambda value: isinstance(value, bool | np.bool_))
CALLABLE = Range("a function", callable)
PATH = Range("a path", lambda value: isinstance(value, str | os.PathLike) and "\0" not in os.fspath(value))
TEXT = Range("text", lambda value: isinstance(value, str))
NAMES = Range(
    "a list of names",
    lambda value: isinstance(value, Iterable) and not isinstance(value, Iterator) and all(map(TEXT.accepts, value)),
)
ANYTHING = Range("anything", lambda value: True)
MAPPING = Range(
    "a table of names and values", lambda value: isinstance(value, Mapping) and all(map(TEXT.accepts, value))
)


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


def number(*, least: float = -inf, above: float = -inf, below: float = inf, most: float = inf) -> Range:
    """A finite number: at least, above, below, at most."""
    ends = [f"at least {least:g}"] * (least > -inf) + [f"above {above:g}"] * (above > -inf)
    ends += [f"below {below:g}"] * (below < inf) + [f"at most {most:g}"] * (most < inf)
    finite = [] if below < inf or most < inf else ["finite"]
    words = " and ".join([*ends, *finite]) if ends else "a finite number"

    def accepts(value: Any) -> bool:
        # A whole number of hundreds of digits is below infinity and still no float.
        finite = _is_real(value) and -sys.float_info.max <= value <= sys.float_info.max
        return bool(finite and value >= least and value > above and value < below and value <= most)

    return Range(words, accepts)


def whole(*, least: int, most: int | None = None) -> Range:
    """A whole number, at least and at most so large."""
    words = f"a whole number, at least {least}" + (f" and at most {most}" if most is not None else "")
    return Range(words, lambda value: _is_whole(value) and value >= least and (most is None or value <= most))


def an_instance(words: str, *kinds: type) -> Range:
    """An object of one of some classes."""
    return Range(words, lambda value: isinstance(value, kinds))


def several(one: Range) -> Range:
    """A tuple or list, not empty, of values in a range."""
    return Range(
        f"a tuple, each {one.words}",
        lambda value: isinstance(value, tuple | list) and len(value) > 0 and all(map(one.accepts, value)),
    )


def one_of(*options: str) -> Range:
    """One of some words."""
    return Range(f"one of {', '.join(options)}", lambda value: isinstance(value, str) and value in options)


def member(kinds: type[StrEnum]) -> Range:
    """The name of a member of an enumeration."""
    return one_of(*(kind.value for kind in kinds))


def each(one: Range, *, size: int | None = None) -> Range:
    """A list of so many values in a range; of any number where no size is given."""
    words = "a list" if size is None else f"a list of {size}"

    def inside(value: Any, place: str) -> Parts:
        return ((f"{place}[{position}]", part, one) for position, part in enumerate(value))

    return Range(words, lambda value: isinstance(value, list | tuple) and size in (None, len(value)), inside)


def row(*ranges: Range) -> Range:
    """A list with one value for each range."""

    def inside(value: Any, place: str) -> Parts:
        return ((f"{place}[{position}]", part, one) for position, (part, one) in enumerate(zip(value, ranges)))

    words = f"a list of {len(ranges)}"
    return Range(words, lambda value: isinstance(value, list | tuple) and len(value) == len(ranges), inside)


def record(needed: Mapping[str, Range], optional: Mapping[str, Range] | None = None, *, closed: bool = False) -> Range:
    """A table of names and values, some of them in ranges; a closed one has no others."""
    known = {**needed, **(optional or {})}

    def inside(value: Any, place: str) -> Parts:
        start = f"{place}." if place else ""
        yield from ((start + name, value.get(name, _MISSING), one) for name, one in needed.items())
        yield from ((start + name, value[name], known[name]) for name in value if name in known and name not in needed)
        for name in value if closed else ():
            if name not in known:
                yield start + name, value[name], Range(f"left out{suggest(name, known)}", lambda _: False)

    return Range(MAPPING.words, MAPPING.accepts, inside)


def a_fact(kinds: type[StrEnum]) -> Range:
    """The plain values of a fact, as files hold it."""
    return record({"kind": member(kinds)}, {"about": each(TEXT), "values": MAPPING}, closed=True)


EDGES = each(row(TEXT, TEXT, number()))
PAIRS = each(row(TEXT, TEXT))
SHARE = number(least=0, most=1)
ARRAY = Range("an array of numbers", lambda value: _is_array(value))
SECONDS = (
    Range("a number of seconds, at least 0", lambda value: isinstance(value, Deadline) or is_time_limit(value)) | NONE
)
MOST_DRAWS = 10**6
DRAWS = whole(least=1, most=MOST_DRAWS)
SEED = whole(least=0)
SEEDS = SEED | an_instance("a SeedSequence", SeedSequence)
JOBS = (
    Range("a number of processes or threads, or -1 for all", lambda value: _is_whole(value) and 0 < abs(value) < 2**15)
    | NONE
)


def check_parameters(values: Mapping[str, Any], ranges: Mapping[str, Range]) -> None:
    """Raise an InputError for the first value outside of its range.

    Examples
    --------
    >>> check_parameters({"l1": -1.0}, {"l1": number(least=0)})
    Traceback (most recent call last):
    acyclic.errors.InputError: l1 has to be at least 0 and finite; got -1.0
    """
    for name, value in values.items():
        fault = ranges[name].find_fault(value, "") if name in ranges else ""
        if fault:
            raise InputError(Argument(name), fault)


def check_document(plain: Any, shape: Range, what: str) -> None:
    """Raise an InputError for the first field of a document that is missing, unknown or out of its range."""
    fault = shape.find_fault(plain, "")
    if fault:
        raise InputError(f"{what}: {fault.strip()}")


def takes(**ranges: Range) -> Callable[[Callable[Given, Returned]], Callable[Given, Returned]]:
    """Declare what the arguments of a function may be; they are checked before it begins.

    Examples
    --------
    >>> @takes(draws=whole(least=1))
    ... def repeat(draws=10):
    ...     return draws
    >>> repeat(0)
    Traceback (most recent call last):
    acyclic.errors.InputError: draws has to be a whole number, at least 1; got 0
    """

    def declare(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
        bind = signature(function).bind

        @wraps(function)
        def checked(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
            check_parameters(bind(*args, **kwargs).arguments, ranges)
            return function(*args, **kwargs)

        return checked

    return declare


def show_value(value: Any) -> str:
    """A value as messages show it: short, however long or deep it is."""
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = brief.maxlong = 60
    return brief.repr(value)


def _is_array(value: Any) -> bool:
    try:
        return np.asarray(value, dtype=float).ndim > 0
    except (TypeError, ValueError, OverflowError):
        return False


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
