"""Laws of the noise of simulated models."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from acyclic.types import Floats

Noise: TypeAlias = Literal["gaussian", "exponential", "gumbel", "laplace", "uniform", "t3", "t5"]


def noise_deviation(noise: Noise) -> float:
    """The standard deviation of the noise at scale 1."""
    return np.pi / np.sqrt(6) if noise == "gumbel" else 1.0


def standard_noise(noise: Noise, shape: tuple[int, int], rng: Generator) -> Floats:
    """Draws of a law at scale 1; fewer rows are the first ones of more."""
    if noise == "gumbel":
        return rng.gumbel(size=shape)
    if noise in ("t3", "t5"):
        freedom = int(noise[1])
        return np.asarray(rng.standard_t(freedom, shape) * np.sqrt((freedom - 2) / freedom))
    draws: dict[str, Callable[[], Floats]] = {
        "gaussian": lambda: rng.standard_normal(shape),
        "exponential": lambda: rng.standard_exponential(shape),
        "laplace": lambda: rng.laplace(0.0, np.sqrt(0.5), shape),
        "uniform": lambda: rng.uniform(-np.sqrt(3), np.sqrt(3), shape),
    }
    return draws[noise]()
