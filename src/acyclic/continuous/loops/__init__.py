"""Outer loops: which penalty comes next."""
