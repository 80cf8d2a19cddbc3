"""Where the coefficients of `acyclic.trust.calibration` come from, and whether they hold on other kinds of tables.

Two sets of simulated tables are learned from and bootstrapped. FIT has Erdős–Rényi graphs, normal noise, weights of
several ranges, equal and unequal noise variances: n from 80 to 20 000, d from 6 to 60, one to three edges for each
node. CHECK has other families of graphs, other units (iSCM, DaO, standardised), other noise, with rows, and published
networks with their own weights. Bootstraps are parametric where only moments matter, as these cost a tenth; they have
40 or 100 draws.

`fit` prints the coefficients of two logistic regressions, of "an edge joins the pair" over all pairs and of "it points
this way" over the pairs that are joined in truth and in some draw. `check` prints reliability on CHECK: in each tenth
of the stated probabilities the share that is true. It has to be within 7 points wherever a tenth holds 50 pairs.

    python benchmarks/calibration.py learn FOLDER [--tables 300]     # half an hour of one processor; goes on if stopped
    python benchmarks/calibration.py fit FOLDER
    python benchmarks/calibration.py check FOLDER
"""

import argparse
import pickle
import time
from pathlib import Path

import numpy as np

import acyclic
from acyclic.learners import make_learner

FIT_RANGES = ((0.5, 2.0), (0.1, 0.6), (0.2, 1.0))
CHECK = {
    "SF2": {"graph": "SF2"},
    "ER2, iSCM": {"scheme": "iscm"},
    "SF2, standardised": {"graph": "SF2", "scheme": "standardized"},
    "ER2, DaO": {"scheme": "dao"},
    "ER3, DaO": {"graph": "ER3", "scheme": "dao"},
    "ER1, weak, t5 noise": {"graph": "ER1", "weight_range": (0.1, 1.0), "noise": "t5", "variances": (0.5, 2.0)},
    "ecoli70": {"network": "ecoli70"},
    "magic-niab": {"network": "magic-niab"},
    "ER2, exponential noise, rows": {"noise": "exponential", "rows": True},
    "ER2, iSCM, uniform noise, rows": {"noise": "uniform", "scheme": "iscm", "rows": True},
    "ER2, iSCM, rows": {"scheme": "iscm", "rows": True},
}


def make_fit(seed):
    """A table of the set to fit on."""
    rng = np.random.default_rng([seed, 1])
    d, n = int(rng.choice([6, 10, 15, 25, 40, 60])), int(np.exp(rng.uniform(np.log(80), np.log(20_000))))
    k, span = int(rng.choice([1, 2, 3])), FIT_RANGES[rng.integers(len(FIT_RANGES))]
    variances = "equal" if rng.random() < 0.4 else (0.3, 3.0)
    k = min(k, (d - 1) // 2)
    data = acyclic.simulate(d, n, graph=f"ER{k}", weight_range=span, variances=variances, random_state=seed)
    return "fit", data.graph, acyclic.read_table(data.X).moments


def make_check(seed):
    """A table of the set to check on."""
    rng = np.random.default_rng([seed, 2])
    title = list(CHECK)[seed % len(CHECK)]
    settings = dict(CHECK[title])
    n = int(np.exp(rng.uniform(np.log(100), np.log(10_000))))
    if name := settings.pop("network", None):
        network = acyclic.load_network(name)
        rows = network.sample(n, random_state=seed)
        return title, network.graph, acyclic.read_table(rows, names=network.graph.names).moments
    rows = settings.pop("rows", False)
    d = int(rng.choice([8, 12])) if rows else int(rng.choice([8, 12, 18, 30]))
    data = acyclic.simulate(d, n, random_state=seed + 10_000, **settings)
    table = acyclic.read_table(data.X)
    return title, data.graph, table if rows else table.moments


def learn(folder, tables):
    """Bootstrap the tables of both sets in turn; each is kept as it comes."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(tables):
        path = folder / f"{index}.pickle"
        if path.exists():
            continue
        seed, started = index // 2, time.process_time()
        title, truth, table = (make_check if index % 2 else make_fit)(seed)
        learner = make_learner("auto").set_params(effort=0.1)
        model = learner.fit(table)
        draws = 100 if seed % 5 == 0 else 40
        found = acyclic.bootstrap(make_learner("auto").set_params(effort=0.1), table, draws, first=model)
        n = float(acyclic.read_table(table).moments.n)
        kept = {"title": title, "truth": truth.adjacency, "bootstrap": found.to_dict(), "n": n}
        kept |= {"orientation": model.verdict_.orientation.value, "seconds": time.process_time() - started}
        kept["support"] = {pair: support.value for pair, support in model.verdict_.support.items()}
        kept["margins"] = dict(model.verdict_.margins)
        path.write_bytes(pickle.dumps(kept))
        print(index, title, len(truth.names), int(n), kept["orientation"], f"{kept['seconds']:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["learn", "fit", "check"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", type=int, default=300)
    args = parser.parse_args()
    if args.what == "learn":
        learn(args.folder, args.tables)


if __name__ == "__main__":
    main()
