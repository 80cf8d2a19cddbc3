"""The claims of the paper: each names the runs that it rests on and the numbers at which it holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from acyclic.experiments.summary import Mean, Results, number, paired_ratio, runs_of

if TYPE_CHECKING:
    from acyclic.experiments.cases import Scalar
    from acyclic.experiments.plans import Plan, Setting
    from acyclic.experiments.store import Record

__all__ = ["Check", "Claim", "Standing", "Where", "claims"]

Evidence: TypeAlias = "Mapping[str, Results]"

# An interval over fewer runs is not to be trusted, skewed as counts of errors are; of slow methods fewer have to do.
ENOUGH, ENOUGH_SEEDS = 20, 5
TOLERANCE = 0.25
# What a method is unless a claim says otherwise: no later search, our minimiser, its own detour, the exact radius.
PLAIN: Mapping[str, Scalar | None] = {"then": None, "inner": None, "detour": None, "bound": None}


class Standing(StrEnum):
    """How a claim stands."""

    MET = "met"
    """The interval lies inside of what is claimed, with and without the runs that were cut."""
    NOT_MET = "not met"
    """It lies outside."""
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Where:
    """Which setting of a plan: its data and its method, as far as they matter."""

    plan: str
    data: Mapping[str, Scalar]
    method: Mapping[str, Scalar]

    def find(self, evidence: Evidence) -> Setting | None:
        """The first setting that fits."""
        wanted = {**PLAIN, **self.method}
        for setting in evidence.get(self.plan, {}):
            if all(setting.data.get(key) == value for key, value in self.data.items()) and all(
                setting.method.get(key) == value for key, value in wanted.items()
            ):
                return setting
        return None


@dataclass(frozen=True)
class Part:
    """One number with its 95 % interval, over how many runs, and how it stands against what is accepted."""

    text: str
    interval: tuple[float, float]
    runs: int
    accepted: tuple[float, float]

    @property
    def standing(self) -> Standing:
        """Inside, outside, or across a bound."""
        (low, high), (least, most) = self.interval, self.accepted
        # What is measured is never negative, though an interval around its mean may reach below zero.
        if least <= max(low, 0.0) and high <= most:
            return Standing.MET
        return Standing.NOT_MET if high < least or low > most else Standing.UNDECIDED

    @property
    def width(self) -> float:
        """The interval's, in units of the largest number accepted."""
        return (self.interval[1] - self.interval[0]) / self.accepted[1]


@dataclass(frozen=True)
class Check:
    """A claim, what was measured, how it stands, and what more runs would have to be of.

    Attributes
    ----------
    claim, measured : str
    standing : Standing
    settings : tuple of (plan, Setting)
        Whose runs it rests on; those that the evidence has.
    width : float
        Of the widest interval that touches its bound, in units of the bound; infinite with too few runs.
    enough : int
        Runs that it takes to decide anything.
    """

    claim: str
    measured: str
    standing: Standing
    settings: tuple[tuple[str, Setting], ...] = ()
    width: float = math.inf
    enough: int = ENOUGH


