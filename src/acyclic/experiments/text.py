"""Texts with fields that the stored runs fill: every number of a page is made again from them.

A field is written ``{{verb | plan | method | data}}``. The data are values of a setting's data, separated by blanks; a
value with commas, as 10,30,50, stands for one setting each, and their numbers are listed: as words do, or after the
word "cells" as cells of a table. `VERBS` has the verbs.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from acyclic.errors import InputError
from acyclic.experiments.acceptance import checks
from acyclic.experiments.claims import Standing
from acyclic.experiments.summary import Mean, Ratio, Results, mean_of, n_cut, paired_ratio, runs_of

if TYPE_CHECKING:
    from acyclic.experiments.plans import Plan, Setting
    from acyclic.experiments.store import Record

__all__ = ["VERBS", "fill"]

Evidence: TypeAlias = "Mapping[str, tuple[Plan, Results]]"
Verb: TypeAlias = Callable[[Evidence, list[str], list[str]], list[str]]
FIELD = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
WIDTH = 120


def fill(template: str, evidence: Evidence) -> str:
    """The text with its fields filled, and its paragraphs broken anew.

    Parameters
    ----------
    template : str
        Markdown with fields.
    evidence : mapping of name to (Plan, mapping of Setting to its records)

    Examples
    --------
    >>> fill("There are {{rows}} rows.", {})
    'There are 0 rows.'
    """
    filled = FIELD.sub(lambda found: _field(found[1], evidence), template)
    fences = re.split(r"(^```.*?^```$)", filled, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else _broken(part) for part in fences)


def _field(text: str, evidence: Evidence) -> str:
    first, *places = (part.split() for part in text.split("|"))
    cells, (verb, *words) = first[0] == "cells", first[first[0] == "cells" :]
    if verb not in VERBS:
        raise InputError(f"the field {text!r} begins with {verb!r}; there are {', '.join(VERBS)}")
    found = VERBS[verb](evidence, words, [" ".join(place) for place in places])
    return " | ".join(found) if cells else _list(found)


def _broken(text: str) -> str:
    """Paragraphs and items of lists in lines of at most 120 characters; headings and tables as they are."""
    parts = []
    for block in re.split(r"(\n\n+|\n(?=- ))", text):
        plain = not block.strip() or block.lstrip().startswith(("#", "|"))
        indent = "  " if block.startswith("- ") else ""
        before, after = re.match(r"\n*", block)[0], re.search(r"\n*$", block)[0]  # type: ignore[index]
        filled = textwrap.fill(
            " ".join(block.split()), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        parts.append(block if plain else before + filled + after)
    return "".join(parts)


def _settings(evidence: Evidence, plan: str, method: str, data: str) -> Iterator[tuple[Setting, Sequence[Record]]]:
    """The settings of a field with their runs, in the order in which it names them."""
    if plan not in evidence:
        raise InputError(f"a field names the plan {plan!r}; there are {', '.join(evidence)}")
    _, results = evidence[plan]
    wanted = [word.split(",") for word in data.split()]
    for choice in np.ndindex(*(len(values) for values in wanted)):
        values = {some[at] for some, at in zip(wanted, choice)}
        found = [s for s in results if s.label == method and values <= {str(value) for value in s.data.values()}]
        if len(found) != 1:
            raise InputError(f"{len(found)} settings of {plan} are {method!r} on {' '.join(sorted(values))}; name one")
        yield found[0], results[found[0]]


def _list(numbers: Sequence[str]) -> str:
    *some, last = numbers
    return f"{', '.join(some)} and {last}" if some else last


def _said(value: float) -> str:
    """Three digits, as counts of errors need them; whole numbers as such.

    >>> _said(17.0), _said(3.062), _said(12.16), _said(123.6)
    ('17', '3.06', '12.2', '124')
    """
    if value == int(value):
        return str(int(value))
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def _of_runs(read: Callable[[Sequence[Record], str], str]) -> Verb:
    def verb(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
        metric = words[0] if words else ""
        return [read(records, metric) for _, records in _settings(evidence, places[0], places[1], places[2])]

    return verb


def _mean(records: Sequence[Record], metric: str) -> Mean:
    mean = mean_of(records, metric)
    if mean is None:
        raise InputError(f"there are no runs with {metric!r} behind a field")
    return mean


def _ratio(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """Paired ratios of one method over another; with the word "interval" each with its 95 % interval."""
    found = []
    for ours, theirs in _pairs(evidence, words[0], places):
        ratio = paired_ratio(ours, theirs)
        if ratio is None:
            raise InputError(f"{places[1]} has no runs in common on {places[2]}")
        found.append(f"{ratio.value:.2f}" + (f" {_interval(ratio)}" if "interval" in words else ""))
    return found


def _versus(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """Both means over the runs that two methods have in common, and their ratio; a dash where there are none."""
    found = []
    for ours, theirs in _pairs(evidence, words[0], places):
        ratio = paired_ratio(ours, theirs)
        if ratio is None:
            found.append("–")
            continue
        above, below = (_said(sum(side[run] for run in ours.keys() & theirs) / ratio.runs) for side in (ours, theirs))
        found.append(f"{above} / {below}: {ratio.value:.2f} {_interval(ratio)}")
    return found


def _pairs(evidence: Evidence, metric: str, places: list[str]) -> Iterator[tuple[dict[int, float], dict[int, float]]]:
    plan, methods, data = places
    above, below = (_settings(evidence, plan, method, data) for method in methods.split(" over "))
    for (_, ours), (_, theirs) in zip(above, below):
        yield runs_of(ours, metric), runs_of(theirs, metric)


def _interval(ratio: Ratio) -> str:
    return f"[{ratio.low:.2f}, {ratio.high:.2f}]" if math.isfinite(ratio.high) else f"[{ratio.low:.2f}, ∞]"


def _records(evidence: Evidence) -> list[Record]:
    """Every run once, in however many plans it is."""
    return list({r.case.key: r for _, results in evidence.values() for some in results.values() for r in some}.values())


def _rows(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """How many runs there are, in all or of some plans."""
    chosen = {name: evidence[name] for name in places} if places else evidence
    return [str(len(_records(chosen)))]


def _claims(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """How many claims there are, or stand so."""
    found = checks(list(evidence.values()))
    standing = " ".join(words)
    return [str(len(found) if not words else sum(check.standing is Standing(standing) for check in found))]


def _standing(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """How a claim stands, given by its text."""
    found = [check.standing for check in checks(list(evidence.values())) if check.claim == places[0]]
    if len(found) != 1:
        raise InputError(f"{len(found)} claims read {places[0]!r}; summary.md has their texts")
    return [found[0].value]


def _cyclic(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """In how many finished fits of NOTEARS with a constraint the threshold left a cycle; searches are left out."""
    finished = [r for r in _records(evidence) if r.status == "done" and not r.ended_by_limit]
    known = []
    for record in finished:
        method, answer = dict(record.case.method), record.values.get("cut_cyclic")
        if answer is not None and (method.get("learner"), method.get("constraint")) == ("Notears", words[0]):
            known += [] if {"then", "solver"} & method.keys() else [bool(answer)]
    return [f"{sum(known) or 'none'} of {len(known)}"]


def _exact(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """In how many runs of a learner on linear models with so many rows the graph is right to the last edge."""
    learner, rows = words
    shds = [
        r.values["shd"]
        for r in _records(evidence)
        if dict(r.case.method).get("learner") == learner
        and (dict(r.case.data).get("sem"), str(dict(r.case.data).get("n"))) == ("linear", rows)
        and r.status == "done"
    ]
    return [f"{sum(shd == 0 for shd in shds)} of {len(shds)}"]


def _span(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """The least and the largest mean of a metric over all settings of a plan."""
    means = [mean.value for some in evidence[places[0]][1].values() if (mean := mean_of(some, words[0], cut=True))]
    return [f"{min(means):.2f} to {max(means):.2f}"]


def _cut(evidence: Evidence, words: list[str], places: list[str]) -> list[str]:
    """How many of the runs of a method in a plan a limit cut, whatever the data."""
    runs = [r for s, some in evidence[places[0]][1].items() if s.label == places[1] for r in some]
    return [f"{n_cut(runs)} of {len(runs)}"]


VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        "mean": _of_runs(lambda records, metric: _said(_mean(records, metric).value)),
        "error": _of_runs(lambda records, metric: _said(_mean(records, metric).error)),
        "best": _of_runs(lambda records, metric: f"{_mean(records, metric).best:g}"),
        "runs": _of_runs(lambda records, _: str(len(records))),
        "ratio": _ratio,
        "versus": _versus,
        "rows": _rows,
        "claims": _claims,
        "standing": _standing,
        "cyclic": _cyclic,
        "exact": _exact,
        "span": _span,
        "cut": _cut,
    }
)
