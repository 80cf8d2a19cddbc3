"""Plans: one TOML file for each figure and table, read strictly, and the cases that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from acyclic.documents import parse_toml
from acyclic.errors import InputError, suggest
from acyclic.experiments.cases import Case, Limit, Scalar, canonical, digest, pairs
from acyclic.experiments.measures import MEASURES, make_estimator, name_package
from acyclic.experiments.store import Record, Store
from acyclic.ranges import show_value

DRAWINGS = ("grid", "row", "metrics", "times", "gradient-norms", "truncation", "table", "products")
_TEXTS = ("title", "paper", "about", "measure", "drawing")
_LIMITS = ("runs", "time_limit", "evaluations")
_TOP = (*_TEXTS, *_LIMITS, "data", "methods", "quick", "published")
_QUICK = (*_LIMITS, "data", "methods")
_OPTIONAL = ("time_limit", "evaluations", "quick", "published")
_PUBLISHED = ("method", "data", "metric", "value", "error", "source")


@dataclass(frozen=True)
class Method:
    """A row of the legend: what it measures, its settings, and the data, runs and limits it is restricted to."""

    measure: str
    settings: Mapping[str, Scalar]
    only: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    runs: int | None = None
    time_limit: float | None = None
    evaluations: int | None = None

    def takes(self, data: Mapping[str, Scalar]) -> bool:
        """Whether the method is applied to these data."""
        return all(data[name] in accepted for name, accepted in self.only.items())


@dataclass(frozen=True)
class Published:
    """A number from the literature that stands beside ours."""

    method: str
    data: Mapping[str, Scalar]
    metric: str
    value: float
    source: str
    error: float | None = None


@dataclass(frozen=True)
class Setting:
    """A method on one kind of data, whatever the run; `key` is that of its cases' `setting`."""

    label: str
    key: str
    data: Mapping[str, Scalar] = field(compare=False)
    method: Mapping[str, Scalar] = field(compare=False)


@dataclass(frozen=True)
class Plan:
    """What to compute for one figure or table of the paper, and how to draw it.

    `data` gives the values of each setting, of which all combinations are taken; `methods` are in the order of the
    legend. `evaluations` is how often a fit may evaluate its constraint. `quick` says that this is the short form.
    """

    name: str
    title: str
    paper: str
    about: str
    measure: str
    drawing: str
    runs: int
    time_limit: float | None
    data: Mapping[str, tuple[Scalar, ...]]
    methods: Mapping[str, Method]
    published: tuple[Published, ...] = ()
    quick: bool = False
    evaluations: int | None = None

    def settings(self, nodes: Sequence[int] | None = None) -> list[Setting]:
        """Every method on every combination of the data, or on those with so many nodes."""
        chosen = []
        for values in product(*self.data.values()):
            data = dict(zip(self.data, values))
            if nodes is None or data.get("n_nodes") in (None, *nodes):
                some = {label: method for label, method in self.methods.items() if method.takes(data)}
                chosen += [_setting(label, data, method) for label, method in some.items()]
        return chosen

    def cases(
        self, runs: int | None = None, nodes: Sequence[int] | None = None, time_limit: float | None = None
    ) -> list[Case]:
        """The cases, run 0 of every setting first: what is there when a run ends early is balanced.

        Parameters
        ----------
        runs, time_limit
            In the place of the plan's; a method that has fewer runs, or smaller limits, of its own keeps them.
        nodes
            Only graphs of these sizes.
        """
        settings, count = self.settings(nodes), self.runs if runs is None else runs
        limit = self.time_limit if time_limit is None else time_limit
        return [
            self._case(setting, run, limit)
            for run in range(count)
            for setting in settings
            if run < (_least(self.methods[setting.label].runs, count) or 0)
        ]

    def _case(self, setting: Setting, run: int, limit: float | None) -> Case:
        method = self.methods[setting.label]
        seconds, evaluations = _least(method.time_limit, limit), _least(method.evaluations, self.evaluations)
        return Case(method.measure, pairs(setting.data), pairs(setting.method), run, seconds, evaluations)

    def check_installed(self) -> None:
        """Make each learner once: raises MissingExtraError where one needs a package that is not there."""
        for method in self.methods.values():
            if "learner" in method.settings:
                make_estimator(method.settings)

    def records(self, store: Store) -> dict[Setting, list[Record]]:
        """What the store holds for each setting, ordered by run."""
        settings = self.settings()
        found: dict[str, list[Record]] = {setting.key: [] for setting in settings}
        for record in store.records(settings=list(found)):
            found[record.case.setting].append(record)
        return {setting: found[setting.key] for setting in settings}


