"""What learners share that count the rows of a table of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from acyclic.data.mask import Mask
from acyclic.data.table import MOST_SAMPLED, Table
from acyclic.discrete.categorical import Distributions, search_counts
from acyclic.errors import Argument, InputError
from acyclic.facts import Caution, Ended, Fact, Orientation
from acyclic.judging.judge import Found
from acyclic.learners.ordering import name_penalty, order_of_start, resolve_effort
from acyclic.running import Monitor, State
from acyclic.scores.counts import CountRule, CountScore
from acyclic.scores.local import PenaltyChoice
from acyclic.types import Floats, Integers, Kind


def can_count(table: Table) -> bool:
    """Whether all columns are categories, and there are rows to count."""
    return table.has_sample and all(kind is Kind.CATEGORICAL for kind in table.kinds)


def read_codes(table: Table) -> tuple[Integers, Integers]:
    """Codes (m, d) of a table of categories and how many rows each stands for (m,), or an InputError that says why not.

    Of a table that is elsewhere with very many different rows, those of a sample.
    """
    others = [name for name, kind in zip(table.names, table.kinds) if kind is not Kind.CATEGORICAL]
    if others:
        listed = ", ".join(map(repr, others[:5])) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        said = f"only categories can be counted, and {listed} {'is none' if len(others) == 1 else 'are none'}; say "
        advice = Argument("kinds", {others[0]: "categorical"})
        raise InputError(said, advice, " if its numbers are codes, or leave out ", Argument("criterion"))
    counted = table.count_codes() or table.sampled(MOST_SAMPLED).count_codes()
    assert counted is not None
    codes, rows = counted
    if (codes < 0).any():
        holes = [name for name, column in zip(table.names, codes.T) if (column < 0).any()]
        said = f"{', '.join(map(repr, holes[:5]))}: cells are missing, and only whole rows can be counted; "
        ways = Argument("missing", "impute"), ", or leave out these rows with ", Argument("missing", "drop-rows")
        raise InputError(said, "fill them with ", *ways)
    return codes, rows


def find_by_counts(
    learner: Any,
    table: Table,
    mask: Mask,
    monitor: Monitor,
    *,
    rule: CountRule = "bic",
    sample_size: float = 10.0,
) -> Found:
    """Search for the graph of a table of categories with the penalty, effort, start, … of a learner.

    Parameters
    ----------
    learner : Auto or OrderSearch
        Its settings apply.
    table, mask, monitor
        As in ``DagLearner._find``.
    rule, sample_size
        As in `CountScore.of`.
    """
    penalty: PenaltyChoice = learner.penalty
    if penalty == "adaptive":
        said = "penalty 'adaptive' is for numbers; give 'ebic', 'bic', 'strong' or a number for a table of categories"
        raise InputError(said)
    if mask.has_bounds:
        raise InputError(
            "the edges of categories have no weights to be bounded; leave the bounds out of ", Argument("knowledge")
        )
    (codes, rows), codings = read_codes(table), [table.codings[name] for name in table.names]
    levels = [len(coding.levels) for coding in codings]
    score = CountScore.of(codes, levels, rows, rule=rule, penalty=penalty, sample_size=sample_size)
    near, rivals = learner.start, None

    def search(state: State) -> None:
        nonlocal rivals
        found = search_counts(
            score,
            starts=[] if near is None else [order_of_start(near, table.names)],
            effort=resolve_effort(learner.effort, learner.time_limit) if near is None else 0.0,
            mask=mask,
            deadline=monitor.deadline,
            tell=monitor.tell(state, "order search"),
            random_state=learner.random_state,
        )
        rivals = found.rivals
        state.accept(weights=found.weights, steps=found.kicks, end=found.end)

    required: Floats = np.where(mask.required, np.finfo(float).tiny, 0.0)
    state = monitor.run(search, State(required))
    if state.end is None:
        state.finish(Ended.COMPLETE)
    few = score.n <= 2 * len(levels)
    return Found(
        solution=state.solution(score.total(state.weights != 0), 0.0),
        method=learner.method,
        orientation=Orientation.INDEPENDENCE,
        settings={"criterion": "counts" if rule == "bic" else "bdeu", **name_penalty(penalty)},
        threshold=learner.threshold,
        cautions=(Fact.of(Caution.FEW_ROWS, rows=score.n, columns=len(levels)),) if few else (),
        details={"price of a parent": score.unit + score.extra, "rows that were counted": float(score.n)},
        rivals=rivals,
        mechanisms=Distributions.of_codes(codes, codings, state.weights != 0, rows),
    )
