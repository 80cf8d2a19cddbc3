"""Commands for programs and shells: the schema of what is printed, the plugins that are there, completion."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from acyclic.cli.mcp import mcp
from acyclic.cli.terminal import Output

if TYPE_CHECKING:
    from acyclic.plugins import Plugin

SHOWN = Output()
Shell = Literal["bash", "zsh", "fish"]


def add_commands(app: App) -> None:
    """Add the commands of this file to an app, which completion is made of."""
    app.command(schema)
    app.command(plugins)
    app.command(mcp)

    @app.command
    def completion(
        shell: Shell,
        /,
        *,
        install: Annotated[bool, Parameter(negative=())] = False,
        output: Annotated[Output, Parameter(name="*")] = SHOWN,
    ) -> None:
        """Print what a shell needs to complete commands and flags, or put it where the shell looks for it.

        ```
        source <(acyclic completion bash)
        acyclic completion zsh --install
        ```

        Parameters
        ----------
        shell
            bash, zsh or fish.
        install
            Write it to the file of your account that the shell reads when it starts, and say which that is.
        """
        if not install:
            sys.stdout.write(app.generate_completion(prog_name="acyclic", shell=shell))
            return
        path: Path = app.install_completion(shell=shell)
        output.say(f"Written to {path}; start a new shell, and Tab completes commands and flags.")


def schema(command: str | None = None, /, *, output: Annotated[Output, Parameter(name="*")] = SHOWN) -> None:
    """Print the JSON Schema of what `--json` prints.

    Each document says in `format` what it is, and its version: a document of the same version loses no field, and may
    get new ones. Where a command fails, it prints a document of the format "acyclic error 1", with the exit code.

    ```
    acyclic schema learn
    acyclic learn sachs/table.csv --json
    ```

    Parameters
    ----------
    command
        A command, or error; all of them by default.
    """
    from acyclic.cli.schemas import FORMATS, make_schema
    from acyclic.errors import InputError, suggest

    known = (*FORMATS, "error")
    if command is not None and command not in known:
        raise InputError(f"{command!r} prints no JSON{suggest(command, known)}; give one of {', '.join(known)}")
    output.document(make_schema(command))


def plugins(*, output: Annotated[Output, Parameter(name="*")] = SHOWN) -> None:
    """List the methods and constraints that other installed packages add, and whether they can be used.

    A package offers them by the entry points `acyclic.learners` and `acyclic.constraints`. This loads all of them;
    other commands load those only that they are asked for.
    """
    from acyclic.constraints.catalogue import CONSTRAINTS, SHORT, load_constraint
    from acyclic.learners import LEARNERS, load_learner
    from acyclic.plugins import CONSTRAINTS as CONSTRAINT_GROUP
    from acyclic.plugins import LEARNERS as LEARNER_GROUP
    from acyclic.plugins import list_plugins

    offered: list[tuple[Plugin, Any]] = [(one, load_learner) for one in list_plugins(LEARNER_GROUP, LEARNERS)]
    offered += [(one, load_constraint) for one in list_plugins(CONSTRAINT_GROUP, (*CONSTRAINTS, *SHORT))]
    found = [_describe(plugin, load) for plugin, load in offered]
    output.data({"plugins": found}, "plugins")
    if not found:
        output.say("No other package adds methods or constraints.")
        return
    header = dict.fromkeys(("name", "what", "package", "state"), "left")
    rows = [[row["name"], row["group"].partition(".")[2], row["package"], row["why"] or "fine"] for row in found]
    output.table("Methods and constraints of other packages", header, rows)


def _describe(plugin: Plugin, load: Any) -> dict[str, Any]:
    from acyclic.errors import AcyclicError

    why = ""
    try:
        load(plugin)
    except AcyclicError as error:
        why = str(error)
    texts = {name: getattr(plugin, name) for name in ("group", "name", "package", "target")}
    return {**texts, "usable": not why, "why": why}
