"""Searches over orders, parent sets, equivalence classes and DAGs."""
