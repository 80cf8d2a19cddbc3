"""Methods and constraints of other packages: found by their entry points, loaded when one is asked for by name.

A package offers them in its ``pyproject.toml``::

    [project.entry-points."acyclic.learners"]
    nearest-neighbour = "their_package.learners:NearestNeighbour"

    [project.entry-points."acyclic.constraints"]
    halving = "their_package.constraints:Halving"

Nothing of a package is imported before its name is used, so that one that is broken harms nobody else. A name that
acyclic has itself is refused: what is called "notears" is ours. A name that two packages offer is refused too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from acyclic.errors import AcyclicError

LEARNERS = "acyclic.learners"
CONSTRAINTS = "acyclic.constraints"


@dataclass(frozen=True)
class Plugin:
    """What another package offers under a name.

    Attributes
    ----------
    group, name, target : str
        The entry point: where it is offered, under which name, and the module and object that it names.
    package : str
        The distribution and its version, such as "acyclic-example 0.1".
    refused : str
        Why its name cannot be used; empty where it can.
    """

    group: str
    name: str
    target: str
    package: str
    refused: str = ""
    entry: EntryPoint | None = field(default=None, repr=False, compare=False)

    def load(self) -> Any:
        """The object itself; raises an AcyclicError that names the package where it is broken or refused."""
        where = f"{self.name!r} ({self.target}) of the package {self.package}"
        if self.refused:
            raise AcyclicError(f"{where} is refused: {self.refused}; use another name there, or remove the package")
        try:
            return self.entry.load() if self.entry else None
        except Exception as error:  # whatever the code of others raises when it is imported
            said = f"{type(error).__name__}: {error}"
            raise AcyclicError(f"{where} cannot be loaded ({said}); mend or remove that package") from error

    def reject(self, why: str) -> AcyclicError:
        """The error for something that was loaded and cannot be used."""
        return AcyclicError(f"{self.name!r} ({self.target}) of the package {self.package} {why}")


def list_plugins(group: str, own: Collection[str] = ()) -> list[Plugin]:
    """What other packages offer in a group, by name; nothing is loaded.

    Parameters
    ----------
    group : str
        "acyclic.learners" or "acyclic.constraints".
    own : collection of str
        The names that are acyclic's.

    Examples
    --------
    >>> list_plugins("acyclic.no-such-group")
    []
    """
    offered: dict[tuple[str, str, str], EntryPoint] = {}
    for entry in entry_points(group=group):
        # The same installation may be found twice, by two entries of sys.path.
        offered.setdefault((entry.name, entry.value, _package(entry)), entry)
    counts: dict[str, list[str]] = {}
    for name, _, package in offered:
        counts.setdefault(name, []).append(package)
    return [
        Plugin(group, name, target, package, _refuse(name, own, counts[name]), entry)
        for (name, target, package), entry in sorted(offered.items(), key=lambda item: item[0])
    ]


def find_plugin(group: str, name: object, own: Collection[str] = ()) -> Plugin | None:
    """What another package offers under a name; None where none does, or where the name is ours."""
    if not isinstance(name, str) or name in own:
        return None
    return next((plugin for plugin in list_plugins(group, own) if plugin.name == name), None)


def name_plugins(group: str, own: Collection[str] = ()) -> list[str]:
    """The names that other packages add to ours."""
    return [plugin.name for plugin in list_plugins(group, own) if not plugin.refused]


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "unknown"


def _refuse(name: str, own: Collection[str], packages: Collection[str]) -> str:
    if name in own:
        return "acyclic has that name itself"
    return f"{' and '.join(sorted(packages))} both offer that name" if len(packages) > 1 else ""
