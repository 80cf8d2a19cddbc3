"""Spends time where a claim is undecided: more runs of what the widest interval across a bound rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Any

from acyclic.deadline import Deadline
from acyclic.experiments.acceptance import checks
from acyclic.experiments.claims import Check, Standing
from acyclic.experiments.pace import Pace
from acyclic.experiments.runner import run

if TYPE_CHECKING:
    from acyclic.experiments.cases import Case
    from acyclic.experiments.plans import Plan
    from acyclic.experiments.store import Store

__all__ = ["Spent", "next_cases", "spend", "undecided"]


@dataclass(frozen=True)
class Spent:
    """How a budget was spent: cases computed, how many failed, whether Ctrl-C ended it, and how the claims stand."""

    computed: int
    failed: int
    interrupted: bool
    checks: tuple[Check, ...]


def spend(
    plans: Sequence[Plan],
    store: Store,
    deadline: Deadline,
    *,
    nodes: Sequence[int] = (),
    time_limit: float | None = None,
    callback: Callable[[Check, int], object] | None = None,
    **how: Any,
) -> Spent:
    """Compute until every claim is decided or the time is spent; rows of any earlier run count.

    A claim is looked at again when its runs have doubled, so that chance has few occasions to decide it. A case that
    is under way when the time is up is finished.

    Parameters
    ----------
    plans : sequence of Plan
    store : Store
    deadline : Deadline
    nodes : sequence of int
        Only claims on graphs of these sizes.
    time_limit : float, optional
        Seconds for each case.
    callback : callable, optional
        Called with the claim that is next and the number of its cases.
    **how
        As for `acyclic.experiments.runner.run`.
    """
    computed = failed = 0
    interrupted = False
    while not (deadline.passed() or interrupted):
        waiting = undecided(_checks(plans, store), store, deadline.left(), nodes)
        if not waiting:
            break
        cases = next_cases(waiting[0], plans, store, time_limit)
        if callback:
            callback(waiting[0], len(cases))
        tally = run(cases, store, deadline=deadline, **how)
        computed, failed = computed + tally.computed, failed + len(tally.failures)
        interrupted = tally.interrupted
    return Spent(computed, failed, interrupted, tuple(_checks(plans, store)))


def _checks(plans: Sequence[Plan], store: Store) -> list[Check]:
    return checks([(plan, plan.records(store)) for plan in plans])


def undecided(
    found: Sequence[Check], store: Store, left: float | None = None, nodes: Sequence[int] = ()
) -> list[Check]:
    """Claims that more runs may decide, in the order of need.

    First those that have not the runs it takes, what takes least time before the rest; then by the width of their
    interval, the widest first, and of equals what takes least time. Intervals without end come last: their runs were
    cut, or have next to no errors to compare. Those of which a single run takes longer than what is left, as measured
    or as estimated from others, are passed over.
    """
    stored, pace = store.seconds(), Pace(store)

    def seconds(check: Check) -> float:
        return max(pace.seconds(setting) for _, setting in check.settings)

    def need(check: Check) -> tuple[bool, bool, float, float, float]:
        enough = _least_runs(check, stored) >= check.enough
        width = -check.width if enough else 0.0
        return enough, enough and isinf(check.width), width, seconds(check), _size(check)

    def asked(check: Check) -> bool:
        sizes = {setting.data.get("n_nodes") for _, setting in check.settings}
        return not nodes or sizes <= set(nodes)

    open_ = [check for check in found if check.standing is Standing.UNDECIDED and check.settings and asked(check)]
    within = [check for check in open_ if left is None or seconds(check) <= left]
    return sorted(within, key=need)


def _least_runs(check: Check, stored: Mapping[str, tuple[int, float]]) -> int:
    return min(stored.get(setting.key, (0, 0.0))[0] for _, setting in check.settings)


def _size(check: Check) -> float:
    return max(float(setting.data.get("n_nodes", 0)) for _, setting in check.settings)


def next_cases(check: Check, plans: Sequence[Plan], store: Store, time_limit: float | None = None) -> list[Case]:
    """The runs that a claim rests on, up to as many as it takes or to twice those that are there, run by run."""
    keys = {setting.key for _, setting in check.settings}
    least = _least_runs(check, store.seconds())
    runs = check.enough if least < check.enough else 2 * least
    names = {plan for plan, _ in check.settings}
    planned = (case for plan in plans if plan.name in names for case in plan.cases(runs, time_limit=time_limit))
    wanted = [case for case in planned if case.setting in keys]
    return store.missing(wanted)
