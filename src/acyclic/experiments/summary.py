"""What the runs of a setting say: means with standard errors, paired ratios, what went wrong how often."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from acyclic.experiments.cases import Scalar
    from acyclic.experiments.plans import Setting
    from acyclic.experiments.store import Record

__all__ = [
    "Mean",
    "Ratio",
    "Results",
    "blocks",
    "cut_share",
    "describe",
    "finished_values",
    "mean_of",
    "n_cut",
    "n_failed",
    "number",
    "paired_ratio",
    "rival",
    "runs_of",
    "unfinished",
]

Results: TypeAlias = "Mapping[Setting, Sequence[Record]]"

TRUNCATED, RIVALS = ("fast-tmpi", "tmpi"), ("exponential", "binomial")
LEVEL = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean over runs; as text it has the standard error, with two significant digits, and the runs.

    Attributes
    ----------
    value : float
    error : float
        The standard error s / √runs with s² = Σ(x − mean)² / (runs − 1); NaN for a single run.
    runs : int
    best : float
        The smallest of the numbers.

    Examples
    --------
    >>> Mean.over([1.0, 2.0, 6.0])
    Mean(value=3.0, error=1.5275252316519468, runs=3, best=1.0)
    >>> print(Mean.over([1.0, 2.0, 6.0]), Mean.over([7.0]), sep="; ")
    3.0 ± 1.5 (3); 7.00 (1)
    """

    value: float
    error: float
    runs: int
    best: float

    @classmethod
    def over(cls, numbers: Iterable[float]) -> Mean | None:
        """The mean of the numbers; None where there are none."""
        sample = np.fromiter(numbers, dtype=float)
        if not sample.size:
            return None
        error = float(sample.std(ddof=1)) / math.sqrt(sample.size) if sample.size > 1 else math.nan
        return cls(float(sample.mean()), error, sample.size, float(sample.min()))

    def __str__(self) -> str:
        if math.isnan(self.error):
            return f"{number(self.value)} ({self.runs})"
        places = min(max(1 - math.floor(math.log10(self.error)), 0), 4) if self.error > 0 else 2
        return f"{self.value:.{places}f} ± {self.error:.{places}f} ({self.runs})"

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of Student's t; all numbers for a single run."""
        if self.runs < 2:
            return -math.inf, math.inf
        half = _quantile(self.runs) * self.error
        return self.value - half, self.value + half


@dataclass(frozen=True)
class Ratio:
    """A ratio of two means over the same runs, with its 95 % interval.

    Attributes
    ----------
    value, low, high : float
        `high` is infinite where the data do not bound the ratio: few runs, or a divisor near 0.
    runs : int
    """

    value: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        high = f"{self.high:.2f}" if math.isfinite(self.high) else "∞"
        return f"{self.value:.2f} [{self.low:.2f}, {high}] ({self.runs})"


def paired_ratio(above: Mapping[int, float], below: Mapping[int, float]) -> Ratio | None:
    """Mean of `above` over mean of `below`, both over the runs that the two have in common.

    The interval is Fieller's: the ratios r at which a t test of the differences a − r·b does not reject. Both sides are
    taken to be non-negative.

    Parameters
    ----------
    above, below : mapping of run to number

    Returns
    -------
    Ratio, or None where no run is in both or the divisor is 0.

    Examples
    --------
    >>> ratio = paired_ratio({0: 2.0, 1: 3.0, 2: 4.0}, {0: 4.0, 1: 6.0, 2: 8.0, 3: 1.0})
    >>> ratio.value, ratio.runs
    (0.5, 3)
    """
    common = sorted(above.keys() & below.keys())
    pairs = np.array([[above[run] for run in common], [below[run] for run in common]], dtype=float)
    if not common or not pairs[1].mean() > 0:
        return None
    first, second = pairs.mean(axis=1).tolist()
    if len(common) < 2:
        return Ratio(first / second, 0.0, math.inf, 1)
    spread = _quantile(len(common)) ** 2 * np.cov(pairs) / len(common)
    a, b, c = second**2 - spread[1, 1], first * second - spread[0, 1], first**2 - spread[0, 0]
    if a <= 0:
        return Ratio(first / second, 0.0, math.inf, len(common))
    root = math.sqrt(max(b * b - a * c, 0.0))
    return Ratio(first / second, max((b - root) / a, 0.0), (b + root) / a, len(common))


