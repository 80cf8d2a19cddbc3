"""What a program may do through ``acyclic mcp``: learn from the tables of one folder, and write to one other.

Names come from somebody who is not trusted. A table is a file inside of the folder of data, reached by no link; a run
is a plain name. Nothing else is read, and nothing is written but the folders of runs, if there is a place for them.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from acyclic.errors import InputError, suggest

if TYPE_CHECKING:
    from acyclic.graphs.dag import Dag
    from acyclic.graphs.equivalence import Cpdag
    from acyclic.result import Result

# A program that asks for more wants the file of the run instead.
MOST_EDGES = 500
MOST_TABLES = 1000
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_GRAPHS = (".json", ".csv", ".graphml", ".dot", ".dagitty")


class Desk:
    """Tables in, runs out.

    Parameters
    ----------
    data : Path
        The folder whose tables may be read.
    out : Path, optional
        The folder for runs; without one they are kept in memory, and nothing is written.
    time_limit : float
        The most seconds that a run may learn.
    """

    def __init__(self, data: Path, out: Path | None = None, time_limit: float = 60.0) -> None:
        if not data.is_dir():
            raise InputError(f"{data} is no folder of tables")
        self.data, self.time_limit = data.resolve(), time_limit
        self.out = None if out is None else out.resolve()
        if self.out is not None and (self.out == self.data or self.out in self.data.parents):
            raise InputError(f"{out} holds the tables; name another folder for what is written")
        self._runs: dict[str, Result] = {}
        # One run at a time has the processors.
        self._learning = threading.Lock()

    def list_tables(self) -> dict[str, Any]:
        """The tables by name, with their sizes, and the runs that there are."""
        from acyclic.data.opening import is_table_name

        files = [path for path in sorted(self._walk(self.data)) if is_table_name(path.name)]
        tables = [{"table": path.relative_to(self.data).as_posix(), "bytes": path.stat().st_size} for path in files]
        return {
            "tables": tables[:MOST_TABLES],
            "left_out": max(len(tables) - MOST_TABLES, 0),
            "runs": self._list_runs(),
        }

    def learn(
        self,
        table: str,
        run: str,
        *,
        method: str = "auto",
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        log: Sequence[str] | None = None,
        missing: str | None = None,
        knowledge: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        time_limit: float | None = None,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Learn a graph from a table, and keep it under the name of the run."""
        from acyclic.data.knowledge import Knowledge
        from acyclic.data.table import Table
        from acyclic.learning import learn
        from acyclic.report.folder import write_folder

        path = self._find(table)
        self._check_free(run)
        reading = {"columns": columns, "drop": drop, "log": log, "missing": missing}
        known = None if knowledge is None else Knowledge.from_dict(knowledge)
        limit = self.time_limit if time_limit is None else min(time_limit, self.time_limit)
        with self._learning, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the verdict says what a reader has to know
            source = Table.open(path, **{name: value for name, value in reading.items() if value})
            settings: dict[str, Any] = {"method": method, "threshold": threshold, "random_state": seed}
            result = learn(source, knowledge=known, time_limit=limit, **settings)
            self._check_free(run)
            written = None
            if self.out is not None:
                written = write_folder(result, self.out / run)
            self._runs[run] = result
        files = [] if written is None else sorted(f"{run}/{entry.name}" for entry in written.iterdir())
        return {**self.verdict(run), "written": files}

    def verdict(self, run: str) -> dict[str, Any]:
        """What a run found, in words and as facts: edges, the strongest first, and what each rests on."""
        result = self._load(run)
        edges = result.edges()
        return {
            "run": run,
            "text": str(result.verdict),
            "ended": result.ended.value,
            "converged": result.verdict.converged,
            "columns": list(result.graph.names),
            "n_edges": len(edges),
            "edges": edges[:MOST_EDGES],
            "facts": result.verdict.to_dict(),
        }

    def explain(self, run: str, target: str) -> dict[str, Any]:
        """What drives a column, and what follows from it: total effects along the edges of the run's graph."""
        result = self._load(run)
        names = result.graph.names
        if target not in names:
            raise InputError(f"no column is called {target!r}{suggest(target, names)}; they are {', '.join(names)}")
        told = getattr(result, "explain", None)
        if callable(told):
            answer = told(target)
            return {"run": run, "target": target, "text": str(answer), "effects": answer.table()}
        return {"run": run, "target": target, "text": str(result.verdict), "effects": _list_effects(result, target)}

    def compare(self, truth: str, estimate: str) -> dict[str, Any]:
        """How far one graph is from another; each is a run, or a graph file among the tables."""
        from acyclic.graphs.metrics import compare

        found = compare(self._graph(truth), self._graph(estimate), nodes="union")
        differences = [fact.to_dict() for fact in found.differences]
        numbers = {name: getattr(found, name) for name in ("shd", "shd_cpdag", "sid", "fdr", "tpr", "fpr")}
        return {"text": str(found), **numbers, "differences": differences}

    def _graph(self, name: str) -> Dag | Cpdag:
        from acyclic.graphs.formats import read

        if PurePosixPath(name).suffix in _GRAPHS:
            return read(self._find(name))
        return self._load(name).graph

    def _find(self, name: str) -> Path:
        """The file of a name; refused where it leads out of the folder, or over a link."""
        parts = PurePosixPath(name).parts
        odd = not parts or PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or "\0" in name
        if odd or "\\" in name or any(part in ("..", ".") for part in parts):
            raise InputError(f"{name!r} is no name of a table; use one that list_tables gives")
        path = self.data
        for part in parts:
            path = path / part
            if path.is_symlink():
                raise InputError(f"{name!r} is a link, which is not followed; use a name that list_tables gives")
        if not path.is_file() or not path.resolve().is_relative_to(self.data):
            raise InputError(f"there is no table {name!r}; list_tables gives those that there are")
        return path

    def _walk(self, folder: Path) -> list[Path]:
        found: list[Path] = []
        for entry in sorted(folder.iterdir()):
            if entry.is_symlink() or entry.name.startswith(".") or entry == self.out:
                continue
            if entry.is_dir():
                found += self._walk(entry)
            elif entry.is_file():
                found.append(entry)
        return found

    def _check_run(self, run: str) -> None:
        if not _RUN.fullmatch(run):
            raise InputError(f"{run!r} is no name of a run; give letters, digits, - and _, at most 64")

    def _check_free(self, run: str) -> None:
        self._check_run(run)
        place = None if self.out is None else self.out / run
        if run in self._runs or (place is not None and (place.exists() or place.is_symlink())):
            raise InputError(f"there is a run {run!r} already; give another name")

    def _list_runs(self) -> list[str]:
        written: list[str] = []
        if self.out is not None and self.out.is_dir():
            found = [path.parent for path in self.out.glob("*/result.json")]
            written = [path.name for path in found if not path.is_symlink() and _RUN.fullmatch(path.name)]
        return sorted({*self._runs, *written})

    def _load(self, run: str) -> Result:
        from acyclic.result import load

        self._check_run(run)
        if run not in self._runs:
            place = None if self.out is None else self.out / run
            file = None if place is None else place / "result.json"
            if place is None or file is None or place.is_symlink() or file.is_symlink() or not file.is_file():
                known = self._list_runs()
                raise InputError(f"there is no run {run!r}; there are {', '.join(known) or 'none, learn first'}")
            self._runs[run] = load(file)
        return self._runs[run]


def _list_effects(result: Result, target: str) -> list[dict[str, Any]]:
    names, total = result.graph.names, result.graph.total_effects()
    at = names.index(target)
    pairs = [(i, at) for i in range(len(names)) if i != at] + [(at, j) for j in range(len(names)) if j != at]
    rows = [{"cause": names[i], "outcome": names[j], "effect": float(total[i, j])} for i, j in pairs if total[i, j]]
    return sorted(rows, key=lambda row: -abs(float(str(row["effect"]))))
