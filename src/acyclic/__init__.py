# SPDX-License-Identifier: BSD-3-Clause
"""Learn directed acyclic graphs from tables by continuous optimisation, and say what the answer rests on."""

import ast
import logging
from importlib import import_module
from pathlib import Path
from typing import Any

from acyclic._version import __version__ as __version__


def _find_homes(path: Path) -> dict[str, str]:
    """The module of each name that a file imports under that name; a star stands for what that module re-exports."""
    homes: dict[str, str] = {}
    for line in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(line, ast.ImportFrom) or line.module is None:
            continue
        for alias in line.names:
            if alias.name == "*":
                homes |= _find_homes(path.parent.joinpath(*line.module.split(".")[1:], "__init__.py"))
            elif alias.asname == alias.name:
                homes[alias.name] = line.module
    return homes


# Whoever wants to see what runs tell adds a handler of their own.
logging.getLogger("acyclic").addHandler(logging.NullHandler())
# Public names are listed in __init__.pyi and imported at first use, so that `import acyclic` costs milliseconds.
_HOMES = _find_homes(Path(__file__).with_suffix(".pyi"))
# The modules among them are no part of ``from acyclic import *``: they need packages that may not be there.
__all__ = sorted(name for name, home in _HOMES.items() if home != __name__ and not name.startswith("_"))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'acyclic' has no attribute {name!r}")
    home = _HOMES[name]
    if home.startswith("acyclic.learners"):
        # A fitted learner can report and draw itself, by what comes after it.
        import_module("acyclic.result")
    value = import_module(f"{home}.{name}") if home == __name__ else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
