"""Whether the p-values of `markov_check` are uniform on true graphs, and whether it sees what is wrong with others.

Tables: ER2 graphs with the defaults of `acyclic.simulate` (weights uniform on ±[0.5, 2], noise of variance 1), d
columns and n rows, in worlds of lines, curves and levels. The graphs tested were not learned from the tables.

Uniformity: the p-values of all claims together, one for each table, on the true graph: distance from uniform
(Kolmogorov–Smirnov, and what chance reaches in 5 % of runs), shares below 0.05 and 0.01. The same of single claims,
whose number allows a look further into the tail.

Power at 0.05, and share of the cases in which the pair itself is among the violated claims or the hints:
- an edge deleted: any edge of the true graph, whatever its weight, with the same probability;
- a confounder added: a further column without parents, with edges of the same kind to two columns, that is left out of
  the table; of any two columns, and of two that no edge joins. The first includes pairs for which the edge between them
  takes it all: where no independence changes, no test can see it.

    python benchmarks/adequacy.py [--tables 100] [--nodes 20] [--rows 1000]
"""

import argparse
import time

import numpy as np
from scipy.stats import kstest

import acyclic
from acyclic.data.simulate import random_dag
from acyclic.findings import list_versions
from acyclic.trust import adequacy

WORLDS = {
    "linear, normal noise": {},
    "linear, iSCM units": {"scheme": "iscm"},
    "linear, exponential noise": {"noise": "exponential"},
    "linear, t3 noise": {"noise": "t3"},
    "curved (cos)": {"sem": "cos"},
    "curved, parents interact (mim)": {"sem": "mim"},
    "categorical": {"sem": "categorical"},
    "mixed": {"sem": "mixed"},
}


def simulate(args, seed, graph, **settings):
    """Rows of a model as a table that knows its categories."""
    data = acyclic.simulate(n=args.rows, graph=graph, random_state=seed, **settings)
    kinds = {name: "categorical" for name, count in zip(data.names, data.levels) if count}
    return data.graph, acyclic.read_table(data.X, names=data.names, kinds=kinds or None)


def check(graph, table):
    """The adequacy, and the p-values of all its claims."""
    kept, most = [], adequacy.combine_p_values
    adequacy.combine_p_values = lambda values: kept.append(values) or most(values)
    try:
        return acyclic.markov_check(graph, table), kept[0]
    finally:
        adequacy.combine_p_values = most


def without_an_edge(graph, rng):
    """The graph without one of its edges, and which."""
    edges = np.argwhere(graph.adjacency)
    i, j = edges[rng.integers(len(edges))]
    weights = graph.weights.copy()
    weights[i, j] = 0
    return acyclic.Dag(weights, graph.names), (graph.names[i], graph.names[j])


def confounded(args, seed, rng, apart, **settings):
    """The graph of all columns but one, a table without it, and the pair that this one drives."""
    inner = random_dag(args.nodes, "ER2", seed)
    joined = inner | inner.T | np.eye(args.nodes, dtype=bool)
    pairs = np.argwhere(np.triu(~joined if apart else np.ones_like(joined), 1))
    i, j = pairs[rng.integers(len(pairs))]
    whole = np.zeros((args.nodes + 1, args.nodes + 1), dtype=bool)
    whole[:-1, :-1], whole[-1, [i, j]] = inner, True
    graph, table = simulate(args, seed, whole, **settings)
    names = graph.names[:-1]
    return acyclic.Dag(graph.weights[:-1, :-1], names), table.select(names), (names[i], names[j])


def names_pair(found, pair):
    """Whether a pair is among the violated claims or the hints."""
    return any({claim.node, claim.other} == set(pair) for claim in (*found.violated, *found.hidden))


def print_world(args, title, settings):
    """One line on uniformity, one on power; whether the requirements hold."""
    started, overall, claims = time.process_time(), [], []
    caught = {"edge deleted": [], "confounder": [], "confounder of two not joined": []}
    for seed in range(args.tables):
        rng = np.random.default_rng([seed, 7])
        graph, table = simulate(args, seed, random_dag(args.nodes, "ER2", seed), **settings)
        found, values = check(graph, table)
        overall.append(found.p_value)
        claims.append(values)
        for _ in range(2):
            fewer, pair = without_an_edge(graph, rng)
            wrong = acyclic.markov_check(fewer, table)
            caught["edge deleted"].append((wrong.p_value < 0.05, names_pair(wrong, pair)))
        for name, apart in (("confounder", False), ("confounder of two not joined", True)):
            inner, rest, pair = confounded(args, seed, rng, apart, **settings)
            wrong = acyclic.markov_check(inner, rest)
            caught[name].append((wrong.p_value < 0.05, names_pair(wrong, pair)))
    overall, claims = np.array(overall), np.concatenate(claims)
    tested = f"{len(overall)} tables, {len(claims) / len(overall):.0f} claims each, tested as {found.mechanisms}"
    seconds = time.process_time() - started
    print(f"\n{title}: {tested}; {seconds:.0f} processor seconds")
    distance, chance = kstest(overall, "uniform").statistic, 1.36 / np.sqrt(len(overall))
    print(f"   all claims:  KS {distance:.3f} (chance {chance:.3f})", end="")
    print(f", below 0.05 {np.mean(overall < 0.05):.1%}, below 0.01 {np.mean(overall < 0.01):.1%}")
    print(f"   one claim:   KS {kstest(claims, 'uniform').statistic:.3f}", end="")
    print("".join(f", below {x:g} {np.mean(claims < x):.3%}" for x in (0.05, 0.01, 0.001)))
    for name, pairs in caught.items():
        seen, named = np.mean(pairs, axis=0)
        print(f"   power, {name}: {seen:.1%}; the pair is named in {named:.1%} ({len(pairs)} cases)")
    deleted, hidden = (np.mean(caught[name], axis=0)[0] for name in ("edge deleted", "confounder of two not joined"))
    return np.mean(overall < 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(overall)) and min(deleted, hidden) >= 0.8


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("tables", 100), ("nodes", 20), ("rows", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    print(", ".join(f"{name} {version}" for name, version in list_versions().items()))
    print(f"ER2, d = {args.nodes}, n = {args.rows}, seeds 0 to {args.tables - 1}")
    held = {title: print_world(args, title, settings) for title, settings in WORLDS.items()}
    failed = [title for title, holds in held.items() if not holds]
    said = f"NOT held in: {'; '.join(failed)}" if failed else "held in all worlds"
    print(f"\nsize at most 5 % within chance, power at least 80 %: {said}")


if __name__ == "__main__":
    main()
