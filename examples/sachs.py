"""Learn a graph from the bundled protein-signalling data of Sachs et al. (2005) and compare it with the consensus."""

import numpy as np

import acyclic

sachs = acyclic.load_sachs()
moments = acyclic.Moments.from_array(np.log(sachs.X), names=sachs.names)
result = acyclic.learn(moments)

print(f"Sachs et al. 2005: {len(sachs.X)} cells, {len(sachs.names)} proteins, log-transformed\n")
print(result.verdict)
print("\nEdges:")
for source, target, weight in result.graph.edges():
    print(f"  {source:>5} → {target:<5} {weight:+.2f}   oriented by: {result.support[source, target]}")
print(f"\nAgainst the consensus graph of 17 edges: {acyclic.compare(sachs.graphs['17'], result.graph)}")
