"""The result of learning: graph, verdict, what is behind them, and one file format for all of it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag
from acyclic.learners.verdict import Verdict

FORMAT = "acyclic result 1"


@dataclass(frozen=True, eq=False)
class Result:
    """A learned graph and what it rests on.

    Attributes
    ----------
    graph : Dag
        Names, weights and edges.
    verdict : Verdict
        Converged? Which assumption orients the edges? ``str()`` is readable prose.
    cpdag : Cpdag
        The equivalence class: what conditional independence alone can say of the graph.
    support : dict of (source, target) to str
        What orients each edge: "independence" where the class compels it, otherwise the assumption it rests on.
    provenance : dict
        Method, settings, versions, seed, digest of the data, number of rows, seconds.
    """

    graph: Dag
    verdict: Verdict
    cpdag: Cpdag
    support: Mapping[tuple[str, str], str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.verdict)

    def __repr__(self) -> str:
        return f"Result({self.graph!r}, {self.verdict.method})"

    def to_json(self) -> str:
        """The result as text in the format that `load` reads."""
        plain = {
            "format": FORMAT,
            "names": self.graph.names,
            "edges": [
                {
                    "source": source,
                    "target": target,
                    "weight": weight,
                    "support": self.support.get((source, target), ""),
                }
                for source, target, weight in self.graph.edges()
            ],
            "undirected": self.cpdag.undirected_edges(),
            "directed": self.cpdag.directed_edges(),
            "verdict": self.verdict.to_dict(),
            "provenance": dict(self.provenance),
        }
        return json.dumps(plain, indent=1, default=_plain)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a JSON file, atomically."""
        target = Path(path)
        scratch = target.with_name(f"{target.name}.{os.getpid()}.part")
        scratch.write_text(self.to_json(), encoding="utf-8")
        os.replace(scratch, target)

    @classmethod
    def from_json(cls, text: str) -> Result:
        """The inverse of `to_json`."""
        try:
            plain = json.loads(text)
            if plain["format"] != FORMAT:
                raise ValueError(f"its format is {plain['format']!r}, not {FORMAT!r}")
            names, edges = plain["names"], plain["edges"]
            graph = Dag.from_edges([(e["source"], e["target"], e["weight"]) for e in edges], names)
            support = {(e["source"], e["target"]): e["support"] for e in edges}
            verdict = Verdict.from_dict(plain["verdict"])
            cpdag = _cpdag(names, plain["directed"], plain["undirected"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"this is not a result file of acyclic: {error}") from None
        return cls(graph, verdict, cpdag, support, plain["provenance"])


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a result file of acyclic: it is not UTF-8 text") from None
    return Result.from_json(text)


def versions() -> dict[str, str]:
    """Versions of what computed a result."""
    from acyclic import __version__

    return {
        "acyclic": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def _cpdag(names: list[str], directed: list[list[str]], undirected: list[list[str]]) -> Cpdag:
    at = {name: i for i, name in enumerate(names)}
    arcs = np.zeros((2, len(names), len(names)), dtype=bool)
    for source, target in directed:
        arcs[0, at[source], at[target]] = True
    for one, other in undirected:
        arcs[1, at[one], at[other]] = arcs[1, at[other], at[one]] = True
    return Cpdag(tuple(names), arcs[0], arcs[1])


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written to a result file")