@dataclass(frozen=True)
class Claim:
    """The mean of a metric, or its paired ratio to that of other methods on the same data, lies within bounds.

    Attributes
    ----------
    text : str
    ours : Where
    accepted : (float, float)
    others : mapping of name to Where
        If there are any, the ratio of ours to each has to be accepted.
    metric : str
    enough : int
        Runs that it takes.
    """

    text: str
    ours: Where
    accepted: tuple[float, float]
    others: Mapping[str, Where] = field(default_factory=dict)
    metric: str = "shd"
    enough: int = ENOUGH

    def check(self, evidence: Evidence) -> Check:
        """Hold the claim against the runs that are there, once with and once without those that were cut."""
        places = [self.ours, *self.others.values()]
        found = [(place.plan, setting) for place in places if (setting := place.find(evidence))]
        if len(found) < len(places):
            return Check(self.text, "not computed", Standing.UNDECIDED, (), enough=self.enough)
        whole, everything = (self._parts([evidence[plan][s] for plan, s in found], cut) for cut in (False, True))
        if not everything:
            return Check(self.text, "not computed", Standing.UNDECIDED, tuple(found), enough=self.enough)
        parts = [*whole, *everything]
        least = min((part.runs for part in whole), default=0)
        words = ", ".join(part.text for part in whole or everything)
        if everything != whole:
            words += f"; with the runs that were cut {', '.join(part.text for part in everything)}"
        if least < self.enough:
            words += f"; it takes {self.enough} runs to decide"
            return Check(self.text, words, Standing.UNDECIDED, tuple(found), enough=self.enough)
        wide = max((part.width for part in parts if part.standing is Standing.UNDECIDED), default=0.0)
        standing = _both(_together(whole), _together(everything))
        return Check(self.text, words, standing, tuple(found), wide, self.enough)

    def _parts(self, records: Sequence[Sequence[Record]], cut: bool) -> list[Part]:
        ours, *others = (runs_of(some, self.metric, cut=cut) for some in records)
        if not others:
            mean = Mean.over(ours.values())
            return [Part(_said(mean), mean.interval(), mean.runs, self.accepted)] if mean else []
        found = []
        for name, other in zip(self.others, others):
            ratio = paired_ratio(ours, other)
            if ratio is None:
                return []
            found.append(Part(f"{ratio} of {name}", (ratio.low, ratio.high), ratio.runs, self.accepted))
        return found


def _said(mean: Mean) -> str:
    low, high = mean.interval()
    return f"{mean}, [{number(low)}, {number(high)}]" if mean.runs > 1 else str(mean)


def _together(parts: Sequence[Part]) -> Standing:
    standings = {part.standing for part in parts}
    if Standing.NOT_MET in standings:
        return Standing.NOT_MET
    return Standing.MET if standings == {Standing.MET} else Standing.UNDECIDED


def _both(one: Standing, other: Standing) -> Standing:
    return one if one is other else Standing.UNDECIDED


GAUSSIAN: Mapping[str, Scalar] = {"noise": "gaussian"}
NAMES = {"Notears": "NOTEARS", "NotearsMlp": "NOTEARS-MLP", "DagGnn": "DAG-GNN", "Golem": "GOLEM"}
LBFGS, ADAM = {"inner": "lbfgs"}, {"inner": "adam"}
# Plan, graph, what the minimiser adds to the method, mean SHD by number of nodes. The means are those of NOTEARS over
# 100 runs, read from the figures of Wei, Gao & Yu (2020).
LEVELS: tuple[tuple[str, str, Mapping[str, Scalar], Mapping[int, float]], ...] = (
    ("figure-2", "ER2", {}, {10: 3.6, 30: 7.4, 50: 11.8, 100: 22.6}),
    ("figure-2-published", "ER2", LBFGS, {10: 3.6, 30: 7.4, 50: 11.8, 100: 22.6}),
    ("appendix-sf2", "SF2", {}, {10: 0.48, 30: 0.99, 50: 1.44, 100: 3.28}),
)
# Plan, graph, learner, what the minimiser adds, the rival constraint, numbers of nodes, largest ratio, runs it takes.
RATIOS: tuple[tuple[str, str, str, Mapping[str, Scalar], str, tuple[int, ...], float, int], ...] = (
    ("figure-2", "ER2", "Notears", {}, "exponential", (10,), 1.0, ENOUGH),
    ("figure-2", "ER2", "Notears", {}, "exponential", (30, 50, 100), 0.5, ENOUGH),
    ("figure-2-published", "ER2", "Notears", LBFGS, "exponential", (10,), 1.0, ENOUGH),
    ("figure-2-published", "ER2", "Notears", LBFGS, "exponential", (30, 50, 100), 0.5, ENOUGH),
    ("figure-2-published", "ER3", "Notears", LBFGS, "exponential", (30, 50, 100), 0.5, ENOUGH),
    ("figure-3", "ER3", "Golem", {}, "exponential", (50, 100), 0.5, ENOUGH),
    ("figure-3", "ER3", "Golem", {"detour": 1}, "exponential", (50, 100), 0.5, ENOUGH),
    ("figure-3-published", "ER3", "Golem", ADAM, "exponential", (50, 100), 0.5, ENOUGH),
    ("appendix-500-nodes", "ER2", "Golem", {}, "exponential", (500,), 0.5, ENOUGH_SEEDS),
    ("appendix-500-nodes", "ER2", "Golem", {"detour": 1}, "exponential", (500,), 0.5, ENOUGH_SEEDS),
    ("appendix-500-nodes", "ER2", "Golem", {**ADAM, "steps": 70_000}, "exponential", (500,), 0.5, ENOUGH_SEEDS),
    ("appendix-er6", "ER6", "Notears", {}, "exponential", (30, 50, 100), 1.0, ENOUGH),
)
SEARCHES = {"kkt_search-published": "published search", "kkt_search": "thorough search"}
NODES = (10, 30, 50, 100)


