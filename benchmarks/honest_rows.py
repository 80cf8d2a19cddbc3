"""What benchmarks/honest.py has measured, and the fits that make it: kept as they come, never computed twice."""

import json
import resource
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import polars
from honest_data import OF_PGMPY, draw
from honest_fits import measure

from acyclic.data.moments import Moments
from acyclic.graphs.metrics import r2_sortability, varsortability
from acyclic.scores.local import gaussian_bic

FEW_SEEDS = 3
ROUNDS = (1, FEW_SEEDS, 10)
"""Seeds are taken in rounds that end here, so that every table has rows of every method early."""
THE_TABLE = "the table"


class Rows:
    """One row for each fit: those that are published, and a journal of those that came since.

    A line of the journal that was cut off by a power cut is passed over.
    """

    def __init__(self, journal, published=None):
        self.journal, self.published = Path(journal), published
        self.known, self.newest = {}, {}
        if published is not None and published.exists():
            for row in polars.read_parquet(published).to_dicts():
                key = [row.pop(name) for name in ("cell", "seed", "method", "made_by")]
                self._take({"key": key} | {name: value for name, value in row.items() if value is not None})
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        if self.journal.exists():
            text = self.journal.read_text()
            if not text.endswith("\n"):
                self.write("")
            for line in text.splitlines():
                try:
                    self._take(json.loads(line))
                except ValueError:
                    continue

    def _take(self, row):
        key = tuple(row["key"])
        self.known[key] = self.newest[key[:3]] = row

    def get(self, cell, seed, method):
        return self.known.get((cell.name, seed, method.name, method.made_by))

    def latest(self, cell, seed, name):
        """The row of a method by name, whatever version made it."""
        return self.newest.get((cell.name, seed, name))

    def add(self, cell, seed, method, values):
        return self.add_row((cell.name, seed, method.name, method.made_by), values)

    def add_row(self, key, values):
        row = {"key": list(key), **values}
        self._take(row)
        self.write(json.dumps(row))
        return row

    def best(self, cell, seed=None):
        """The least score of this table that any method, option or version ever reached; of all orders without seed."""
        return min(
            (
                row["score"]
                for (name, of_seed, method, _), row in self.known.items()
                if name == cell.name and seed in (None, of_seed) and "score" in row and method != THE_TABLE
            ),
            default=np.inf,
        )

    def write(self, line):
        with self.journal.open("a") as file:
            file.write(line + "\n")

    def publish(self):
        """The newest row of every fit into one small file, which the tables are made from."""
        rows = []
        for row in sorted(self.newest.values(), key=lambda row: row["key"][:3]):
            values = {name: value for name, value in row.items() if name not in ("key", "wall")}
            rows.append(dict(zip(("cell", "seed", "method", "made_by"), row["key"])) | values)
        self.published.parent.mkdir(parents=True, exist_ok=True)
        polars.DataFrame(rows, infer_schema_length=None).write_parquet(self.published, compression="zstd")


class Bench:
    """Fits that are not in the rows yet."""

    def __init__(self, rows, peers, timeout, *, long=60.0, minutes=np.inf):
        self.rows, self.peers, self.timeout, self.long, self.drawn = rows, peers, timeout, long, {}
        self.ends = processor_seconds() + 60 * minutes

    @property
    def is_over(self):
        return processor_seconds() >= self.ends

    def data(self, cell, seed):
        if (cell.name, seed) not in self.drawn:
            if len(self.drawn) > 50:
                self.drawn.clear()
            self.drawn[cell.name, seed] = drawn = draw(cell, seed, self.networks(cell))
            if self.rows.latest(cell, seed, THE_TABLE) is None:
                self.rows.add_row((cell.name, seed, THE_TABLE, ""), describe_table(*drawn[:2]))
        return self.drawn[cell.name, seed]

    def networks(self, cell):
        return self.peers.networks() if set(cell.kind.split(":")) & set(OF_PGMPY) else None

    def row(self, cell, seed, method):
        self.make(method, [(cell, seed)])
        return self.rows.get(cell, seed, method)

    def is_known(self, cell, seed, method):
        """Whether there is a row; what failed is tried again, also what was given less time."""
        row = self.rows.get(cell, seed, method)
        return row is not None and ("error" not in row or row.get("timeout", 0) >= self.timeout)

    def make(self, method, tasks):
        """Fit one method to (cell, seed) tasks, as many as possible in one process; one that is late costs the next."""
        waiting = [task for task in tasks if not self.is_known(*task, method)]
        while waiting and not self.is_over:
            drawn = [self.data(*task) for task in waiting]
            answers = self.peers.fit_all(method, [X for _, X, _ in drawn], self.timeout)
            for (cell, seed), (truth, X, columns), answer in zip(waiting, drawn, answers):
                values = answer if "error" in answer else measure(answer, truth, X, columns)
                self.rows.add(cell, seed, method, values)
                print(f"{cell.name} seed {seed} | {method.name} | {say(values)}", flush=True)
            late = {cell for (cell, _), answer in zip(waiting, answers) if "timeout" in answer}
            waiting = [task for task in waiting[len(answers) :] if not any(is_larger(task[0], cell) for cell in late)]

    def fill(self, tables, seeds):
        """All fits of tables, pairs of cells and methods, round after round, until the time is spent."""
        start = 0
        for end in (*ROUNDS, len(seeds)):
            for cells, methods in tables:
                for method in methods:
                    tasks = product(cells, seeds[start:end])
                    self.make(method, [task for task in tasks if not self.is_too_much(task[0], method, cells, seeds)])
            start = max(start, end)

    def is_too_much(self, cell, method, cells, seeds):
        """Whether a method was late in this cell or a smaller one of its world, or has seeds enough for its pace."""
        found = defaultdict(list)
        for other, seed in product(cells, seeds):
            if (row := self.rows.get(other, seed, method)) is not None:
                found[other].append(row)
        if any("timeout" in row and is_larger(cell, other) for other, rows in found.items() for row in rows):
            return True
        return len(found[cell]) >= FEW_SEEDS and any(row.get("cpu", 0) > self.long for row in found[cell])


def is_larger(cell, other):
    return cell.world == other.world and cell.nodes >= other.nodes and cell.degree >= other.degree


def describe_table(truth, X):
    """What the data give away, and the score of the true graph."""
    values = {"rows": len(X), "columns": X.shape[1]}
    if truth is None:
        return values
    covariance = np.cov(X, rowvar=False, ddof=0)
    return values | {
        "edges": int(truth.n_edges),
        "score": gaussian_bic(Moments.from_array(X), truth.adjacency, "ebic"),
        "varsortability": float(varsortability(truth, covariance)),
        "r2_sortability": float(r2_sortability(truth, covariance)),
    }


def processor_seconds():
    """Of the fits that have ended and of this process."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def say(values):
    shown = ("score", "shd_cpdag", "edges", "cpu", "error", "problem")
    parts = [f"{key} {values[key]:.6g}" if isinstance(values[key], float) else f"{key} {values[key]}"
             for key in shown if key in values]  # fmt: skip
    return ", ".join(parts)
