"""Chains of the search over orders for tables of categories, whose parents have a distribution for each combination."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acyclic._native.exact import EXACT_NODES
from acyclic._native.library import FLOAT, INT32, UINT8, address, check, check_size, library
from acyclic._native.order import OrderChain
from acyclic._native.watching import LONG, run_parts
from acyclic.deadline import Deadline
from acyclic.types import Floats


class CountCriterion(NamedTuple):
    """What `counts.c` reads: rows of codes, and the prices.

    codes : (d + 1, m) of uint8
        One column after the other, the levels of each from 0; the last one is all 0.
    weight : (m,) of int32
        How many rows each one stands for.
    levels : (d,) of int32
        How many levels each column has, 255 at most.
    logs : (k,)
        x log x for 0 to k - 1; larger counts are computed.
    unit, extra : float
        The price of a free parameter, and of a parent beyond its parameters.
    sample_size : float
        The equivalent sample size of BDeu, where parameters have no price; 0 for the likelihood.
    """

    codes: NDArray[np.uint8]
    weight: NDArray[np.int32]
    levels: NDArray[np.int32]
    logs: Floats
    unit: float
    extra: float
    sample_size: float


class CountChain(OrderChain):
    """An `OrderChain` under the score of counts; see `CountCriterion` for what it takes beyond that.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]], dtype=np.uint8)
    >>> whole = lambda *numbers: np.array(numbers, dtype=np.int32)
    >>> given = CountCriterion(codes, whole(20, 5, 5, 20), whole(2, 2), np.zeros(1), 4.0, 1.0, 0.0)
    >>> with CountChain(given, None, None, None, 1, 1, 1000, 0) as chain:
    ...     chain.start(whole(1, 0))
    ...     chain.parents().astype(int).tolist(), round(chain.best()[0], 3)
    ([[0, 0], [1, 0]], -64.315)
    """

    def __init__(
        self,
        given: CountCriterion,
        allowed: NDArray[np.uint8] | None,
        required: NDArray[np.uint8] | None,
        precede: NDArray[np.uint8] | None,
        max_parents: int,
        detours: int,
        most_branches: int,
        seed: int,
    ) -> None:
        self.d = check_size(len(given.levels))
        check_counts(given)
        self._given = given  # the kernel reads it until it is closed
        arrays = [address(array) for array in (given.codes, given.weight, given.levels)]
        logs, numbers = address(given.logs), (given.unit, given.extra, given.sample_size, max_parents)
        self._open_under(
            lambda: library().counts_open(self.d, len(given.weight), *arrays, len(given.logs), logs, *numbers),
            (allowed, required, precede),
            (max_parents, detours, most_branches, seed),
        )


def check_counts(given: CountCriterion) -> None:
    """Raise a ValueError unless the kernel can read them."""
    d, m = len(given.levels), len(given.weight)
    check("codes", given.codes, UINT8, (d + 1, m))
    check("weight", given.weight, INT32, (m,))
    check("levels", given.levels, INT32, (d,))
    check("logs", given.logs, FLOAT, (len(given.logs),))
    if not 1 <= m < 2**31 - 1 or len(given.logs) < 1 or given.weight.min() < 1:
        raise ValueError("the kernel takes rows that each stand for one row at least, and the logarithm of one number")
    if (given.levels < 1).any() or (given.levels > 255).any():
        raise ValueError("the kernel takes columns of 1 to 255 levels")
    if (given.codes[:d].max(axis=1) >= given.levels).any() or given.codes[d].any():
        raise ValueError("a code is not one of the levels of its column, or the last column is not all 0")
    if not all(0 <= number < np.inf for number in given[4:]):
        raise ValueError("the kernel takes prices and a sample size of at least 0")


def count_all_sets(
    given: CountCriterion,
    allowed: NDArray[np.uint8] | None,
    required: NDArray[np.uint8] | None,
    max_parents: int,
    *,
    slack: float,
    most_work: float,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> Floats | None:
    """The scores of all sets of parents, as `ScoredTables` takes them; None where that takes more than so much work.

    Sets that are worse than one of their subsets by more than the slack, whatever they explain, may have inf.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]], dtype=np.uint8)
    >>> whole = lambda *numbers: np.array(numbers, dtype=np.int32)
    >>> given = CountCriterion(codes, whole(20, 5, 5, 20), whole(2, 2), np.zeros(1), 4.0, 1.0, 0.0)
    >>> count_all_sets(given, None, None, 1, slack=10.0, most_work=1e9).round(3).tolist()
    [[0.0, -64.315], [0.0, -64.315]]
    """
    d = check_size(len(given.levels))
    if d > EXACT_NODES:
        raise ValueError(f"the exact search takes up to {EXACT_NODES} nodes; got {d}")
    check_counts(given)
    for name, rule in (("allowed", allowed), ("required", required)):
        if rule is not None:
            check(name, rule, UINT8, (d, d))
    scores = np.empty((d, 2 ** (d - 1)))
    size = int(min(most_work, scores.size * len(given.weight)))
    if size < LONG:  # threads cost more than they save
        threads = 1
    parts = list(pairwise(round(k * d / min(threads, d)) for k in range(min(threads, d) + 1)))
    kernel = library().counts_scores

    def run(part: tuple[int, int], flag: int | None) -> int:
        arrays = [address(array) for array in (given.codes, given.weight, given.levels)]
        numbers = given.unit, given.extra, given.sample_size, max_parents
        share = int(most_work * (part[1] - part[0]) / d)
        status: int = kernel(
            *(d, len(given.weight), *arrays, len(given.logs), address(given.logs), *numbers, *part),
            *(address(allowed), address(required), slack, share, address(scores), flag),
        )
        return status

    purpose = f"for the counts of all sets of {d} columns"
    run_parts(run, parts, size=size, purpose=purpose, threads=threads, deadline=deadline)
    return None if np.isnan(scores[:, 0]).any() else scores
