"""DagGnn against gCastle's DAG_GNN: processor time per epoch, in one run, on one thread, epochs interleaved.

Same rows, batch size, hidden units and constraint (the binomial one, which is the published one); the networks start
from weights of the same distribution, not the same ones. Needs gcastle beside acyclic, in an environment of its own.

    python benchmarks/neural_gnn.py [--nodes 10 50] [--n 1000] [--epochs 12] [--constraint fast-tmpi]
"""

import argparse
import time

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import acyclic
from acyclic.continuous.problem import Penalty
from acyclic.learners.neural.dag_gnn.training import Model, Schedule, Training, batches

BATCH, HIDDEN = 100, 64


def gcastle_epoch(X):
    """A function that trains gCastle's model for one epoch at ρ = 1."""
    from castle.algorithms.gradient.dag_gnn.torch import DAG_GNN
    from castle.algorithms.gradient.dag_gnn.torch.models.modules import Decoder, Encoder
    from castle.algorithms.gradient.dag_gnn.torch.utils import functions

    torch.set_default_dtype(torch.float64)
    learner, d, device = DAG_GNN(batch_size=BATCH), X.shape[1], torch.device("cpu")
    learner.n_nodes, A = d, torch.zeros((d, d), requires_grad=True)
    learner.encoder, learner.decoder = Encoder(1, HIDDEN, 1, A, device), Decoder(1, HIDDEN, 1, device)
    parameters = [*learner.encoder.parameters(), *learner.decoder.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=3e-3)
    learner.scheduler = torch.optim.lr_scheduler.StepLR(optimiser, 200, 1.0)
    loader = functions.get_dataloader(X[:, :, None], BATCH, device)
    return lambda: learner._train(loader, optimiser, 0.0, 1.0)


def own_epoch(X, constraint):
    """The same for DagGnn."""
    d, device, schedule = X.shape[1], torch.device("cpu"), Schedule()
    model = Model(~np.eye(d, dtype=bool), np.zeros((d, d)), 1, HIDDEN, 1, acyclic.constraint(constraint), device)
    data = batches(X, BATCH, device)
    training = Training(model, data, schedule, torch.Generator().manual_seed(0))

    def epoch():
        with torch.inference_mode():
            for batch in data:
                training._update(batch, Penalty(1.0, 0.0), schedule.rate(1.0))

    return epoch


def compare(d, n, epochs, constraint):
    X = acyclic.simulate(n_nodes=d, n=n, graph="ER1", sem="cos", random_state=0).X.copy()
    contenders = {"gcastle": gcastle_epoch(X), "acyclic": own_epoch(X, constraint)}
    seconds = {name: [] for name in contenders}
    for _ in range(epochs):
        for name, epoch in contenders.items():
            start = time.process_time()
            epoch()
            seconds[name].append(time.process_time() - start)
    median = {name: np.median(times[2:]) for name, times in seconds.items()}
    ratio = median["gcastle"] / median["acyclic"]
    shown = ", ".join(f"{name} {1e3 * value:.2f} ms" for name, value in median.items())
    print(f"d = {d}, n = {n}, batch {BATCH}, hidden {HIDDEN}, {constraint}: {shown} per epoch, ratio {ratio:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--constraint", default="binomial")
    settings = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for d in settings.nodes:
            compare(d, settings.n, settings.epochs, settings.constraint)


if __name__ == "__main__":
    main()
