r"""
How sure is an edge? Bootstrap and margins
==========================================

Two questions that are easily confused. The *bootstrap* asks: would the edge come back if we had drawn other rows? The
*margin* asks: how much worse is the best graph that turns the edge or leaves it out, on these very rows?
"""

# %%
# Few rows, so that something is in doubt.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import acyclic

data = acyclic.simulate(n_nodes=8, n=120, graph="ER2", scheme="dao", random_state=9)
result = acyclic.learn(data.X)
confidence = acyclic.bootstrap("auto", data.X, draws=100)
result = result.with_evidence(confidence=confidence)
edges = pd.DataFrame(result.edges())
print(edges[["source", "target", "standardised", "this_way", "either_way", "turned", "left_out"]].round(2).to_string())
assert edges["either_way"].between(0, 1).all()
assert (edges["this_way"] <= edges["either_way"] + 1e-12).all()

# %%
# Each bar is an edge of the answer: dark is the share of draws with the edge this way, light with either direction.
labels = [f"{a} → {b}" for a, b in zip(edges["source"], edges["target"], strict=True)]
true = {frozenset(edge[:2]) for edge in data.graph.edges()}
marks = [
    "" if frozenset(pair) in true else "  (not in the true graph)" for pair in zip(edges["source"], edges["target"])
]
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
places = np.arange(len(edges))[::-1]
axes.barh(places, edges["either_way"], color="#bcd3ec", label="either way")
axes.barh(places, edges["this_way"], color="#1f5fa8", label="this way")
axes.set_yticks(places, [label + mark for label, mark in zip(labels, marks, strict=True)])
axes.set(xlabel="share of 100 draws", xlim=(0, 1), title="120 rows, 8 columns")
axes.legend(loc="lower right")
plt.show()

# %%
# Half of an undetermined edge counts for each direction: where this way and either way differ by about half, the class
# leaves the direction open, and no number of rows would change that. The graph that most draws agree on:
consensus = confidence.consensus()
print(consensus)
assert consensus.n_edges <= confidence.graph.n_edges + 5

# %%
# A margin below log n, here 4.8, is a near-tie. Graphs that close are listed with what they would change:
for other in result.alternatives[:3]:
    changes = {"turned": other.turned, "removed": other.removed, "added": other.added}
    said = [f"{what} {' → '.join(pair)}" for what, pairs in changes.items() for pair in pairs]
    print(f"{other.excess:.2f} more: {', '.join(said)}")
assert all(other.excess <= np.log(120) for other in result.alternatives)
