"""NotearsMlp against the published form of NOTEARS-MLP written plainly, in one run, on one thread, with one constraint.

Yardstick: torch modules (two non-negative first layers, locally connected later ones), autograd, parameters copied into
one vector and back at each evaluation, SciPy's L-BFGS-B over all of them, the published schedule. Where it has not
ended after ``--limit`` times our processor time, the ratio is a lower bound and where it stood is printed.

    python benchmarks/neural_mlp.py [--sizes 10 20] [--constraint fast-tmpi] [--seed 100] [--limit 50]
    python benchmarks/neural_mlp.py --accuracy 0 1 2 3 4      TMPI against the exponential, 50 nodes, ER1
"""

import argparse
import math
import time

import numpy as np
import scipy
import torch
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits
from torch import nn

import acyclic
from acyclic.constraints.autograd import dag_constraint
from acyclic.learners.neural.notears_mlp.learner import NotearsMlp


class LocallyConnected(nn.Module):
    """One linear layer for each node: (n, d, below) to (n, d, above)."""

    def __init__(self, d, below, above):
        super().__init__()
        bound = 1 / math.sqrt(below)
        self.weight = nn.Parameter(torch.empty(d, below, above, dtype=torch.double).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(d, above, dtype=torch.double).uniform_(-bound, bound))

    def forward(self, signal):
        return torch.matmul(signal.unsqueeze(2), self.weight.unsqueeze(0)).squeeze(2) + self.bias


class Published(nn.Module):
    """NOTEARS-MLP with one hidden layer."""

    def __init__(self, X, hidden=10, constraint="exponential", l1=0.01, l2=0.01):
        super().__init__()
        d = X.shape[1]
        self.X, self.d, self.hidden, self.constraint, self.l1, self.l2 = X, d, hidden, constraint, l1, l2
        self.positive = nn.Linear(d, d * hidden, dtype=torch.double)
        self.negative = nn.Linear(d, d * hidden, dtype=torch.double)
        self.output = LocallyConnected(d, hidden, 1)

    def bounds(self):
        first = [
            (0, 0) if i == j else (0, None) for j in range(self.d) for _ in range(self.hidden) for i in range(self.d)
        ]
        sizes = {name: parameter.numel() for name, parameter in self.named_parameters()}
        doubled = ("positive.weight", "negative.weight")
        return [bound for name in sizes for bound in (first if name in doubled else [(None, None)] * sizes[name])]

    def squares(self):
        first = (self.positive.weight - self.negative.weight).view(self.d, self.hidden, self.d)
        return first.square().sum(dim=1).t()

    def objective(self):
        units = (self.positive(self.X) - self.negative(self.X)).view(-1, self.d, self.hidden)
        loss = 0.5 / len(self.X) * (self.output(torch.sigmoid(units)).squeeze(2) - self.X).square().sum()
        ridge = self.squares().sum() + self.output.weight.square().sum()
        return loss + 0.5 * self.l2 * ridge + self.l1 * (self.positive.weight + self.negative.weight).sum()

    def flat(self):
        return np.concatenate([parameter.detach().numpy().ravel() for parameter in self.parameters()])

    def load(self, flat):
        at = 0
        for parameter in self.parameters():
            parameter.data = torch.from_numpy(flat[at : at + parameter.numel()].reshape(parameter.shape).copy())
            at += parameter.numel()

    def evaluate(self, flat, rho, alpha):
        self.load(flat)
        self.zero_grad()
        h = dag_constraint(self.squares(), self.constraint, of="matrix")
        total = self.objective() + 0.5 * rho * h * h + alpha * h
        total.backward()
        return total.item(), np.concatenate([parameter.grad.numpy().ravel() for parameter in self.parameters()])

    @torch.no_grad()
    def state(self):
        return self.objective().item(), dag_constraint(self.squares(), self.constraint, of="matrix").item()


class OutOfTimeError(Exception):
    pass


