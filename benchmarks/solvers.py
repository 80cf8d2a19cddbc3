"""The linear learners against the published loops written plainly, in one run and on one thread.

Yardstick for NOTEARS: rows (not the covariance), least squares, fast TMPI with fresh arrays, SciPy's L-BFGS-B on
doubled variables, the published schedule. Yardstick for GOLEM: 100 000 Adam steps on the same objective.

    python benchmarks/solvers.py [--sizes 30 50] [--golem 100] [--warm 100] [--large 500 1000] [--seed 0]

At d = 100 the yardsticks take many minutes: --sizes 100. ``--warm`` starts GOLEM and the central path from zero and
from each other's ends; ``--large`` fits both, or one of ``--learners``, from zero without a yardstick, on ``--threads``
threads.
"""

import argparse
import time
import tracemalloc
from collections import Counter
from functools import partial

import numpy as np
import scipy
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

import acyclic


def plain_fast_tmpi(B, eps=1e-6):
    """Corollary 1 of the paper as it is written."""
    d, i = len(B), 1
    f, G, P = B.copy(), np.eye(d), B.copy()
    while i <= d:
        f_old, P_old = f, P
        f, P = f_old + P_old @ f_old, P_old @ P_old
        G = G + P_old.T @ G + i * (f - f_old + P_old - P).T
        i *= 2
        if np.abs(P).max() <= eps:
            break
    return np.trace(f), G


def plain_notears(X, l1=0.1, h_tol=1e-8, rho_max=1e16):
    """The published NOTEARS loop on rows, with fast TMPI in the place of the exponential."""
    n, d = X.shape
    X = X - X.mean(axis=0)
    w, rho, alpha, h_old = np.zeros(2 * d * d), 1.0, 0.0, np.inf
    bounds = [(0, 0) if i == j else (0, None) for _ in range(2) for i in range(d) for j in range(d)]

    def function(w):
        W = (w[: d * d] - w[d * d :]).reshape(d, d)
        R = X - X @ W
        h, G = plain_fast_tmpi(W * W)
        smooth = 0.5 / n * (R**2).sum() + 0.5 * rho * h * h + alpha * h
        gradient = -X.T @ R / n + (rho * h + alpha) * 2 * W * G
        return smooth + l1 * w.sum(), np.concatenate([gradient.ravel() + l1, l1 - gradient.ravel()])

    for _ in range(100):
        while rho < rho_max:
            new = minimize(function, w, method="L-BFGS-B", jac=True, bounds=bounds).x
            W = (new[: d * d] - new[d * d :]).reshape(d, d)
            h = plain_fast_tmpi(W * W)[0]
            if h > 0.25 * h_old:
                rho *= 10
            else:
                break
        w, h_old = new, h
        alpha += rho * h
        if h <= h_tol or rho >= rho_max:
            break
    return (w[: d * d] - w[d * d :]).reshape(d, d)


def objective(X, W, l1=0.1):
    R = (X - X.mean(axis=0)) @ (np.eye(len(W)) - W)
    return 0.5 / len(X) * (R**2).sum() + l1 * np.abs(W).sum()


def timed(function, *args):
    start = time.perf_counter()
    return function(*args), time.perf_counter() - start


def shd(truth, weights):
    return acyclic.compare(
        truth.weights, np.where(np.abs(weights) < 0.3, 0, weights), edge_direction="from row to column"
    ).shd


def peak_in_matrices(X):
    """Peak of what Python and NumPy allocate during a fit on moments, in units of d² doubles."""
    moments = acyclic.Moments.from_array(X)
    tracemalloc.start()
    acyclic.Notears().fit(moments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * X.shape[1] ** 2)


def notears(d, seed):
    data = acyclic.simulate(n_nodes=d, n=1000, random_state=seed)
    acyclic.Notears().fit(data.X[:, : min(d, 5)])
    fitted, fast = timed(acyclic.Notears().fit, data.X)
    ours = fitted.solution_.weights
    yardstick, slow = timed(plain_notears, data.X)
    print(
        f"NOTEARS + fast TMPI d = {d}: {fast:.2f} s against {slow:.1f} s, {slow / fast:.0f}×; objective "
        f"{objective(data.X, ours):.4f} against {objective(data.X, yardstick):.4f}; SHD "
        f"{shd(data.graph, ours)} against {shd(data.graph, yardstick)}; peak {peak_in_matrices(data.X):.1f} d² doubles",
        flush=True,
    )


def golem(d, seed):
    data = acyclic.simulate(n_nodes=d, n=1000, random_state=seed)
    fitted, fast = timed(acyclic.Golem().fit, data.X)
    yardstick, slow = timed(acyclic.Golem(inner="adam").fit, data.X)
    ours, theirs = (m.solution_.objective + 5 * m.solution_.h for m in (fitted, yardstick))
    print(
        f"GOLEM + fast TMPI d = {d}: {fast:.2f} s against {slow:.1f} s of Adam, {slow / fast:.0f}×; objective "
        f"{ours:.4f} against {theirs:.4f}; SHD {shd(data.graph, fitted.solution_.weights)} against "
        f"{shd(data.graph, yardstick.solution_.weights)}",
        flush=True,
    )


LEARNERS = {"GOLEM": acyclic.Golem, "central path": partial(acyclic.Notears, solver="central-path")}


def fit_from(name, data, start=None, threads=1):
    """One fit of a learner: what it took, where it ended, and its weights."""
    steps = Counter()
    model = LEARNERS[name](start=start, n_jobs=threads, callback=lambda progress: steps.update(made=1))
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(data.X)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    end, errors = model.solution_, acyclic.compare(data.graph, model.causal_graph_).shd
    print(
        f"{cpu:.1f} processor s, {wall:.1f} s by the clock, {steps['made']} steps; objective {end.objective:.4f}, "
        f"h {end.h:.1e}, with 5h {end.objective + 5 * end.h:.4f}; SHD {errors}",
        flush=True,
    )
    return end.weights


def warm(d, seed):
    data = acyclic.simulate(n_nodes=d, n=1000, random_state=seed)
    ends = {}
    for name in LEARNERS:
        print(f"{name} d = {d} from zero: ", end="")
        ends[name] = fit_from(name, data)
    for name, other in zip(LEARNERS, reversed(LEARNERS)):
        print(f"{name} d = {d} from the end of the {other}: ", end="")
        fit_from(name, data, ends[other])


def large(d, seed, threads, names):
    data = acyclic.simulate(n_nodes=d, n=1000, random_state=seed)
    for name in names:
        print(f"{name} d = {d}, {threads} threads: ", end="", flush=True)
        fit_from(name, data, threads=threads)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[30, 50])
    parser.add_argument("--golem", type=int, nargs="*", default=[30])
    parser.add_argument("--warm", type=int, nargs="*", default=[])
    parser.add_argument("--large", type=int, nargs="*", default=[])
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with threadpool_limits(chosen.threads):
        versions = f"acyclic {acyclic.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}"
        print(f"{versions}, threads: {chosen.threads}, ER2, n = 1000")
        for size in chosen.sizes:
            notears(size, chosen.seed)
        for size in chosen.golem:
            golem(size, chosen.seed)
        for size in chosen.warm:
            warm(size, chosen.seed)
        for size in chosen.large:
            large(size, chosen.seed, chosen.threads, chosen.learners)
