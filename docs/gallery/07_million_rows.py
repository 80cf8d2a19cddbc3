r"""
A million rows
==============

The linear methods need the means and covariances of the columns and nothing else. A file is read in blocks, its rows
are added up as they pass by, and learning takes the same time for a million rows as for a thousand.
"""

# %%
# A Parquet file of a million rows and ten columns.
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import polars

import acyclic

data = acyclic.simulate(n_nodes=10, n=1_000_000, graph="ER2", random_state=3)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.parquet"
polars.DataFrame(data.X, schema=list(data.names)).write_parquet(path)
print(f"{path.stat().st_size / 1e6:.0f} MB")

# %%
# Reading it, which adds up its moments, then learning from these:
started = time.process_time()
table = acyclic.read_table(path)
moments = table.moments
reading = time.process_time() - started
started = time.process_time()
result = acyclic.learn(table, method="order-search")
learning = time.process_time() - started
print(f"processor seconds: {reading:.1f} to read {table.n_rows} rows, {learning:.2f} to learn")
print(result.graph)
assert table.n_rows == 1_000_000
# The class that independence can show is found to the last edge.
assert acyclic.compare(data.graph, result.graph).shd_cpdag == 0

# %%
# A covariance matrix is a table too: whoever has only that, or may not give away rows, can learn from it.
again = acyclic.learn(
    acyclic.Moments(moments.n, moments.mean, moments.covariance, moments.names), method="order-search"
)
assert (again.graph.adjacency == result.graph.adjacency).all()

# %%
# Learning does not take longer with more rows; only reading does.
sizes, seconds = [1000, 10_000, 100_000, 1_000_000], []
for n in sizes:
    part = acyclic.read_table(data.X[:n])
    started = time.process_time()
    acyclic.learn(part, method="order-search")
    seconds.append(time.process_time() - started)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.semilogx(sizes, [1000 * t for t in seconds], "o-", color="#1f5fa8")
axes.set(xlabel="rows", ylabel="processor milliseconds to learn", title="Ten columns, method order-search")
axes.set_ylim(bottom=0)
plt.show()
folder.cleanup()
