"""What `acyclic learn` does after learning: draws of the rows and an audit, as asked for or as far as seconds allow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from acyclic.facts import Ended, Fact, Remark

if TYPE_CHECKING:
    from acyclic.cli.settings import Run
    from acyclic.cli.terminal import Stages
    from acyclic.data.table import Table
    from acyclic.learners import DagLearner
    from acyclic.result import Result
    from acyclic.trust.audit import Audit
    from acyclic.trust.bootstrap import Bootstrap

# Unasked for, so many draws and the audit's refits are done as far as these seconds of waiting allow.
DRAWS, DRAW_SECONDS, AUDIT_SECONDS = 100, 6.0, 4.0


def redraw(job: Run, model: DagLearner, table: Table, result: Result, stages: Stages, kept: Path | None) -> Result:
    """The result with what draws of the rows say of it, where these are wanted and one at least was done."""
    if job.bootstrap == 0 or (job.bootstrap is None and job.quick) or result.ended is Ended.INTERRUPTED:
        return result
    if job.bootstrap:
        callback = stages.stage("bootstrap", steps=job.bootstrap)
        return result.with_evidence(confidence=job.bootstrap_edges(model, table, job.bootstrap, callback, kept))
    if job.deadline.passed():
        return result
    found = job.bootstrap_edges(model, table, DRAWS, stages.stage("bootstrap", steps=DRAWS), seconds=DRAW_SECONDS)
    return result.with_evidence(confidence=_settle_draws(job, found)) if found.draws else result


def examine(job: Run, model: DagLearner, table: Table, result: Result, stages: Stages) -> Result:
    """The result with its audit, where that is wanted."""
    if job.audit is False or (job.audit is None and job.quick) or result.ended is Ended.INTERRUPTED:
        return result
    if job.audit is None and (job.deadline.passed() or not result.graph.n_edges):
        return result
    seconds = None if job.audit else AUDIT_SECONDS
    found = job.audit_edges(model, table, stages.stage("audit"), seconds=seconds)
    return result.with_evidence(audit=found if job.audit else _settle_audit(job, found))


def _settle_draws(job: Run, found: Bootstrap) -> Bootstrap:
    """Nobody asked for a number of draws: those that were done within the seconds are all that there should be."""
    if found.end.kind is not Ended.TIME_LIMIT or job.deadline.passed():
        return found
    notes = tuple(note for note in found.notes if note.kind is not Remark.CUT_SHORT)
    return replace(found, requested=found.draws, end=Fact(Ended.COMPLETE), notes=notes)


def _settle_audit(job: Run, found: Audit) -> Audit:
    if found.end.kind is not Ended.TIME_LIMIT or job.deadline.passed():
        return found
    return replace(found, end=Fact(Ended.COMPLETE))
