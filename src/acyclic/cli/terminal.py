"""What the commands show: progress on the standard error, answers on the standard output."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from acyclic.cli.layout import lay_out
from acyclic.cli.schemas import FORMATS
from acyclic.errors import make_legible
from acyclic.judging import words

if TYPE_CHECKING:
    from acyclic.result import Result
    from acyclic.types import Callback
    from acyclic.types import Progress as Moment

MOST_EDGES = 25
TEXTS = ("source", "decided", "target", "rests_on")


@dataclass(frozen=True)
class Output:
    """How much to show, and in which form.

    Parameters
    ----------
    quiet
        Show nothing but errors.
    json
        Print the answer as JSON, for programs: one document, whose form `acyclic schema` tells.
    no_color
        Use no colours, as when the environment variable NO_COLOR is set.
    debug
        Show the traceback of an error.
    """

    quiet: Annotated[bool, Parameter(negative=())] = False
    json: Annotated[bool, Parameter(negative=())] = False
    no_color: Annotated[bool, Parameter(negative=())] = False
    debug: Annotated[bool, Parameter(negative=())] = False

    def say(self, text: str) -> None:
        """Print lines for people."""
        if not self.quiet and not self.json:
            Console(soft_wrap=True, highlight=False).print(_text(text))

    def data(self, plain: Mapping[str, Any], command: str = "") -> None:
        """Print the answer of a command for programs, where it was asked for; without one it tells its own format."""
        if self.json:
            self.document({**({"format": FORMATS[command]} if command else {}), **plain})

    def document(self, plain: Mapping[str, Any]) -> None:
        """Print a JSON document."""
        write_document(plain)

    def table(self, title: str, header: Mapping[str, str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table; `header` gives the justification of each column."""
        if self.quiet or self.json:
            return
        console = Console(highlight=False)
        lines = lay_out(header, rows, console.width if console.is_terminal or "COLUMNS" in os.environ else None)
        console.print(Text(title, style="bold"))
        for line in lines:
            console.print(Text(line), soft_wrap=True)
        console.print()

    def result(self, result: Result, target: str | None = None) -> None:
        """Show a learned graph: the verdict, what drives the target, strongest edges, facts; or all of it as JSON."""
        if self.json:
            write_text(result.to_json())
        paragraphs = result.verdict.paragraphs()
        if target is not None:
            paragraphs.append(str(result.explain(target)))
        self.say("\n\n".join(paragraphs) + "\n")
        rows, columns = result.edges(), result.shown_columns()
        shown = f", the {MOST_EDGES} strongest" if len(rows) > MOST_EDGES else ""
        if rows:
            header = {title: "left" if name in TEXTS else "right" for name, title in columns.items()}
            cells = [[words.show_cell(row, name) for name in columns] for row in rows[:MOST_EDGES]]
            self.table(f"{len(rows)} edges{shown}", header, cells)
        kinds = words.say_kinds(result.graph.names, result.kinds, result.levels)
        facts = [line.text for line in words.say_verdict(result.verdict)]
        self.say("\n".join(["Behind it:", *facts, *([f"{kinds[0].upper()}{kinds[1:]}."] if kinds else []), ""]))

    @contextmanager
    def progress(self) -> Iterator[Stages]:
        """Stages of a run: bars on a terminal, plain lines elsewhere, nothing if quiet."""
        console = Console(stderr=True)
        if self.quiet or not console.is_terminal:
            yield Stages(None, lines=not self.quiet)
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console, transient=True) as bars:
            yield Stages(bars)


class Stages:
    """Tells of one stage after the other."""

    def __init__(self, bars: Progress | None, *, lines: bool = False) -> None:
        self.bars, self.lines = bars, lines
        self.said, self.last = "", 0.0
        self.seen: set[str] = set()

    def stage(self, name: str, *, steps: int | None = None, seconds: float | None = None) -> Callback:
        """Begin a stage of so many steps, or of so many seconds at most; the callback to hand to the library."""
        task = self.bars.add_task(name, total=steps or seconds) if self.bars else None
        self._line(name)

        def callback(moment: Moment) -> None:
            text = make_legible(f"{name}: {moment.stage}") + (f", {moment.edges} edges" if moment.edges else "")
            if self.bars is not None and task is not None:
                done = moment.step if steps else moment.seconds if seconds else 0
                self.bars.update(task, description=text, completed=done)
            elif not steps or moment.step % max(steps // 10, 1) == 0 or moment.step == steps:
                self._line(f"{name}: {moment.stage}", now=moment.step == steps)

        return callback

    def _line(self, text: str, *, now: bool = False) -> None:
        """One line for each new stage and for its last step; stages that come again, at most two in a second."""
        new = text not in self.seen
        if self.lines and text != self.said and (now or new or time.monotonic() - self.last > 0.5):
            sys.stderr.write(make_legible(text) + "\n")
            self.said, self.last = text, time.monotonic()
            self.seen.add(text)


def write_document(plain: Mapping[str, Any]) -> None:
    """One JSON document on the standard output; numbers that are not finite become null, as JSON has none."""
    from acyclic.findings.file_format import make_plain

    write_text(json.dumps(make_plain(plain), indent=1, allow_nan=False))


def write_text(text: str) -> None:
    """JSON on the standard output: of the characters that a terminal obeys it escapes all but this one."""
    sys.stdout.write(text.replace("\x7f", "\\u007f") + "\n")


def complain(text: str) -> None:
    """One sentence on the standard error."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        Text.assemble(("error: ", "bold red"), make_legible(text))
    )


def listed(folder: Path) -> str:
    """The files of a folder in one line, and the page to open in another."""
    names = sorted(entry.name for entry in folder.iterdir())
    page = f"\nReport: {folder / 'report.html'}" if "report.html" in names else ""
    return f"Written to {folder}: {', '.join(names)}{page}"


def _text(text: str) -> Text:
    """Text whose characters a terminal shows and does not obey, whatever the names in it hold."""
    return Text(make_legible(text))
