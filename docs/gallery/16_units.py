r"""
Do the units decide?
====================

Simulated tables often give the causal order away by their variances, which grow along it. A method that uses this looks
brilliant until somebody changes metres to kilometres. ``audit`` looks for that.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import acyclic

data = acyclic.simulate(n_nodes=10, n=1000, graph="ER2", random_state=7)
standardised = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)

methods = {
    "sort by variance": acyclic.SortnRegress(),
    "NOTEARS": acyclic.Notears(),
    "GOLEM": acyclic.Golem(),
    "OrderSearch": acyclic.OrderSearch(),
}
raw, same = {}, {}
for label, learner in methods.items():
    for store, X in ((raw, data.X), (same, standardised)):
        # The threshold 0.3 is absolute; distances are those of equivalence classes, which units cannot change.
        graph = learner.fit(X).causal_graph_
        store[label] = acyclic.compare(data.graph, graph).shd_cpdag
    print(f"{label:17} raw {raw[label]:2}   standardised {same[label]:2}")
assert raw["sort by variance"] < same["sort by variance"]
assert raw["OrderSearch"] == same["OrderSearch"]

# %%
# Sorting columns by variance and regressing, which no one would call causal discovery, does well on the raw table. On
# z-scores it falls apart, and NOTEARS with it; a score that does not depend on units stays where it was.
places = np.arange(len(methods))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.bar(places - 0.2, list(raw.values()), 0.4, color="#1f5fa8", label="raw units")
axes.bar(places + 0.2, list(same.values()), 0.4, color="#b3471d", label="z-scores")
axes.set_xticks(places, list(methods))
axes.set(ylabel="SHD between classes", title="The same rows in two units")
axes.legend()
plt.show()

# %%
# The audit learns again in other units and tests what the directions rest on.
said = acyclic.audit(data.X)
print(said)
assert 0.5 < said.varsortability <= 1