def fit_published(model, seconds, h_tol=1e-8, rho_max=1e16):
    """The published schedule; returns processor time, evaluations, and the penalty where it ended or was stopped."""
    started, evaluations, rho, alpha, h_old = time.process_time(), 0, 1.0, 0.0, np.inf

    def function(flat):
        nonlocal evaluations
        evaluations += 1
        if time.process_time() - started > seconds:
            raise OutOfTimeError
        return model.evaluate(flat, rho, alpha)

    try:
        for _ in range(100):
            while rho < rho_max:
                model.load(minimize(function, model.flat(), method="L-BFGS-B", jac=True, bounds=model.bounds()).x)
                h = model.state()[1]
                if h <= 0.25 * h_old:
                    break
                rho *= 10
            h_old, alpha = h, alpha + rho * h
            if h <= h_tol or rho >= rho_max:
                break
        ended = True
    except OutOfTimeError:
        ended = False
    return time.process_time() - started, evaluations, rho, ended


def distance(data, weights):
    cut = np.where(weights < 0.3, 0.0, weights)
    return acyclic.compare(data.graph.weights, cut, edge_direction="from row to column").shd


def speed(d, seed, constraint, limit):
    data = acyclic.simulate(d, 1000, graph="ER1", sem="mlp", random_state=seed)
    NotearsMlp(max_rounds=1, time_limit=0).fit(data.X[:, :3])
    started = time.process_time()
    fit = NotearsMlp(constraint=constraint).fit(data.X)
    fast = time.process_time() - started
    ours = fit.solution_
    print(
        f"d = {d}, {constraint}, seed {seed}: ours {fast:.1f} s of processor time, {ours.steps} steps, objective "
        f"{ours.objective:.4f} at h = {ours.h:.1e}, SHD {distance(data, ours.weights)}",
        flush=True,
    )
    torch.manual_seed(seed)
    model = Published(torch.from_numpy(np.array(data.X)), constraint=constraint)
    slow, evaluations, rho, ended = fit_published(model, limit * fast)
    objective, h = model.state()
    weights = model.squares().detach().sqrt().numpy()
    print(
        f"    published {slow:.1f} s, {evaluations} evaluations, {'ended' if ended else 'stopped'} at penalty {rho:g}: "
        f"objective {objective:.4f} at h = {h:.1e}, SHD {distance(data, weights)}; "
        f"{'' if ended else 'more than '}{slow / fast:.1f} times our time",
        flush=True,
    )


def accuracy(seeds):
    distances = {"fast-tmpi": [], "exponential": []}
    for seed in seeds:
        data = acyclic.simulate(50, 1000, graph="ER1", sem="mlp", random_state=seed)
        for name, found in distances.items():
            started = time.process_time()
            fit = NotearsMlp(constraint=name).fit(data.X)
            found.append(acyclic.compare(data.graph, fit.causal_graph_).shd)
            print(
                f"seed {seed}, {name}: SHD {found[-1]} of {data.graph.n_edges} edges, objective "
                f"{fit.solution_.objective:.4f}, converged {fit.solution_.converged}, "
                f"{time.process_time() - started:.0f} s",
                flush=True,
            )
    for name, found in distances.items():
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        print(f"{name}: mean SHD {np.mean(found):.1f} ± {error:.1f} over {len(found)} seeds")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 20])
    parser.add_argument("--constraint", default="fast-tmpi")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--limit", type=float, default=50.0)
    parser.add_argument("--accuracy", type=int, nargs="+", metavar="SEED")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        versions = f"acyclic {acyclic.__version__}, torch {torch.__version__}, SciPy {scipy.__version__}"
        print(f"{versions}, one thread, ER1, mlp mechanisms, n = 1000")
        if chosen.accuracy:
            accuracy(chosen.accuracy)
        else:
            for d in chosen.sizes:
                speed(d, chosen.seed, chosen.constraint, chosen.limit)


if __name__ == "__main__":
    main()
