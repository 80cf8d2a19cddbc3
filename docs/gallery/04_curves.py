r"""
Curved mechanisms
=================

A line can be turned round: if y is a line in x plus normal noise, x is one in y. A curve cannot. ``learn()`` looks for
curves by itself, and where it finds some they orient the edges.
"""

# %%
# Six columns whose mechanisms are smooth random curves.
import matplotlib.pyplot as plt
import numpy as np

import acyclic

data = acyclic.simulate(n_nodes=6, n=800, graph="ER1", sem="gp-add", random_state=2)
result = acyclic.learn(data.X)
print(result.verdict)
assert result.verdict.orientation == "curvature"
assert acyclic.compare(data.graph, result.graph).shd == 0

# %%
# All edges are right. A search that knows lines only finds fewer edges, and cannot orient those that it finds.
lines = acyclic.learn(data.X, method="order-search")
print("distance to the truth with curves:", acyclic.compare(data.graph, result.graph).shd)
print("distance to the truth with lines: ", acyclic.compare(data.graph, lines.graph).shd)
assert acyclic.compare(data.graph, lines.graph).shd > 0

# %%
# The learner keeps the functions: ``transform`` gives what is left of each column, and the difference is the curve.
# Here for a column with one parent.
model = acyclic.Auto().fit(data.X)
one_parent = int(np.flatnonzero(model.causal_graph_.adjacency.sum(axis=0) == 1)[0])
parent = int(np.flatnonzero(model.causal_graph_.adjacency[:, one_parent])[0])
curve = data.X[:, one_parent] - model.transform(data.X)[:, one_parent]
order = np.argsort(data.X[:, parent])

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(data.X[:, parent], data.X[:, one_parent], ".", color="#7a828c", markersize=3, label="rows")
axes.plot(data.X[order, parent], curve[order], color="#1f5fa8", linewidth=2.5, label="what was learned")
axes.set(xlabel=data.names[parent], ylabel=data.names[one_parent], title="One edge and its curve")
axes.legend()
plt.show()
residual = data.X[:, one_parent] - curve
assert residual.var() < data.X[:, one_parent].var()
