"""The command ``acyclic``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the answer is the exit code.

    0: it went well. 1: the run failed, or the input cannot be used; one sentence on the standard error says why, and
    ``--debug`` adds the traceback. 2: the command line itself is wrong. 130: Ctrl-C ended the run; what was found until
    then is written.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from acyclic.cli.commands import run
    except ImportError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        sys.stderr.write(f"the command line needs {error.name}; install it with: pip install 'acyclic[cli]'\n")
        return 1
    return run(given)
