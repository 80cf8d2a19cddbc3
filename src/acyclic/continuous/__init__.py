"""Weights by continuous optimisation: the problem, its minimisers, and the loops around them."""
