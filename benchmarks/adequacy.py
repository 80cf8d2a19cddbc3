"""Whether the p-values of `markov_check` are uniform on true graphs, and whether it sees what is wrong with others.

Tables: ER2 graphs with the defaults of `acyclic.simulate` (weights uniform on ±[0.5, 2], noise of variance 1), d
columns and n rows, in worlds of lines, curves and levels. The graphs tested were not learned from the tables.

Uniformity: the p-values of all claims together, one for each table, on the true graph: distance from uniform
(Kolmogorov–Smirnov, and what chance reaches in 5 % of runs), shares below 0.1, 0.05 and 0.01. The same of single
claims, whose number allows a look further into the tail.

Power at 0.05, and share of the cases in which the pair itself is among the violated claims or the hints:
- an edge deleted: any edge of the true graph, whatever its weight, with the same probability;
- a confounder added: a further column without parents, with edges of the same kind to two columns, that is left out of
  the table; of any two columns, and of two that no edge joins. The first includes pairs for which the edge between them
  takes it all: where no independence changes, no test can see it.

What is lost to the number of claims: the same tests of the confounded pair alone, at 0.05 and at 0.05 / claims.

What can be seen at all: where two columns that no edge joins have a confounder, the most powerful test (Neyman and
Pearson) is the ratio of the likelihoods with it and without it. It has to know all functions and all noises, so that no
other test has its power. It is printed for mim, mixed and categorical tables, where `markov_check` sees least: at
0.05, as if the pair were known too, and at 0.05 / claims. For mim also the products of the true residuals, which know
each column's mean given its parents; what they lack is how the other parents change the sign of the products.

    python benchmarks/adequacy.py [--tables 100] [--first 0] [--nodes 20] [--rows 1000] [--worlds mim,mixed]
        [--kept FILE] [--brief]

With --kept each table's answers are appended to a file as they come, and those that it has are not computed again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from scipy.stats import kstest, norm

import acyclic
from acyclic.data.categories import add_effects
from acyclic.data.mechanisms import signed_uniform
from acyclic.data.simulate import _streams, random_dag
from acyclic.findings.origin import list_versions
from acyclic.graphs.reachability import close_transitively
from acyclic.scores.independence import combine_p_values
from acyclic.trust import adequacy
from acyclic.trust.claims import make_examiner

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
    """The graph of all columns but one, a table without it, the pair that this one drives, and the whole simulation."""
    inner = random_dag(args.nodes, "ER2", seed)
    joined = inner | inner.T | np.eye(args.nodes, dtype=bool)
    pairs = np.argwhere(np.triu(~joined if apart else np.ones_like(joined), 1))
    i, j = pairs[rng.integers(len(pairs))]
    whole = np.zeros((args.nodes + 1, args.nodes + 1), dtype=bool)
    whole[:-1, :-1], whole[-1, [i, j]] = inner, True
    graph, table = simulate(args, seed, whole, **settings)
    names = graph.names[:-1]
    return acyclic.Dag(graph.weights[:-1, :-1], names), table.select(names), (names[i], names[j])


class Number:
    """Normal with these means, of rows and of values of the hidden column: (n, values)."""

    def __init__(self, means):
        self.means = means

    def log_density(self, column):
        return norm.logpdf(column[:, None] - self.means)

    def draw(self, hidden, rng):
        return self.means[np.arange(len(hidden)), hidden] + rng.standard_normal(len(hidden))


class Category:
    """With these log-odds of its levels: (levels, n, values)."""

    def __init__(self, odds):
        self.logs = odds - logsumexp(odds, axis=0)

    def log_density(self, column):
        return self.logs[column.astype(int), np.arange(len(column))]

    def draw(self, hidden, rng):
        p = np.exp(self.logs[:, np.arange(len(hidden)), hidden])
        return (np.cumsum(p, axis=0)[:-1] <= rng.random(len(hidden))).sum(axis=0)


class Oracle:
    """The most powerful test of whether the last column, hidden, drives both of a pair: it knows the model."""

    def __init__(self, args, seed, graph, pair, sem):
        self.seed, self.levels, self.d = seed, None, args.nodes + 1
        whole = np.zeros((self.d, self.d), dtype=bool)
        whole[:-1, :-1] = graph.adjacency
        whole[-1, [graph.names.index(name) for name in pair]] = True
        data = acyclic.simulate(n=args.rows, graph=whole, sem=sem, random_state=seed)
        self.graph, self.X, self.levels, self.weights = whole, data.X, np.array(data.levels), data.graph.weights
        i, j = (graph.names.index(name) for name in pair)
        # The one that is no cause of the other may be drawn again with all others as they are.
        self.late, self.early = (j, i) if close_transitively(whole)[i, j] else (i, j)

    def stream(self, node):
        return _streams(self.seed, 5)[3].spawn(self.d)[node]

    def parents(self, node):
        return np.flatnonzero(self.graph[:, node])

    def statistics(self, sem):
        """Standard normal values without a confounder: of the likelihood ratio, and of the products of residuals."""
        return {"mim": self.of_mim, "mixed": self.of_mixed, "categorical": self.of_categories}[sem]()

    def of_mim(self):
        hidden, log_p = self.grid()
        late, early = self.mim_means(self.late, hidden), self.mim_means(self.early, hidden)
        p = np.exp(log_p)
        products = (self.X[:, self.late] - late @ p) * (self.X[:, self.early] - early @ p)
        return self.ratio(Number(late), Number(early), log_p), products.sum() / np.linalg.norm(products)

    def of_mixed(self):
        hidden, log_p = self.grid()
        if count := self.levels[-1]:
            hidden, log_p = np.arange(count), self.stream(self.d - 1).uniform(-0.5, 0.5, count)
        late, early = (self.mixed(node, hidden) for node in (self.late, self.early))
        return self.ratio(late, early, log_p - logsumexp(log_p)), None

    @staticmethod
    def grid():
        """Values of a normal number, and the logarithms of their probabilities."""
        hidden = np.linspace(-4, 4, 61)
        return hidden, norm.logpdf(hidden) - logsumexp(norm.logpdf(hidden))

    def ratio(self, late, early, log_p, draws=40):
        """The likelihood ratio, by its mean and deviation where the later column has a hidden cause of its own."""
        of_early = early.log_density(self.X[:, self.early])

        def found(column):
            of_late = late.log_density(column)
            apart = logsumexp(of_late + log_p, axis=1) + logsumexp(of_early + log_p, axis=1)
            return (logsumexp(of_late + of_early + log_p, axis=1) - apart).sum()

        rng = np.random.default_rng([self.seed, 11])
        causes = rng.choice(len(log_p), (draws, len(self.X)), p=np.exp(log_p))
        free = [found(late.draw(hidden, rng)) for hidden in causes]
        return (found(self.X[:, self.late]) - np.mean(free)) / np.std(free)

    def mixed(self, node, hidden):
        """The distribution of a column of a mixed table given its parents and each value of the hidden one."""
        parents, responses = self.parents(node), max(int(self.levels[node]), 1)
        means = []
        for value in hidden:
            stream, inputs = self.stream(node), self.X[:, parents].T.copy()
            inputs[-1] = value
            base = stream.uniform(-0.5, 0.5, (responses, 1)) if self.levels[node] else 0.0
            means.append(
                base + add_effects(responses, self.weights[parents, node], self.levels[parents], inputs, stream)
            )
        means = np.stack(means, axis=-1)
        return Category(means) if self.levels[node] else Number(means[0])

    def mim_means(self, node, hidden):
        """The mean of a column given its parents and each value of the hidden one, its last parent: (n, values)."""
        parents = self.parents(node)
        weights = signed_uniform(0.5, 2.0, (3, len(parents)), self.stream(node))
        first, second, third = ((self.X[:, parents[:-1]] @ w[:-1])[:, None] + w[-1] * hidden[None] for w in weights)
        return np.tanh(first) + np.cos(second) + np.sin(third)

    def of_categories(self):
        shares = self.stream(self.d - 1).dirichlet(np.ones(self.levels[-1]), 1)[0]
        late, early = self.probabilities(self.late), self.probabilities(self.early)
        rows = np.arange(len(self.X))
        of_early = early[rows, :, self.X[:, self.early].astype(int)]
        apart = np.einsum("h,nhl->nl", shares, late)
        gains = np.log(np.einsum("h,nhl,nh->nl", shares, late, of_early) / apart / (of_early @ shares)[:, None])
        mean = (apart * gains).sum(axis=1)
        variance = (apart * gains**2).sum(axis=1) - mean**2
        return (gains[rows, self.X[:, self.late].astype(int)].sum() - mean.sum()) / np.sqrt(variance.sum()), None

    def probabilities(self, node):
        """Of the levels of a column given its parents and each level of the hidden one: (n, hidden, levels)."""
        parents = self.parents(node)
        size = int(np.prod(self.levels[parents]))
        table = self.stream(node).dirichlet(np.ones(self.levels[node]), size)
        place = np.zeros(len(self.X), dtype=int)
        for parent in parents[:-1]:
            place = place * self.levels[parent] + self.X[:, parent].astype(int)
        return table[place[:, None] * self.levels[-1] + np.arange(self.levels[-1])]


def told(graph, table, pair):
    """The p-value of the claims on one pair alone, as if it were known which pair to look at."""
    examiner = make_examiner(table, graph.adjacency, None, 1)
    ends, descends = [graph.names.index(name) for name in pair], close_transitively(graph.adjacency)
    values = [
        examiner.compare(node, np.array([other]), np.flatnonzero(graph.adjacency[:, node]))[0].p_value
        for node, other in (ends, ends[::-1])
        if not descends[node, other]
    ]
    return combine_p_values(np.array(values))


def names_pair(found, pair):
    """Whether a pair is among the violated claims or the hints."""
    return any({claim.node, claim.other} == set(pair) for claim in (*found.violated, *found.hidden))


def examine(args, seed, settings):
    """All that is asked of one table."""
    started, rng = time.process_time(), np.random.default_rng([seed, 7])
    graph, table = simulate(args, seed, random_dag(args.nodes, "ER2", seed), **settings)
    found, values = check(graph, table)
    kept = {"p_value": found.p_value, "claims": values.tolist(), "mechanisms": found.mechanisms}
    kept |= {"edge deleted": [], "confounder": [], "confounder of two not joined": []}
    for _ in range(0 if args.brief else 2):
        fewer, pair = without_an_edge(graph, rng)
        wrong = acyclic.markov_check(fewer, table)
        kept["edge deleted"].append([bool(wrong.p_value < 0.05), names_pair(wrong, pair)])
    for name, apart in (("confounder", False), ("confounder of two not joined", True))[args.brief :]:
        inner, rest, pair = confounded(args, seed, rng, apart, **settings)
        wrong = acyclic.markov_check(inner, rest)
        kept[name].append([bool(wrong.p_value < 0.05), names_pair(wrong, pair)])
    kept["told"], kept["implied"] = told(inner, rest, pair), wrong.implied
    if settings.get("sem") in ("mim", "categorical", "mixed"):
        kept["oracle"] = Oracle(args, seed, inner, pair, settings["sem"]).statistics(settings["sem"])
    return {**kept, "seconds": time.process_time() - started}


def gather(args, title, settings):
    """The answers of all tables of a world, from the file where it has them."""
    path, kept = args.kept, {}
    if path and path.exists():  # of one kind: brief or not
        read = map(json.loads, path.read_text().splitlines())
        kept = {one["seed"]: one for one in read if [one["world"], *one["size"]] == [title, args.nodes, args.rows]}
    for seed in range(args.first, args.first + args.tables):
        if seed not in kept:
            kept[seed] = examine(args, seed, settings)
            if path:
                line = {"world": title, "size": [args.nodes, args.rows], "seed": seed, **kept[seed]}
                with path.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    return [kept[seed] for seed in range(args.first, args.first + args.tables)]


def print_world(args, title, settings):
    """Lines on uniformity and on power; whether the requirements hold."""
    found = gather(args, title, settings)
    overall, claims = np.array([one["p_value"] for one in found]), np.concatenate([one["claims"] for one in found])
    tested = f"{len(overall)} tables, {len(claims) / len(overall):.0f} claims each, tested as {found[-1]['mechanisms']}"
    print(f"\n{title}: {tested}; {sum(one['seconds'] for one in found):.0f} processor seconds")
    distance, chance = kstest(overall, "uniform").statistic, 1.36 / np.sqrt(len(overall))
    print(f"   all claims:  KS {distance:.3f} (chance {chance:.3f})", end="")
    print("".join(f", below {x:g} {np.mean(overall < x):.1%}" for x in (0.1, 0.05, 0.01)))
    print(f"   one claim:   KS {kstest(claims, 'uniform').statistic:.3f}", end="")
    print("".join(f", below {x:g} {np.mean(claims < x):.3%}" for x in (0.05, 0.01, 0.001)))
    power = {}
    for name in ("edge deleted", "confounder", "confounder of two not joined"):
        pairs = [pair for one in found for pair in one[name]]
        if not pairs:
            continue
        power[name], named = np.mean(pairs, axis=0)
        print(f"   power, {name}: {power[name]:.1%}; the pair is named in {named:.1%} ({len(pairs)} cases)")
    alone = np.array([one["told"] for one in found])
    print(f"   the same tests, of that pair alone: {np.mean(alone < 0.05):.1%} at 0.05", end="")
    print(f", {np.mean(alone < 0.05 / np.array([one['implied'] for one in found])):.1%} at 0.05 / claims")
    if "oracle" in found[0]:
        print_oracle(found)
    seen = min(power.get("edge deleted", 1.0), power["confounder of two not joined"])
    return np.mean(overall < 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(overall)) and seen >= 0.8


def print_oracle(found):
    """What tests that know the model see of the confounders of two columns that are not joined."""
    ratio, products = zip(*(one["oracle"] for one in found))
    shared = 0.05 / np.array([one["implied"] for one in found])
    p = norm.sf(np.array(ratio))
    print("   the most powerful test, which knows the model:", end="")
    print(f" {np.mean(p < 0.05):.1%} if it knows the pair too, else {np.mean(p < shared):.1%}", end="")
    if products[0] is None:
        return print()
    p = 2 * norm.sf(np.abs(products))
    return print(f"; products of the true residuals {np.mean(p < 0.05):.1%} and {np.mean(p < shared):.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("tables", 100), ("first", 0), ("nodes", 20), ("rows", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--worlds", default="", help="parts of the names of those to run, with commas")
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--brief", action="store_true", help="true graphs and confounders of two not joined only")
    args = parser.parse_args()
    print(", ".join(f"{name} {version}" for name, version in list_versions().items()))
    print(f"ER2, d = {args.nodes}, n = {args.rows}, seeds {args.first} to {args.first + args.tables - 1}")
    worlds = {title: how for title, how in WORLDS.items() if any(part in title for part in args.worlds.split(","))}
    held = {title: print_world(args, title, settings) for title, settings in worlds.items()}
    failed = [title for title, holds in held.items() if not holds]
    said = f"NOT held in: {'; '.join(failed)}" if failed else "held in all worlds"
    print(f"\nsize at most 5 % within chance, power at least 80 %: {said}")


if __name__ == "__main__":
    main()
