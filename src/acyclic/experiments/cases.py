"""One case of an experiment: what is measured, on which data, with which method, for which run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeAlias, TypeVar

from acyclic.errors import InputError

Scalar: TypeAlias = str | int | float | bool
Pairs: TypeAlias = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True)
class Case:
    """What one row of the results answers.

    Attributes
    ----------
    measure : str
        What is done: fit, gradient-norms, products or truncation.
    data, method : tuples of pairs
        Settings, sorted by name; `pairs` makes them.
    run : int
        Number of the repetition, from 0.
    time_limit, evaluations : float and int, optional
        Seconds, and evaluations of the DAG constraint, that it may take. No part of the key: under larger limits the
        same case is computed again only if one of the smaller ended it. Evaluations are the same on every machine.

    Examples
    --------
    >>> data = {"graph": "ER2", "n_nodes": 10, "n": 1000}
    >>> few = Case("fit", pairs({**data, "n": 200}), pairs({"learner": "Ges"}), 0)
    >>> many = Case("fit", pairs(data), pairs({"learner": "Notears"}), 0)
    >>> few.seed == many.seed, few.key == many.key
    (True, False)
    """

    measure: str
    data: Pairs
    method: Pairs
    run: int
    time_limit: float | None = field(default=None, compare=False)
    evaluations: int | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """Names the case by its content, in any order of the settings."""
        return digest({**self._plain, "run": self.run})

    @property
    def setting(self) -> str:
        """Names the case but for its run."""
        return digest(self._plain)

    @property
    def seed(self) -> int:
        """Seed of the data: the same for all methods, and for any number of rows."""
        graph_and_law = {name: value for name, value in self.data if name != "n"}
        return int(digest({"data": graph_and_law, "run": self.run})[:12], 16)

    @property
    def _plain(self) -> dict[str, object]:
        return {"measure": self.measure, "data": dict(self.data), "method": dict(self.method)}

    def within(self, other: Case) -> bool:
        """Whether the case may take no more time and no more evaluations than another."""
        pairs = ((self.time_limit, other.time_limit), (self.evaluations, other.evaluations))
        return all(_or_inf(own) <= _or_inf(others) for own, others in pairs)

    def widened(self, other: Case) -> Case:
        """The case under the larger of its own limits and those of another."""
        return replace(
            self,
            time_limit=_larger(self.time_limit, other.time_limit),
            evaluations=_larger(self.evaluations, other.evaluations),
        )


Limit = TypeVar("Limit", int, float)


def _or_inf(limit: float | None) -> float:
    return inf if limit is None else limit


def _larger(one: Limit | None, other: Limit | None) -> Limit | None:
    return None if one is None or other is None else max(one, other)


def pairs(settings: Mapping[str, Scalar]) -> Pairs:
    """Settings in one form: sorted by name, and whole numbers as such (1000.0 is 1000)."""
    return tuple((name, canonical(name, settings[name])) for name in sorted(settings))


def digest(content: object) -> str:
    """SHA-256 of canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(name: str, value: Scalar) -> Scalar:
    """The value of a setting in one form."""
    if not isinstance(value, str | int | float | bool):
        raise InputError(f"the setting {name} is {value!r}; give a string, a number, true or false")
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise InputError(f"the setting {name} is {value}; give a finite number")
    return int(value) if isinstance(value, float) and value.is_integer() else value