def plan_names() -> list[str]:
    """The names of all plans: figures and tables first, then those of the appendix."""
    names = [entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml")]
    return sorted(names, key=lambda name: (name.startswith("appendix"), not name.startswith(("figure", "table")), name))


def load_plan(name: str, quick: bool = False) -> Plan:
    """Read a plan: one of the package by its name, or one's own by the path of its .toml file.

    Examples
    --------
    >>> load_plan("figure-2").paper
    'Figure 2'
    """
    if is_own_plan(name):
        if (own := Path(name).stem) in plan_names():
            raise InputError(f"{name} has the name of a plan of acyclic; rename it, as results go by {own!r}")
        return read_plan(Path(name), quick)
    if name not in plan_names():
        listed = (
            f"{suggest(name, plan_names())}; choose one of {', '.join(plan_names())}, all, or a .toml file of your own"
        )
        raise InputError(f"there is no plan {name!r}{listed}")
    return read_plan(_folder().joinpath(f"{name}.toml"), quick)


def is_own_plan(name: str) -> bool:
    """Whether a word names a file rather than a plan of the package."""
    return name.endswith(".toml")


def read_plan(path: Any, quick: bool = False) -> Plan:
    """Read a plan from a TOML file, in its full or its quick form; what it does not know is an error."""
    path = Path(path) if isinstance(path, str) else path
    try:
        document = parse_toml(path.read_text(encoding="utf-8"))
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} is not a TOML file: {error}") from error
    reader = _Reader(path.name)
    plan = reader.plan(path.name.removesuffix(".toml"), document)
    short = reader.quick(plan, document.get("quick", {}))
    return short if quick else plan


def _folder() -> Any:
    return files("acyclic.experiments").joinpath("plans")


def _setting(label: str, data: Mapping[str, Scalar], method: Method) -> Setting:
    case = Case(method.measure, pairs(data), pairs(method.settings), 0)
    return Setting(label, case.setting, MappingProxyType(dict(data)), method.settings)


def _least(own: Limit | None, others: Limit | None) -> Limit | None:
    return min((limit for limit in (own, others) if limit is not None), default=None)


