"""The settings of a run: the same names as flags, in a TOML file, and in the provenance of a result."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Parameter, Token

from acyclic.errors import Argument, InputError, suggest

if TYPE_CHECKING:
    from acyclic.data.table import Table
    from acyclic.deadline import Deadline
    from acyclic.learners import DagLearner
    from acyclic.ranges import Range
    from acyclic.result import Result
    from acyclic.trust.audit import Audit
    from acyclic.trust.bootstrap import Bootstrap
    from acyclic.types import Callback

READING = (
    *("columns", "drop", "log", "standardize", "weights", "missing", "strict"),
    *("header", "separator", "decimal", "encoding", "null_values", "sheet", "kinds", "partials"),
)

# Where repeated fits are computed: no part of what a run is, and nothing that a file from others should decide.
_PLACE = ("cluster", "tls_ca", "tls_cert", "tls_key")
# Flags of several words.
_LISTS = ("columns", "drop", "log", "null_values")
# Settings of learners that have a flag, by the names of the learners' arguments.
_OWN_FLAGS = ("method", "threshold", "knowledge", "random_state", "time_limit")


def _whole(_: Any, tokens: Sequence[Token]) -> int:
    # The library would take 1.5 for 1.
    return int(tokens[0].value)


Whole = Annotated[int, Parameter(converter=_whole)]


def _kinds(_: Any, tokens: Sequence[Token]) -> dict[str, str]:
    """Kinds of columns by name, from ``smoker=categorical,grade=low<high``; a comma in a name does no harm."""
    found, name = {}, ""
    for piece in ",".join(token.value for token in tokens).split(","):
        if "=" not in piece:
            name += f"{piece},"
            continue
        column, kind = f"{name}{piece}".rsplit("=", 1)
        found[column], name = kind, ""
    if name:
        raise ValueError(f"{name[:-1]!r} is no column=kind")
    return found


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
    strict
        Refuse columns that hold no numbers, such as text and dates, rather than leave them out.
    header
        Whether the first line of a text file names the columns; found by itself.
    separator
        Between the fields of a text file; found by itself.
    decimal
        Decimal mark of a text file; found by itself.
    encoding
        Of a text file; found by itself.
    null_values
        What marks a missing cell besides an empty field, NA, NaN, null and the like.
    sheet
        Sheet of a workbook, or file in a .zip, where there are several.
    kinds
        What columns hold, where the rules are wrong, as in smoker=categorical,grade=low<middle<high: continuous,
        categorical, ordinal, count, or the levels of text in their order.
    knowledge
        TOML file of forbidden and required edges, tiers, roots and sinks.
    method
        "auto", or a learner by name: equal-variance, order-search, notears, golem, …
    threshold
        Absolute cut on the weights; by rule if left out.
    option
        A further setting of the learner, such as --option.l1 0.05.
    time_limit
        Seconds for everything; the best so far is kept. Where nothing follows the learning, a search goes on until it
        finds nothing better for long or the time is up; --option.effort says how much to search instead.
    seed
        Of all random numbers.
    jobs
        Processes for repeated fits; -1 for all processors.
    cluster
        Address of a Dask scheduler for repeated fits; a folder of Parquet files is read by its workers, which have to
        see it, and rows stay there.
    partials
        Folder that keeps partial results of such a table: the same command goes on from them.
    tls_ca, tls_cert, tls_key
        PEM files for a cluster at a tls:// address: its certificate authority, and a certificate of that with its key.
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None
    log: tuple[str, ...] | None = None
    standardize: bool | None = None
    weights: str | None = None
    missing: Literal["error", "drop-rows", "pairwise", "em", "impute"] | None = None
    strict: Annotated[bool | None, Parameter(negative=())] = None
    header: bool | None = None
    separator: str | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    null_values: tuple[str, ...] | None = None
    sheet: str | None = None
    kinds: Annotated[dict[str, str] | None, Parameter(converter=_kinds, n_tokens=1, accepts_keys=False)] = None
    knowledge: Path | None = None
    method: str | None = None
    threshold: float | None = None
    option: dict[str, str] | None = None
    time_limit: float | None = None
    seed: Whole | None = None
    jobs: Whole | None = None
    cluster: str | None = None
    partials: Path | None = None
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

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
    quick: bool | None = None
    expected: str | None = None
    deadline: Deadline = field(init=False)
    cluster: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        from acyclic.deadline import Deadline

        object.__setattr__(self, "deadline", Deadline(self.settings.time_limit))
        place = [getattr(self.settings, name) for name in _PLACE]
        if any(one is not None for one in place):
            from acyclic.data.cluster import Scheduler

            object.__setattr__(self, "cluster", Scheduler(*place))

    @property
    def name(self) -> str:
        """What to call the table; the standard input has no file's name."""
        return "stdin" if str(self.table) == "-" else self.table.name

    def provenance(self) -> dict[str, Any]:
        """Plain values from which `repeated` makes the same run."""
        given = {**self.settings.given(), "bootstrap": self.bootstrap, "audit": self.audit}
        given["quick"] = self.quick
        given = {name: value for name, value in given.items() if name not in (*_PLACE, "partials")}
        if self.statements is not None:
            given["knowledge"] = dict(self.statements)
        return {
            "table": "-" if str(self.table) == "-" else str(self.table.absolute()),
            **{name: value for name, value in given.items() if value is not None},
        }

    @contextmanager
    def connected(self, draws: int | None) -> Iterator[None]:
        """Inside of it the cluster is at hand if there are draws for it; one that does not answer is an error."""
        if self.cluster is None or not draws:
            yield
            return
        from acyclic.data.cluster import connected

        with connected(self.cluster) as client:
            object.__setattr__(self, "cluster", client)
            yield

    def read(self) -> Table:
        """Read the table."""
        from acyclic.data.reading import stays_elsewhere
        from acyclic.data.table import Table

        options = {name: value for name, value in self.settings.given().items() if name in READING}
        if options.get("log") == ("all",):
            options["log"] = True
        with warnings.catch_warnings():
            # What is needed for a wide table is a line before it is read, without the place in our code.
            warnings.showwarning = lambda message, *_, **__: print(message, file=sys.stderr)  # noqa: T201
            if self.cluster is not None and stays_elsewhere(self.table):
                options["cluster"] = self.cluster
            return Table.open(self.table, **options)

    def make_learner(self) -> DagLearner:
        """The learner that the settings describe; wrong ones are refused before any work."""
        from acyclic.learners import make_learner

        options = {name: _value(value) for name, value in (self.settings.option or {}).items()}
        for name in options:
            if name in _OWN_FLAGS:
                raise InputError(f"--option.{name} is no setting of a learner here; say ", Argument(name))
        given = {"threshold": self.settings.threshold, "knowledge": self._knowledge(), **options}
        given = {name: value for name, value in given.items() if value is not None}
        own = {"random_state": self.settings.seed or 0, "time_limit": self.deadline}
        return make_learner(self.settings.method or "auto", **own, **given)

    def learn(self, model: DagLearner, table: Table) -> Result:
        """Fit a learner, with what must be known to repeat it."""
        from sklearn.exceptions import ConvergenceWarning

        from acyclic.learning import learn_with

        with warnings.catch_warnings():
            # The verdict says so, as a line that stands out.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return learn_with(model, table, expected=self.expected, table_name=self.name, run=self.provenance())

    def bootstrap_edges(
        self,
        model: DagLearner,
        table: Table,
        draws: int,
        callback: Callback | None = None,
        checkpoint: Path | None = None,
        seconds: float | None = None,
    ) -> Bootstrap:
        """How often each edge comes back when the rows are drawn again; a fitted model is not fitted again."""
        from acyclic.trust.bootstrap import bootstrap

        spread: dict[str, Any] = {"n_jobs": self.settings.jobs, "cluster": self.cluster}
        kept: dict[str, Any] = {"callback": callback, "checkpoint": checkpoint}
        return bootstrap(model, table, draws, **self._trusting(model, seconds), **spread, **kept)

    def name_draws(self, folder: Path, model: DagLearner, table: Table) -> Path:
        """Where the draws of this very run are kept until its folder is written: beside that."""
        from acyclic.running import digest
        from acyclic.trust.bootstrap import describe_draws

        key = describe_draws(model, table, self.settings.seed or 0)
        return folder.with_name(f"{folder.name[:200]}-{digest(sorted(key.items()))[:12]}.draws")

    def audit_edges(
        self, model: DagLearner, table: Table, callback: Callback | None = None, seconds: float | None = None
    ) -> Audit:
        """What the graph owes to units and assumptions; a fitted model is not fitted again."""
        from acyclic.trust.audit import audit

        return audit(table, learner=model, **self._trusting(model, seconds), callback=callback)

    def _trusting(self, model: DagLearner, seconds: float | None = None) -> dict[str, Any]:
        first = model if hasattr(model, "verdict_") else None
        return {"random_state": self.settings.seed or 0, "time_limit": self.deadline.sooner(seconds), "first": first}

    def _knowledge(self) -> Any:
        from acyclic.data.knowledge import Knowledge

        return None if self.statements is None else Knowledge.from_dict(self.statements)


