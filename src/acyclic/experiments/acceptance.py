"""The page that holds the claims of the paper against the runs that are there, and leads to every figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from acyclic.experiments.claims import Check, Standing, claims
from acyclic.experiments.markdown import cell, table
from acyclic.experiments.summary import Results, n_cut, n_failed
from acyclic.files import write_text

if TYPE_CHECKING:
    from acyclic.experiments.plans import Plan

__all__ = ["checks", "write_summary"]

Evidence: TypeAlias = "Sequence[tuple[Plan, Results]]"


def checks(evidence: Evidence) -> list[Check]:
    """Every claim, held against the runs."""
    results = {plan.name: records for plan, records in evidence}
    return [claim.check(results) for claim in claims([plan for plan, _ in evidence])]


def count_standings(found: Sequence[Check]) -> str:
    """How many claims stand how, in words."""
    counts = [f"{sum(check.standing is standing for check in found)} {standing}" for standing in Standing]
    return f"Of {len(found)} claims: {', '.join(counts)}."


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
    rows = [[cell(check.claim), cell(check.measured), f"**{check.standing}**"] for check in found]
    parts = [
        "# The experiments of the paper",
        f"## Checks\n\n{count_standings(found)}",
        table(["Claim", "Measured", "Verdict"], rows),
        "A claim is met if its 95 % interval lies inside of what is claimed, not met if it lies outside, else "
        "undecided; where runs were cut, with them and without them. Numbers after ± are standard errors, in brackets "
        "95 % intervals, in parentheses runs.",
        "## Figures and tables",
        *(part for plan, records in evidence for part in _entry(plan, records)),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "summary.md"
    write_text(path, "\n\n".join(parts) + "\n")
    return path


def _entry(plan: Plan, records: Results) -> Iterator[str]:
    rows = [record for some in records.values() for record in some]
    done, failed, cut = sum(record.status == "done" for record in rows), n_failed(rows), n_cut(rows)
    quick = " in its quick form" if plan.quick else ""
    yield f"### {cell(plan.paper)}: {cell(plan.title)}"
    yield f"[Tables]({plan.name}.md){quick}. Runs: {done} done, {failed} failed, {cut} cut by a limit."
    yield f"![{cell(plan.title)}](figures/{plan.name}.svg)"
