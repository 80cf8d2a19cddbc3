"""The settings of a run: the same names as flags, in a TOML file, and in the provenance of a result."""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, Token

from acyclic.errors import InputError, suggest

if TYPE_CHECKING:
    from acyclic.data.table import Table
    from acyclic.deadline import Deadline
    from acyclic.learners import DagLearner
    from acyclic.result import Result
    from acyclic.trust.audit import Audit
    from acyclic.trust.bootstrap import Bootstrap
    from acyclic.types import Callback

READING = (
    *("columns", "drop", "log", "standardize", "weights", "missing"),
    *("header", "separator", "decimal", "encoding", "null_values"),
)


def _whole(_: Any, tokens: Sequence[Token]) -> int:
    # The library would take 1.5 for 1.
    return int(tokens[0].value)


Whole = Annotated[int, Parameter(converter=_whole)]


@dataclass(frozen=True)
class Settings:
    """What to read and how to learn; None leaves a setting to the library.

    Parameters
    ----------
    columns
        Columns to use; all by default.
    drop
        Columns to leave out.
    log
        Columns to replace by their natural logarithm; "all" for all.
    standardize
        Scale every column to mean 0 and variance 1.
    weights
        Column that says how many rows each row stands for.
    missing
        What to do about missing cells.
    header
        Whether the first line of a text file names the columns.
    separator
        Between the fields of a text file; found by itself.
    decimal
        Decimal mark of a text file.
    encoding
        Of a text file; UTF-8 by default.
    null_values
        What marks a missing cell besides an empty field, NA, NaN and null.
    knowledge
        TOML file of forbidden and required edges, tiers, roots and sinks.
    method
        "auto", or a learner by name: equal-variance, order-search, notears, golem, …
    threshold
        Absolute cut on the weights; by rule if left out.
    option
        A further setting of the learner, such as --option.l1 0.05.
    time_limit
        Seconds for everything; the best so far is kept.
    seed
        Of all random numbers.
    jobs
        Processes for repeated fits; -1 for all processors.
    cluster
        Address of a Dask scheduler for repeated fits.
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None
    log: tuple[str, ...] | None = None
    standardize: bool | None = None
    weights: str | None = None
    missing: Literal["error", "drop-rows", "pairwise", "em"] | None = None
    header: bool | None = None
    separator: str | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    null_values: tuple[str, ...] | None = None
    knowledge: Path | None = None
    method: str | None = None
    threshold: float | None = None
    option: dict[str, str] | None = None
    time_limit: float | None = None
    seed: Whole | None = None
    jobs: Whole | None = None
    cluster: str | None = None

    def given(self) -> dict[str, Any]:
        """The settings that are not left to the library."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Run:
    """A table, the settings, and what to do besides learning."""

    table: Path
    settings: Settings = field(default_factory=Settings)
    statements: Mapping[str, Any] | None = None
    bootstrap: int | None = None
    audit: bool | None = None
    expected: str | None = None
    deadline: Deadline = field(init=False)

    def __post_init__(self) -> None:
        from acyclic.deadline import Deadline

        object.__setattr__(self, "deadline", Deadline(self.settings.time_limit))

    def provenance(self) -> dict[str, Any]:
        """Plain values from which `repeated` makes the same run."""
        given = {**self.settings.given(), "bootstrap": self.bootstrap, "audit": self.audit}
        if self.statements is not None:
            given["knowledge"] = dict(self.statements)
        return {
            "table": str(self.table.absolute()),
            **{name: value for name, value in given.items() if value is not None},
        }

    def read(self) -> Table:
        """Read the table."""
        from acyclic.data.table import Table

        options = {name: value for name, value in self.settings.given().items() if name in READING}
        if options.get("log") == ("all",):
            options["log"] = True
        return Table.open(self.table, **options)

    def make_learner(self) -> DagLearner:
        """The learner that the settings describe; wrong ones are refused before any work."""
        from acyclic.learners import make_learner

        options = {name: _value(value) for name, value in (self.settings.option or {}).items()}
        given = {"threshold": self.settings.threshold, "knowledge": self._knowledge(), **options}
        given = {name: value for name, value in given.items() if value is not None}
        seed = {"random_state": self.settings.seed or 0}
        return make_learner(self.settings.method or "auto", time_limit=self.deadline, **{**seed, **given})

    def learn(self, model: DagLearner, table: Table) -> Result:
        """Fit a learner, with what must be known to repeat it."""
        from sklearn.exceptions import ConvergenceWarning

        from acyclic.learning import learn_with

        with warnings.catch_warnings():
            # The verdict says so, as a line that stands out.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return learn_with(model, table, expected=self.expected, table_name=self.table.name, run=self.provenance())

    def bootstrap_edges(
        self, model: DagLearner, table: Table, draws: int, callback: Callback | None = None
    ) -> Bootstrap:
        """How often each edge comes back when the rows are drawn again; a fitted model is not fitted again."""
        from acyclic.trust.bootstrap import bootstrap

        spread: dict[str, Any] = {"n_jobs": self.settings.jobs, "cluster": self.settings.cluster}
        return bootstrap(model, table, draws, **self._trusting(model), **spread, callback=callback)

    def audit_edges(self, model: DagLearner, table: Table, callback: Callback | None = None) -> Audit:
        """What the graph owes to units and assumptions; a fitted model is not fitted again."""
        from acyclic.trust.audit import audit

        return audit(table, learner=model, **self._trusting(model), callback=callback)

    def _trusting(self, model: DagLearner) -> dict[str, Any]:
        first = model if hasattr(model, "verdict_") else None
        return {"random_state": self.settings.seed or 0, "time_limit": self.deadline, "first": first}

    def _knowledge(self) -> Any:
        from acyclic.data.knowledge import Knowledge

        return None if self.statements is None else Knowledge.from_dict(self.statements)


