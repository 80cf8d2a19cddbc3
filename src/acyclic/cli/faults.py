"""What ends a command: its exit codes, and any error in one sentence, with flags where Python has arguments."""

from __future__ import annotations

import os
import shlex
import sqlite3
import sys
import traceback
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from enum import IntEnum
from inspect import signature
from typing import Any

from cyclopts import App, CycloptsError, UnknownCommandError

from acyclic.cli.schemas import ERROR
from acyclic.cli.terminal import complain, write_document
from acyclic.errors import AcyclicError, Argument, MissingExtraError, make_legible


class Exit(IntEnum):
    """The exit codes of all commands."""

    FINE = 0
    FAILED = 1
    """The run failed, or the input cannot be used."""
    USAGE = 2
    """The command line itself is wrong."""
    FAULT = 70
    """A fault of acyclic; sysexits.h calls it EX_SOFTWARE."""
    INTERRUPTED = 130
    """Ctrl-C ended the run: 128 and the number of the signal, as shells have it."""


EXITS = (
    f"Exit codes: {Exit.FINE:d} fine, also at the time limit; {Exit.FAILED:d} the run failed, the input cannot be used "
    f"or the result not be written; {Exit.USAGE:d} wrong usage; {Exit.FAULT:d} a fault of acyclic; "
    f"{Exit.INTERRUPTED:d} interrupted, and what was found is written unless Ctrl-C was pressed twice."
)
# Flags that have another name than the argument they are handed to, by which messages speak of it.
_FLAGS = {
    "draws": "--bootstrap",
    "folder": "--out",
    "n": "--rows",
    "n_jobs": "--jobs",
    "n_nodes": "--nodes",
    "random_state": "--seed",
}


def tell(error: BaseException, app: App, arguments: list[str]) -> Exit:
    """Say in one sentence what ended a command, after the trace if ``--debug`` asks for it; the exit code.

    With ``--json`` the standard output gets it too, as a document.
    """
    flags = _words_of(arguments)
    if "--debug" in flags and isinstance(error, Exception) and not isinstance(error, CycloptsError):
        sys.stderr.write(make_legible("".join(traceback.format_exception(error))))
    kind, sentence, code = _sum_up(error, app, arguments, traced="--debug" in flags)
    complain(sentence)
    if "--json" in flags:
        extra = {"extra": error.extra} if isinstance(error, MissingExtraError) else {}
        message = make_legible(sentence)
        write_document({"format": ERROR, "kind": kind, "message": message, "exit_code": int(code), **extra})
    return code


def _sum_up(error: BaseException, app: App, arguments: list[str], *, traced: bool) -> tuple[str, str, Exit]:
    """What kind of error it is, the sentence on it, and the exit code."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "interrupted; nothing was written", Exit.INTERRUPTED
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        commands = sorted(name for name in app if not name.startswith("-"))
        near = get_close_matches(error.unused_tokens[0], commands, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        told = f"there is no command {error.unused_tokens[0]!r}; {meant}there are {', '.join(commands)}"
        return "usage", f"{told}. See: acyclic --help", Exit.USAGE
    if isinstance(error, CycloptsError):
        chain = " ".join(["acyclic", *(error.command_chain or ()), "--help"])
        return "usage", f"{' '.join(str(error).split()).rstrip('.')}. See: {chain}", Exit.USAGE
    sentence = explain(error, _flags_of(app, arguments))
    if sentence is None:
        advice = "" if traced else "; run the same command with --debug for its trace"
        return "fault", f"this is a fault of acyclic ({_name(error)}){advice}", Exit.FAULT
    kind = "missing-extra" if isinstance(error, MissingExtraError) else "input"
    return kind, "; ".join([*sentence.splitlines(), *getattr(error, "__notes__", ())]), Exit.FAILED


@contextmanager
def colours(arguments: list[str]) -> Iterator[None]:
    """Inside of it what is printed has colours, unless ``--no-color`` or NO_COLOR forbids them."""
    before = os.environ.get("NO_COLOR")
    if "--no-color" in _words_of(arguments):
        os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("NO_COLOR", None)


def _words_of(arguments: list[str]) -> list[str]:
    """The words of a command up to the mark after which none is a flag."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def show_flag(argument: Argument, flags: Collection[str]) -> str:
    """An argument as the flag of a command that has these flags.

    Examples
    --------
    >>> flags = ("--drop", "--seed", "--header", "--option")
    >>> show_flag(Argument("drop", ["species", "two words"]), flags), show_flag(Argument("random_state"), flags)
    ("--drop species 'two words'", '--seed')
    >>> show_flag(Argument("header", False), flags), show_flag(Argument("l1", 0.1), flags)
    ('--no-header', '--option.l1 0.1')
    """
    plain = f"--{argument.name.replace('_', '-')}"
    flag = next((name for name in (plain, _FLAGS.get(argument.name)) if name in flags), None)
    if flag is None:
        if "--option" not in flags or not _is_setting(argument.name):
            return str(argument)
        flag = f"--option.{argument.name}"
    value = argument.value
    if value is ... or value is True:
        return flag
    if value is False:
        return f"--no-{flag.removeprefix('--')}"
    if isinstance(value, Mapping):
        value = [f"{name}={word}" for name, word in value.items()]
    words = value if isinstance(value, list | tuple) else [value]
    return " ".join([flag, *(word if word == "…" else shlex.quote(str(word)) for word in words)])


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Inside of it warnings are lines for people, without file and code."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"warning: {make_legible(str(message))}\n")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def explain(error: BaseException, flags: Collection[str] = ()) -> str | None:
    """What an error says; None of one that nobody foresaw."""
    if isinstance(error, AcyclicError):
        return error.say(lambda argument: show_flag(argument, flags))
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.strerror and error.filename else str(error) or "no access"
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this{f': {error}' if str(error) else ''}"
    if isinstance(error, RecursionError):
        return "something in what was given is nested too deeply"
    if isinstance(error, sqlite3.Error):
        return f"the file of results cannot be used: {error}"
    return None


def _flags_of(app: App, arguments: list[str]) -> frozenset[str]:
    chain, apps, _ = app.parse_commands(arguments)
    if not chain:
        return frozenset()
    return frozenset(name for flag in apps[-1].assemble_argument_collection() for name in flag.names)


def _is_setting(name: str) -> bool:
    from acyclic.learners import LEARNERS

    return any(name in signature(kind).parameters for kind in LEARNERS.values())


def _name(error: BaseException) -> str:
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
