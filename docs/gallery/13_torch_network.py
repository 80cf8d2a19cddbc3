r"""
Train a network under a DAG constraint
======================================

Every column is predicted from all others by a small network. ``acyclic.torch.dag_constraint`` is differentiable and
keeps the network on its way to a DAG. Needs PyTorch (the extra ``neural``).
"""

# %%
# Five columns, joined by curves.
import matplotlib.pyplot as plt
import numpy as np
import torch

import acyclic

names = ["dose", "enzyme", "marker", "response", "relapse"]
rng = np.random.default_rng(0)
n = 500
noise = 0.3 * rng.standard_normal((n, 5))
dose = 2 * rng.random(n) - 1
enzyme = np.cos(3 * dose) + noise[:, 1]
marker = np.sin(4 * dose) + noise[:, 2]
response = enzyme**2 + np.cos(2 * marker) + noise[:, 3]
relapse = 2 * np.sin(response) + noise[:, 4]
X = np.column_stack([dose, enzyme, marker, response, relapse])
pairs = [
    ("dose", "enzyme"),
    ("dose", "marker"),
    ("enzyme", "response"),
    ("marker", "response"),
    ("response", "relapse"),
]
truth = acyclic.Dag.from_edges(pairs, names)


# %%
# One hidden layer for each column. The norm of the first weights that let column i into the network of column j is the
# weight of the edge i → j.
class Networks(torch.nn.Module):
    def __init__(self, d, hidden=10):
        super().__init__()
        self.first = torch.nn.Parameter(0.3 * torch.randn(d, hidden, d))
        self.shift = torch.nn.Parameter(torch.randn(d, hidden))
        self.last = torch.nn.Parameter(0.3 * torch.randn(d, hidden))
        self.mean = torch.nn.Parameter(torch.zeros(d))
        self.others = 1 - torch.eye(d)[:, None, :]  # no column explains itself

    def forward(self, X):
        inside = torch.tanh(torch.einsum("ni,jhi->njh", X, self.first * self.others) + self.shift)
        return (inside * self.last).sum(dim=2) + self.mean

    def edges(self):
        return (self.first * self.others).square().sum(dim=1).add(1e-12).sqrt().T


# %%
# Adam, with a weight of the constraint that grows. ``log1p`` keeps it finite in single precision, however far from a
# DAG one starts.
torch.manual_seed(0)
table = torch.tensor((X - X.mean(axis=0)) / X.std(axis=0), dtype=torch.float32)
networks, h_weight, trace = Networks(5), 0.01, []
optimiser = torch.optim.Adam(networks.parameters(), lr=0.02)
for _ in range(5):
    for _ in range(200):
        optimiser.zero_grad()
        edges = networks.edges()
        loss = 0.5 * (networks(table) - table).square().mean(dim=0).sum()
        h = acyclic.torch.dag_constraint(edges, "log-det", log1p=True)
        (loss + 0.01 * edges.sum() + h_weight * h).backward()
        optimiser.step()
        trace.append((loss.item(), h.item()))
    h_weight *= 5
assert trace[-1][1] < 0.01 * trace[0][1]

# %%
# Cut what is small; ``Dag`` refuses anything that still has a cycle.
weights = networks.edges().detach().double().numpy()
found = acyclic.Dag(np.where(weights > 0.3, weights, 0.0), names)
print(found)
print(acyclic.compare(truth, found))
assert acyclic.compare(truth, found).shd <= 1

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.semilogy([loss for loss, _ in trace], color="#7a828c", label="loss")
axes.semilogy([max(h, 1e-8) for _, h in trace], color="#1f5fa8", label="log(1 + h)")
axes.set(xlabel="step of Adam", title="The weight of the constraint grows every 200 steps")
axes.legend()
plt.show()
