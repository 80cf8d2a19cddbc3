"""The neural learners beside their published forms: NotearsMlp, DagGnn and GranDag, in one run, on one thread.

DagGnn and GranDag are measured against gcastle, which wants an environment of its own beside acyclic and torch; without
it only NotearsMlp is measured, whose published form is written out here.

    python benchmarks/neural.py [mlp] [gnn] [gran]
"""

import sys
from importlib.util import find_spec

import neural_gnn
import neural_gran
import neural_mlp

PARTS = {"mlp": neural_mlp, "gnn": neural_gnn, "gran": neural_gran}


def main():
    chosen = sys.argv[1:] or list(PARTS)
    sys.argv[1:] = []
    for name in chosen:
        if name != "mlp" and find_spec("castle") is None:
            print(f"{name}: skipped, since gcastle is not installed")
            continue
        PARTS[name].main()


if __name__ == "__main__":
    main()
