r"""
Numbers and categories in one table
===================================

Text is a category, numbers are numbers, and counts are counts. ``learn()`` finds the kind of each column and uses each
as what it is.
"""

# %%
# A small shop: the kind of day decides how many visitors come, the weather as well; visitors and an offer make the
# sales.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import acyclic

rng = np.random.default_rng(1)
n = 1500
day = rng.choice(["weekday", "saturday", "holiday"], size=n, p=[0.6, 0.25, 0.15])
sun = rng.normal(5, 2, size=n)
base = pd.Series(day).map({"weekday": 20.0, "saturday": 60.0, "holiday": 35.0}).to_numpy()
visitors = np.round(base + 3 * sun + rng.normal(0, 6, size=n)).clip(0)
offer = rng.choice(["none", "coupon"], size=n)
sales = 4 * visitors + 60 * (offer == "coupon") + rng.normal(0, 25, size=n)
shop = pd.DataFrame({"day": day, "sun": sun, "visitors": visitors, "offer": offer, "sales": sales})

# %%
# What was made of the columns:
table = acyclic.read_table(shop)
for name, kind in zip(table.names, table.kinds, strict=True):
    print(f"{name:9} {kind.value:12} {', '.join(table.levels.get(name, ()))}")
assert table.kinds[0] == table.kinds[3] == "categorical"

# %%
# Each column is scored by the likelihood of its kind: a number by its noise around lines and level effects, a category
# by its log-odds. Nothing is told beforehand:
result = acyclic.learn(table)
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
result.plot(ax=axes)
axes.set_title("A shop: two categories, three columns of numbers")
plt.show()

# %%
# Exactly the four edges that made the table: neither day nor sun acts on the sales but through the visitors.
found = {(source, target) for source, target, _ in result.graph.edges()}
assert found == {("day", "visitors"), ("sun", "visitors"), ("visitors", "sales"), ("offer", "sales")}
assert not result.undecided
print(result.verdict)

# %%
# Where the rules are wrong, say what a column is. Levels with an order are told from low to high:
# ``acyclic.learn(table, kinds={"grade": "low<middle<high"})``, or ``--kinds`` on the command line.
