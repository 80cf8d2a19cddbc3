"""The result of learning: graph, verdict, what is behind them, and one file format for all of it."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from acyclic._version import __version__
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.drawing import picture
from acyclic.graphs.equivalence import Cpdag
from acyclic.judging.verdict import Verdict

FORMAT = "acyclic result 1"
EVIDENCE = ("confidence", "audit", "curve")


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
    confidence, audit, curve : dict, optional
        What `acyclic.bootstrap`, `acyclic.audit` and `acyclic.choose_l1` found, as their ``to_dict`` gives it.
    """

    graph: Dag
    verdict: Verdict
    cpdag: Cpdag
    support: Mapping[tuple[str, str], str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    confidence: Mapping[str, Any] | None = None
    audit: Mapping[str, Any] | None = None
    curve: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return str(self.verdict)

    def __repr__(self) -> str:
        return f"Result({self.graph!r}, {self.verdict.method})"

    def _repr_html_(self) -> str:
        assumed = [edge for edge, support in self.support.items() if support != "independence"]
        return f"<div>{picture(self.graph, assumed)}{self.verdict._repr_html_()}</div>"

    def with_evidence(self, *, confidence: Any = None, audit: Any = None, curve: Any = None) -> Result:
        """The same result with what was found on it later; what is None stays as it is.

        Parameters
        ----------
        confidence, audit, curve : optional
            What `acyclic.bootstrap`, `acyclic.audit` and `acyclic.choose_l1` return, or the ``to_dict()`` of it.
        """
        given = {"confidence": confidence, "audit": audit, "curve": curve}
        plain: dict[str, Any] = {name: _as_dict(name, value) for name, value in given.items() if value is not None}
        return replace(self, **plain)

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the result as one self-contained HTML page; see `acyclic.report.report` for the options."""
        _later_room().report(self, path, **options)

    def plot(self, **options: Any) -> Any:
        """Draw the graph as a matplotlib figure; see `acyclic.report.figure.plot` for the options."""
        return _later_room("figure").plot(self, **options)

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
            **{name: dict(getattr(self, name)) for name in EVIDENCE if getattr(self, name) is not None},
        }
        return json.dumps(_jsonable(plain), indent=1, allow_nan=False)

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
            verdict = Verdict.from_dict({**plain["verdict"], "h": _float(plain["verdict"]["h"])})
            cpdag = _cpdag(names, plain["directed"], plain["undirected"])
            found = {name: _as_dict(name, plain[name]) for name in EVIDENCE if plain.get(name) is not None}
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"this is not a result file of acyclic: {error}") from None
        return cls(graph, verdict, cpdag, support, plain["provenance"], **found)


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a result file of acyclic: it is not UTF-8 text") from None
    return Result.from_json(text)


def versions() -> dict[str, str]:
    """Versions of what computed a result."""
    return {
        "acyclic": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def _later_room(module: str = "") -> Any:
    # A room imports from those before it; the report is a room after this one, so it is only called for by name.
    return import_module(f"acyclic.report.{module}" if module else "acyclic.report")


def _as_dict(name: str, value: Any) -> Mapping[str, Any]:
    plain = value.to_dict() if hasattr(value, "to_dict") else value
    if not isinstance(plain, Mapping):
        raise InputError(f"{name} is {type(value).__name__}; give what acyclic returned for it, or its to_dict()")
    return plain


def _cpdag(names: list[str], directed: list[list[str]], undirected: list[list[str]]) -> Cpdag:
    at = {name: i for i, name in enumerate(names)}
    arcs = np.zeros((2, len(names), len(names)), dtype=bool)
    for source, target in directed:
        arcs[0, at[source], at[target]] = True
    for one, other in undirected:
        arcs[1, at[one], at[other]] = arcs[1, at[other], at[one]] = True
    return Cpdag(tuple(names), arcs[0], arcs[1])


def _jsonable(value: Any) -> Any:
    """Values that every reader of JSON takes: numbers that are not finite, which it does not have, become null."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{type(value).__name__} cannot be written to a result file")


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)
