"""The results on disk: one SQLite file, one row for each case, written as each ends and read at any time."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from acyclic.documents import parse_json
from acyclic.errors import InputError, MissingExtraError
from acyclic.experiments.cases import Case, Scalar, pairs
from acyclic.files import write_atomically
from acyclic.ranges import MAPPING, NONE, TEXT, check_document, number, one_of, record, show_value, whole

FORMAT = 2
_SCHEMA = (
    """
CREATE TABLE results (
    key TEXT PRIMARY KEY, setting TEXT NOT NULL, measure TEXT NOT NULL, data TEXT NOT NULL, method TEXT NOT NULL,
    run INTEGER NOT NULL, seed INTEGER NOT NULL, time_limit REAL, evaluations INTEGER,
    status TEXT NOT NULL, "values" TEXT NOT NULL, verdict TEXT NOT NULL, seconds REAL NOT NULL,
    cpu_seconds REAL NOT NULL, threads INTEGER NOT NULL, versions TEXT NOT NULL, traceback TEXT NOT NULL,
    finished TEXT NOT NULL
) WITHOUT ROWID
""",
    "CREATE INDEX by_setting ON results (setting, run)",
)
# Seconds to wait for others that write.
_PATIENCE = 60.0
_COLUMNS = (
    "key", "setting", "measure", "data", "method", "run", "seed", "time_limit", "evaluations", "status", "values",
    "verdict", "seconds", "cpu_seconds", "threads", "versions", "traceback", "finished",
)  # fmt: skip
_NAMES = ", ".join(f'"{name}"' for name in _COLUMNS)
_INTO = f"INTO results ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"
# Of two rows of one case the one that was computed last.
_NEWER = (
    f"INSERT {_INTO} ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f'"{name}" = excluded."{name}"' for name in _COLUMNS[1:])
    + " WHERE excluded.finished > results.finished"
)
_AT_ONCE = 500
# Format 1 knew no limit but that of time.
_FROM_1 = ("ALTER TABLE results ADD COLUMN evaluations INTEGER",)
_DOCUMENTS = ("data", "method", "values", "versions")
_SECONDS = number(least=0)
_ROW = record(
    {
        **dict.fromkeys(("key", "setting", "measure", *_DOCUMENTS, "verdict", "traceback", "finished"), TEXT),
        "run": whole(least=0),
        "seed": whole(least=0),
        "time_limit": _SECONDS | NONE,
        "evaluations": whole(least=1) | NONE,
        "status": one_of("done", "failed"),
        "seconds": _SECONDS,
        "cpu_seconds": _SECONDS,
        "threads": whole(least=0),
    }
)


@dataclass(frozen=True)
class Record:
    """What became of a case.

    Attributes
    ----------
    case : Case
    status : "done" or "failed"
    values : mapping
        What was measured, as JSON values; where it failed, only whether its limit ended it.
    verdict : str
        What the learner said of its answer, or why the case failed.
    seconds, cpu_seconds : float
        Of what is measured: the fit, without the making of data and the comparison with the truth.
    threads : int
    versions : mapping of package to version
    traceback : str
        Empty where the case was done.
    finished : str
        When, in UTC.
    """

    case: Case
    status: Literal["done", "failed"]
    values: Mapping[str, Any]
    verdict: str
    seconds: float
    cpu_seconds: float
    threads: int = 1
    versions: Mapping[str, str] = field(default_factory=dict)
    traceback: str = ""
    finished: str = ""

    @property
    def ended_by_limit(self) -> bool:
        """Whether a limit of time or of evaluations cut it short."""
        return bool(self.values.get("stopped_early"))

    def answers(self, case: Case, retry_failed: bool = False) -> bool:
        """Whether there is no need to compute a case of the same key again."""
        if self.ended_by_limit and not case.within(self.case):
            return False
        return self.status == "done" or not retry_failed


class Store:
    """Records by the key of their case, in a file that a killed process leaves whole.

    Parameters
    ----------
    path : path
        The SQLite file; made if missing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._explained():
            self._database = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        self._database.text_factory = self._decode
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._database.close()
            raise

    def _decode(self, content: bytes) -> str:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{self.path} is damaged: a cell is not UTF-8 text; name another folder") from error

    def _prepare(self) -> None:
        """Make the table unless it is there, in one transaction: whoever comes second finds all of it."""
        if self._version() != FORMAT:
            with self._transaction():
                version = self._version()
                tables = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if version not in (1, FORMAT) and (version or tables):
                    raise InputError(f"{self.path} holds no results of this version of acyclic; name another folder")
                for statement in {0: _SCHEMA, 1: _FROM_1}.get(version, ()):
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA user_version = {FORMAT}")
        # Readers do not stop the writer then. Whoever uses the file at this moment may forbid the change: the next
        # start makes it.
        # What is said of a damaged file may be damaged too.
        with suppress(sqlite3.OperationalError, UnicodeDecodeError):
            self._database.execute("PRAGMA journal_mode = WAL")

    def _version(self) -> int:
        return int(self._database.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite says, as a full disk or no database, in a sentence with the name of the file."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(f"{self.path} cannot be used for results: {error}; name another folder") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def add(self, record: Record) -> None:
        """Write a record, in the place of an earlier one of the same case."""
        with self._explained():
            self._database.execute(f"INSERT OR REPLACE {_INTO}", _row(record))

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write all rows to a Parquet file, a tenth of the size and the same bytes for the same rows."""
        rows = self._database.execute(f"SELECT {_NAMES} FROM results ORDER BY key").fetchall()
        columns = dict(zip(_COLUMNS, zip(*rows))) if rows else dict.fromkeys(_COLUMNS, ())
        frame = _polars().DataFrame(columns, infer_schema_length=None)
        with write_atomically(path) as file:
            frame.write_parquet(file, compression="zstd")

    def read_parquet(self, path: str | os.PathLike[str]) -> int:
        """Take in the rows of such a file that are of other cases, whose number it gives, or were computed later."""
        try:
            frame = _polars().read_parquet(path)
            if "evaluations" not in frame.columns:  # a file of format 1
                frame = frame.with_columns(_polars().lit(None).alias("evaluations"))
            rows = frame.select(_COLUMNS).rows()
        except (OSError, _polars().exceptions.PolarsError) as error:
            raise InputError(f"{path} holds no results of acyclic: {str(error).splitlines()[0]}") from error
        for row in rows:
            _record(dict(zip(_COLUMNS, row)), path)
        before = len(self)
        with self._explained(), self._transaction():
            self._database.executemany(_NEWER, rows)
        return len(self) - before

    def records(self, *, keys: Iterable[str] = (), settings: Iterable[str] = ()) -> list[Record]:
        """The records of these cases, or of all runs of these settings, ordered by setting and run."""
        found = [*self._where("key", list(keys)), *self._where("setting", list(settings))]
        return sorted(found, key=lambda record: (record.case.setting, record.case.run))

    def missing(self, cases: Sequence[Case], retry_failed: bool = False) -> list[Case]:
        """The cases still to compute, in their order: without a record, or with one that does not answer them."""
        known = {record.case.key: record for record in self.records(keys=[case.key for case in cases])}
        return [case for case in cases if case.key not in known or not known[case.key].answers(case, retry_failed)]

    def seconds(self) -> dict[str, tuple[int, float]]:
        """For each setting the number of its runs and their seconds in all."""
        query = "SELECT setting, count(*), sum(seconds) FROM results GROUP BY setting"
        with self._reading():
            return {setting: (count, total) for setting, count, total in self._database.execute(query)}

    def means(self) -> list[tuple[str, dict[str, Scalar], dict[str, Scalar], float]]:
        """For each setting its name, data and method, and the mean seconds of its runs."""
        query = "SELECT setting, min(data), min(method), avg(seconds) FROM results GROUP BY setting"
        with self._reading():
            found = self._database.execute(query).fetchall()
        return [(key, parse_json(data), parse_json(method), seconds) for key, data, method, seconds in found]

    def __len__(self) -> int:
        with self._reading():
            return int(self._database.execute("SELECT count(*) FROM results").fetchone()[0])

    def _where(self, column: str, wanted: Sequence[str]) -> Iterator[Record]:
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            query = f"SELECT {_NAMES} FROM results WHERE {column} IN ({', '.join('?' * len(some))})"
            with self._reading():
                found = self._database.execute(query, some).fetchall()
            yield from (_record(dict(zip(_COLUMNS, row)), self.path) for row in found)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Say of a file that turns out to be damaged which one it is; a full disk and a lock are no fault of its."""
        try:
            yield
        except sqlite3.OperationalError:
            raise
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path} is damaged: {error}; name another folder") from error


