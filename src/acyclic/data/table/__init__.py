"""The one Table that everything is learned from, made from arrays, frames, files of any length, or moments.

A ``table`` is what every learner sees, and what can be made of one; ``read`` makes it from anything. Behind it stands
an ``origin``: rows that are ``here``, or in partitions ``elsewhere``, ``drawn`` of another table, or another table
with ``changed`` columns or units. ``encoding`` takes new rows to the levels of a table that was learned from.
"""

from acyclic.data.table.encoding import encode
from acyclic.data.table.origin import explain_no_rows
from acyclic.data.table.read import READING, read_table
from acyclic.data.table.table import MOST_SAMPLED, Table
from acyclic.types import Kind

__all__ = ["MOST_SAMPLED", "READING", "Kind", "Table", "encode", "explain_no_rows", "read_table"]
