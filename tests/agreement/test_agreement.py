"""Every learner gives the graphs that it gave before; see `cases` for where they come from.

One table in ten is tried here, in thirty by a learner that takes a second for each; ACYCLIC_AGREEMENT=all
(`make agreement`) tries all 210, which takes minutes.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from agreement.cases import LEARNERS, NEURAL, Case, choose_cases, find_answer, make_cases, unpack_answers

STORED = Path(__file__).with_name("answers.npz")
ALL = os.environ.get("ACYCLIC_AGREEMENT") == "all"
EVERY = {"Notears lbfgs": 30}
SLOW = {"Notears", "Notears exponential", "Notears lbfgs", "NoCurl lbfgs", *NEURAL}


@cache
def all_cases() -> list[Case]:
    return list(make_cases())


@pytest.mark.parametrize(
    "learner", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in (*LEARNERS, *NEURAL)]
)
def test_graphs_agree_with_the_stored_ones(learner):
    if learner in NEURAL:
        pytest.importorskip("torch")
    cases = choose_cases(learner, all_cases())
    with np.load(STORED) as stored:
        expected = unpack_answers(stored[learner], cases)
    step = 1 if ALL else EVERY.get(learner, 10)
    cases, expected = cases[::step], expected[::step]
    tried = [(case, before, find_answer(learner, case)) for case, before in zip(cases, expected) if len(case.X)]
    differing = [
        case.name
        for case, before, now in tried
        if (before is None) != (now is None) or (before is not None and not np.array_equal(before, now))
    ]
    assert differing == []
