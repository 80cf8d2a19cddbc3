"""One training iteration of GranDag beside gcastle's GraN-DAG: same rows, networks and batches, one thread, CPU time.

Run with an interpreter that has acyclic, torch and gcastle 1.0.4: python benchmarks/neural_gran.py
"""

import contextlib
import io
import logging
import platform
import time
from importlib.metadata import version

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from acyclic.constraints.catalogue import constraint
from acyclic.learners.neural.gran_dag.training import Networks, Schedule, Training

ROWS, HIDDEN, LAYERS, BATCH = 1000, 10, 2, 64
ITERATIONS, REPEATS = 100, 7


def ours(X, name):
    """A window of training, with the look at the validation rows that ends it."""
    generator = torch.Generator().manual_seed(0)
    d = X.shape[1]
    rows = torch.from_numpy(X)
    with torch.inference_mode():
        networks = Networks(1 - torch.eye(d, dtype=torch.float64), HIDDEN, LAYERS, 1)
        networks.draw(generator)
        training = Training(
            networks=networks,
            rows=rows[: int(0.8 * ROWS)],
            validation=rows[int(0.8 * ROWS) :],
            constraint=constraint(name),
            required=torch.zeros(d, d, dtype=torch.bool),
            schedule=Schedule(window=ITERATIONS),
            generator=generator,
            rates=(1e-3, 1e-3),
            batch_size=BATCH,
            max_iterations=10**6,
            clamp=1e-4,
            h_tol=1e-8,
        )

        def window():
            with torch.inference_mode():
                training._window(ITERATIONS)
                training.networks.loss(training.held_out)

    return window


def theirs(X):
    """The same for gcastle: its training loop, called for one window."""
    from castle.algorithms.gradient.gran_dag.torch import gran_dag

    torch.set_default_dtype(torch.float64)
    halves = [gran_dag.NormalizationData(X, train=train) for train in (True, False)]

    def window():
        learner = gran_dag.GraNDAG(input_dim=X.shape[1], iterations=ITERATIONS)
        learner.model = gran_dag.NonlinearGaussANM(
            input_dim=X.shape[1],
            hidden_num=LAYERS,
            hidden_dim=HIDDEN,
            output_dim=1,
            nonlinear="leaky-relu",
            norm_prod="paths",
            square_prod=False,
        )
        with contextlib.redirect_stderr(io.StringIO()):
            learner._train(*halves)

    return window


def main():
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    print(f"torch {torch.__version__}, gcastle {version('gcastle')}, Python {platform.python_version()}, one thread")
    print(
        f"n = {ROWS}, {LAYERS} × {HIDDEN} units, batch {BATCH}; best of {REPEATS} windows of {ITERATIONS}, interleaved"
    )
    for d in (11, 50):
        X = np.random.default_rng(0).normal(size=(ROWS, d))
        windows = {"gcastle (exponential)": theirs(X)}
        windows |= {f"acyclic ({name})": ours(X, name) for name in ("exponential", "fast-tmpi")}
        best = dict.fromkeys(windows, np.inf)
        for repeat in range(REPEATS + 1):
            for name, window in windows.items():
                start = time.process_time()
                window()
                if repeat:
                    best[name] = min(best[name], (time.process_time() - start) / ITERATIONS)
        slowest = best["gcastle (exponential)"]
        for name, seconds in best.items():
            print(f"d = {d:3d}  {name:24s} {1e6 * seconds:8.0f} µs per iteration   {slowest / seconds:5.1f}×")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
