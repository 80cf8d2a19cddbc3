"""Kernels at work for seconds: what a stop has to end."""

import numpy as np

from acyclic._native import (
    ExactTables,
    OrderChain,
    elastic_net,
    elastic_nets,
    polish_order,
    run_watched,
    select_parents,
)


def dependent_columns(d, n, seed=0):
    """A correlation matrix whose columns all depend on each other, so that every selection and solve is long."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + np.cumsum(rng.standard_normal((n, d)), axis=1)
    return np.ascontiguousarray(np.corrcoef(X.T))


def run_elastic_nets(deadline=None, threads=1):
    d = 400
    R, zero, limit = dependent_columns(d, 2000), np.zeros((d, d)), np.broadcast_to(np.inf, (d, d))
    l1 = np.broadcast_to(1e-6, (d, d))
    return elastic_nets(
        R, np.ones(d), -R, l1, zero, -limit, limit, zero, 0.0, threads, 10**6, loops=False, deadline=deadline
    )


def run_elastic_net(deadline=None):
    """One column alone is soon solved; with an entry that is no number it makes all of its rounds."""
    d = 1000
    zero, limit, linear = np.zeros(d), np.full(d, np.inf), np.full(d, np.nan)
    return elastic_net(np.eye(d), linear, zero, zero, -limit, limit, zero, 0.0, 10**6, deadline=deadline)


def run_select_parents(deadline=None):
    d = 500
    return select_parents(dependent_columns(d, 5000), 1e9, 1.0, None, None, None, d, 5, deadline=deadline)


def run_polish_order(deadline=None):
    d = 600
    L = np.linalg.cholesky(dependent_columns(d, 3000)[::-1, ::-1])
    return polish_order(L, np.ones(d), None, d, 10**6, -1.0, deadline=deadline)


def run_order_search(deadline=None):
    d = 300
    with OrderChain(dependent_columns(d, 5000), 1e9, 1.0, None, None, None, None, d, 1, 10**8, 0) as chain:
        order = np.arange(d, dtype=np.int32)[::-1].copy()
        run_watched(lambda flag: (chain.start(order, flag), chain.descend(2**62, 1e-6, flag)), deadline)


def run_kicks(deadline=None):
    d = 30
    with OrderChain(dependent_columns(d, 500), 500.0, 6.0, None, None, None, None, d, 5, 10**6, 0) as chain:
        chain.start(np.arange(d, dtype=np.int32))
        run_watched(lambda flag: chain.kick(3, 5.0, 2**62, 2**62, 1e-6, flag), deadline)


def run_exact(deadline=None):
    d = 22
    return ExactTables(dependent_columns(d, 1000), 1000.0, 5.0, None, None, None, d, deadline=deadline)


def run_exact_margins(deadline=None):
    tables = ExactTables(dependent_columns(18, 1000), 1000.0, 5.0, None, None, None, 18)
    while True:
        tables.look_around(tables.best_parents(1e-7), np.inf, 1e-7, deadline=deadline)


LONG_WORK = [
    run_elastic_nets,
    run_elastic_net,
    run_select_parents,
    run_polish_order,
    run_order_search,
    run_kicks,
    run_exact,
    run_exact_margins,
]
