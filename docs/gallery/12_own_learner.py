r"""
A learner of your own
=====================

Any function that takes a table and returns a ``Dag`` can be bootstrapped and audited like the learners of the package.
"""

# %%
# A tree: connect the columns by the strongest correlations, and let all edges lead away from the first column
# (Chow and Liu 1968). It needs nothing but the moments of the table.
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

import acyclic


def chow_liu(table):
    moments = acyclic.Table.open(table).moments
    deviations = np.sqrt(np.diag(moments.covariance))
    correlations = moments.covariance / np.outer(deviations, deviations)
    tree = minimum_spanning_tree(1.0 - np.abs(correlations) + 1e-9)
    order, before = breadth_first_order(tree, 0, directed=False)
    names = moments.names
    edges = [(names[before[j]], names[j], correlations[before[j], j]) for j in order[1:]]
    return acyclic.Dag.from_edges(edges, names)


# %%
# On data that a tree has made it is hard to beat.
truth = acyclic.Dag.from_edges(
    [("rain", "river", 0.9), ("rain", "grass", 0.7), ("river", "flood", 0.8), ("river", "mud", -0.6)],
    names=["rain", "river", "grass", "flood", "mud"],
)
data = acyclic.simulate(n=500, graph=truth, weight_range=(0.5, 1.0), random_state=0)
table = acyclic.read_table(data.X, names=list(truth.names))
graph = chow_liu(table)
print(graph)
assert (graph.adjacency == truth.adjacency).all()

# %%
# And the bootstrap takes it as it is.
confidence = acyclic.bootstrap(chow_liu, table, draws=200)
print(confidence)
assert confidence.draws == 200
assert (confidence.edge[truth.adjacency] > 0.8).all()

figure, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
image = axes.imshow(confidence.edge, vmin=0, vmax=1, cmap="Blues")
axes.set_xticks(range(5), truth.names, rotation=30)
axes.set_yticks(range(5), truth.names)
axes.set(xlabel="to", ylabel="from", title="Share of 200 draws with each edge")
figure.colorbar(image)
plt.show()

# %%
# For a method with a name, settings with ranges, time limits, knowledge and a verdict, subclass ``acyclic.DagLearner``:
# `contributing <../contributing.html#a-learner>`_ shows a complete one.
