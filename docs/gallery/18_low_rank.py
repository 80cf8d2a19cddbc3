r"""
A constraint on a hundred thousand nodes
========================================

A dense constraint takes d³ operations, and d² numbers to write its matrix down. Where B = UVᵀ has few columns in U and
V, the closed walks of d nodes are those of a small matrix: tr Bⁱ = tr (VᵀU)ⁱ. Value and gradients then come in time
that grows in proportion to d, and they are exact.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import acyclic
from acyclic.constraints.low_rank import low_rank

rng = np.random.default_rng(0)


def factors(d, rank=10):
    """Random U and V with a spectral radius of 0.8 of UVᵀ, so that the series converges."""
    U, V = rng.random((2, d, rank))
    return U * 0.8 / np.abs(np.linalg.eigvals(V.T @ U)).max(), V


U, V = factors(500)
found = low_rank(U, V)
value, gradient = acyclic.constraint("fast-geometric").value_and_gradient(U @ V.T)
print(f"low rank {found.value:.15g}\ndense    {value:.15g}")
assert abs(found.value - value) < 1e-12 * value
# The gradient with respect to U follows from that with respect to B by the chain rule.
assert np.allclose(found.left, gradient @ V, rtol=1e-12, atol=0)


# %%
# Processor time against the number of nodes, on log–log axes, where 1 is the slope of proportion, 3 that of cubes.
def milliseconds(work, *arguments, repeats=5):
    """The least of several times."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work(*arguments)
        times.append(time.process_time() - started)
    return 1e3 * min(times)


sizes = [300, 1000, 3000, 10_000, 30_000, 100_000]
few = [milliseconds(low_rank, *factors(d)) for d in sizes]
small = [100, 200, 400]
dense = acyclic.constraint("fast-geometric")
many = [milliseconds(dense.value_and_gradient, U @ V.T) for U, V in map(factors, small)]
slope = np.polyfit(np.log(sizes[2:]), np.log(few[2:]), 1)[0]
print(f"slope from 3000 nodes on: {slope:.2f}")

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.loglog(sizes, few, "o-", color="#1f5fa8", label="rank 10")
axes.loglog(small, many, "s-", color="#b3471d", label="dense")
axes.loglog(sizes, few[-1] * np.array(sizes) / sizes[-1], ":", color="#7a828c", label="in proportion to d")
axes.set(xlabel="nodes d", ylabel="milliseconds", title="Value and gradient of the geometric constraint")
axes.legend()
plt.show()

# %%
# Weights of low rank, W = PQᵀ, have squares of low rank too: ``low_rank_weights`` takes P and Q.
# `Constraints beyond the paper <../constraints-beyond.html>`_ has more sizes, and sparse matrices.
