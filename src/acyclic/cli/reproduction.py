"""The command that computes the paper's experiments and draws them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from acyclic.cli.faults import Exit
from acyclic.cli.settings import Whole
from acyclic.cli.terminal import Output, Stages, complain, listed
from acyclic.errors import Argument, InputError, MissingExtraError

if TYPE_CHECKING:
    from acyclic.experiments.cases import Case
    from acyclic.experiments.claims import Check
    from acyclic.experiments.plans import Plan
    from acyclic.experiments.rechecking import Recheck
    from acyclic.experiments.runner import Advance, Tally
    from acyclic.experiments.store import Store

Switch = Annotated[bool, Parameter(negative=())]
SHOWN = Output()
FOLDER = Path("build") / "reproduction"
MOST_FAILURES = 10


def reproduce(
    *names: str,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    quick: Switch = False,
    runs: Whole | None = None,
    nodes: tuple[str, ...] = (),
    jobs: Whole = 1,
    cluster: str | None = None,
    tls_ca: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    time_limit: float | None = None,
    budget: str | None = None,
    check: str | None = None,
    retry_failed: Switch = False,
    draw: Switch = False,
    published: Annotated[Path | None, Parameter(name="--from")] = None,
    out: Path = FOLDER,
    output: Annotated[Output, Parameter(name="*")] = SHOWN,
) -> int:
    """Compute the figures and tables of the TMPI paper; what is stored already is not computed again.

    Ctrl-C ends the run; the same command goes on where it ended. Results are in OUT/results.sqlite as they come, and at
    the end in OUT/results.parquet, which is smaller.

    ```
    acyclic reproduce --list
    acyclic reproduce figure-2 --runs 20 --jobs 2
    acyclic reproduce all --quick
    acyclic reproduce all --budget 2h --from docs/reproduction/results.parquet
    acyclic reproduce all --draw --from docs/reproduction/results.parquet
    acyclic reproduce all --check 5min --from docs/reproduction/results.parquet
    acyclic reproduce my-plan.toml --runs 5 --out mine
    ```

    A plan of your own is a TOML file in the form of those in acyclic/experiments/plans. Its methods may name, as
    `learner` and `constraint`, those that other installed packages offer: see `acyclic plugins`.

    Parameters
    ----------
    names
        Which figures and tables, or all, or .toml files of your own.
    list_
        Name every figure and table, and stop.
    quick
        The short form of each: few runs, small graphs.
    runs
        Runs of each setting; the paper's number by default.
    nodes
        Only graphs of these sizes.
    jobs
        Processes on this machine; -1 for one on each processor.
    cluster
        Address of a Dask scheduler, in the place of processes on this machine; only learners that watch the time limit
        themselves are held to it there.
    tls_ca, tls_cert, tls_key
        PEM files for a cluster at a tls:// address: its certificate authority, and a certificate of that with its key.
    time_limit
        Seconds for each case; none by default, as plans limit the evaluations of a fit instead, which does not depend
        on the machine. Cases that a shorter limit ended are computed again.
    budget
        Time to spend, such as 2h or 1h30min, where a claim of the paper is undecided: on more runs of what the widest
        interval across its bound rests on, until all are decided or the time is spent. In the place of --runs.
    check
        Time to spend, such as 5min, on stored fits, drawn at random, one of each setting, that are computed again: are
        they still what the program finds? The exit code is 1 if their errors moved, or if some break down.
    retry_failed
        Compute cases again that failed.
    draw
        Compute nothing; draw what is stored.
    published
        A results.parquet of an earlier run, whose rows count as stored.
    out
        Folder of results, figures and tables.
    """
    if list_:
        return _list(output)
    from acyclic.data.cluster import Scheduler
    from acyclic.experiments.store import Store

    sizes, eaten = _split_sizes(nodes)
    _check_flags(runs=runs, jobs=jobs, time_limit=time_limit)
    modes = {"--check": check is not None, "--budget": budget is not None, "--runs": runs is not None, "--draw": draw}
    _check_modes([flag for flag, given in modes.items() if given])
    seconds = None if budget is None else _seconds("--budget", budget)
    to_check = None if check is None else _seconds("--check", check)
    plans = _plans([*names, *eaten], quick, output)
    _check_claims(plans, seconds)
    cases = _cases(plans, runs, sizes, time_limit)
    place = cluster, tls_ca, tls_cert, tls_key
    where = Scheduler(*place) if any(one is not None for one in place) else None
    how = {"n_jobs": jobs, "cluster": where, "retry_failed": retry_failed}
    with Store(_folder(out, (draw or check is not None) and published is None) / "results.sqlite") as store:
        if published is not None:
            output.say(f"{store.read_parquet(published)} results were taken over from {published}.")
        if to_check is not None:
            return _recheck(plans, store, to_check, sizes, output, n_jobs=jobs, cluster=where)
        if seconds is not None:
            tally: Tally | None = _spend(plans, store, seconds, sizes, output, time_limit=time_limit, **how)
            cases = [record.case for plan in plans for some in plan.records(store).values() for record in some]
        else:
            tally = None if draw else _compute(cases, store, output, **how)
        if tally and tally.interrupted:
            store.write_parquet(out / "results.parquet")
            output.data(_count(cases, store, tally, out), "reproduce")
            complain(_interrupted(tally))
            return Exit.INTERRUPTED
        code = _told(cases, store, tally, out, output)
        _draw(plans, store, out, output)
        store.write_parquet(out / "results.parquet")
    output.say(listed(out))
    return code


def _list(output: Output) -> int:
    from acyclic.experiments.plans import load_plan, plan_names

    plans = [load_plan(name) for name in plan_names()]
    listed = [{"name": plan.name, "paper": plan.paper, "title": plan.title} for plan in plans]
    output.data({"plans": listed}, "reproduce")
    rows = [[plan.name, plan.paper, plan.title] for plan in plans]
    output.table("Figures and tables", {"name": "left", "in the paper": "left", "what": "left"}, rows)
    return 0


def _split_sizes(words: Sequence[str]) -> tuple[list[int], list[str]]:
    """The sizes of graphs, and the names of plans that ``--nodes`` took for some."""
    from acyclic.experiments.plans import is_own_plan, plan_names

    sizes, names = [], []
    for word in words:
        if word.isascii() and word.isdigit() and len(word) < 10:
            sizes.append(int(word))
        elif word in ("all", *plan_names()) or is_own_plan(word):
            names.append(word)
        else:
            raise InputError(Argument("nodes"), f" has to be whole numbers; got {word!r}")
    return sizes, names


def _check_flags(**given: Any) -> None:
    from acyclic.ranges import JOBS, NONE, check_parameters, number, whole

    ranges = {"runs": whole(least=1) | NONE, "jobs": JOBS, "time_limit": number(above=0) | NONE}
    check_parameters(given, ranges)


def _plans(names: Sequence[str], quick: bool, output: Output) -> list[Plan]:
    from acyclic.experiments.plans import load_plan, plan_names

    if not names:
        raise InputError(f"name one or more of {', '.join(plan_names())}, all, or a .toml file of your own")
    listed = [name for word in names for name in (plan_names() if word == "all" else [word])]
    ready = []
    for name in dict.fromkeys(listed):
        plan = load_plan(name, quick)
        try:
            plan.check_installed()
            ready.append(plan)
        except MissingExtraError as error:
            if name in names:
                raise
            output.say(f"{plan.name} is left out: {error}")
    return ready


def _check_claims(plans: Sequence[Plan], budget: float | None) -> None:
    from acyclic.experiments.plans import plan_names

    if budget is not None and (own := [plan.name for plan in plans if plan.name not in plan_names()]):
        raise InputError(f"--budget goes by the claims of the paper, and {own[0]} has none; give --runs instead")


def _cases(plans: Sequence[Plan], runs: int | None, nodes: Sequence[int], time_limit: float | None) -> list[Case]:
    cases = [case for plan in plans for case in plan.cases(runs, nodes or None, time_limit)]
    if not cases:
        raise InputError(f"nothing here has graphs of {', '.join(map(str, nodes))} nodes; give other --nodes, or none")
    return cases


def _folder(out: Path, must_exist: bool) -> Path:
    if must_exist and not (out / "results.sqlite").exists():
        raise InputError(
            f"there are no results in {out}; compute some without --draw and --check, or give another --out or --from"
        )
    return out


def _compute(cases: Sequence[Case], store: Store, output: Output, **how: Any) -> Tally:
    from acyclic.experiments.runner import compute_all, merged

    asked = merged(cases)
    waiting = store.missing(asked, how.pop("retry_failed"))
    output.say(f"{len(asked)} cases; {len(asked) - len(waiting)} of them are stored, {len(waiting)} to compute.")
    with output.progress() as stages:
        return compute_all(waiting, store, **how, callback=_shown(stages, len(waiting)) if waiting else None)


def _check_modes(given: Sequence[str]) -> None:
    """--check and --budget decide by themselves what is computed; --runs and --draw go together."""
    if len(given) > 1 and given[0] in ("--check", "--budget"):
        raise InputError(f"{given[0]} decides on the runs by itself; leave {given[1]} away")


def _seconds(flag: str, text: str) -> float:
    found = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)min)?(?:(\d+(?:\.\d+)?)s)?", text.replace(" ", ""))
    parts = [float(part or 0) for part in found.groups()] if found else []
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1)))
    if not seconds:
        raise InputError(f"{flag} is {text!r}; give hours, minutes or seconds, such as 2h, 1h30min or 90s")
    return seconds


def _spend(
    plans: Sequence[Plan], store: Store, seconds: float, nodes: Sequence[int], output: Output, **how: Any
) -> Tally:
    from acyclic.deadline import Deadline
    from acyclic.experiments.acceptance import count_standings
    from acyclic.experiments.budget import spend
    from acyclic.experiments.runner import Tally

    with output.progress() as stages:

        def next_claim(check: Check, cases: int) -> None:
            stages.stage(f"{check.claim}: {cases} cases")

        spent = spend(plans, store, Deadline(seconds), nodes=nodes, callback=next_claim, **how)
    output.say(count_standings(spent.checks))
    return Tally(spent.computed, (), 0, spent.interrupted)


def _recheck(
    plans: Sequence[Plan], store: Store, seconds: float, nodes: Sequence[int], output: Output, **how: Any
) -> int:
    """Say which stored fits come out in another way; 1 where they are out of date."""
    from acyclic.experiments.rechecking import recheck

    stored = {s: some for plan in plans for s, some in plan.records(store).items()}
    asked = [record for s, some in stored.items() if not nodes or s.data.get("n_nodes") in nodes for record in some]
    with output.progress() as stages:
        stages.stage("computing stored fits again")
        found = recheck(asked, seconds, **how)
    if not found.pairs and not found.interrupted:
        raise InputError(
            f"no stored fit takes less than a twentieth of {duration(seconds)}; give a longer --check, or other results"
        )
    labels = {s.key: s.label for s in stored}
    differing = [
        {
            "method": labels[pair.stored.case.setting],
            "data": dict(pair.stored.case.data),
            "run": pair.stored.case.run,
            "stored_shd": pair.stored.values.get("shd"),
            "shd": pair.again.values.get("shd"),
            "failed": pair.again.verdict if pair.again.status == "failed" else None,
        }
        for pair in found.others
    ]
    counts = {"checked": len(found.pairs), "same": len(found.pairs) - len(differing), "failed": len(found.failed)}
    output.data({**counts, "stale": found.stale, "differing": differing}, "reproduce")
    _say_recheck(found, differing, output)
    if found.interrupted:
        return Exit.INTERRUPTED
    return Exit.FAILED if found.stale else Exit.FINE


def _say_recheck(found: Recheck, differing: Sequence[dict[str, Any]], output: Output) -> None:
    output.say(f"{len(found.pairs)} stored fits were computed again; {len(differing)} of them have another graph.")
    if differing:
        header = {"method": "left", "data": "left", "run": "right", "SHD stored": "right", "again": "right"}
        rows = [
            [one["method"], " ".join(map(str, one["data"].values())), one["run"], one["stored_shd"], one["shd"]]
            for one in differing
        ]
        output.table("Another graph", header, [list(map(str, row)) for row in rows[:MOST_FAILURES]])
    if found.failed:
        why = found.failed[0].again.verdict
        output.say(f"{len(found.failed)} broke down, the first by {why}. The stored fits are not this program's.")
    elif found.stale:
        output.say(f"Errors moved, by {found.change} in SHD over all: the stored fits are not this program's.")
    elif differing:
        output.say(f"Errors did not move, SHD {found.change} over all: rounding turns an edge at the threshold.")


def _shown(stages: Stages, total: int) -> Callable[[Advance], None]:
    from acyclic.types import Progress  # here, as the command starts without NumPy

    show, started = stages.stage("computing", steps=total), time.monotonic()

    def callback(advance: Advance) -> None:
        seconds = time.monotonic() - started
        left = seconds * (1 - advance.share) / max(advance.share, 1e-9)
        failed = f", {advance.failed} failed" if advance.failed else ""
        text = f"{advance.done} of {advance.total} cases{failed}, {duration(left)} left"
        show(Progress(text, advance.done, advance.done, math.nan, math.nan, math.nan, 0, seconds))

    return callback


def duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> duration(7.2), duration(140), duration(15000)
    ('7 s', '2 min', '4 h 10 min')
    """
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _interrupted(tally: Tally) -> str:
    left = f", {tally.left} are left" if tally.left else ""
    return (
        f"interrupted; {tally.computed} cases were computed and stored{left}. "
        "The same command goes on from there, and --draw draws what is stored"
    )


