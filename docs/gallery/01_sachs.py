r"""
Proteins in human cells
=======================

Sachs et al. (2005) measured 11 proteins and lipids in single human immune cells. Biologists have drawn the signals
between them, so that a learned graph can be held against something. How much of the drawing do the data show?
"""

# %%
# The data come with the package: 853 cells that no drug had disturbed. Amounts are skewed, so we take logarithms.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import acyclic

sachs = acyclic.load_sachs()
cells = pd.DataFrame(np.log(sachs.X), columns=sachs.names)
result = acyclic.learn(cells)

# %%
# The verdict says what was found, and what the directions rest on: here on curves. Noise around a curve fits one
# direction better than the other.
print(result.verdict)
assert result.verdict.converged
assert result.verdict.orientation == "curvature"

# %%
# Blue edges are positive, orange ones negative. All are dashed: conditional independence alone orients none of them.
# Where the direction is not decided there is no arrowhead.
figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
result.plot(ax=axes)
axes.set_title("Sachs et al., 853 cells, logarithms")
plt.show()

# %%
# Held against the 17 edges that most papers use, it is right about most of what it draws and silent about the rest.
comparison = acyclic.compare(sachs.graphs["17"], result.graph)
print(comparison)
assert comparison.shd <= 12
assert comparison.fdr < 0.5

# %%
# The empty graph has a distance of 17. Seven of ten edges right, and ten missing or turned: that is what these rows can
# tell without experiments. The margins say which of the edges hang by a thread: a graph without ``Plcg → PIP3`` scores
# nearly as well.
edges = pd.DataFrame(result.edges())[["source", "target", "standardised", "margin", "support"]]
print(edges.round(2).to_string(index=False))
weakest = edges.loc[edges["margin"].idxmin()]
assert (weakest["source"], weakest["target"]) == ("Plcg", "PIP3")