def claims(plans: Sequence[Plan]) -> list[Claim]:
    """Every claim; those that hold a published number against ours come from the plans that have it."""
    return [*_levels(), *_ratios(), *_nonlinear(), *_searches(), *_four_forms(), *_printed(plans), _short()]


def _around(value: float) -> tuple[float, float]:
    return (1 - TOLERANCE) * value, (1 + TOLERANCE) * value


def _by(method: Mapping[str, Scalar]) -> str:
    words = {"lbfgs": " by L-BFGS-B", "adam": " by Adam"}.get(str(method.get("inner")), "")
    return words or (" without detour" if method.get("detour") == 1 else "")


def _levels() -> Iterator[Claim]:
    for plan, graph, more, means in LEVELS:
        for d, value in means.items():
            where = Where(plan, {**GAUSSIAN, "graph": graph, "n_nodes": d}, _notears("exponential", **more))
            text = f"NOTEARS (exponential{_by(more)}), Gaussian {graph}, d = {d}: SHD {value:g} ± 25 % as published"
            yield Claim(text, where, _around(value))


def _ratios() -> Iterator[Claim]:
    for plan, graph, learner, more, rival, nodes, bound, enough in RATIOS:
        for d in nodes:
            data = {**GAUSSIAN, "graph": graph, "n_nodes": d}
            ours, theirs = ({"learner": learner, "constraint": name, **more} for name in ("fast-tmpi", rival))
            by = " after its detour" if learner == "Golem" and not more else _by(more)
            text = f"{NAMES[learner]} with TMPI{by}, {plan}, {graph}, d = {d}: paired SHD at most {bound:g} × {rival}"
            yield Claim(text, Where(plan, data, ours), (0.0, bound), {rival: Where(plan, data, theirs)}, enough=enough)


def _nonlinear() -> Iterator[Claim]:
    rows: tuple[tuple[str, str, int, str, Mapping[str, Scalar]], ...] = (
        ("DagGnn", "cos", 1000, "binomial", {}),
        ("DagGnn", "cos", 5000, "binomial", {}),
        ("NotearsMlp", "mlp", 1000, "exponential", {}),
        ("NotearsMlp", "mlp", 1000, "exponential", LBFGS),
    )
    for learner, sem, n, rival, more in rows:
        data: dict[str, Scalar] = {"sem": sem, "n": n, "n_nodes": 50}
        ours, theirs = ({"learner": learner, "constraint": name, **more} for name in ("fast-tmpi", rival))
        text = f"{NAMES[learner]} with TMPI{_by(more)}, n = {n}, d = 50: paired SHD at most 1 × {rival}"
        others = {rival: Where("nonlinear", data, theirs)}
        yield Claim(text, Where("nonlinear", data, ours), (0.0, 1.0), others, enough=ENOUGH_SEEDS)


