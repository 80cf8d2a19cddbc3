"""Knowledge: what is known of the edges before any fit, by column name, and free of contradictions."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np

from acyclic.data.mask import Mask, arrow
from acyclic.documents import parse_toml, read_text
from acyclic.errors import CycleError, InputError, KnowledgeError, show_name, suggest
from acyclic.graphs.checks import check_names
from acyclic.graphs.dag import Dag
from acyclic.graphs.reachability import close_transitively
from acyclic.ranges import MAPPING, show_value

__all__ = ["Knowledge", "compile_knowledge"]

ColumnPair = tuple[str, str]

ANY = "*"
_SIGNS = {"+": (0.0, math.inf), "-": (-math.inf, 0.0)}
_ROWS = {2: "[source, target]", 3: "[source, target, sign]", 4: "[source, target, low, high]"}


@dataclass(frozen=True)
class Knowledge:
    """Statements on edges that every learnt graph obeys.

    All are checked against each other when they are stated: a `KnowledgeError` names every contradiction.

    Parameters
    ----------
    forbidden : sequence of (source, target)
        Edges that must be absent. ``"*"`` as source or target stands for every column.
    required : sequence of (source, target)
        Edges that must be present.
    tiers : sequence of sequences of str
        No edge leads from a later tier into an earlier one. Columns in no tier are free.
    closed_tiers : sequence of int
        Positions, from 0, of the tiers without edges inside.
    roots, sinks : sequence of str
        Columns without parents; columns without children.
    signs : mapping from (source, target) to "+" or "-"
        Sign of the weight, if the edge is present.
    bounds : mapping from (source, target) to (low, high)
        Interval of the weight, if the edge is present: one without 0 does not require the edge.

    Examples
    --------
    >>> knowledge = Knowledge(required=[("dose", "effect")], roots=["age"])
    >>> knowledge.compile(["age", "dose", "effect"]).allowed.astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    >>> Knowledge(required=[("a", "b"), ("b", "c"), ("c", "a")])
    Traceback (most recent call last):
    acyclic.errors.KnowledgeError: the required edges close the cycle a → b → c → a
    """

    forbidden: Sequence[ColumnPair] = ()
    required: Sequence[ColumnPair] = ()
    tiers: Sequence[Sequence[str]] = ()
    closed_tiers: Sequence[int] = ()
    roots: Sequence[str] = ()
    sinks: Sequence[str] = ()
    signs: Mapping[ColumnPair, str] = field(default_factory=dict)
    bounds: Mapping[ColumnPair, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in fields(self):
            object.__setattr__(self, entry.name, _canonical(entry.name, getattr(self, entry.name)))
        problems = [*_misstated(self), *_against_required(self), *_empty_intervals(self)]
        if problems:
            raise KnowledgeError("\n".join(problems))

    @classmethod
    def from_dict(cls, statements: Mapping[str, Any]) -> Knowledge:
        """Read what `to_dict` wrote; an unknown key is an error."""
        if fault := MAPPING.find_fault(statements, "the knowledge"):
            raise KnowledgeError(fault)
        accepted = [entry.name for entry in fields(cls)]
        for key in statements:
            if key not in accepted:
                raise KnowledgeError(f"unknown key {key!r}{suggest(key, accepted)}; accepted: {', '.join(accepted)}")
        signs = _by_edge("signs", statements.get("signs", ()), 3)
        bounds = _by_edge("bounds", statements.get("bounds", ()), 4)
        return cls(**{**statements, "signs": {edge: rule[0] for edge, rule in signs.items()}, "bounds": bounds})

    def to_dict(self) -> dict[str, list[Any]]:
        """Give the statements as lists of strings and numbers, without the empty ones."""
        statements: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        statements["signs"] = [(*edge, sign) for edge, sign in self.signs.items()]
        statements["bounds"] = [(*edge, *interval) for edge, interval in self.bounds.items()]
        plain: dict[str, list[Any]] = json.loads(json.dumps(statements))
        return {key: value for key, value in plain.items() if value}

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Knowledge:
        """Read knowledge from a TOML file or text; a string of one line that ends in ``.toml`` is a path.

        Every key may be left out::

            forbidden = [["income", "age"], ["*", "sex"]]
            required = [["dose", "effect"]]
            tiers = [["age", "sex"], ["dose"], ["effect"]]
            closed_tiers = [0]
            roots = ["age"]
            sinks = ["effect"]
            signs = [["dose", "effect", "+"]]
            bounds = [["dose", "effect", 0.0, 2.5]]
        """
        is_text = isinstance(source, str) and ("\n" in source or not source.endswith(".toml"))
        where = "the knowledge" if is_text else os.fspath(source)
        try:
            return cls.from_dict(parse_toml(str(source) if is_text else read_text(source)))
        except InputError as error:
            raise KnowledgeError(f"{where}: ", *error.parts) from error

    def to_toml(self) -> str:
        """Write the knowledge as TOML text that `from_toml` reads."""
        return "".join(f"{key} = {_toml(value)}\n" for key, value in self.to_dict().items())

    def combined(self, other: Knowledge) -> Knowledge:
        """Hold both: statements add up, and bounds on the same edge intersect."""
        tiers = [(one.tiers, one.closed_tiers) for one in (self, other) if one.tiers] or [((), ())]
        if tiers[0] != tiers[-1]:
            raise KnowledgeError("both have tiers, and they differ; state the tiers in one of them only")
        for edge in self.signs.keys() & other.signs:
            if self.signs[edge] != other.signs[edge]:
                raise KnowledgeError(f"{arrow(edge)} has sign + in one knowledge and sign - in the other")
        bounds = {**self.bounds, **other.bounds}
        for edge in self.bounds.keys() & other.bounds:
            (low, high), (other_low, other_high) = self.bounds[edge], other.bounds[edge]
            bounds[edge] = max(low, other_low), min(high, other_high)
        edges = (*self.forbidden, *other.forbidden), (*self.required, *other.required)
        ends = (*self.roots, *other.roots), (*self.sinks, *other.sinks)
        return Knowledge(*edges, *tiers[0], *ends, {**self.signs, **other.signs}, bounds)

    __and__ = combined

    def compile(self, names: Sequence[str]) -> Mask:
        """Turn the statements into arrays over the columns; unknown names raise, with near matches."""
        columns = check_names(names)
        _check_known(self, columns)
        index = {name: position for position, name in enumerate(columns)}
        d = len(columns)
        allowed, required = ~np.eye(d, dtype=bool), np.zeros((d, d), dtype=bool)
        lower, upper = np.full((d, d), -np.inf), np.full((d, d), np.inf)
        for source, target in self.forbidden:
            allowed[index.get(source, slice(None)), index.get(target, slice(None))] = False
        allowed[:, [index[name] for name in self.roots]] = False
        allowed[[index[name] for name in self.sinks]] = False
        for source, target in self.required:
            required[index[source], index[target]] = True
        signs = ((edge, _SIGNS[sign]) for edge, sign in self.signs.items())
        for (source, target), (low, high) in chain(self.bounds.items(), signs):
            i, j = index[source], index[target]
            lower[i, j], upper[i, j] = max(lower[i, j], low), min(upper[i, j], high)
        tier = np.full(d, -1, dtype=np.intp)
        for position, members in enumerate(self.tiers):
            tier[[index[name] for name in members]] = position
        start, end = tier[:, None], tier[None, :]
        allowed &= ~((start > end) & (end >= 0)) & ~((start == end) & np.isin(start, self.closed_tiers))
        # An edge against a path of required edges would close a cycle.
        allowed &= ~close_transitively(required).T
        return Mask(columns, allowed, required, lower, upper, tier if self.tiers else None)

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))

    def __reduce__(self) -> tuple[Callable[..., Knowledge], tuple[object, ...]]:
        return Knowledge.from_dict, (self.to_dict(),)


def compile_knowledge(knowledge: Any, names: Sequence[str]) -> Mask:
    """The mask of prior knowledge, given as such, as the path of a TOML file, or None, over the columns of a table."""
    if knowledge is None:
        return Mask.unrestricted(len(names), names)
    if isinstance(knowledge, str | os.PathLike):
        knowledge = Knowledge.from_toml(knowledge)
    if not isinstance(knowledge, Knowledge):
        raise KnowledgeError(
            f"knowledge has to be a Knowledge or the path of a TOML file; got {type(knowledge).__name__}"
        )
    return knowledge.compile(names)


def _canonical(key: str, value: Any) -> Any:
    """Check the form of one statement; sorted and without repeats, so that equal knowledge compares equal."""
    if key in ("signs", "bounds"):
        if not isinstance(value, Mapping):
            raise KnowledgeError(f"{key} must be a mapping from (source, target), not {show_value(value)}")
        edges = sorted(_rows(key, value, 2))
        return MappingProxyType({e: _pair(e, value[e]) if key == "bounds" else value[e] for e in edges})
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise KnowledgeError(f"{key} must be a list, not {show_value(value)}")
    if key == "tiers":
        return tuple(_canonical("tier", tier) for tier in value)
    if key in ("forbidden", "required"):
        return tuple(sorted(set(_rows(key, value, 2))))
    items, kind = tuple(value), int if key == "closed_tiers" else str
    for item in items:
        if not isinstance(item, kind) or isinstance(item, bool):
            what = "positions of tiers" if kind is int else "column names, which are strings"
            raise KnowledgeError(f"{key} takes {what}, not {show_value(item)}")
    return tuple(sorted(set(items)))


def _pair(edge: ColumnPair, value: Any) -> tuple[float, float]:
    try:
        low, high = map(float, value)
    except (TypeError, ValueError, OverflowError):
        raise KnowledgeError(f"bounds of {arrow(edge)}: {show_value(value)} given, a pair (low, high) needed") from None
    return low, high


def _rows(key: str, value: Any, size: int) -> list[tuple[Any, ...]]:
    rows = list(value) if isinstance(value, Iterable) else [value]
    for row in rows:
        fits = isinstance(row, Sequence) and not isinstance(row, str) and len(row) == size
        if not fits or not all(isinstance(name, str) for name in row[:2]):
            raise KnowledgeError(f"{key} takes {_ROWS[size]} with column names as strings, not {show_value(row)}")
    return [tuple(row) for row in rows]


def _by_edge(key: str, value: Any, size: int) -> dict[Any, tuple[Any, ...]]:
    rows = _rows(key, value, size)
    if len({row[:2] for row in rows}) < len(rows):
        raise KnowledgeError(f"{key} names an edge twice; state each edge once")
    return {row[:2]: row[2:] for row in rows}


def _misstated(knowledge: Knowledge) -> Iterator[str]:
    edges = {*knowledge.required, *knowledge.signs, *knowledge.bounds}
    for edge in sorted({*edges, *knowledge.forbidden}):
        if edge[0] == edge[1] != ANY:
            yield f"{arrow(edge)} leads from a column to itself; no graph has such an edge, so leave it out"
    for edge, sign in knowledge.signs.items():
        if sign not in ("+", "-"):
            yield f'signs of {arrow(edge)}: {show_value(sign)} given, "+" or "-" needed'
    if ANY in chain(knowledge.roots, knowledge.sinks, *knowledge.tiers, *edges):
        yield "'*' stands for every column in forbidden edges only; name the column here"
    tier_of: dict[str, int] = {}
    for position, tier in enumerate(knowledge.tiers):
        for name in tier:
            if tier_of.setdefault(name, position) != position:
                yield f"{name!r} is in tier {tier_of[name]} and in tier {position}; a column has one tier"
    for closed in knowledge.closed_tiers:
        if closed not in range(len(knowledge.tiers)):
            yield f"closed_tiers names tier {closed!r}, but there are {len(knowledge.tiers)} tiers, from 0"


def _against_required(knowledge: Knowledge) -> Iterator[str]:
    forbidden = set(knowledge.forbidden)
    tier_of = {name: position for position, tier in enumerate(knowledge.tiers) for name in tier}
    for source, target in knowledge.required:
        says = f"{arrow((source, target))} is required, but"
        for rule in ((source, target), (source, ANY), (ANY, target), (ANY, ANY)):
            if rule in forbidden:
                yield f"{says} {arrow(rule)} is forbidden"
        if target in knowledge.roots:
            yield f"{says} {target!r} is a root, without parents"
        if source in knowledge.sinks:
            yield f"{says} {source!r} is a sink, without children"
        start, end = tier_of.get(source, -1), tier_of.get(target, math.inf)
        if start > end:
            yield f"{says} {source!r} is in tier {start}, after {target!r} in tier {end}"
        if start == end and start in knowledge.closed_tiers:
            yield f"{says} both are in tier {start}, which is closed"
    edges = [edge for edge in knowledge.required if edge[0] != edge[1]]
    try:
        Dag.from_edges(edges, sorted({ANY, *chain.from_iterable(edges)}))
    except CycleError as error:
        path = " → ".join(map(show_name, (*error.cycle, error.cycle[0])))
        yield f"the required edges close the cycle {path}"


def _empty_intervals(knowledge: Knowledge) -> Iterator[str]:
    for edge, (low, high) in knowledge.bounds.items():
        stated, sign = f"the bounds [{low:g}, {high:g}] of {arrow(edge)}", knowledge.signs.get(edge)
        if math.isnan(low) or math.isnan(high) or low == math.inf or high == -math.inf:
            yield f"{stated} hold no finite number"
        elif low > high:
            yield f"{stated} are the wrong way round: the lower is above the upper"
        elif low == high == 0:
            yield f"{stated} leave only the weight 0; forbid the edge instead"
        elif (sign == "+" and high <= 0) or (sign == "-" and low >= 0):
            yield f"{stated} hold no weight of sign {sign}, which is its stated sign"


def _check_known(knowledge: Knowledge, columns: tuple[str, ...]) -> None:
    edges = (*knowledge.forbidden, *knowledge.required, *knowledge.signs, *knowledge.bounds)
    unknown = sorted({*chain(knowledge.roots, knowledge.sinks, *knowledge.tiers, *edges)} - {*columns, ANY})
    if unknown:
        hints = ", ".join(f"{name!r}{suggest(name, columns)}" for name in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        known = ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")
        raise KnowledgeError(f"the knowledge names unknown columns: {hints}{more}; the table has {known}")
    if ANY in columns and any(ANY in edge for edge in knowledge.forbidden):
        raise KnowledgeError("'*' stands for every column, but one column is named '*'; rename that column")


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
