"""When a column counts as a linear function of others, and a target as explained: the levels, in one place.

What is asked is the share of a column's variance that the others leave, 1 − R². A correlation matrix of d columns holds
it to about d·2e-16, but a share that is computed past a pivot p to about 2ε/√p only: the smaller the pivots that count,
the larger the shares that are rounding. The levels follow from what is at stake. The kernel of selection has its own,
1e-11 for candidates and 1e-12 for targets: it updates one residual step by step and never compares it with one that was
computed another way, so that it may go lower than DEPENDENT.
"""

from __future__ import annotations

NOTED = 1e-12
"""Below it a note calls a column a copy, or a linear function, of others. That claims an exact relation to the user, so
that it asks for nearly all the digits there are; nothing is decided by it."""

DEPENDENT = 1e-10
"""Below it a column is no candidate for a parent beside these others, regressions share a weight out between them, and
scores count it as explained. Searches compare the gain of a move with scores computed afresh, and would go round in a
circle where these differ by rounding: 2ε/√p stays below p from p = (2ε)^⅔ = 6e-11 on."""

EXPLAINED = 1e-12
"""No residual variance counts as a smaller share of the column's own where a logarithm is taken of it: it would be −∞
for a column that is determined exactly."""

DEPENDENT_ROWS = 1e-8
"""As DEPENDENT, for regressions on rows instead of covariances: rows hold lengths, not squares, so that this share of a
length is 1e-16 of a variance, and eight digits of a slope are left."""
