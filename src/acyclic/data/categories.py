"""Simulated tables with categories: random conditional probabilities, and categories among numbers."""

from typing import Final

import numpy as np
from numpy.random import Generator

from acyclic.data.mechanisms import signed_uniform
from acyclic.errors import InputError
from acyclic.types import Bools, Floats, Integers

# A category has two to so many levels.
_MOST_LEVELS: Final = 4
# Entries of one table of conditional probabilities.
_LARGEST_TABLE: Final = 10_000_000


def draw_levels(is_category: Bools, rng: Generator) -> Integers:
    """How many levels each column has (d,), 2 to 4 with equal chances; 0 for a number."""
    return np.where(is_category, rng.integers(2, _MOST_LEVELS + 1, len(is_category)), 0)


def draw_from_table(levels: int, among: Integers, inputs: Floats, uniform: Floats, rng: Generator) -> Floats:
    """Levels of a node (n,) given those of its parents (p, n), which have ``among`` (p,) levels.

    The probabilities given each combination of the parents' levels are a draw of Dirichlet(1, …, 1).
    """
    size = int(np.prod(among, dtype=float))
    if size * levels > _LARGEST_TABLE:
        raise InputError(
            f"a node with {len(among)} parents would have {size} rows of conditional probabilities; "
            "give a sparser graph, or sem='mixed', where effects add up"
        )
    table = rng.dirichlet(np.ones(levels), size)
    row = np.zeros(len(uniform), dtype=np.intp)
    for count, codes in zip(among, inputs):
        row = row * count + codes.astype(np.intp)
    return invert(table[row], uniform)


def add_effects(responses: int, weights: Floats, levels: Integers, inputs: Floats, rng: Generator) -> Floats:
    """What parents (p, n) add to each of the responses, (responses, n): a line for a number, an effect for a level.

    The line of a number is its weight (p,), with a draw of ±[0.5, 2] for each response in its place where there are
    several; effects of levels are draws of ±[0.5, 2], less their mean.
    """
    total = np.zeros((responses, inputs.shape[1]))
    for weight, count, values in zip(weights, levels, inputs):
        if count:
            effects = signed_uniform(0.5, 2.0, (responses, int(count)), rng)
            total += (effects - effects.mean(axis=1, keepdims=True))[:, values.astype(np.intp)]
        elif responses == 1:
            total += weight * values
        else:
            total += signed_uniform(0.5, 2.0, (responses, 1), rng) * values
    return total


def draw_from_logits(logits: Floats, uniform: Floats) -> Floats:
    """Levels (n,) with the probabilities exp(logit) / Σ exp(logit) of logits (levels, n)."""
    odds = np.exp(logits - logits.max(axis=0))
    return invert((odds / odds.sum(axis=0)).T, uniform)


def invert(probabilities: Floats, uniform: Floats) -> Floats:
    """The level (n,) at which the summed probabilities (n, levels) pass a uniform number."""
    passed = np.cumsum(probabilities, axis=1)[:, :-1] <= uniform[:, None]
    return np.asarray(passed.sum(axis=1), dtype=np.float64)
