"""The few errors that acyclic raises on purpose; each message says what was given, what is accepted and what to do.

A message is made of text and of `Argument`: what it advises, or complains of, as a name and a value. Python shows these
as ``drop=['species']``; the command line shows the same error with ``--drop species``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

# Longer words are no misspelt names, and comparing them takes long.
_LONGEST_WORD = 100
# Characters of a message; what a file holds may be of any length.
_LONGEST = 1600


@dataclass(frozen=True)
class Argument:
    """An argument, with or without a value, that a message names.

    Examples
    --------
    >>> print(Argument("drop", ["species"]), Argument("header"))
    drop=['species'] header
    """

    name: str
    value: Any = ...

    def __str__(self) -> str:
        return self.name if self.value is ... else f"{self.name}={self.value!r}"


Part = str | Argument


class AcyclicError(Exception):
    """Base of every error that the library raises on purpose.

    Parameters
    ----------
    *parts : str or Argument
        The message, in pieces.

    Examples
    --------
    >>> error = AcyclicError("'species' is text; leave it out with ", Argument("drop", ["species"]))
    >>> print(error)
    'species' is text; leave it out with drop=['species']
    >>> error.say(lambda argument: f"--{argument.name} {' '.join(argument.value)}")
    "'species' is text; leave it out with --drop species"
    """

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)
        self.parts = parts

    def say(self, show: Callable[[Argument], str]) -> str:
        """The message, with the arguments as a door shows them."""
        said = make_legible("".join(show(part) if isinstance(part, Argument) else part for part in self.parts))
        return said if len(said) <= _LONGEST else f"{said[: _LONGEST // 2]} … {said[-_LONGEST // 4 :]}"

    def __str__(self) -> str:
        return self.say(str)


class InputError(AcyclicError, ValueError):
    """An argument, a table or a file cannot be used as it is."""


class KnowledgeError(InputError):
    """Statements of prior knowledge contradict each other or name unknown columns."""


class CycleError(InputError):
    """A graph that has to be acyclic is not.

    Attributes
    ----------
    cycle : tuple of str
        The names along one cycle, the first not repeated at the end.
    """

    def __init__(self, message: str, cycle: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.cycle = tuple(cycle)


class MissingExtraError(AcyclicError, ImportError):
    """A part of the library needs an optional package that is not installed."""

    def __init__(self, what: Part, package: str, extra: str) -> None:
        super().__init__(what, f" needs {package}; install it with: pip install 'acyclic[{extra}]'")
        # What a copy in another process is made of.
        self.args = (what, package, extra)
        self.extra = extra


def make_legible(text: str) -> str:
    r"""The text with characters escaped that a terminal would obey rather than show; line ends and spaces stay.

    Examples
    --------
    >>> make_legible("dose\x1b[2J, \u202edesrever")
    'dose\\x1b[2J, \\u202edesrever'
    """
    if text.isprintable():
        return text
    return "".join(character if _is_shown(character) else _escape(character) for character in text)


def show_name(name: str) -> str:
    """Give the name of a node or column as it appears in messages: bare if that is legible, else quoted and escaped."""
    return name if name and name.isprintable() and name == name.strip() else repr(name)


def suggest(word: str, known: Iterable[str]) -> str:
    """A question to append to a message on an unknown name: which of those that there are was meant; empty if none.

    Examples
    --------
    >>> suggest("notear", ["golem", "notears"]), suggest("x", ["golem"])
    (" (did you mean 'notears'?)", '')
    """
    if not isinstance(word, str) or len(word) > _LONGEST_WORD:
        return ""
    folded = {name.strip().casefold(): name for name in reversed([*known]) if len(name) <= _LONGEST_WORD}
    near = get_close_matches(word.strip().casefold(), folded, n=1, cutoff=0.7)
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def _is_shown(character: str) -> bool:
    return character.isprintable() or character == "\n" or unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