def gather(
    table: Path | None,
    flags: Settings,
    config: Path | None = None,
    repeat: Path | None = None,
    **besides: Any,
) -> Run:
    """A run from a result to repeat, a TOML file and flags; the later overrule the earlier."""
    from acyclic.ranges import check_parameters

    before = _provenance(repeat) if repeat is not None else {}
    plain = _checked(dict(before["run"]), repeat) if repeat is not None else {}
    plain |= _of_toml(config) if config is not None else {}
    if table is None and "table" not in plain:
        table, flags = _find_table(flags)
    flagged = {**flags.given(), "table": table, **besides}
    flagged = {name: value for name, value in flagged.items() if value is not None}
    check_parameters(flagged, _ranges())
    run = _run(plain | flagged)
    return run if repeat is None else replace(run, expected=_expected(run, before))


def _find_table(flags: Settings) -> tuple[Path, Settings]:
    """The table where a flag of several words took it for its last one, as in ``--drop sex table.csv``."""
    lists = {name: words for name, words in flags.given().items() if name in _LISTS and words}
    taken = [name for name, words in lists.items() if words[-1] == "-" or Path(words[-1]).exists()]
    if len(taken) != 1:
        eaten = [part for name, words in lists.items() for part in ("; ", Argument(name), f" took {', '.join(words)}")]
        advice = "name a file, or repeat a run with --from result.json"
        raise InputError(f"no table was given; {advice}", *eaten)
    words = lists[taken[0]]
    return Path(words[-1]), replace(flags, **{taken[0]: words[:-1] or None})


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
        plain.get("quick"),
    )


