r"""
Hand a graph over: networkx, DoWhy, pgmpy
=========================================

A graph is where the work of other packages begins. ``Dag`` writes six formats and makes the objects that they take.
"""

# %%
# A learned graph with names.
import importlib.util

import matplotlib.pyplot as plt
import networkx as nx
import pandas as pd

import acyclic

truth = acyclic.Dag.from_edges(
    [("rain", "river"), ("rain", "crop"), ("river", "flood"), ("crop", "price"), ("flood", "price")],
    names=["rain", "river", "crop", "flood", "price"],
)
data = acyclic.simulate(n=2000, graph=truth, random_state=6)
frame = pd.DataFrame(data.X, columns=list(truth.names))
result = acyclic.learn(frame)
assert (result.graph.adjacency == truth.adjacency).all()

# %%
# **networkx**: a ``DiGraph`` with weights.
graph = result.graph.to_networkx()
print(list(graph.edges(data="weight"))[:2])
assert nx.is_directed_acyclic_graph(graph)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for layer, level in enumerate(nx.topological_generations(graph)):
    for node in level:
        graph.nodes[node]["layer"] = layer
places = nx.multipartite_layout(graph, subset_key="layer")
nx.draw_networkx(graph, places, ax=axes, node_color="#dbe7f7", edge_color="#1f5fa8", node_size=1800, font_size=9)
axes.set_axis_off()
axes.set_title("The same graph, drawn by networkx")
plt.show()

# %%
# **DoWhy** takes that ``DiGraph`` wherever it asks for a graph, and estimates the effect itself. It also reads GML.
# DoWhy holds SciPy back and is not installed here, so that this block only runs where it is; ``make handoff`` checks
# the numbers in an environment of its own.
if importlib.util.find_spec("dowhy"):
    from dowhy import CausalModel

    model = CausalModel(frame, treatment="river", outcome="price", graph=result.graph.to_networkx())
    estimand = model.identify_effect(proceed_when_unidentifiable=True)
    print(model.estimate_effect(estimand, method_name="backdoor.linear_regression").value)
gml = "\n".join(nx.generate_gml(result.graph.to_networkx()))
assert nx.parse_gml(gml).number_of_edges() == result.graph.n_edges
print(gml[:120], "…")

# %%
# **pgmpy**: a linear Gaussian Bayesian network with weights, intercepts and variances, ready for its inference.
network = acyclic.to_pgmpy(result.graph, result.table.moments)
assert network.check_model()
print(network)
conditional = network.get_cpds("price")
print(conditional)

# %%
# **Files**: JSON, CSV, GraphML, DOT and DAGitty keep names and weights, and are read again.
print(result.graph.to_dot())
for write in ("to_json", "to_graphml", "to_dagitty"):
    assert "price" in getattr(result.graph, write)()
