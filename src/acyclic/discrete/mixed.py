"""The search under the score of mixed tables, near the answers of other searches.

Under the degenerate Gaussian score of the search over orders the levels of a category are numbers. Its answers
are where hill climbing begins under the likelihoods of the columns' own kinds; and once more with each edge of its end
turned or left out: whatever is better on the way is the new answer, and what is not tells by how much it is ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import log, nan

import numpy as np

from acyclic.data.mask import Mask
from acyclic.deadline import Deadline
from acyclic.discrete.fitted import LINEAR, Fitted, World, in_own_order
from acyclic.discrete.rivals import Rivals
from acyclic.discrete.search import FoundGraph
from acyclic.discrete.surroundings import Climb, climb_all, look_around
from acyclic.discrete.worlds import Answer, Worlds
from acyclic.graphs.cycles import sort_topologically
from acyclic.scores.blocks import Mechanisms, NoiseShape
from acyclic.scores.mixed import Known, MixedScore
from acyclic.types import Bools, Floats, Integers

__all__ = ["find_mixed", "near_pairs", "polish_mixed"]

# Rows times pairs of a category and what may be its parent, and so many for each pair of a number, whose parents are
# lines or may be curves. Beyond the first limit, some seconds, only pairs near a category are looked at; beyond the
# other, up to a minute, none.
_FEW, _MOST_WORK, _LINE, _CURVE = 1e6, 3e6, 300, 3000
# Curves have to gain so many times log n over lines, and this share of what the shape of the noise gains: see `worlds`.
_CONVINCING, _MISSED = 3, 0.1


def polish_mixed(
    worlds: Worlds,
    graphs: Sequence[Bools],
    others: Sequence[Bools] = (),
    *,
    curved: bool = False,
    rivals: Rivals | None = None,
    deadline: Deadline | None = None,
) -> tuple[Answer, dict[World, float]] | None:
    """The best graph near some graphs with every column by the likelihood of its kind, and the scores of the worlds.

    Numbers have normal noise or noise of any shape. None where so many rows and columns would take long, or no column
    is a category.

    Parameters
    ----------
    worlds : Worlds
    graphs : sequence of ndarray of bool, shape (d, d)
        The answers of searches in some of them.
    others : sequence of ndarray of bool, shape (d, d)
        Graphs that are nearly as good as these: they may be better here, or tell how far the best is ahead.
    curved : bool
        Whether curves are tried beside lines.
    rivals : Rivals, optional
        Those of the last of the graphs: they tell how far edges are ahead that are far from every category, where the
        columns are too many to look at them again.
    deadline : Deadline, optional
    """
    canon, counts = worlds.canon, tuple(worlds.counts[k] for k in worlds.canon)
    starts = [graph[np.ix_(canon, canon)] for graph in graphs]
    asked, n = ~np.eye(len(canon), dtype=bool), len(worlds.sorted_rows)
    far: tuple[Floats, Floats] | None = None
    if _find_work(asked, counts, n, curved) > _FEW:
        asked = near_pairs(starts) & _near_categories(starts, counts)
        far = None if rivals is None else _margins_of(rivals, canon, starts[-1], asked)
    late = deadline is not None and deadline.passed()
    if not any(counts) or _find_work(asked, counts, n, curved) > _MOST_WORK or late:
        return None
    mask = worlds.parents.mask.permuted(canon)
    known: Known = {}
    tops: dict[World, list[Climb]] = {}
    for world in _list_worlds(worlds, curved):
        score = MixedScore(worlds.score(world), worlds.sorted_rows, counts, asked, known)
        tops[world] = climb_all(score, starts, mask, deadline)
    totals = {world: found[0].total for world, found in tops.items()}
    chosen = _choose(totals, log(worlds.parents.n))
    more = [graph[np.ix_(canon, canon)] for graph in others]
    met = [*tops[chosen], *climb_all(tops[chosen][0].scores, more, mask, deadline)]
    adjacency, total, ahead, end = look_around(met, mask, deadline, far)
    blocks = worlds.score(chosen)
    ahead = None if ahead is None else ahead.permuted(worlds.back)
    families = [blocks.family(j, np.flatnonzero(adjacency[:, j]).tolist()) for j in range(len(canon))]
    features, renamed = in_own_order(blocks.features, families, canon, worlds.back)
    fitted = Fitted(features, renamed, worlds.codings)
    order = canon[sort_topologically(adjacency)]
    found = FoundGraph(order, fitted.slopes(worlds.rows), total, worlds.parents.penalty, (total,), 0, 0, ahead, end)
    if found.rivals is not None and rivals is not None:
        found = replace(found, rivals=replace(found.rivals, opposed=rivals.opposed))
    return Answer(chosen, found, fitted), totals


def _find_work(asked: Bools, counts: Sequence[int], n: int, curved: bool) -> float:
    levels = np.array(counts) > 0
    return n * int(asked[:, levels].sum()) + (_CURVE if curved else _LINE) * int(asked[:, ~levels].sum())


def _near_categories(starts: Sequence[Bools], counts: Sequence[int]) -> Bools:
    """The pairs (d, d) of categories and of columns that are joined with one in some of the graphs.

    Scores of numbers are those of the search that found the graphs: what is better here begins at a category.
    """
    levels = np.array(counts) > 0
    near = levels | np.any([(graph | graph.T)[:, levels].any(axis=1) for graph in starts], axis=0)
    return np.asarray(near[:, None] & near[None, :])


def _margins_of(rivals: Rivals, canon: Integers, graph: Bools, asked: Bools) -> tuple[Floats, Floats]:
    """What is known of the edges of a graph that are not asked for, in canonical order: NaN elsewhere."""
    pairs, far = np.ix_(canon, canon), graph & ~asked
    return np.where(far, rivals.turned[pairs], nan), np.where(far, rivals.left_out[pairs], nan)


def _list_worlds(worlds: Worlds, curved: bool) -> list[World]:
    shaped = any(worlds.score(LINEAR).features.shaped)
    mechanisms: list[Mechanisms] = ["linear", "curved"] if curved else ["linear"]
    noises: list[NoiseShape] = ["gaussian", "any"] if shaped else ["gaussian"]
    return [World(*pair) for pair in product(mechanisms, noises)]


def _choose(totals: dict[World, float], unit: float) -> World:
    """The world with the lowest score, if it is convincing."""
    straight = {world: total for world, total in totals.items() if world.mechanisms == "linear"}
    best = LINEAR
    for world, total in straight.items():
        if total < straight[best] - unit:
            best = world
    least = max(_CONVINCING * unit, _MISSED * (straight[LINEAR] - straight[best]))
    bent = min(totals, key=lambda world: totals[world])
    return bent if totals[bent] < straight[best] - least else best


def near_pairs(starts: Sequence[Bools], reach: int = 2) -> Bools:
    """The pairs (d, d) that are joined in some of the graphs, or both joined with a third column in one.

    >>> near_pairs([np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)]).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    found = np.zeros_like(starts[0])
    for graph in starts:
        joined = (graph | graph.T).astype(np.int32)
        found |= (joined + joined @ joined * (reach > 1)) > 0
    np.fill_diagonal(found, False)
    return found


def find_mixed(
    score: MixedScore, starts: Sequence[Bools], mask: Mask, deadline: Deadline | None = None
) -> tuple[Bools, float, Rivals | None]:
    """The best graph near some graphs, its score, and how far it is ahead; None where the clock ends the look around.

    Parameters
    ----------
    score : MixedScore
    starts : sequence of ndarray of bool, shape (d, d)
        Acyclic graphs that obey the mask.
    mask : Mask
    deadline : Deadline, optional

    Examples
    --------
    >>> from acyclic.scores.blocks import BlockScore
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 1000))
    >>> rows = np.column_stack([x, y, x + y + rng.logistic(size=1000) > 0]).astype(float)
    >>> score = MixedScore(BlockScore.of(rows, (0, 0, 2), mechanisms="linear"), rows, (0, 0, 2))
    >>> graph, _, rivals = find_mixed(score, [np.zeros((3, 3), dtype=bool)], Mask.unrestricted(3))
    >>> graph.astype(int).tolist(), bool(rivals.turned[0, 2] > 5)
    ([[0, 0, 1], [0, 0, 1], [0, 0, 0]], True)
    """
    return look_around(climb_all(score, starts, mask, deadline), mask, deadline)[:3]
