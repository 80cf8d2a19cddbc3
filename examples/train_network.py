"""Train a small network under a DAG constraint with `acyclic.torch`.

Each column of a table is predicted from all others by a network of its own: one hidden layer of ten units. The norm of
the first weights that let column i into the network of column j is the weight of the edge i → j, and
`acyclic.torch.dag_constraint` keeps these norms on their way to a DAG while Adam trains all networks at once.

    python examples/train_network.py
"""

import numpy as np
import torch

import acyclic

NAMES = ["dose", "enzyme", "marker", "response", "relapse"]


def draw_rows(n: int = 500, seed: int = 0) -> tuple[np.ndarray, acyclic.Dag]:
    """Rows of a curved model with five columns, and its graph."""
    rng = np.random.default_rng(seed)
    noise = 0.3 * rng.standard_normal((n, 5))
    dose = 2 * rng.random(n) - 1
    enzyme = np.cos(3 * dose) + noise[:, 1]
    marker = np.sin(4 * dose) + noise[:, 2]
    response = enzyme**2 + np.cos(2 * marker) + noise[:, 3]
    relapse = 2 * np.sin(response) + noise[:, 4]
    weights = np.zeros((5, 5))
    for source, target in ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4)):
        weights[source, target] = 1
    return np.column_stack([dose, enzyme, marker, response, relapse]), acyclic.Dag(weights, NAMES)


class Networks(torch.nn.Module):
    """One network for each column: what lets column i into network j is first[j, :, i]."""

    def __init__(self, d: int, hidden: int = 10) -> None:
        super().__init__()
        self.first = torch.nn.Parameter(0.3 * torch.randn(d, hidden, d))
        self.shift = torch.nn.Parameter(torch.randn(d, hidden))
        self.last = torch.nn.Parameter(0.3 * torch.randn(d, hidden))
        self.mean = torch.nn.Parameter(torch.zeros(d))
        # No column explains itself.
        self.register_buffer("others", 1 - torch.eye(d)[:, None, :])

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Every column predicted from the others, (n, d)."""
        inside = torch.tanh(torch.einsum("ni,jhi->njh", X, self.first * self.others) + self.shift)
        return (inside * self.last).sum(dim=2) + self.mean

    def edges(self) -> torch.Tensor:
        """Norms of the first weights, (d, d), row i to column j."""
        return (self.first * self.others).square().sum(dim=1).add(1e-12).sqrt().T


def train(X: np.ndarray, l1: float = 0.01, rounds: int = 5, steps: int = 200) -> np.ndarray:
    """The edge weights of networks that were trained under a growing weight of the constraint."""
    torch.manual_seed(0)
    table = torch.tensor((X - X.mean(axis=0)) / X.std(axis=0), dtype=torch.float32)
    networks, h_weight = Networks(X.shape[1]), 0.01
    optimiser = torch.optim.Adam(networks.parameters(), lr=0.02)
    for _ in range(rounds):
        for _ in range(steps):
            optimiser.zero_grad()
            edges = networks.edges()
            loss = 0.5 * (networks(table) - table).square().mean(dim=0).sum()
            # The logarithm of the constraint does not overflow in single precision, however far from a DAG one starts.
            h = acyclic.torch.dag_constraint(edges, "log-det", log1p=True)
            (loss + l1 * edges.sum() + h_weight * h).backward()
            optimiser.step()
        h_weight *= 5
    return networks.edges().detach().double().numpy()


def main(show: bool = True) -> tuple[acyclic.Dag, acyclic.Dag]:
    """Train, cut what is small, and return the graph that was found and the true one."""
    X, truth = draw_rows()
    edges = train(X)
    found = acyclic.Dag(np.where(edges > 0.3, edges, 0.0), NAMES)
    if show:
        for source, target, weight in found.edges():
            print(f"{source} → {target}  {weight:.2f}")
        print("structural Hamming distance to the truth:", acyclic.compare(truth, found).shd)
    return found, truth


if __name__ == "__main__":
    main()
