"""Ranges of parameters: declared once where a parameter is, checked in one place, said in one form.

A range is a test and the words for it: "l1 has to be at least 0 and finite; got -1".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np

from acyclic.deadline import Deadline
from acyclic.errors import Argument, InputError


@dataclass(frozen=True)
class Range:
    """What a parameter may be: ``accepts`` decides, ``words`` follow "has to be"."""

    words: str
    accepts: Callable[[Any], bool]

    def __or__(self, other: Range) -> Range:
        return Range(f"{self.words}, or {other.words}", lambda value: self.accepts(value) or other.accepts(value))


NONE = Range("None", lambda value: value is None)
FLAG = Range("True or False", lambda value: isinstance(value, bool | np.bool_))
CALLABLE = Range("a function", callable)
PATH = Range("a path", lambda value: isinstance(value, str | os.PathLike))


def number(*, least: float = -inf, above: float = -inf, below: float = inf) -> Range:
    """A finite number: at least, above, below."""
    if least > -inf:
        words = f"at least {least:g}" + (f" and below {below:g}" if below < inf else " and finite")
    elif above > -inf:
        words = f"above {above:g}" + (f" and below {below:g}" if below < inf else " and finite")
    else:
        words = "a finite number"
    return Range(words, lambda value: _is_real(value) and value >= least and value > above and -inf < value < below)


def whole(*, least: int) -> Range:
    """A whole number, at least so large."""
    return Range(f"a whole number, at least {least}", lambda value: _is_whole(value) and value >= least)


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


ARRAY = Range("an array of numbers", lambda value: _is_array(value))
SECONDS = Range("a number of seconds, at least 0", lambda value: isinstance(value, Deadline) or _is_limit(value)) | NONE
JOBS = Range("a number of processes or threads, or -1 for all", lambda value: _is_whole(value) and value != 0) | NONE


def check_parameters(values: Mapping[str, Any], ranges: Mapping[str, Range]) -> None:
    """Raise an InputError for the first value outside of its range.

    Examples
    --------
    >>> check_parameters({"l1": -1.0}, {"l1": number(least=0)})
    Traceback (most recent call last):
    acyclic.errors.InputError: l1 has to be at least 0 and finite; got -1.0
    """
    for name, value in values.items():
        if name in ranges and not ranges[name].accepts(value):
            raise InputError(Argument(name), f" has to be {ranges[name].words}; got {value!r}")


def _is_array(value: Any) -> bool:
    try:
        return np.asarray(value, dtype=float).ndim > 0
    except (TypeError, ValueError):
        return False


def _is_limit(value: Any) -> bool:
    return _is_real(value) and value >= 0


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