def gather(
    table: Path | None,
    flags: Settings,
    config: Path | None = None,
    repeat: Path | None = None,
    bootstrap: int | None = None,
    audit: bool | None = None,
) -> Run:
    """A run from a result to repeat, a TOML file and flags; the later overrule the earlier."""
    plain: dict[str, Any] = {}
    for source, values in ((repeat, _of_result), (config, _of_toml)):
        plain |= values(source) if source is not None else {}
    flagged = {**flags.given(), "table": table, "bootstrap": bootstrap, "audit": audit}
    plain |= {name: value for name, value in flagged.items() if value is not None}
    if "table" not in plain:
        raise InputError("no table was given; name a file, or repeat a run with --from result.json")
    run = _run(plain)
    return run if repeat is None else replace(run, expected=_expected(run, repeat))


def _run(plain: Mapping[str, Any]) -> Run:
    known = {entry.name for entry in fields(Settings)}
    settings = {name: value for name, value in plain.items() if name in known and name != "knowledge"}
    settings = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    return Run(
        Path(plain["table"]),
        Settings(**settings),
        _statements(plain.get("knowledge")),
        plain.get("bootstrap"),
        plain.get("audit"),
    )


def _expected(run: Run, repeat: Path) -> str | None:
    """Digest of the table of the run to be repeated, if it is repeated as it was."""
    from acyclic.result import load

    before = load(repeat).provenance
    same = json.loads(json.dumps(run.provenance())) == before["run"]
    return before.get("data") if same else None


def _value(given: Any) -> Any:
    """A number or truth value where the text of a flag is one."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except json.JSONDecodeError:
        return given


def _statements(knowledge: Any) -> Mapping[str, Any] | None:
    """Prior knowledge as plain values, so that a result holds it even when its file is gone."""
    if knowledge is None or isinstance(knowledge, Mapping):
        return knowledge
    from acyclic.data.knowledge import Knowledge

    return Knowledge.from_toml(Path(knowledge)).to_dict()


def _of_result(path: Path) -> dict[str, Any]:
    from acyclic.result import load

    run = load(path).provenance.get("run")
    if not isinstance(run, Mapping):
        raise InputError(
            f"{path} does not say how it was made from a file; only what `acyclic learn` wrote can be repeated"
        )
    return _checked(dict(run), path)


def _of_toml(path: Path) -> dict[str, Any]:
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}") from None
    found = _checked({name.replace("-", "_"): value for name, value in plain.items()}, path)
    # Paths in a file are meant from where the file is.
    for name in ("table", "knowledge"):
        if isinstance(found.get(name), str):
            found[name] = path.parent / found[name]
    return found


def _checked(plain: dict[str, Any], path: Path) -> dict[str, Any]:
    kinds = _kinds()
    for name, value in plain.items():
        if name not in kinds:
            raise InputError(f"{path}: there is no setting {name!r}{suggest(name, kinds)}; it takes {', '.join(kinds)}")
        if not isinstance(value, kinds[name]) or (isinstance(value, bool) and bool not in kinds[name]):
            wanted = " or ".join(kind.__name__ for kind in kinds[name])
            raise InputError(f"{path}: {name} is {json.dumps(value, default=str)}; it has to be of type {wanted}")
    return plain


def _kinds() -> dict[str, tuple[type, ...]]:
    lists, flags, numbers = (
        ("columns", "drop", "log", "null_values"),
        ("standardize", "header", "audit"),
        ("threshold", "time_limit"),
    )
    kinds: dict[str, tuple[type, ...]] = {entry.name: (str,) for entry in fields(Settings)}
    kinds |= dict.fromkeys(lists, (list,)) | dict.fromkeys(flags, (bool,)) | dict.fromkeys(numbers, (int, float))
    kinds |= dict.fromkeys(("seed", "jobs", "bootstrap"), (int,))
    return {"table": (str,), **kinds, "knowledge": (str, dict), "option": (dict,)}