def _expected(run: Run, before: Mapping[str, Any]) -> str | None:
    """Digest of the table of the run to be repeated, if it is repeated as it was."""
    from acyclic.data.columns import DIGEST

    same = json.loads(json.dumps(run.provenance())) == before["run"]
    found = before.get("data")
    return found if same and str(found).startswith(DIGEST) else None


def _value(given: Any) -> Any:
    """A number or truth value where the text of a flag is one."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given


def _statements(knowledge: Any) -> Mapping[str, Any] | None:
    """Prior knowledge as plain values, so that a result holds it even when its file is gone."""
    if knowledge is None or isinstance(knowledge, Mapping):
        return knowledge
    from acyclic.data.knowledge import Knowledge

    return Knowledge.from_toml(Path(knowledge)).to_dict()


def _provenance(path: Path) -> Mapping[str, Any]:
    from acyclic.result import load

    provenance = load(path).provenance
    run = provenance.get("run")
    if not isinstance(run, Mapping):
        raise InputError(
            f"{path} does not say how it was made from a file; only what `acyclic learn` wrote can be repeated"
        )
    return {**provenance, "run": {name: value for name, value in run.items() if name not in (*_PLACE, "partials")}}


def _of_toml(path: Path) -> dict[str, Any]:
    from acyclic.documents import parse_toml, read_text

    try:
        plain = parse_toml(read_text(path))
    except InputError as error:
        raise InputError(f"{path} is not a TOML file: ", *error.parts) from None
    found = _checked({name.replace("-", "_"): value for name, value in plain.items()}, path)
    # Paths in a file are meant from where the file is.
    for name in ("table", "knowledge", "tls_ca", "tls_cert", "tls_key"):
        if isinstance(found.get(name), str):
            found[name] = path.parent / found[name]
    return found


def _checked(plain: dict[str, Any], path: Path) -> dict[str, Any]:
    ranges = _ranges()
    for name, value in plain.items():
        if name not in ranges:
            listed = f"{suggest(name, ranges)}; it takes {', '.join(ranges)}"
            raise InputError(f"{path}: there is no setting {name!r}{listed}")
        if fault := ranges[name].find_fault(value, name):
            raise InputError(f"{path}: {fault}")
    return plain


def _is_plain(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(isinstance(one, str | int | float) for one in values)


def _ranges() -> dict[str, Range]:
    """What each setting may be: what its type says, or what the function it is handed to says where that is less."""
    from acyclic.learners.base import COMMON
    from acyclic.ranges import FLAG, JOBS, MAPPING, MOST_DRAWS, PATH, SECONDS, TEXT, Range, each, number, one_of, whole

    kinds = {bool: FLAG, float: number(), int: whole(least=0), str: TEXT, Path: PATH, tuple: each(TEXT)}
    value = Range("text, a number, true or false, or a list of these", _is_plain)
    kinds[dict] = Range(
        MAPPING.words, MAPPING.accepts, lambda given, at: ((f"{at}.{k}", v, value) for k, v in given.items())
    )

    def of(hint: Any) -> Range:
        (first, *_) = get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]
        return one_of(*get_args(first)) if get_origin(first) is Literal else kinds[get_origin(first) or first]

    ranges = {name: of(hint) for name, hint in get_type_hints(Settings).items()}
    ranges |= {"threshold": COMMON["threshold"], "time_limit": SECONDS, "seed": COMMON["random_state"], "jobs": JOBS}
    ranges["knowledge"] = PATH | MAPPING
    return {"table": PATH, **ranges, "bootstrap": whole(least=0, most=MOST_DRAWS), "audit": FLAG, "quick": FLAG}