def _draw(plans: Sequence[Plan], store: Store, folder: Path, output: Output) -> None:
    from acyclic.experiments.acceptance import write_summary
    from acyclic.experiments.figures import draw
    from acyclic.experiments.plans import plan_names

    records = {plan.name: plan.records(store) for plan in plans}
    with output.progress() as stages:
        for plan in plans:
            stages.stage(f"drawing {plan.name}")
            draw(plan, records[plan.name], folder)
    # A plan of one's own is no evidence for or against the paper.
    if paper := [(plan, records[plan.name]) for plan in plans if plan.name in plan_names()]:
        write_summary(paper, folder)


def _count(cases: Sequence[Case], store: Store, tally: Tally | None, folder: Path) -> dict[str, Any]:
    records = store.records(keys={case.key for case in cases})
    failed = sum(record.status == "failed" for record in records)
    cut = sum(record.ended_by_limit for record in records)
    done = {"computed": tally.computed, "left": tally.left} if tally else {"computed": 0}
    return {"folder": str(folder), **done, "stored": len(records), "failed": failed, "cut": cut}


def _told(cases: Sequence[Case], store: Store, tally: Tally | None, folder: Path, output: Output) -> int:
    """Say what is there and what failed; 1 where something did."""
    records = store.records(keys={case.key for case in cases})
    failures = [record for record in records if record.status == "failed"]
    facts = _count(cases, store, tally, folder)
    output.data(facts, "reproduce")
    output.say(f"{facts['stored']} cases are stored, {facts['cut']} of them cut by a limit.")
    if failures:
        rows = [[" ".join(f"{value}" for _, value in (*r.case.method, *r.case.data)), r.verdict] for r in failures]
        output.table(f"{len(failures)} failed", {"case": "left", "why": "left"}, rows[:MOST_FAILURES])
        output.say("Compute them again with --retry-failed; their tracebacks are in results.sqlite.")
    return int(bool(failures))
