"""progress=True: a bar of rich or tqdm where there is one, else lines; and what a run tells to the log "acyclic"."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from acyclic.errors import make_legible
from acyclic.types import Callback, Progress

__all__ = ["show_progress"]

LOG = logging.getLogger("acyclic")
Advance = Callable[[str, int], None]


@contextmanager
def show_progress(
    wanted: bool, callback: Callback | None, title: str, steps: int | None = None
) -> Iterator[Callback | None]:
    """A callback that shows and logs how far a run is, and asks the given one whether to end it.

    Parameters
    ----------
    wanted : bool
        Whether to show a bar: of tqdm in notebooks and of rich in terminals, or the other where one is not installed.
    callback : callable, optional
    title : str
        What is being done.
    steps : int, optional
        How many steps there will be, if that is known.
    """
    if not wanted and not LOG.isEnabledFor(logging.INFO):
        yield callback
        return
    LOG.info("%s begins", title)
    with _open_bar(title, steps) if wanted else _no_bar() as advance:
        last = ""

        def told(moment: Progress) -> bool | None:
            nonlocal last
            if moment.stage != last:
                LOG.info("%s: %s", title, moment.stage)
                last = moment.stage
            advance(f"{title}: {moment.stage}", moment.step)
            return None if callback is None else callback(moment)

        yield told
    LOG.info("%s ended", title)


@contextmanager
def _no_bar() -> Iterator[Advance]:
    yield lambda text, step: None


def _open_bar(title: str, steps: int | None) -> Any:
    bars = {"rich": _rich_bar, "tqdm": _tqdm_bar}
    preferred = ("tqdm", "rich") if "ipykernel" in sys.modules else ("rich", "tqdm")
    installed = [name for name in preferred if find_spec(name) is not None]
    return bars[installed[0]](title, steps) if installed else _lines(title)


@contextmanager
def _rich_bar(title: str, steps: int | None) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=steps)

        def advance(text: str, step: int) -> None:
            bars.update(task, description=make_legible(text), completed=min(step, steps) if steps else 0)

        yield advance


@contextmanager
def _tqdm_bar(title: str, steps: int | None) -> Iterator[Advance]:
    from tqdm.auto import tqdm

    with tqdm(total=steps, desc=title) as bar:

        def advance(text: str, step: int) -> None:
            bar.set_description(make_legible(text), refresh=False)
            bar.update(max(step - bar.n, 0))

        yield advance


@contextmanager
def _lines(title: str) -> Iterator[Advance]:
    last = title

    def advance(text: str, step: int) -> None:
        nonlocal last
        if text != last:
            sys.stderr.write(make_legible(text) + "\n")
            last = text

    sys.stderr.write(make_legible(title) + "\n")
    yield advance
