r"""
A constraint of your own
========================

Subclass ``acyclic.Constraint``, give value and gradient, and pass the object wherever a constraint is named.
"""

# %%
# A sum in which a cycle counts half as much as one that is shorter by an edge: Σ 2⁻ⁱ tr Bⁱ for i up to d. Its
# gradient is Σ i 2⁻ⁱ (Bᵀ)ⁱ⁻¹.
import matplotlib.pyplot as plt
import numpy as np

import acyclic


class Halving(acyclic.Constraint):
    name = "halving"

    def linear_coefficient(self, size):
        return 0.5

    def evaluate_block(self, B, size):
        value, gradient, power = 0.0, np.zeros_like(B), np.eye(len(B))
        for i in range(1, size + 1):
            gradient += i * 0.5**i * power.T
            power = power @ B
            value += 0.5**i * np.trace(power)
        return acyclic.Evaluation(value, gradient, size)


# %%
# Check the gradient before anything else, by finite differences.
rng = np.random.default_rng(0)
B = 0.3 * rng.random((5, 5))
h, G = Halving().value_and_gradient(B)
step = 1e-6
for i, j in [(0, 1), (3, 2), (4, 4)]:
    moved = B.copy()
    moved[i, j] += step
    assert abs((Halving().value_and_gradient(moved)[0] - h) / step - G[i, j]) < 1e-4
assert Halving().value_and_gradient(np.triu(B, 1))[0] == 0.0
print(f"h = {h:.4f} on a matrix with cycles, 0 on an acyclic one")

# %%
# Then learn with it. NOTEARS, GOLEM, NOTEARS-MLP, DAG-GNN and GraN-DAG take it as they take a name.
data = acyclic.simulate(n_nodes=10, n=1000, graph="ER2", random_state=4)
model = acyclic.Notears(constraint=Halving()).fit(data.X)
usual = acyclic.Notears(constraint="fast-tmpi").fit(data.X)
print("SHD with halving:  ", acyclic.compare(data.graph, model.causal_graph_).shd)
print("SHD with fast-tmpi:", acyclic.compare(data.graph, usual.causal_graph_).shd)
assert model.verdict_.converged

# %%
# How the run went: the loss, and the constraint on its way to zero.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for fitted, label, colour in ((model, "halving", "#b3471d"), (usual, "fast-tmpi", "#1f5fa8")):
    trace = [point for point in fitted.solution_.trace if point.h and point.h > 0]
    axes.semilogy([point.step for point in trace], [point.h for point in trace], ".-", color=colour, label=label)
axes.set(xlabel="step", ylabel="h, as each constraint measures it", title="NOTEARS, 10 nodes")
axes.legend()
plt.show()
