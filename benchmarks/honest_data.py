"""The tables of benchmarks/honest.py: worlds with a known graph, and real tables without one.

A cell is a world with all its settings; its name says them, and with a seed it stands for the same bytes everywhere.
"""

import gzip
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import acyclic


@dataclass(frozen=True)
class Cell:
    name: str
    kind: str
    nodes: int
    degree: float
    settings: dict = field(default_factory=dict, hash=False)
    # Cells of one world differ in size alone: who is too slow for one is too slow for the larger ones.
    world: str = ""


# Weights and noise variances of the standardised models: ±U[0.5, 2], or small ones too.
SCHEMES = {
    "DaO": {"scheme": "dao"},
    "iSCM": {"scheme": "iscm"},
    "standardised": {"scheme": "standardized", "variances": (1.0, 2.0)},
    "standardised, weights U(0, 1)": {"scheme": "standardized", "variances": (1.0, 2.0), "weight_range": (0.0, 1.0)},
}
# Sizes as published; from alarm on the wheel of pgmpy is read (see honest_fits.network_files).
BUNDLED = {"magic-niab": 44, "ecoli70": 46, "magic-irri": 64, "arth150": 107}
OF_PGMPY = {"child": 20, "insurance": 27, "alarm": 37, "hailfinder": 56, "hepar2": 70, "win95pts": 76}


def random_world(world, family, nodes, degree, n):
    """ERk and SFk have about k·d edges: the mean degree is 2k. SF without merged draws, so that it is reached."""
    kind = f"{family}{degree // 2}" + ("-distinct" if family == "SF" else "")
    settings = {"n_nodes": nodes, "n": n, "graph": kind, **SCHEMES[world]}
    return Cell(f"{world} {family} d={nodes} degree={degree} n={n}", "random", nodes, degree, settings, world)


def raw_world(nodes, degree, n=1000):
    """The table of the papers: equal variances in units that give the order away."""
    settings = {"n_nodes": nodes, "n": n, "graph": f"ER{degree // 2}"}
    return Cell(f"raw, equal variances ER d={nodes} degree={degree} n={n}", "raw", nodes, degree, settings, "raw")


def network(name, world, n=1000):
    """The edges of a published network with weights of a world, or (world None) its own parameters in raw units."""
    nodes = (BUNDLED | OF_PGMPY)[name]
    title = f"{name}, {world} n={n}" if world else f"{name}, its own parameters, raw n={n}"
    settings = {"n": n, **(SCHEMES[world] if world else {})}
    return Cell(title, f"network:{name}:{'drawn' if world else 'own'}", nodes, 0, settings, f"network, {world} {n}")


def real(name, nodes):
    return Cell(name, f"real:{name}", nodes, 0, world="real")


def draw(cell, seed, networks=None):
    """The true graph, or None, and the rows; networks is the folder of the .bif.gz files."""
    kind, *which = cell.kind.split(":")
    if kind == "real":
        return None, *shuffle(real_table(which[0]), seed)
    identity = np.arange(cell.nodes)
    if kind == "raw":
        data = acyclic.simulate(**cell.settings, random_state=seed)
        return data.graph, data.X, identity
    if kind == "sachs":
        sachs = acyclic.load_sachs()
        return sachs.graphs["17"], np.log(sachs.X), identity
    if which and which[1] == "own":
        own = acyclic.load_network(which[0])
        return own.graph, own.sample(cell.settings["n"], random_state=seed), identity
    graph = {"graph": read_graph(which[0], networks)} if which else {}
    data = acyclic.simulate(**cell.settings, **graph, standardize=True, random_state=seed)
    return data.graph, data.X, identity


def shuffle(X, seed):
    """Columns in another order and other units; seed 0 leaves them. Second: which column of X is the j-th."""
    if seed == 0:
        return X, np.arange(X.shape[1])
    rng = np.random.default_rng(seed)
    order = rng.permutation(X.shape[1])
    return X[:, order] * 10 ** rng.uniform(-2, 2, X.shape[1]), order


def read_graph(name, networks):
    if name in BUNDLED:
        return acyclic.load_network(name).graph
    text = gzip.decompress(Path(networks, f"{name}.bif.gz").read_bytes()).decode()
    nodes = re.findall(r"^variable\s+(\S+)", text, re.MULTILINE)
    given = re.findall(r"^probability\s*\(\s*([^|)\s]+)\s*\|\s*([^)]+)\)", text, re.MULTILINE)
    edges = [(parent.strip(), child) for child, parents in given for parent in parents.split(",")]
    return acyclic.Dag.from_edges(edges, nodes)


def real_table(name):
    from sklearn import datasets

    if name == "Sachs":
        return np.log(acyclic.load_sachs().X)
    if name == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
        return np.column_stack([X, y])
    if name == "linnerud":
        X, Y = datasets.load_linnerud(return_X_y=True)
        return np.column_stack([X, Y])
    X, _ = getattr(datasets, f"load_{name.replace(' ', '_')}")(return_X_y=True)
    if name == "digits":
        return X[:, X.std(axis=0) > 0][:, :30]
    return X
