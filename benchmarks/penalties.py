"""The concave penalty and CoLiDE beside plain L1 and the ordinary losses, on the same data and in one run.

Mean SHD after the threshold, mean error of the weights of true edges, processor seconds. Noise of the scales 0.5, 1 and
2 is what CoLiDE is for: l1 is the default of each loss and is not tuned for any of them.

    python benchmarks/penalties.py [--nodes 30] [--rows 1000] [--sets 5] [--graph ER2]
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

import acyclic

METHODS = {
    "Notears, L1": acyclic.Notears(),
    "Notears, MCP (γ = 3)": acyclic.Notears(mcp=3.0),
    "Notears, MCP (γ = 10)": acyclic.Notears(mcp=10.0),
    "Notears, CoLiDE": acyclic.Notears(loss="colide"),
    "Notears, CoLiDE, MCP (γ = 3)": acyclic.Notears(loss="colide", mcp=3.0),
    "Golem, L1": acyclic.Golem(),
    "Golem, MCP (γ = 3)": acyclic.Golem(mcp=3.0),
    "Golem, MCP (γ = 10)": acyclic.Golem(mcp=10.0),
    "Golem, CoLiDE": acyclic.Golem(loss="colide"),
    "Golem, CoLiDE, MCP (γ = 3)": acyclic.Golem(loss="colide", mcp=3.0),
}


def measure(model, data, scale):
    start = time.process_time()
    weights = model.fit(scale * data.X).solution_.weights
    seconds, truth = time.process_time() - start, data.graph.weights
    cut = np.where(np.abs(weights) < 0.3, 0, weights)
    shd = acyclic.compare(truth, cut, edge_direction="from row to column").shd
    return shd, np.abs(weights - truth)[truth != 0].mean(), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=30)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--graph", default="ER2")
    given = parser.parse_args()
    sets = [
        acyclic.simulate(given.nodes, given.rows, graph=given.graph, random_state=9100 + k) for k in range(given.sets)
    ]
    print(f"{given.graph}, d = {given.nodes}, n = {given.rows}, {given.sets} sets: SHD, error of true weights, seconds")
    print("| method | noise 0.5 | noise 1 | noise 2 |\n|---|---|---|---|")
    with threadpool_limits(1):
        for name, model in METHODS.items():
            cells = []
            for scale in (0.5, 1.0, 2.0):
                rows = np.array([measure(model, data, scale) for data in sets])
                shd, error, seconds = rows.mean(axis=0)
                cells.append(f"{shd:.1f}, {error:.3f}, {seconds:.2f}")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
