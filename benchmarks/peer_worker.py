"""Fit one method on one table and write what it found: run by benchmarks/peers.py, in the environment of the method.

python peer_worker.py METHOD ROWS.npy ANSWER.json
"""

import json
import logging
import resource
import sys
import time

import numpy as np


def dagma(X):
    from dagma.linear import DagmaLinear

    return DagmaLinear(loss_type="l2").fit(X.copy(), lambda1=0.03)


def gcastle_notears(X):
    from castle.algorithms import Notears

    model = Notears()
    model.learn(X)
    return np.asarray(model.causal_matrix)


def gcastle_golem(X):
    from castle.algorithms import GOLEM

    model = GOLEM()
    model.learn(X)
    return np.asarray(model.causal_matrix)


def causal_learn(graph):
    """causal-learn writes i → j as graph[j, i] = 1 and graph[i, j] = −1; undirected as −1 twice."""
    return ((graph.graph.T == 1) & (graph.graph == -1)) | ((graph.graph == -1) & (graph.graph.T == -1))


def causal_learn_ges(X):
    from causallearn.search.ScoreBased.GES import ges

    return causal_learn(ges(X)["G"])


def causal_learn_boss(X):
    from causallearn.search.PermutationBased.BOSS import boss

    return causal_learn(boss(X, verbose=False))


def ges_package(X):
    import ges

    return ges.fit_bic(X)[0]


def ours(name):
    def fit(X):
        import acyclic

        if name == "learn":
            result = acyclic.learn(X)
            return result.graph.weights
        model = getattr(acyclic, name)().fit(X)
        if name == "Ges":
            return model.cpdag_.directed | model.cpdag_.undirected
        return model.adjacency_matrix_

    return fit


PEERS = {
    "dagma": dagma,
    "gcastle NOTEARS": gcastle_notears,
    "gcastle GOLEM": gcastle_golem,
    "causal-learn GES": causal_learn_ges,
    "causal-learn BOSS": causal_learn_boss,
    "ges": ges_package,
}


def main(method, rows, answer):
    logging.disable(logging.CRITICAL)
    X = np.load(rows)
    fit = PEERS.get(method) or ours(method)
    start = time.perf_counter()
    found = np.asarray(fit(X), dtype=float)
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    with open(answer, "w") as file:
        json.dump({"weights": found.tolist(), "seconds": seconds, "megabytes": megabytes}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
