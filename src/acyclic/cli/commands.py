"""The commands: each reads its flags, calls the library, and shows or writes the answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from acyclic._version import __version__
from acyclic.cli.faults import EXITS, Exit, colours, explain, plain_warnings, tell
from acyclic.cli.programs import add_commands
from acyclic.cli.reproduction import reproduce
from acyclic.cli.settings import Run, Settings, Whole, gather
from acyclic.cli.terminal import Output, Stages, complain, listed
from acyclic.cli.trying import examine, redraw
from acyclic.errors import AcyclicError
from acyclic.facts import Ended

if TYPE_CHECKING:
    from acyclic.data.table import Table
    from acyclic.deadline import Patience
    from acyclic.files import NewFolder
    from acyclic.findings import Findings
    from acyclic.graphs.dag import Dag
    from acyclic.graphs.equivalence import Cpdag
    from acyclic.graphs.metrics import Comparison
    from acyclic.learners import DagLearner
    from acyclic.result import Result

Flat = Parameter(name="*")
Switch = Annotated[bool, Parameter(negative=())]
DEFAULTS, SHOWN = Settings(), Output()
app = App(
    name="acyclic",
    version=__version__,
    help="Learn directed acyclic graphs from tables, and say what the answer rests on.",
    help_epilogue=EXITS,
    help_format="markdown",
    default_parameter=Parameter(consume_multiple=True, negative_iterable=()),
    suppress_keyboard_interrupt=False,
)
app.command(reproduce)
add_commands(app)


def run(arguments: list[str]) -> int:
    """Run one command and turn errors into one sentence and an exit code."""
    try:
        with plain_warnings(), colours(arguments):
            words = _with_input_last(arguments)
            code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        return code if isinstance(code, int) else Exit.FINE
    except (Exception, KeyboardInterrupt) as error:  # the last handler: nobody should meet a trace unasked
        with colours(arguments):
            return tell(error, app, arguments)


def _with_input_last(arguments: list[str]) -> list[str]:
    """The words of a command with the "-" for the standard input where it cannot be taken for an option."""
    if "-" not in arguments or "--" in arguments:
        return arguments
    at = arguments.index("-")
    return [*arguments[:at], *arguments[at + 1 :], "--", "-"]


@app.command
def learn(
    table: Path | None = None,
    /,
    *,
    out: Path | None = None,
    force: Switch = False,
    bootstrap: Whole | None = None,
    audit: bool | None = None,
    quick: Annotated[bool | None, Parameter(negative=())] = None,
    target: str | None = None,
    title: str = "",
    no_rows: Switch = False,
    config: Path | None = None,
    repeat: Annotated[Path | None, Parameter(name="--from")] = None,
    settings: Annotated[Settings, Flat] = DEFAULTS,
    output: Annotated[Output, Flat] = SHOWN,
) -> int:
    """Learn a graph from a table; write the report and the files behind it.

    Ctrl-C ends the run with the best so far, which is written too; pressed again it ends at once. Draws of the
    bootstrap are kept beside the folder as they come: the same command goes on where it was stopped or killed.

    ```
    acyclic learn sachs/table.csv --log all --out sachs-graph
    acyclic learn --from sachs-graph/result.json --bootstrap 20 --out sachs-again
    ```

    Parameters
    ----------
    table
        CSV, TSV, Excel, Parquet, Feather or JSON lines file, also packed, a folder of Parquet files, or - for the
        standard input.
    bootstrap
        Learn again from so many draws of the rows, for the confidence of each edge; 0 for none. By default there are
        up to 100, as far as some seconds allow.
    audit
        Learn again in other units and test the assumptions; by default as far as some seconds allow.
    quick
        Leave out draws and audit unless they are asked for.
    target
        Say what drives this column, and what follows if it is raised.
    title
        Heading of the page; the name of the table by default.
    no_rows
        Leave all rows out of the page, which then learns again by lines alone where only rows tell more.
    config
        TOML file with the settings below and `table`, `bootstrap`, `audit`, `quick`; flags overrule it.
    repeat
        Repeat the run that wrote this result.json; flags overrule its settings.
    out
        Folder to write; the name of the table with -acyclic by default.
    force
        Replace the folder of an earlier run.
    """
    from acyclic.deadline import hold_interrupts
    from acyclic.report.folder import open_folder
    from acyclic.trust.explaining import find_target

    job = gather(table, settings, config, repeat, bootstrap=bootstrap, audit=audit, quick=quick)
    model = job.make_learner()
    name = out or Path(f"{job.name.split('.')[0]}-acyclic")
    with open_folder(name, force=force) as folder, job.connected(job.bootstrap):
        with output.progress() as stages:
            stages.stage("reading")
            data = job.read()
        if target is not None:
            find_target(data.names, target)
        with hold_interrupts() as ctrl_c:
            draws = job.name_draws(folder.target, model, data) if job.bootstrap else None
            with output.progress() as stages:
                result, interrupted = _learn(job, model, data, stages, ctrl_c, draws)
            page = {"title": title, "rows": not no_rows, "target": target}
            failed = _finish(result, folder, name, draws, output, force=force, page=page)
            return failed or _code(interrupted or ctrl_c.pressed)


@app.command
def audit(
    table: Path | None = None,
    /,
    *,
    config: Path | None = None,
    settings: Annotated[Settings, Flat] = DEFAULTS,
    output: Annotated[Output, Flat] = SHOWN,
) -> int:
    """Say what a graph learned from a table owes to units, and whether its assumptions hold.

    ```
    acyclic audit sachs/table.csv --log all
    ```

    Parameters
    ----------
    table
        CSV, TSV, Excel, Parquet, Feather or JSON lines file, also packed, a folder of Parquet files, or - for the
        standard input.
    config
        TOML file with the settings below; flags overrule it.
    """
    job = gather(table, settings, config)
    with output.progress() as stages:
        stages.stage("reading")
        found = job.audit_edges(job.make_learner(), job.read(), stages.stage("audit"))
    output.data(found.to_dict())
    output.say(str(found))
    return _code(found.end.kind is Ended.INTERRUPTED)


@app.command
def bootstrap(
    table: Path | None = None,
    /,
    *,
    draws: Whole = 100,
    checkpoint: Path | None = None,
    config: Path | None = None,
    settings: Annotated[Settings, Flat] = DEFAULTS,
    output: Annotated[Output, Flat] = SHOWN,
) -> int:
    """Learn from rows drawn again and again; print how often each edge is found.

    ```
    acyclic bootstrap sachs/table.csv --log all --draws 20
    ```

    Parameters
    ----------
    table
        CSV, TSV, Excel, Parquet, Feather or JSON lines file, also packed, a folder of Parquet files, or - for the
        standard input.
    draws
        How often to draw.
    checkpoint
        File that keeps the draws as they come, from which the same command goes on.
    config
        TOML file with the settings below; flags overrule it.
    """
    from acyclic.ranges import DRAWS, check_parameters

    check_parameters({"draws": draws}, {"draws": DRAWS})
    job = gather(table, settings, config)
    model = job.make_learner()
    with job.connected(draws), output.progress() as stages:
        stages.stage("reading")
        data = job.read()
        found = job.bootstrap_edges(model, data, draws, stages.stage("bootstrap", steps=draws), checkpoint)
    output.data(found.to_dict())
    output.say(str(found))
    return _code(found.end.kind is Ended.INTERRUPTED)


@app.command
def compare(
    truth: Path, estimate: Path, /, *, out: Path | None = None, output: Annotated[Output, Flat] = SHOWN
) -> None:
    """Measure an estimated graph against the true one: SHD, SID, FDR, TPR and more; name the edges that differ.

    A node that only one of the files names counts as isolated in the other.

    ```
    acyclic compare sachs/graph-17.json sachs-graph/result.json
    acyclic compare sachs-graph/result.json sachs-again/result.json --out diff.html
    ```

    Parameters
    ----------
    truth, estimate
        A graph (.json .csv .graphml .dot .dagitty) or a result.json.
    out
        HTML file to write with both graphs in one layout, and the edges that were lost, gained or turned.
    """
    from acyclic.graphs.metrics import compare as measured

    found = measured(_graph(truth), _graph(estimate), nodes="union")
    if out is not None:
        from acyclic.report.comparison import report_comparison

        report_comparison(_drawn(truth), _drawn(estimate), out, titles=(str(truth), str(estimate)))
    output.data(_plain(found) | ({} if out is None else {"page": str(out)}), "compare")
    output.say(str(found) if out is None else f"{found}\nWritten to {out}")


@app.command
def simulate(
    *,
    nodes: Whole | None = None,
    rows: Whole = 1000,
    graph: str = "ER2",
    sem: str = "linear",
    noise: str = "gaussian",
    scheme: str = "raw",
    weight_range: tuple[float, float] | None = None,
    variances: tuple[float, float] | None = None,
    linear_share: float = 0.0,
    least_share: float = 0.0,
    outliers: float = 0.0,
    standardize: Switch = False,
    seed: Whole = 0,
    out: Path = Path("simulated"),
    force: Switch = False,
    output: Annotated[Output, Flat] = SHOWN,
) -> None:
    """Draw a random graph and rows from it; write table.csv and graph.json.

    ```
    acyclic simulate --nodes 20 --rows 500 --seed 1 --out simulated
    acyclic simulate --graph simulated/graph.json --scheme dao --out honest
    ```

    Parameters
    ----------
    nodes, rows
        Columns and rows of the table; 10 columns by default, or those of the graph that is given.
    graph
        ER or SF with the number of edges per node, such as ER2 or SF4; or a graph (.json .csv .graphml .dot .dagitty)
        or a result.json, of which the edges are taken and not the weights.
    sem
        linear, mlp, mim, gp, gp-add, sin or cos; categorical, or mixed: half of the columns are categories, which are
        written as text.
    noise
        Law of the noise: gaussian, exponential, gumbel, laplace, uniform, t3 or t5.
    scheme
        raw; or columns that all have variance 1: iscm (made so before its children use it), or for linear models
        standardized (in the end) and dao (correlations uniform among those that the graph allows).
    weight_range
        Smallest and largest size of a weight; 0.5 2 by default.
    variances
        Smallest and largest variance of the noise; all 1 by default.
    linear_share
        Share of the edges that are linear, of a curved sem.
    least_share
        Share of the variance of its child that each parent explains at least; for linear, cos and gp-add.
    outliers
        Share of the rows that are multiplied by 20.
    standardize
        Scale every column to mean 0 and variance 1.
    seed
        Of all random numbers.
    out
        Folder to write.
    force
        Replace the folder of an earlier simulation.
    """
    from acyclic.data.simulate import simulate as drawn
    from acyclic.report.folder import check_free

    check_free(out, ("table.csv", "graph.json"), force=force)
    law: dict[str, Any] = {"sem": sem, "noise": noise, "scheme": scheme, "standardize": standardize}
    law |= {"linear_share": linear_share, "least_share": least_share, "outliers": outliers}
    if variances is not None:
        law["variances"] = variances
    edges = _member(Path(graph)) if Path(graph).suffix else graph
    data = drawn(nodes, rows, graph=edges, weight_range=weight_range, **law, random_state=seed)
    cells = [[_cell(x, q) for x, q in zip(row, data.levels)] for row in data.X.tolist()]
    folder = _write_table(cells, data.names, {"graph": data.graph}, out, force)
    columns, n_edges = len(data.names), data.graph.n_edges
    output.data({"folder": str(folder), "rows": rows, "nodes": columns, "edges": n_edges}, "simulate")
    output.say(f"{rows} rows, {columns} columns, {n_edges} edges. {listed(folder)}")


@app.command
def report(
    result: Path,
    /,
    *,
    table: Path | None = None,
    out: Path | None = None,
    title: str = "",
    no_rows: Switch = False,
    output: Annotated[Output, Flat] = SHOWN,
) -> None:
    """Write the HTML report of a result again.

    A result.json does not hold the table. With `--table` the page shows its rows too, and can learn again by itself.

    ```
    acyclic report sachs-graph/result.json --out sachs.html --title "Sachs 2005"
    acyclic report sachs-graph/result.json --table sachs/table.csv --out sachs-with-rows.html
    ```

    Parameters
    ----------
    result
        A result.json.
    table
        The table that it was learned from, which is read as it was then; another one is refused.
    out
        HTML file to write; beside the result by default.
    title
        Heading of the page.
    no_rows
        Leave all rows out of the page.
    """
    from acyclic.report import report as written
    from acyclic.result import load

    page = out or result.with_suffix(".html")
    found = load(result)
    if table is not None:
        found = found.with_table(gather(table, DEFAULTS, repeat=result).read())
    written(found, page, title=title, rows=not no_rows)
    output.data({"page": str(page)}, "report")
    output.say(f"Written to {page}")


@app.command
def datasets(
    name: str | None = None,
    /,
    *,
    rows: Literal["observational", "all"] = "observational",
    out: Path | None = None,
    force: Switch = False,
    output: Annotated[Output, Flat] = SHOWN,
) -> None:
    """List the data sets at hand, or write one as table.csv with its reference graphs; networks need pgmpy.

    ```
    acyclic datasets
    acyclic datasets sachs --out sachs
    ```

    Parameters
    ----------
    name
        What to write; without it, the list.
    rows
        Which rows of sachs.
    out
        Folder to write; the name by default.
    force
        Replace the folder.
    """
    from acyclic.data.datasets import available

    if name is None:
        output.data({"datasets": [{"name": key, "what": what} for key, what in available().items()]}, "datasets")
        output.table("Data sets", {"name": "left", "what": "left"}, list(available().items()))
        return
    folder = _write_dataset(name, rows, out or Path(name), force)
    output.data({"folder": str(folder)}, "datasets")
    output.say(listed(folder))


def _learn(
    job: Run, model: DagLearner, table: Table, stages: Stages, ctrl_c: Patience, draws: Path | None
) -> tuple[Result, bool]:
    """Learn, and whatever else the run asks for; after Ctrl-C nothing more is begun, and nothing is lost.

    Gives the result, and whether Ctrl-C ended the run.
    """
    model.set_params(callback=stages.stage("learning", seconds=job.settings.time_limit))
    if not job.bootstrap and not job.audit:
        model.set_params(time_limit=job.deadline.for_one_fit())
    result = job.learn(model, table)
    try:
        result = redraw(job, model, table, result, stages, draws)
        result = examine(job, model, table, result, stages)
    except KeyboardInterrupt:
        if ctrl_c.presses > 1:
            raise
        return result, True
    return result, result.ended is Ended.INTERRUPTED


def _finish(
    result: Result,
    folder: NewFolder,
    name: Path,
    draws: Path | None,
    output: Output,
    *,
    force: bool,
    page: dict[str, Any],
) -> int:
    """Write the folder, or where that fails another one, and show the result; 1 where it failed."""
    from acyclic.report.folder import write_folder

    failure = ""
    try:
        write_folder(result, folder, force=force, **page)
    except (OSError, AcyclicError, MemoryError) as error:
        failure = f"{name} could not be written ({explain(error)}); {_rescue(result)}"
    output.result(result, page["target"])
    if failure:
        complain(failure)
        return Exit.FAILED
    output.say(listed(name))
    if draws is not None and draws.exists():
        if result.ended.stopped:
            output.say(f"The draws so far stay in {draws}; the same command with --force goes on from there.")
        else:
            draws.unlink()
    return 0


def _rescue(result: Result) -> str:
    from acyclic.report.folder import rescue_result

    try:
        return f"the result is in {rescue_result(result)}"
    except (OSError, MemoryError) as error:
        return f"nor could a folder for temporary files ({explain(error)})"


def _code(interrupted: bool) -> int:
    """The exit code: 130 where Ctrl-C ended the run, as shells have it."""
    return Exit.INTERRUPTED if interrupted else Exit.FINE


def _plain(found: Comparison) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(found), "differences": [fact.to_dict() for fact in found.differences]}


def _graph(path: Path) -> Dag | Cpdag:
    from acyclic.findings.file_format import is_findings
    from acyclic.graphs.formats import read
    from acyclic.result import load

    if path.suffix == ".json" and is_findings(path.read_text(encoding="utf-8", errors="replace")):
        return load(path).graph
    return read(path)


def _drawn(path: Path) -> Findings | Dag:
    """What a file holds to be drawn: a result with its margins, or a graph."""
    from acyclic.findings.file_format import is_findings
    from acyclic.result import load

    if path.suffix == ".json" and is_findings(path.read_text(encoding="utf-8", errors="replace")):
        return load(path)
    return _member(path)


def _member(path: Path) -> Dag:
    """The graph of a file, or one of the class that it holds."""
    from acyclic.graphs.dag import Dag
    from acyclic.graphs.equivalence import extend_consistently

    graph = _graph(path)
    return graph if isinstance(graph, Dag) else Dag(extend_consistently(graph), graph.names)


def _write_dataset(name: str, rows: Literal["observational", "all"], folder: Path, force: bool) -> Path:
    from acyclic.data.datasets import GaussianNetwork, load, load_sachs

    data = load(name)
    if isinstance(data, GaussianNetwork):
        return _write_table(data.sample(1000).tolist(), data.names, {"graph": data.graph}, folder, force)
    sachs = load_sachs(rows)
    graphs = {f"graph-{key}": graph for key, graph in sachs.graphs.items()}
    return _write_table(sachs.X.tolist(), sachs.names, graphs, folder, force)


def _cell(value: float, levels: int) -> float | str:
    """A number as it is, a category by a letter."""
    return "abcdefghijklmnopqrstuvwxyz"[int(value)] if levels else value


def _write_table(
    rows: list[list[Any]], names: Sequence[str], graphs: dict[str, Dag], folder: Path, force: bool
) -> Path:
    from acyclic.graphs.csv_text import defuse
    from acyclic.report.folder import write_files

    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(defuse, names))
    writer.writerows(rows)
    files = {"table.csv": text.getvalue(), **{f"{name}.json": graph.to_json() for name, graph in graphs.items()}}
    return write_files(files, folder, force=force)
