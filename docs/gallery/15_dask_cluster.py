r"""
A bootstrap on a Dask cluster
=============================

A hundred fits are a hundred jobs. ``cluster=`` sends them to the workers of a Dask scheduler; here to two that run on
this machine, as they would on many. The answer has the same bits wherever it is computed. Needs the extra ``cluster``.
"""

# %%
# A scheduler and two workers on the loopback interface, without a dashboard.
import matplotlib.pyplot as plt
from distributed import Client, LocalCluster

import acyclic

data = acyclic.simulate(n_nodes=12, n=300, graph="ER2", random_state=8)

# On a real cluster the workers are processes elsewhere; threads of this process keep the example short.
here = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": None}
with LocalCluster(n_workers=2, threads_per_worker=1, **here) as cluster, Client(cluster) as client:
    print("workers:", len(client.scheduler_info()["workers"]))
    there = acyclic.bootstrap("auto", data.X, draws=60, cluster=client)

# %%
# The same in one process, without a cluster:
alone = acyclic.bootstrap("auto", data.X, draws=60)
assert (alone.edge == there.edge).all()
print(there)

# %%
# The command does the same with an address: ``acyclic bootstrap table.csv --cluster tcp://host:8786``, and over TLS
# with ``--tls-ca``, ``--tls-cert`` and ``--tls-key``. Read the page on `security <../security.html>`_ first: whoever
# can reach a Dask scheduler can run code on it.
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
image = axes.imshow(there.edge, vmin=0, vmax=1, cmap="Blues")
axes.set_xticks(range(12), there.names, rotation=60)
axes.set_yticks(range(12), there.names)
axes.set(xlabel="to", ylabel="from", title="Share of 60 draws with each edge, from two workers")
figure.colorbar(image)
plt.show()