def _polars() -> Any:
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError("A Parquet file of results", "polars", "files") from error
    return polars


def _row(record: Record) -> tuple[Any, ...]:
    case = record.case
    return (
        case.key, case.setting, case.measure, _json(dict(case.data)), _json(dict(case.method)), case.run, case.seed,
        case.time_limit, case.evaluations, record.status, _json(dict(record.values)), record.verdict, record.seconds,
        record.cpu_seconds, record.threads, _json(dict(record.versions)), record.traceback, record.finished,
    )  # fmt: skip


def _record(row: Mapping[str, Any], path: str | os.PathLike[str]) -> Record:
    """A row of the file at a path; one that acyclic did not write is refused."""
    where = f"{path}: the row {show_value(row['key'])} is damaged"
    check_document(row, _ROW, where)
    try:
        parts = {name: parse_json(row[name]) for name in _DOCUMENTS}
    except InputError as error:
        raise InputError(f"{where}: ", *error.parts) from None
    check_document(parts, record(dict.fromkeys(_DOCUMENTS, MAPPING)), where)
    try:
        limits = row["time_limit"], row["evaluations"]
        case = Case(row["measure"], pairs(parts["data"]), pairs(parts["method"]), row["run"], *limits)
        own = {"key": case.key, "setting": case.setting, "seed": case.seed}
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    for name, expected in own.items():
        if row[name] != expected:
            raise InputError(f"{where}: {name} has to be {show_value(expected)}; got {show_value(row[name])}")
    plain = {name: row[name] for name in ("status", "verdict", "seconds", "cpu_seconds", "threads")}
    kept = {name: row[name] for name in ("traceback", "finished")}
    return Record(case, values=parts["values"], versions=parts["versions"], **kept, **plain)


def _json(plain: Mapping[str, Any]) -> str:
    return json.dumps(plain, sort_keys=True, allow_nan=False)
