"""Hill climbing of pgmpy on one table of codes, in its own environment; run by benchmarks/networks.py.

    python networks_worker.py JOB.json

A job names the file of rows, how many levels each column has, the score, the most processor seconds, and the file for
the answer: arcs and processor seconds. Imports and a fit to a small table come before the clock.
"""

import json
import resource
import sys
import time
import warnings

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")


def climb(codes, levels, score):
    from pgmpy.estimators import HillClimbSearch

    names = [f"x{j}" for j in range(codes.shape[1])]
    table = pd.DataFrame(codes, columns=names).astype(str).astype("category")
    states = {name: [str(level) for level in range(count)] for name, count in zip(names, levels)}
    search = HillClimbSearch(table, state_names=states)
    found = search.estimate(scoring_method=score, show_progress=False)
    return sorted([int(i[1:]), int(j[1:])] for i, j in found.edges())


def main():
    with open(sys.argv[1]) as file:
        job = json.load(file)
    climb(np.tile([[0, 1], [1, 0], [0, 0]], (10, 1)), [2, 2], job["score"])
    before = time.process_time()
    limit = int(before + job["timeout"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    arcs = climb(np.load(job["rows"]), job["levels"], job["score"])
    with open(job["answer"], "w") as file:
        json.dump({"arcs": arcs, "seconds": time.process_time() - before}, file)


if __name__ == "__main__":
    main()