def _quantile(runs: int) -> float:
    return float(stdtrit(runs - 1, (1 + LEVEL) / 2))


def runs_of(records: Iterable[Record], metric: str, *, cut: bool = False) -> dict[int, float]:
    """The metric of every run that has it: one of `Record.values`, or its `seconds` or `cpu_seconds`.

    Runs that came to their own end; with ``cut`` also what those had reached that a limit cut short.
    """
    found = {}
    for record in records:
        number = getattr(record, metric) if metric in ("seconds", "cpu_seconds") else record.values.get(metric)
        whole = record.status == "done" and (cut or not record.ended_by_limit)
        if whole and isinstance(number, (int, float)) and math.isfinite(number):
            found[record.case.run] = float(number)
    return found


def finished_values(records: Sequence[Record]) -> list[Mapping[str, Any]]:
    """What the finished runs measured, by run."""
    done = [record for record in records if record.status == "done"]
    return [record.values for record in sorted(done, key=lambda record: record.case.run)]


def mean_of(records: Iterable[Record], metric: str, *, cut: bool = False) -> Mean | None:
    """Mean of a metric over the runs that came to their own end, or with ``cut`` also over those that were cut."""
    return Mean.over(runs_of(records, metric, cut=cut).values())


def n_failed(records: Iterable[Record]) -> int:
    """How many runs broke down, for another reason than a limit."""
    return sum(record.status == "failed" and not record.ended_by_limit for record in records)


def n_cut(records: Iterable[Record]) -> int:
    """How many runs a limit cut short, with a result so far or without one."""
    return sum(record.ended_by_limit for record in records)


def unfinished(records: Iterable[Record]) -> bool:
    """Whether a run failed or was cut, so that a mean over the others may flatter or wrong the method."""
    found = list(records)
    return n_failed(found) + n_cut(found) > 0


def cut_share(records: Iterable[Record]) -> float | None:
    """Share of the runs in which the weights above the threshold still had a cycle; None without a threshold."""
    answers = [record.values.get("cut_cyclic") for record in records if record.status == "done"]
    known = [bool(answer) for answer in answers if answer is not None]
    return sum(known) / len(known) if known else None


def rival(setting: Setting, settings: Sequence[Setting]) -> Setting | None:
    """What a truncated power iteration is compared with: the same method and data under an earlier constraint.

    That is the exponential one, or the binomial one where no method of the plan differs by the exponential one alone.
    """
    if setting.method.get("constraint") not in TRUNCATED:
        return None
    for constraint in RIVALS:
        wanted = {**setting.method, "constraint": constraint}
        for other in settings:
            if other.method == wanted and other.data == setting.data:
                return other
    return None


def blocks(settings: Iterable[Setting], varied: Sequence[str] = ("n_nodes",)) -> list[list[Setting]]:
    """Settings in groups that share their data but for some keys, in the order of the plan."""
    groups: dict[tuple[tuple[str, Scalar], ...], list[Setting]] = {}
    for setting in settings:
        shared = tuple(sorted((key, value) for key, value in setting.data.items() if key not in varied))
        groups.setdefault(shared, []).append(setting)
    return list(groups.values())


def describe(data: Mapping[str, Scalar], without: Sequence[str] = ()) -> str:
    """Settings of data in words.

    >>> describe({"sem": "linear", "graph": "ER2", "noise": "gaussian", "n_nodes": 10, "n": 1000}, ["n"])
    'ER2, Gaussian noise, d = 10'
    """
    words = {
        "graph": "{}",
        "noise": "{} noise",
        "n_nodes": "d = {}",
        "n": "n = {}",
        "dataset": "{} data",
        "standardize": "unknown scale" if data.get("standardize") else "known scale",
        "sem": "" if data.get("sem") == "linear" else "SEM {}",
    }
    ordered = [key for key in words if key in data] + [key for key in data if key not in words]
    parts = []
    for key in ordered:
        value = str(data[key])
        shown = value.capitalize() if key in ("noise", "dataset") else value
        parts += [words.get(key, key.replace("_", " ") + " = {}").format(shown)] if key not in without else []
    return ", ".join(filter(None, parts))


def number(value: float) -> str:
    """Three significant digits.

    >>> number(1234.5), number(0.04567), number(0.0), number(3.2e-9)
    ('1234', '0.0457', '0', '3.2e-09')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.1e}"
    return f"{value:.{max(2 - math.floor(math.log10(abs(value))), 0)}f}"
