"""The command ``acyclic``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the answer is the exit code.

    `acyclic.cli.faults.Exit` lists them. One sentence on the standard error says what went wrong; ``--debug`` adds the
    traceback.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Where memory is short, a thread of the allocator that Polars brings along would wait for ever; read at its import.
    os.environ.setdefault("_RJEM_MALLOC_CONF", "background_thread:false")
    try:
        from acyclic.cli.commands import run
    except ImportError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        sys.stderr.write(f"the command line needs {error.name}; install it with: pip install 'acyclic[cli]'\n")
        return 1
    return run(given)
