"""Fit one method on one table and write what it found: run by benchmarks/peers.py, in the environment of the method.

Imports come before the clock starts.

python peer_worker.py METHOD ROWS.npy ANSWER.json
"""

import json
import logging
import resource
import sys
import time

import numpy as np


def dagma():
    from dagma.linear import DagmaLinear

    return lambda X: DagmaLinear(loss_type="l2").fit(X.copy(), lambda1=0.03)


def castle(name):
    def prepare():
        import castle.algorithms

        def fit(X):
            model = getattr(castle.algorithms, name)()
            model.learn(X)
            return np.asarray(model.causal_matrix)

        return fit

    return prepare


def arcs(graph):
    """causal-learn writes i → j as graph[j, i] = 1 and graph[i, j] = −1; undirected as −1 twice."""
    return ((graph.T == 1) & (graph == -1)) | ((graph == -1) & (graph.T == -1))


def causal_learn_ges():
    from causallearn.search.ScoreBased.GES import ges

    return lambda X: arcs(ges(X)["G"].graph)


def causal_learn_boss():
    from causallearn.search.PermutationBased.BOSS import boss

    return lambda X: arcs(boss(X, verbose=False).graph)


def ges_package():
    import ges

    return lambda X: ges.fit_bic(X)[0]


def ours(name):
    import acyclic

    if name == "learn":
        learn = acyclic.learn  # imported here, not under the clock
        return lambda X: learn(X).graph.weights
    learner = getattr(acyclic, name)()
    if name == "Ges":
        return lambda X: learner.fit(X).cpdag_.directed | learner.cpdag_.undirected
    return lambda X: learner.fit(X).adjacency_matrix_


PEERS = {
    "dagma": dagma,
    "gcastle NOTEARS": castle("Notears"),
    "gcastle GOLEM": castle("GOLEM"),
    "causal-learn GES": causal_learn_ges,
    "causal-learn BOSS": causal_learn_boss,
    "ges": ges_package,
}


def main(method, rows, answer):
    logging.disable(logging.CRITICAL)
    X = np.load(rows)
    fit = PEERS[method]() if method in PEERS else ours(method)
    start = time.perf_counter()
    found = np.asarray(fit(X), dtype=float)
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    with open(answer, "w") as file:
        json.dump({"weights": found.tolist(), "seconds": seconds, "megabytes": megabytes}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