def _notears(constraint: str, **more: Scalar) -> dict[str, Scalar]:
    return {"learner": "Notears", "constraint": constraint, **more}


def _searches() -> Iterator[Claim]:
    """The local search halves the SHD of NOTEARS, and is best after TMPI."""
    for d in NODES:

        def where(constraint: str, d: int = d, **more: Scalar) -> Where:
            return Where("appendix-kkts", {**GAUSSIAN, "n_nodes": d}, _notears(constraint, **more))

        for search, words in SEARCHES.items():
            others = {"exponential": where("exponential"), "TMPI": where("fast-tmpi")}
            others["exponential + KKTS"] = where("exponential", then=search)
            text = f"TMPI + KKTS ({words}), d = {d}: no higher SHD than any other method in the paper's figure"
            yield Claim(text, where("fast-tmpi", then=search), (0.0, 1.0), others)
        text = f"NOTEARS + KKTS (published search), d = {d}: SHD 0.5 ± 0.15 × that of NOTEARS"
        ours, plain = where("exponential", then="kkt_search-published"), where("exponential")
        yield Claim(text, ours, (0.35, 0.65), {"NOTEARS": plain})


def _four_forms() -> Iterator[Claim]:
    """The four forms of one constraint find the same graphs, and fast TMPI finds them first."""
    for d in NODES:
        forms = {
            name: Where("figure-4", {"n_nodes": d}, _notears(name)) for name in ("geometric", "fast-geometric", "tmpi")
        }
        ours = Where("figure-4", {"n_nodes": d}, _notears("fast-tmpi"))
        text = f"Four forms of the geometric series, figure-4, d = {d}: SHD of fast TMPI 1 ± 0.1 × that of each other"
        yield Claim(text, ours, (0.9, 1.1), forms)
        if d >= 50:
            text = f"Fast TMPI, figure-4, d = {d}: no more processor seconds than each other form"
            yield Claim(text, ours, (0.0, 1.0), forms, "cpu_seconds")


def _printed(plans: Sequence[Plan]) -> Iterator[Claim]:
    """The numbers that the paper prints, each with the tolerance of the others."""
    for plan in plans:
        for printed in plan.published if plan.name in ("table-1", "nonlinear", "appendix-500-nodes") else ():
            if printed.metric == "seconds" or plan.quick:
                continue
            method = plan.methods[printed.method]
            for data in _data_of(plan, printed.data):
                if method.takes({**{name: values[0] for name, values in plan.data.items()}, **data}):
                    at = ", ".join(str(value) for value in data.values())
                    words = {"shd": "SHD", "shd_cpdag": "SHD of CPDAG"}[printed.metric]
                    text = f"{printed.method}, {plan.name}, {at}: {words} {printed.value:g} ± 25 % as printed"
                    where = Where(plan.name, data, method.settings)
                    yield Claim(text, where, _around(printed.value), metric=printed.metric, enough=ENOUGH_SEEDS)


def _data_of(plan: Plan, data: Mapping[str, Scalar]) -> list[dict[str, Scalar]]:
    """The data of a printed number: as the published code has them where a plan has others too."""
    own: dict[str, dict[str, Scalar]] = {"table-1": {"dataset": "sachs"}, "appendix-500-nodes": {"n_nodes": 500}}
    if plan.name == "nonlinear":
        return [{**data, "n": 5000 if data.get("sem") == "cos" else 1000}]
    return [{**data, **own[plan.name]}]


def _short() -> Claim:
    where = Where("appendix-truncation", {"graph": "ER2", "n_nodes": 100}, {})
    return Claim("TMPI on ER2 graphs of 100 nodes: the iteration stops at k below 20", where, (0.0, 20.0), {}, "stop")
