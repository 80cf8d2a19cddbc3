"""Chains of the search over orders for parents that enter as blocks of features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acyclic._native.library import FLOAT, INT32, address, check, check_size, library
from acyclic._native.order import OrderChain
from acyclic.types import Floats

Int32s = NDArray[np.int32]


class BlockCriterion(NamedTuple):
    """What `blocks.c` reads: the features of every column, their moments and rows, and the prices.

    at : (d + 1,)
        Column i has the features at[i] to at[i + 1] - 1, orthonormal over the rows.
    level_at : (d + 1,), levels : (L,)
        As a parent, it enters with the first levels[level_at[i]], … of them.
    responses : (d,)
        As a child, it is its first responses[i] features.
    bent : (d,)
        Not 0 where its parents may enter beyond their first level.
    shaped : (d,)
        Not 0 where the shape of its noise counts, which takes one response.
    G : (F, F)
        Moments of the features, a ridge on those that are shrunk.
    prices : (F,)
        What the features of a column up to each cost, for one response.
    n, cost : float
        Rows, and the price of a parent that enters with one feature.
    rows : (F, m) or None
        Rows of the features, for the shape of the noise; None for the normal one.
    shape_price : float
        What a noise of another shape than the normal one costs.
    """

    at: Int32s
    level_at: Int32s
    levels: Int32s
    responses: Int32s
    bent: Int32s
    shaped: Int32s
    G: Floats
    prices: Floats
    n: float
    cost: float
    rows: Floats | None
    shape_price: float


class BlockChain(OrderChain):
    """An `OrderChain` under the score of blocks; see `BlockCriterion` for what it takes beyond that.

    Examples
    --------
    >>> x = np.linspace(-1.7, 1.7, 200)
    >>> z = np.sign(np.sin(np.arange(200)))
    >>> rows = np.array([x, x**2, x**2 + 0.1 * z])
    >>> rows = (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True)
    >>> whole = lambda *numbers: np.array(numbers, dtype=np.int32)
    >>> given = BlockCriterion(
    ...     *(whole(0, 2, 3), whole(0, 2, 3), whole(1, 2, 1), whole(1, 1), whole(1, 1), whole(0, 0)),
    ...     *(rows @ rows.T / 200, np.array([5.0, 10.0, 5.0]), 200, 7.0, None, 0.0),
    ... )
    >>> with BlockChain(given, None, None, None, 1, 1, 1000, 0) as chain:
    ...     chain.start(whole(0, 1))
    ...     chain.parents().astype(int).tolist()
    [[0, 1], [0, 0]]
    """

    def __init__(
        self,
        given: BlockCriterion,
        allowed: NDArray[np.uint8] | None,
        required: NDArray[np.uint8] | None,
        precede: NDArray[np.uint8] | None,
        max_parents: int,
        detours: int,
        most_branches: int,
        seed: int,
    ) -> None:
        self.d = check_size(len(given.responses))
        check_blocks(given)
        self._given = given  # the kernel reads it until it is closed
        n_rows = 0 if given.rows is None else given.rows.shape[1]
        numbers = given.n, given.cost, n_rows, address(given.rows), given.shape_price, max_parents
        arrays = [address(array) for array in given[:8]]
        self._open_under(
            lambda: library().blocks_open(self.d, *arrays, *numbers),
            (allowed, required, precede),
            (max_parents, detours, most_branches, seed),
        )

    def family(self, node: int) -> tuple[Int32s, Int32s, tuple[float, float, float]]:
        """Parents of a node in the present order, their levels, and misfit, shape and price of its score."""
        parents = self.parents_of(node)
        levels, parts = np.zeros(max(len(parents), 1), dtype=np.int32), np.empty(3)
        with self._open() as handle:
            library().order_search_parts(handle, address(levels), address(parts))
        return parents, levels[: len(parents)], (float(parts[0]), float(parts[1]), float(parts[2]))


def check_blocks(given: BlockCriterion) -> None:
    """Raise a ValueError unless the kernel can read them."""
    d = len(given.responses)
    check("at", given.at, INT32, (d + 1,))
    check("level_at", given.level_at, INT32, (d + 1,))
    check("levels", given.levels, INT32, (int(given.level_at[-1]),))
    check("responses", given.responses, INT32, (d,))
    check("bent", given.bent, INT32, (d,))
    check("shaped", given.shaped, INT32, (d,))
    if (given.responses[given.shaped != 0] != 1).any():
        raise ValueError("the shape of the noise is that of one response")
    widths, F = np.diff(given.at), int(given.at[-1])
    check("G", given.G, FLOAT, (F, F))
    check("prices", given.prices, FLOAT, (F,))
    if given.rows is not None:
        check("rows", given.rows, FLOAT, (F, given.rows.shape[1] if given.rows.ndim == 2 else -1))
    if given.at[0] != 0 or given.level_at[0] != 0 or (widths < 1).any() or (np.diff(given.level_at) < 1).any():
        raise ValueError("every column needs a feature and a level")
    if (given.responses < 1).any() or (given.responses > widths).any():
        raise ValueError("the responses of a column are the first of its features")
    most = np.maximum.reduceat(given.levels, given.level_at[:-1])
    if (given.levels < 1).any() or (most > widths).any():
        raise ValueError("a level is a number of features that the column has")
    if not (given.n > 0 and given.cost >= 0 and (given.prices >= 0).all()):
        raise ValueError("the kernel takes n > 0 and prices of at least 0")
