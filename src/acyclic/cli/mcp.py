"""``acyclic mcp``: a server of the Model Context Protocol on standard input and output, for agents."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from acyclic._version import __version__
from acyclic.cli.desk import Desk
from acyclic.cli.terminal import Output
from acyclic.errors import AcyclicError, MissingExtraError

SHOWN = Output()
INSTRUCTIONS = (
    "Learn directed acyclic graphs from tables, and say what the answer rests on. Begin with list_tables; learn one "
    "under a name of your choice; read the verdict before you speak of causes: it says which directions the data "
    "support and which are assumed. An edge whose support is 'undetermined' has no direction."
)


def mcp(
    *,
    data: Path,
    out: Path | None = None,
    time_limit: float = 60.0,
    output: Annotated[Output, Parameter(name="*")] = SHOWN,
) -> None:
    """Serve the Model Context Protocol on standard input and output, for agents.

    Tools: list_tables, learn, verdict, explain, compare. Only the tables in one folder can be read, links are not
    followed, and nothing is written but to the folder for runs. Needs the extra mcp.

    ```
    acyclic mcp --data tables --out runs
    ```

    Parameters
    ----------
    data
        Folder whose tables, and those in folders under it, may be read.
    out
        Folder to write runs to, each with its page; without it nothing is written.
    time_limit
        The most seconds that one run may learn.
    """
    from acyclic.ranges import check_parameters, number

    check_parameters({"time_limit": time_limit}, {"time_limit": number(above=0)})
    make_server(Desk(data, out, time_limit)).run("stdio")


def make_server(desk: Desk) -> Any:
    """The server whose tools work at a desk."""
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        raise MissingExtraError("acyclic mcp", "the package mcp", "mcp") from None
    server = MCPServer("acyclic", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(read_only_hint=desk.out is None, destructive_hint=False, open_world_hint=False)

    def list_tables() -> dict[str, Any]:
        """The tables that can be learned from, with their sizes in bytes, and the runs that there are."""
        return desk.list_tables()

    def learn(
        table: str,
        run: str,
        method: str = "auto",
        columns: list[str] | None = None,
        drop: list[str] | None = None,
        log: list[str] | None = None,
        missing: str | None = None,
        knowledge: dict[str, Any] | None = None,
        threshold: float | None = None,
        time_limit: float | None = None,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Learn a graph from a table and keep it under the name `run`; returns the verdict and the edges.

        table: a name that list_tables gives. columns, drop: columns to use, or to leave out. log: columns to replace by
        their logarithm. missing: error, drop-rows, pairwise, em or impute. knowledge: statements such as {"forbidden":
        [["a", "b"]], "required": [["c", "d"]], "tiers": [["a"], ["b", "c"]]}. threshold: absolute cut on weights.
        time_limit: seconds, at most those of the server.
        """
        reading: dict[str, Any] = {"columns": columns, "drop": drop, "log": log, "missing": missing}
        learning: dict[str, Any] = {"knowledge": knowledge, "threshold": threshold, "time_limit": time_limit}
        return desk.learn(table, run, method=method, **reading, **learning, seed=seed)

    def verdict(run: str) -> dict[str, Any]:
        """What a run found: the verdict in words and facts, and the edges, the strongest first.

        Of each edge `weight` is the slope, `standardised` that between columns of variance 1, `support` what its
        direction rests on, `margin` how much worse the best graph without it, or with it turned, scores.
        """
        return desk.verdict(run)

    def explain(run: str, target: str) -> dict[str, Any]:
        """What drives a column of a run, and what follows if it is raised, as effects along the learned graph."""
        return desk.explain(run, target)

    def compare(truth: str, estimate: str) -> dict[str, Any]:
        """Measure one graph against another: SHD, SID, rates, and the edges that differ.

        Each is the name of a run, or of a graph file (.json .csv .graphml .dot .dagitty) in the folder of tables.
        """
        return desk.compare(truth, estimate)

    for tool in (list_tables, verdict, explain, compare):
        server.add_tool(_told(tool), annotations=looks)
    server.add_tool(_told(learn), annotations=writes)
    return server


def _told(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A tool whose errors are sentences for who called it, and whose numbers JSON can hold."""
    from mcp.server.mcpserver.exceptions import ToolError

    from acyclic.findings.file_format import make_plain

    @wraps(function)
    def call(**arguments: Any) -> dict[str, Any]:
        try:
            return make_plain(function(**arguments))  # type: ignore[no-any-return]
        except AcyclicError as error:
            raise ToolError(str(error)) from error
        except (OSError, MemoryError) as error:
            raise ToolError(f"it could not be done: {type(error).__name__}") from error

    return call
