"""The inner minimisers: min F(W) + Σ L1∘|W| + φ(h) over a box, for one penalty φ."""

from acyclic.continuous.minimisers.adam import Adam
from acyclic.continuous.minimisers.lbfgs import lbfgs
from acyclic.continuous.minimisers.proximal_newton import ON_THE_WAY, STEPS_ALONE, proximal_newton
from acyclic.continuous.problem import Minimiser

__all__ = ["MINIMISERS", "ON_THE_WAY", "STEPS_ALONE", "Adam", "lbfgs", "proximal_newton"]

MINIMISERS: dict[str, Minimiser] = {"lbfgs": lbfgs, "proximal-newton": proximal_newton}
