"""Moments of a Parquet file in a stream, against Polars reading the same file with one matrix product per batch.

Each measurement is a process of its own, so that its peak memory can be told; both are run in turn, and the ratio is
that of the medians. The moments are compared with those of the whole table in memory. One BLAS thread; Polars uses
all cores.

    python benchmarks/streams.py [--rows 10000000] [--columns 20] [--repeats 5]
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import acyclic
from acyclic.data.table import read_table

CHUNK = 250_000


def make_file(folder: Path, rows: int, columns: int) -> Path:
    """Write correlated columns on large means, in chunks, as one Parquet file."""
    rng = np.random.default_rng(0)
    mixing, mean = rng.normal(size=(columns, columns)), 1e3 * rng.normal(size=columns)
    names = [f"x{column}" for column in range(columns)]
    for part, start in enumerate(range(0, rows, CHUNK)):
        table = rng.normal(size=(min(CHUNK, rows - start), columns)) @ mixing + mean
        pl.DataFrame(table, schema=names).write_parquet(folder / f"{part:05d}.parquet")
    path = folder / "table.parquet"
    pl.scan_parquet(folder / "*.parquet").sink_parquet(path)
    return path


def stream(path: str) -> dict:
    moments = read_table(path).moments
    return {"mean": moments.mean.tolist(), "covariance": moments.covariance.tolist()}


def polars(path: str) -> dict:
    for batch in pl.scan_parquet(path).collect_batches(chunk_size=1 << 16):
        rows = batch.to_numpy()
        rows.T @ rows
    return {}


def memory(path: str) -> dict:
    table = pl.read_parquet(path).to_numpy(writable=True)
    mean = table.mean(axis=0)
    table -= mean
    return {"mean": mean.tolist(), "covariance": (table.T @ table / len(table)).tolist()}


JOBS = {"stream": stream, "polars": polars, "memory": memory}


def measured(job: str, path: Path) -> dict:
    """Run a job in a new process; its answer, seconds and peak memory in MB."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--job", job, "--file", str(path)]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def run_job(job: str, path: str) -> None:
    start = time.perf_counter()
    answer = JOBS[job](path)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(answer | {"seconds": seconds, "peak": peak}))


def largest_difference(left: dict, right: dict) -> float:
    """In standard deviations (of the mean) and correlations (of the covariance)."""
    deviation = np.sqrt(np.diag(right["covariance"]))
    mean = np.abs(np.subtract(left["mean"], right["mean"])) / deviation
    covariance = np.abs(np.subtract(left["covariance"], right["covariance"])) / np.outer(deviation, deviation)
    return max(mean.max(), covariance.max())


def compare(rows: int, columns: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = make_file(Path(folder), rows, columns)
        size = path.stat().st_size / 1e6
        pairs = [(measured("stream", path), measured("polars", path)) for _ in range(repeats)]
        difference = largest_difference(pairs[0][0], measured("memory", path))
    ours, theirs = (statistics.median(run["seconds"] for run in runs) for runs in zip(*pairs))
    peaks = [max(run["peak"] for run in runs) for runs in zip(*pairs)]
    print(f"acyclic {acyclic.__version__}, polars {pl.__version__}, numpy {np.__version__}, {platform.machine()}")
    print(f"{rows} rows, {columns} columns, {size:.0f} MB of Parquet, median of {repeats}")
    print(f"moments in a stream      {ours:7.2f} s   peak {peaks[0]:6.0f} MB")
    print(f"Polars + one product     {theirs:7.2f} s   peak {peaks[1]:6.0f} MB")
    print(f"speed ratio {theirs / ours:.2f} (bar 0.60), difference from memory {difference:.1e} (bar 1e-10)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        run_job(options.job, options.file)
    else:
        compare(options.rows, options.columns, options.repeats)


if __name__ == "__main__":
    main()