@dataclass(frozen=True)
class _Reader:
    """Turns the tables of one file into a plan; every complaint names file and key."""

    file: str

    def plan(self, name: str, document: Mapping[str, Any]) -> Plan:
        self._known("the file", document, _TOP)
        needed = [key for key in _TOP if key not in document and key not in _OPTIONAL]
        if needed:
            raise self._error(needed[0], "is missing")
        texts = {key: self._typed(key, document[key], str, "a string") for key in _TEXTS}
        self._one_of("measure", texts["measure"], tuple(MEASURES))
        self._one_of("drawing", texts["drawing"], DRAWINGS)
        plan = Plan(
            name,
            **texts,
            runs=self._whole("runs", document["runs"]),
            time_limit=self._seconds("time_limit", document.get("time_limit")),
            evaluations=self._cap("evaluations", document.get("evaluations")),
            data=self._data("data", document["data"], texts["measure"]),
            methods={},
        )
        given = self._typed("methods", document["methods"], dict, "a table")
        plan = replace(plan, methods={label: self._method(plan, label, table) for label, table in given.items()})
        rows = self._typed("published", document.get("published", []), list, "an array of tables")
        return replace(plan, published=tuple(one for row in rows for one in self._published(plan, row)))

    def quick(self, plan: Plan, table: Any) -> Plan:
        """The short form: fewer runs, less time, a part of the data, some of the methods."""
        self._known("[quick]", self._typed("quick", table, dict, "a table"), _QUICK)
        labels = self._typed("quick.methods", table.get("methods", list(plan.methods)), list, "an array of labels")
        for label in labels:
            self._one_of("quick.methods", label, tuple(plan.methods))
        changed = self._values("quick.data", table.get("data", {}), plan.data)
        limit = self._seconds("quick.time_limit", table.get("time_limit"))
        cap = self._cap("quick.evaluations", table.get("evaluations"))
        return replace(
            plan,
            runs=self._whole("quick.runs", table.get("runs", plan.runs)),
            time_limit=plan.time_limit if limit is None else limit,
            evaluations=plan.evaluations if cap is None else cap,
            data={name: changed.get(name, values) for name, values in plan.data.items()},
            methods={label: method for label, method in plan.methods.items() if label in labels},
            quick=True,
        )

    def _data(self, key: str, table: Any, measure: str) -> dict[str, tuple[Scalar, ...]]:
        return self._values(key, table, MEASURES[measure].data)

    def _values(self, key: str, table: Any, accepted: Iterable[str]) -> dict[str, tuple[Scalar, ...]]:
        self._known(f"[{key}]", self._typed(key, table, dict, "a table"), accepted)
        return {name: self._list(f"{key}.{name}", value) for name, value in table.items()}

    def _list(self, key: str, value: Any) -> tuple[Scalar, ...]:
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, str | int | float) for one in values):
            raise self._error(key, f"is {show_value(value)}; give a string, a number, true or false, or a list of such")
        try:
            found = tuple(canonical(key, one) for one in values)
        except InputError as error:
            raise self._error(key, f"cannot be used: {error}") from None
        if len({digest(one) for one in found}) < len(found):
            raise self._error(key, f"is {show_value(value)}, which names a value twice")
        return found

    def _method(self, plan: Plan, label: str, table: Any) -> Method:
        key = f'methods."{label}"'
        settings = dict(self._typed(key, table, dict, "a table"))
        only = self._values(f"{key}.only", settings.pop("only", {}), plan.data)
        runs, limit = settings.pop("runs", None), self._seconds(f"{key}.time_limit", settings.pop("time_limit", None))
        cap = self._cap(f"{key}.evaluations", settings.pop("evaluations", None))
        measure = settings.pop("measure", plan.measure)
        self._one_of(f"{key}.measure", measure, tuple(MEASURES))
        try:
            MEASURES[measure].check(settings)
        except InputError as error:
            raise self._error(key, str(error)) from error
        runs = None if runs is None else self._whole(f"{key}.runs", runs)
        settings |= name_package(settings)
        return Method(measure, MappingProxyType(dict(pairs(settings))), only, runs, limit, cap)

    def _published(self, plan: Plan, row: Any) -> list[Published]:
        """The numbers of one table: one, or a list of them for each combination of its data."""
        self._known("[[published]]", self._typed("published", row, dict, "an array of tables"), _PUBLISHED)
        for name in ("method", "metric", "value", "source"):
            if name not in row:
                raise self._error(f"published.{name}", "is missing")
        self._one_of("published.method", row["method"], tuple(plan.methods))
        texts = {name: self._typed(f"published.{name}", row[name], str, "a string") for name in ("metric", "source")}
        data = self._values("published.data", row.get("data", {}), plan.data)
        places = [dict(zip(data, values)) for values in product(*data.values())]
        found = self._numbers("published.value", row["value"], len(places))
        errors: Sequence[float | None] = [None] * len(places)
        if "error" in row:
            errors = self._numbers("published.error", row["error"], len(places))
        return [
            Published(row["method"], place, value=value, error=error, **texts)
            for place, value, error in zip(places, found, errors)
        ]

    def _numbers(self, key: str, value: Any, count: int) -> Sequence[float]:
        numbers = value if isinstance(value, list) else [value]
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers):
            raise self._error(key, f"is {show_value(value)}; give a number, or a list of numbers")
        if len(numbers) != count:
            raise self._error(
                key, f"has {len(numbers)} numbers for {count} combinations of its data; give one for each"
            )
        return [float(one) for one in numbers]

    def _known(self, where: str, table: Mapping[str, Any], accepted: Iterable[str]) -> None:
        for key in table:
            if key not in tuple(accepted):
                raise self._error(key, f"is unknown in {where}; the keys there are {', '.join(accepted)}")

    def _one_of(self, key: str, value: Any, accepted: tuple[str, ...]) -> None:
        if value not in accepted:
            raise self._error(key, f"is {show_value(value)}; give one of {', '.join(accepted)}")

    def _typed(self, key: str, value: Any, kind: Any, words: str) -> Any:
        if not isinstance(value, kind):
            raise self._error(key, f"is {show_value(value)}; give {words}")
        return value

    def _whole(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._error(key, f"is {show_value(value)}; give a whole number, at least 1")
        return value

    def _cap(self, key: str, value: Any) -> int | None:
        return None if value is None else self._whole(key, value)

    def _seconds(self, key: str, value: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise self._error(key, f"is {show_value(value)}; give a number of seconds above 0")
        return float(value)

    def _error(self, key: str, complaint: str) -> InputError:
        return InputError(f"{self.file}: {key} {complaint}")
