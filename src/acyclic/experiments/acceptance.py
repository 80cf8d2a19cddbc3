"""What the paper claims, checked against the runs that are there, and the page that leads to every figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from acyclic.experiments.markdown import cell, table
from acyclic.experiments.summary import (
    Mean,
    Results,
    finished_values,
    n_ended,
    n_failed,
    number,
    paired_ratio,
    rival,
    runs_of,
)

if TYPE_CHECKING:
    from acyclic.experiments.cases import Scalar
    from acyclic.experiments.plans import Plan, Setting

__all__ = ["Check", "checks", "write_summary"]

Evidence: TypeAlias = "Sequence[tuple[Plan, Results]]"
Runs: TypeAlias = dict[int, float]

VERDICTS = {True: "met", False: "not met", None: "not decided yet"}
# A mean over fewer runs proves nothing; a best of so many seeds can still be beaten by the next one.
ENOUGH, ENOUGH_SEEDS = 20, 5
TOLERANCE = 0.25
GAUSSIAN_ER2 = {"graph": "ER2", "noise": "gaussian"}
# Mean SHD of NOTEARS over 100 runs, read from the figures of Wei, Gao & Yu (2020).
PUBLISHED = (
    ("figure-2", GAUSSIAN_ER2, {10: 3.6, 30: 7.4, 50: 11.8, 100: 22.6}),
    ("appendix-sf2", {"graph": "SF2", "noise": "gaussian"}, {10: 0.48, 30: 0.99, 50: 1.44, 100: 3.28}),
)
# Plan, data, learner, numbers of nodes, largest ratio, runs that it takes.
RATIOS: tuple[tuple[str, Mapping[str, Scalar], str, tuple[int, ...], float, int], ...] = (
    ("figure-2", GAUSSIAN_ER2, "Notears", (10,), 1.0, ENOUGH),
    ("figure-2", GAUSSIAN_ER2, "Notears", (30, 50, 100), 0.5, ENOUGH),
    ("appendix-er6", {}, "Notears", (30, 50, 100), 1.0, ENOUGH),
    ("nonlinear", {}, "DagGnn", (50,), 1.0, ENOUGH_SEEDS),
    ("nonlinear", {}, "NotearsMlp", (50,), 1.0, ENOUGH_SEEDS),
)
SEARCHES = {"kkt_search-published": "published search", "kkt_search": "thorough search"}
NAMES = {"Notears": "NOTEARS", "NotearsMlp": "NOTEARS-MLP", "DagGnn": "DAG-GNN"}
NODES = (10, 30, 50, 100)


@dataclass(frozen=True)
class Check:
    """A claim, what was measured, and whether it is met; None where there are too few runs to tell."""

    claim: str
    measured: str
    met: bool | None


def write_summary(evidence: Evidence, folder: Path) -> Path:
    """Write summary.md: the checks, then every figure with a link to its tables.

    Parameters
    ----------
    evidence : sequence of (Plan, mapping of Setting to its records)
    folder : Path
        Where `draw` wrote the figures.

    Returns
    -------
    Path
    """
    found = checks(evidence)
    counts = [f"{sum(check.met is met for check in found)} {words}" for met, words in VERDICTS.items()]
    rows = [[cell(check.claim), cell(check.measured), f"**{VERDICTS[check.met]}**"] for check in found]
    parts = [
        "# The experiments of the paper",
        f"## Checks\n\nOf {len(found)} claims: {', '.join(counts)}.",
        table(["Claim", "Measured", "Verdict"], rows),
        "Numbers after ± are standard errors, in brackets 95 % intervals, in parentheses runs.",
        "## Figures and tables",
        *(part for plan, records in evidence for part in _entry(plan, records)),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "summary.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _entry(plan: Plan, records: Results) -> Iterator[str]:
    rows = [record for some in records.values() for record in some]
    done, failed, ended = sum(record.status == "done" for record in rows), n_failed(rows), n_ended(rows)
    quick = " in its quick form" if plan.quick else ""
    yield f"### {cell(plan.paper)}: {cell(plan.title)}"
    yield f"[Tables]({plan.name}.md){quick}. Runs: {done} done, {failed} failed, {ended} ended by the time limit."
    yield f"![{cell(plan.title)}]({plan.name}.svg)"


def checks(evidence: Evidence) -> list[Check]:
    """Every claim that the runs can be held against."""
    plans = {plan.name: (plan, records) for plan, records in evidence}
    look = _Lookup({name: records for name, (_, records) in plans.items()})
    return [
        *_published(look),
        *_ratios(look),
        *_search(look),
        *_four_forms(look),
        *_large(look),
        *_sachs(look),
        *_short(look),
    ]


@dataclass(frozen=True)
class _Lookup:
    """Runs by plan, data and method."""

    results: Mapping[str, Results]

    def settings(self, plan: str, data: Mapping[str, Scalar], method: Mapping[str, Scalar]) -> list[Setting]:
        """Settings with these data and this method; a search or minimiser that is not named has no place."""
        wanted = {"then": None, "inner": None, **method}
        return [
            setting
            for setting in self.results.get(plan, {})
            if all(setting.data.get(key) == value for key, value in data.items())
            and all(setting.method.get(key) == value for key, value in wanted.items())
        ]

    def runs(self, plan: str, data: Mapping[str, Scalar], method: Mapping[str, Scalar], metric: str = "shd") -> Runs:
        """The metric by run for the first setting that fits; empty without one."""
        for setting in self.settings(plan, data, method):
            return runs_of(self.results[plan][setting], metric)
        return {}


def _notears(constraint: str, **more: Scalar) -> dict[str, Scalar]:
    return {"learner": "Notears", "constraint": constraint, **more}


def _decided(answer: bool, runs: int, enough: int) -> bool | None:
    return answer if runs >= enough else None


def _few(runs: int, enough: int) -> str:
    return f"; it takes {enough} runs to decide" if runs < enough else ""


NOTHING = "not computed"


def _published(look: _Lookup) -> Iterator[Check]:
    for plan, data, means in PUBLISHED:
        for d, target in means.items():
            low, high = (1 - TOLERANCE) * target, (1 + TOLERANCE) * target
            claim = f"NOTEARS (exponential), Gaussian {data['graph']}, d = {d}: SHD {target:g} ± 25 % as published"
            mean = Mean.over(look.runs(plan, {**data, "n_nodes": d}, _notears("exponential")).values())
            if mean is None:
                yield Check(claim, NOTHING, None)
                continue
            start, end = mean.interval()
            met = _decided(start <= high and end >= low, mean.runs, ENOUGH)
            interval = f", [{start:.2f}, {end:.2f}]" if mean.runs > 1 else ""
            yield Check(claim, f"{mean}{interval}{_few(mean.runs, ENOUGH)}", met)


def _ratios(look: _Lookup) -> Iterator[Check]:
    for plan, data, learner, nodes, bound, enough in RATIOS:
        for d in nodes:
            ours = {"learner": learner, "constraint": "fast-tmpi"}
            settings = look.settings(plan, {**data, "n_nodes": d}, ours)
            theirs = rival(settings[0], list(look.results[plan])) if settings else None
            name = theirs.method["constraint"] if theirs else "the earlier constraint"
            claim = f"{NAMES[learner]} with TMPI, {plan}, d = {d}: paired SHD at most {bound:g} × that with {name}"
            above = runs_of(look.results[plan][settings[0]], "shd") if settings else {}
            below = runs_of(look.results[plan][theirs], "shd") if theirs else {}
            yield _ratio_check(claim, above, below, (0.0, bound), enough)


def _ratio_check(claim: str, above: Runs, below: Runs, accepted: tuple[float, float], enough: int) -> Check:
    ratio, (low, high) = paired_ratio(above, below), accepted
    if ratio is None:
        return Check(claim, NOTHING, None)
    met = _decided(low <= ratio.value <= high, ratio.runs, enough)
    return Check(claim, f"{ratio}{_few(ratio.runs, enough)}", met)


def _search(look: _Lookup) -> Iterator[Check]:
    """The local search halves the SHD of NOTEARS, and is best after TMPI."""
    for d in NODES:
        data: dict[str, Scalar] = {**GAUSSIAN_ER2, "n_nodes": d}
        plain = {name: look.runs("appendix-kkts", data, _notears(name)) for name in ("exponential", "fast-tmpi")}
        for search, words in SEARCHES.items():
            after = {name: look.runs("appendix-kkts", data, _notears(name, then=search)) for name in plain}
            others = {"exponential": plain["exponential"], "TMPI": plain["fast-tmpi"]}
            others["exponential + KKTS"] = after["exponential"]
            claim = f"TMPI + KKTS ({words}), d = {d}: lowest SHD of the methods in the paper's figure"
            yield _lowest(claim, after["fast-tmpi"], others, ENOUGH)
            if search == "kkt_search-published":
                claim = f"NOTEARS + KKTS ({words}), d = {d}: SHD 0.5 ± 0.15 × that of NOTEARS"
                yield _ratio_check(claim, after["exponential"], plain["exponential"], (0.35, 0.65), ENOUGH)


def _lowest(claim: str, ours: Runs, others: Mapping[str, Runs], enough: int) -> Check:
    """Whether no other method has a lower mean over the runs that all have."""
    common = set(ours).intersection(*others.values())
    if not common:
        return Check(claim, NOTHING, None)
    means = {name: sum(runs[run] for run in common) / len(common) for name, runs in {"": ours, **others}.items()}
    own = means.pop("")
    listed = ", ".join(f"{name} {number(mean)}" for name, mean in means.items())
    measured = f"{number(own)} ({len(common)}) against {listed}{_few(len(common), enough)}"
    return Check(claim, measured, _decided(own <= min(means.values()), len(common), enough))


def _four_forms(look: _Lookup) -> Iterator[Check]:
    """The four forms of one constraint find the same graphs, and fast TMPI finds them first."""
    forms = ("geometric", "fast-geometric", "tmpi")
    for d in NODES:
        shd, seconds = (
            {name: look.runs("figure-4", {"n_nodes": d}, _notears(name), metric) for name in ("fast-tmpi", *forms)}
            for metric in ("shd", "cpu_seconds")
        )
        yield _same(
            f"Four forms of the geometric series, figure-4, d = {d}: the same SHD within 3 standard errors", shd
        )
        if d >= 50:
            claim = f"Fast TMPI, figure-4, d = {d}: fewest CPU seconds of the four forms"
            yield _lowest(claim, seconds.pop("fast-tmpi"), seconds, ENOUGH)


def _same(claim: str, runs: Mapping[str, Runs]) -> Check:
    ours, *others = runs.values()
    differences = [Mean.over(other[run] - ours[run] for run in ours.keys() & other.keys()) for other in others]
    means = [mean for mean in differences if mean]
    if len(means) < len(others):
        return Check(claim, NOTHING, None)
    least = min(mean.runs for mean in means)
    listed = ", ".join(f"{name} {mean}" for name, mean in zip(list(runs)[1:], means))
    met = _decided(all(abs(mean.value) <= 3 * mean.error for mean in means), least, ENOUGH)
    return Check(claim, f"differences to fast TMPI: {listed}{_few(least, ENOUGH)}", met)


def _large(look: _Lookup) -> Iterator[Check]:
    golem = {"learner": "Golem", "constraint": "fast-tmpi"}
    mean = Mean.over(look.runs("appendix-500-nodes", {"n_nodes": 500}, golem).values())
    claim = "GOLEM with TMPI, Gaussian ER2, d = 500: mean SHD at most 15"
    yield Check(claim, str(mean) if mean else NOTHING, mean.value <= 15 if mean else None)


def _sachs(look: _Lookup) -> Iterator[Check]:
    """One seed suffices to meet the claim, which rests on a single run itself."""
    claim = "{}, Sachs data: a seed with SHD at most 12 and SHD of CPDAG at most 9"
    settings = look.settings("table-1", {}, {"learner": "GranDag", "constraint": "fast-tmpi"})
    for setting in settings:
        some = look.results["table-1"][setting]
        directed, undirected = runs_of(some, "shd"), runs_of(some, "shd_cpdag")
        seeds = sorted((directed[run], undirected[run]) for run in directed.keys() & undirected.keys())
        yield _best_seed(claim.format(setting.label), seeds)
    if not settings:
        yield Check(claim.format("GraN-DAG with TMPI"), NOTHING, None)


def _best_seed(claim: str, seeds: Sequence[tuple[float, float]]) -> Check:
    if not seeds:
        return Check(claim, NOTHING, None)
    met = any(shd <= 12 and cpdag <= 9 for shd, cpdag in seeds)
    means = " / ".join(str(Mean.over(column)) for column in zip(*seeds))
    measured = f"best of {len(seeds)} seeds {number(seeds[0][0])} / {number(seeds[0][1])}, mean {means}"
    return Check(claim, measured, True if met else _decided(False, len(seeds), ENOUGH_SEEDS))


def _short(look: _Lookup) -> Iterator[Check]:
    claim = "TMPI on ER2 graphs of 100 nodes: the iteration stops at k below 20"
    results = look.results.get("appendix-truncation", {})
    some = [records for s, records in results.items() if s.data.get("graph") == "ER2" and s.data.get("n_nodes") == 100]
    stops = [int(values["stop"]) for records in some for values in finished_values(records)]
    yield Check(claim, f"k from {min(stops)} to {max(stops)}" if stops else NOTHING, max(stops) < 20 if stops else None)
