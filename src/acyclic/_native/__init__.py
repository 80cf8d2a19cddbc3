"""The compiled kernels: plain C behind ctypes, which releases the interpreter lock during every call.

This is the only room that knows of ctypes. `library` declares the signature of every exported function; each of the
others wraps one kernel, and hands it only arrays of the type, shape and layout that it reads, with at least one node.
`watching` ends a long kernel at Ctrl-C or when its time is up.
"""

from acyclic._native.blocks import BlockChain, BlockCriterion
from acyclic._native.components import strong_components
from acyclic._native.counts import CountChain, CountCriterion, count_all_sets
from acyclic._native.elastic_net import elastic_net, elastic_nets
from acyclic._native.exact import EXACT_NODES, Around, ExactTables, ScoredTables
from acyclic._native.order import Candidates, OrderChain, polish_order
from acyclic._native.screening import screen_candidates
from acyclic._native.selection import select_parents
from acyclic._native.values import hash_values, join_hashes
from acyclic._native.watching import Flag, run_watched

__all__ = [
    "EXACT_NODES",
    "Around",
    "BlockChain",
    "BlockCriterion",
    "Candidates",
    "CountChain",
    "CountCriterion",
    "ExactTables",
    "Flag",
    "OrderChain",
    "ScoredTables",
    "count_all_sets",
    "elastic_net",
    "elastic_nets",
    "hash_values",
    "join_hashes",
    "polish_order",
    "run_watched",
    "screen_candidates",
    "select_parents",
    "strong_components",
]
