r"""
Proteins in human cells
=======================

The table of Sachs et al. (2005) holds the amounts of 11 proteins and lipids in single human immune cells. Biologists
have drawn the signalling pathways between them, so that a learned graph can be compared with something.
"""

# %%
# The data come with the package. Like many authors we use the 853 cells that were not disturbed by any drug. Amounts are
# skewed, so that their logarithms are used.
import matplotlib.pyplot as plt
import numpy as np

import acyclic

sachs = acyclic.load_sachs()
print(sachs)
