"""Fit one method to tables in the environment of the method, and write what it found; run by benchmarks/honest.py.

    python honest_worker.py JOB.json

A job names the method, its options, the most processor seconds of a fit, and its tasks: each the file of rows, the
price of a parent in units of −2 log-likelihood, and the file for the answer: arcs (both ways for an undirected edge),
processor seconds of the process and its children, seconds on the wall. Imports and a fit to a small table, which
compiles what is compiled late, come before the clock. A fit that exceeds its seconds ends the process: whoever started
it goes on with the tasks that are left.
"""

import json
import logging
import os
import resource
import sys
import time
import warnings
from contextlib import redirect_stdout
from math import ceil, log

import numpy as np


def flop(X, price, **options):
    import flopsearch

    return flopsearch.flop(X, price / log(len(X)), **options) > 0


def andrey_boss(X, price):
    import andrey

    found = andrey.boss(X, score_func="local_score_BIC_from_cov", lambda_value=price / log(len(X)), seed=0)
    # A matrix of marks: 1 is a tail at i on the edge with j.
    return found.structure.to_numpy() == 1


def _arcs_of_causal_learn(graph):
    """It writes i → j as graph[j, i] = 1 and graph[i, j] = −1, an undirected edge as −1 twice."""
    return ((graph.T == 1) & (graph == -1)) | ((graph == -1) & (graph.T == -1))


def causal_learn_boss(X, price):
    from causallearn.search.PermutationBased.BOSS import boss

    return _arcs_of_causal_learn(boss(X, parameters={"lambda_value": price / log(len(X)) / 2}, verbose=False).graph)


def causal_learn_ges(X, price):
    from causallearn.search.ScoreBased.GES import ges

    found = ges(X, score_func="local_score_BIC_from_cov", lambda_value=price / log(len(X)) / 2)
    return _arcs_of_causal_learn(found["G"].graph)


def ges_package(X, price):
    import ges
    from ges.scores import GaussObsL0Pen

    return ges.fit(GaussObsL0Pen(X, lmbda=price / 2))[0]


def xges(X, price):
    from xges import XGES

    return XGES(alpha=price / log(len(X))).fit(X, verbose=0).to_adjacency_matrix()


def tetrad(X, price, algorithm):
    import pandas
    from tetrad_port import TetradPort

    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    found = getattr(TetradPort(), f"run_{algorithm}")(frame, penalty_discount=price / log(len(X)))[0]
    arcs = np.zeros((X.shape[1],) * 2, dtype=bool)
    for edge in found["edges"]:
        source, mark, target = str(edge).split()
        i, j = int(source[1:]), int(target[1:])
        arcs[i, j] = True
        arcs[j, i] |= mark == "---"
    return arcs


def dagma(X, price):
    from dagma.linear import DagmaLinear

    return DagmaLinear(loss_type="l2").fit(X.copy(), lambda1=0.03) != 0


def castle(X, price, learner):
    import castle.algorithms

    model = getattr(castle.algorithms, learner)()
    model.learn(X)
    return np.asarray(model.causal_matrix)


def learn(X, price, **options):
    import acyclic

    return acyclic.learn(X, **options).graph.adjacency


def ours(X, price, learner, **options):
    import acyclic

    model = getattr(acyclic, learner)(**options).fit(X)
    return model.cpdag_.arcs if learner == "Ges" else model.causal_graph_.adjacency


def empty(X, price):
    return np.zeros((X.shape[1],) * 2)


def processor_seconds():
    """Of this process and its children. Not by time.process_time: under a limit Linux moves that in steps of 4 ms."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def limit(seconds):
    """End this process when it has had so many processor seconds more: a busy machine must not decide who is slow."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(processor_seconds() + seconds), resource.RLIM_INFINITY))


def small_table():
    return np.random.default_rng(0).standard_normal((50, 4)) @ (np.eye(4) + np.eye(4, k=1))


def main(path):
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # One core, whatever the method would like: threads that it starts all the same take turns.
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
    with open(path) as file:
        job = json.load(file)
    fit, options = globals()[job["function"]], job["options"]
    with open(os.devnull, "w") as silence, redirect_stdout(silence):
        fit(small_table(), 10.0, **options)
        for task in job["tasks"]:
            answer = json.dumps(do(fit, options, task, job["timeout"]))
            with open(task["answer"] + ".part", "w") as file:
                file.write(answer)
            os.rename(task["answer"] + ".part", task["answer"])


def do(fit, options, task, seconds):
    X = np.load(task["rows"])
    limit(seconds)
    start, wall = processor_seconds(), time.perf_counter()
    try:
        arcs = np.asarray(fit(X, task["price"], **options)) != 0
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
    spent = {"cpu": processor_seconds() - start, "wall": time.perf_counter() - wall}
    return spent | {"arcs": np.argwhere(arcs).tolist()}


if __name__ == "__main__":
    main(sys.argv[1])
