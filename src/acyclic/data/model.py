"""The fitted model of a table: draw rows from it, predict, intervene, and say how likely other rows are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.random import SeedSequence, default_rng

from acyclic.data.kinds import Coding, show_number
from acyclic.data.parts import SHAPE as MECHANISM
from acyclic.data.parts import Mechanism, Number, read_mechanism
from acyclic.data.sources import is_frame, is_mapping
from acyclic.data.table import Table, encode
from acyclic.errors import InputError, suggest
from acyclic.graphs.cycles import sort_topologically
from acyclic.ranges import FLAG, MAPPING, SEEDS, TEXT, Range, each, number, record, takes, whole
from acyclic.types import Floats, Integers

__all__ = ["SHAPE", "Intervention", "Model"]

_LISTED: Final = each(number())
_CODING: Final = record(
    {
        "labels": each(TEXT),
        "values": _LISTED,
        "codes": each(whole(least=0)),
        "levels": each(TEXT),
        "nominal": FLAG,
    },
    closed=True,
)
_CODINGS: Final = Range(
    MAPPING.words, MAPPING.accepts, lambda given, at: ((f"{at}.{name}", one, _CODING) for name, one in given.items())
)
SHAPE: Final[Range] = record(
    {"mechanisms": each(MECHANISM)}, {"codings": _CODINGS, "exponents": each(whole(least=-5000))}, closed=True
)
_ROWS: Final = whole(least=1, most=10**8)
DRAWS: Final = 10_000


@dataclass(frozen=True)
class Intervention:
    """What an intervention leads to; ``str()`` lists it.

    Attributes
    ----------
    values : mapping of str to float or str
        What was set.
    mean : mapping of str to float
        Of every column that is a number.
    probabilities : mapping of str to mapping of str to float
        Of the levels of every column that is a category.
    error : mapping of str to float
        The standard error of these, the largest one of a category: that of the draws, 0 where there were none.
    rows : mapping of str to ndarray, optional
        Rows under the intervention, as many as were asked for, column by column.
    """

    values: Mapping[str, Any]
    mean: Mapping[str, float]
    probabilities: Mapping[str, Mapping[str, float]]
    error: Mapping[str, float]
    rows: Mapping[str, Any] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        lines = ["do(" + ", ".join(f"{name} = {value}" for name, value in self.values.items()) + ")"]
        lines += [f"  {name}  {mean:.4g}" for name, mean in self.mean.items()]
        for name, shares in self.probabilities.items():
            lines.append(f"  {name}  " + ", ".join(f"{level} {share:.3f}" for level, share in shares.items()))
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A graph with a mechanism for each column: numbers are functions of their parents plus noise, categories have
    probabilities given theirs.

    Numbers are sums of lines, curves and effects of levels; their noise is normal, or a mixture around the quantiles of
    the residuals where rows show that it is not. Categories have a table of shares where their parents are categories,
    else log-odds that are such sums. Ordinals and counts are used as numbers.

    Methods that take rows take an array with the columns in their order, a frame or file with them by name, a mapping
    of names to columns, or a Table. They refuse missing cells, and levels that were not learned from.

    Attributes
    ----------
    names : tuple of str
    mechanisms : tuple of Number, Category or Counted
        One for each column, see `acyclic.data.parts`.
    codings : mapping of str to Coding
        Of the columns that have levels.
    exponents : tuple of int
        By which powers of two the mechanisms want the numbers multiplied; empty for none.

    Examples
    --------
    >>> from acyclic import learn, simulate
    >>> model = learn(simulate(n_nodes=3, n=500, graph="ER1", random_state=3).X).model
    >>> sorted(model.sample(100))
    ['x0', 'x1', 'x2']
    >>> bool(model.do({"x0": 1.0}).mean["x0"] == 1.0)
    True
    """

    names: tuple[str, ...]
    mechanisms: tuple[Mechanism, ...]
    codings: Mapping[str, Coding] = field(default_factory=lambda: MappingProxyType({}))
    exponents: tuple[int, ...] = ()

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of each column that is a category, in the order of their probabilities."""
        return {name: self.codings[name].levels for j, name in enumerate(self.names) if self.is_category(j)}

    @property
    def is_linear(self) -> bool:
        """Whether all columns are numbers, and all edges lines."""
        return all(mechanism.is_linear for mechanism in self.mechanisms)

    def is_category(self, column: int) -> bool:
        """Whether a column, by its position, has probabilities of levels."""
        return not isinstance(self.mechanisms[column], Number)

    def parents(self, column: str) -> tuple[str, ...]:
        """The columns that a column depends on."""
        return tuple(self.names[i] for i in self.mechanisms[self._find(column)].parents)

    @takes(n=_ROWS, random_state=SEEDS)
    def sample(self, n: int = 1000, *, random_state: int | SeedSequence = 0) -> dict[str, Any]:
        """Draw rows: a mapping of names to columns (n,), from which ``pandas.DataFrame`` makes a frame.

        Categories that are text have the names of their levels, others their numbers.
        """
        return self._show(self._draw(int(n), {}, random_state)[0])

    def predict(self, X: Any, target: str) -> Any:
        """The mean (n,) of a number given its parents, or the likeliest level of a category; only parents are read."""
        j, coded = self._find(target), self._read(X, self.parents(target))
        mechanism = self.mechanisms[j]
        if isinstance(mechanism, Number):
            return self._unscale(j, mechanism.expect(coded))
        return self._label(target, mechanism.probabilities(coded).argmax(axis=1))

    def predict_proba(self, X: Any, target: str) -> Floats:
        """Probabilities (n, q) of the levels of a category given its parents, in the order of ``levels[target]``."""
        j, coded = self._find(target), self._read(X, self.parents(target))
        mechanism = self.mechanisms[j]
        if isinstance(mechanism, Number):
            others = ", ".join(map(repr, self.levels)) or "none"
            raise InputError(f"{target!r} is a number, and only categories have levels; those with levels: {others}")
        return mechanism.probabilities(coded)

    @takes(values=MAPPING, n=_ROWS | Range("None", lambda value: value is None), draws=_ROWS, random_state=SEEDS)
    def do(
        self,
        values: Mapping[str, Any],
        n: int | None = None,
        *,
        draws: int = DRAWS,
        random_state: int | SeedSequence = 0,
    ) -> Intervention:
        """What follows when columns are set to values from outside, whatever their parents are.

        Parameters
        ----------
        values : mapping of str to float or str
            A number for a number; the name of a level, or its number, for a category. With none, what is expected
            without an intervention.
        n : int, optional
            How many rows under the intervention to give besides.
        draws : int
            Where not all edges are lines, means are those of so many draws: of what is expected of each column given
            its parents there. Two interventions with the same random state differ by no chance but their own effect.
        random_state : int or SeedSequence

        Examples
        --------
        >>> from acyclic.data.parts import Curve, Normal, Number
        >>> cause = Number((), (), 0.0, Normal(1.0))
        >>> model = Model(("a", "b"), (cause, Number((0,), (Curve.line(0.0, [2.0]),), 1.0, Normal(1.0))))
        >>> model.do({"a": 3.0}).mean
        {'a': 3.0, 'b': 7.0}
        """
        fixed = {self._find(name): self._set(name, value) for name, value in values.items()}
        coded, expected, error = self._expect(fixed, int(draws), random_state)
        mean = {
            name: float(self._unscale(j, expected[j])) for j, name in enumerate(self.names) if not self.is_category(j)
        }
        shares = {name: dict(zip(known, expected[self._find(name)].tolist())) for name, known in self.levels.items()}
        errors = {name: float(self._unscale(j, error[j])) for j, name in enumerate(self.names)}
        if n is not None and (coded is None or len(coded) != n):
            coded = self._draw(int(n), fixed, random_state)[0]
        return Intervention(
            dict(values), mean, shares, errors, None if n is None or coded is None else self._show(coded)
        )

    def total_effect(
        self,
        cause: str,
        outcome: str,
        start: Any,
        stop: Any,
        *,
        draws: int = DRAWS,
        random_state: int | SeedSequence = 0,
    ) -> Any:
        """By how much the mean of a number, or the probability of each level, changes when a cause is set anew.

        It is the difference of two `do`, with the same draws: at ``stop`` less at ``start``.

        Examples
        --------
        >>> from acyclic import learn, simulate
        >>> data = simulate(n_nodes=4, n=1000, graph="ER1", random_state=1)
        >>> found = learn(data.X)
        >>> effect = found.model.total_effect("x1", "x2", 0.0, 1.0)
        >>> bool(abs(effect - found.graph.total_effects()[1, 2]) < 1e-12)
        True
        """
        self._find(cause), self._find(outcome)
        how: dict[str, Any] = {"draws": draws, "random_state": random_state}
        before, after = (self.do({cause: value}, **how) for value in (start, stop))
        if outcome in before.mean:
            return after.mean[outcome] - before.mean[outcome]
        shares = before.probabilities[outcome]
        return {level: after.probabilities[outcome][level] - share for level, share in shares.items()}

    def log_likelihood(self, X: Any) -> Floats:
        """The log-likelihood (n,) of rows, in nats; densities are in the columns' units."""
        return self.likelihood_of_rows(self._read(X, self.names))

    def score(self, X: Any) -> float:
        """The mean log-likelihood of rows."""
        return float(self.log_likelihood(X).mean())

    def likelihood_of_rows(self, coded: Floats) -> Floats:
        """The log-likelihood (n,) of rows as `encode_rows` gives them."""
        total = np.zeros(len(coded))
        for j, mechanism in enumerate(self.mechanisms):
            total += mechanism.log_likelihood(coded, j)
            if self.exponents and not self.is_category(j):
                total += self.exponents[j] * np.log(2.0)
        return total

    def expect(self, rows: Floats) -> Floats:
        """The mean (n, d) of each number given its parents, of rows of numbers as a table's are; NaN for categories."""
        coded, found = self.encode_rows(rows), np.full(np.shape(rows), np.nan)
        for j, mechanism in enumerate(self.mechanisms):
            if isinstance(mechanism, Number):
                found[:, j] = mechanism.expect(coded)
        return found

    def encode_rows(self, rows: Floats) -> Floats:
        """Rows (n, d) of numbers, as a table's are, with codes in the place of categories.

        Raises
        ------
        InputError
            For a missing cell, and for a number that is no level of a category.
        """
        coded = np.array(rows, dtype=float)
        for j, name in enumerate(self.names):
            if np.isnan(coded[:, j]).any():
                continue  # a column that is not needed
            if self.is_category(j):
                coded[:, j] = self._codes(name, coded[:, j])
        return coded

    def to_dict(self) -> dict[str, Any]:
        """Plain values of the form `SHAPE`; the names are not among them."""
        codings = {
            name: {
                "labels": list(one.labels),
                "values": list(one.values),
                "codes": list(one.codes),
                "levels": list(one.levels),
                "nominal": one.nominal,
            }
            for name, one in self.codings.items()
        }
        return {
            "mechanisms": [mechanism.to_dict() for mechanism in self.mechanisms],
            **({"codings": codings} if codings else {}),
            **({"exponents": list(self.exponents)} if self.exponents else {}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], names: Sequence[str]) -> Model:
        """The inverse of `to_dict`, of plain values of the form `SHAPE`; a ValueError where parts do not fit."""
        mechanisms = tuple(map(read_mechanism, plain["mechanisms"]))
        codings = {
            name: Coding(
                tuple(one["labels"]),
                tuple(map(float, one["values"])),
                tuple(map(int, one["codes"])),
                tuple(one["levels"]),
                bool(one["nominal"]),
            )
            for name, one in plain.get("codings", {}).items()
        }
        model = cls(tuple(names), mechanisms, codings, tuple(map(int, plain.get("exponents", ()))))
        model._check_whole()
        return model

    @property
    def adjacency(self) -> Any:
        """The edges (d, d)."""
        d = len(self.names)
        edges = np.zeros((d, d), dtype=bool)
        for j, mechanism in enumerate(self.mechanisms):
            edges[list(mechanism.parents), j] = True
        return edges

    def __repr__(self) -> str:
        kinds = [f"{len(self.levels)} categories"] * bool(self.levels) + ["linear"] * self.is_linear
        return f"Model({', '.join([f'd={len(self.names)}', *kinds])})"

    @cached_property
    def _order(self) -> Integers:
        return sort_topologically(self.adjacency)

    def _find(self, name: str) -> int:
        if name not in self.names:
            shown = ", ".join(map(repr, self.names[:20])) + (" …" if len(self.names) > 20 else "")
            raise InputError(f"no column is called {name!r}{suggest(name, self.names)}; the columns are {shown}")
        return self.names.index(name)

    def _draw(
        self, n: int, fixed: Mapping[int, float], random_state: int | SeedSequence
    ) -> tuple[Floats, dict[int, Floats]]:
        """Coded rows (n, d), and what was expected of each column in them: means (n,) or probabilities (n, q)."""
        streams = default_rng(random_state).spawn(len(self.names))
        coded, expected = np.zeros((n, len(self.names))), {}
        for j in self._order.tolist():
            mechanism, rng = self.mechanisms[j], streams[j]
            if j in fixed:
                coded[:, j] = fixed[j]
            else:
                coded[:, j] = mechanism.draw(coded, rng)
            expected[j] = self._expectation(j, coded, j in fixed)
        return coded, expected

    def _expectation(self, j: int, coded: Floats, is_fixed: bool) -> Floats:
        mechanism = self.mechanisms[j]
        if isinstance(mechanism, Number):
            return coded[:, j] if is_fixed else mechanism.expect(coded)
        q = len(self.codings[self.names[j]].levels)
        return np.eye(q)[coded[:, j].astype(np.intp)] if is_fixed else mechanism.probabilities(coded)

    def _expect(
        self, fixed: Mapping[int, float], draws: int, random_state: int | SeedSequence
    ) -> tuple[Floats | None, list[Floats], list[float]]:
        """Coded rows if there are any, the mean of each column or of its levels, and its standard error."""
        if self.is_linear:  # the mean of a line is the line of the mean
            at = np.zeros((1, len(self.names)))
            for j in self._order.tolist():
                at[0, j] = fixed[j] if j in fixed else self._expectation(j, at, False)[0]
            return None, [np.asarray(value) for value in at[0]], [0.0] * len(self.names)
        coded, expected = self._draw(draws, fixed, random_state)
        found = [expected[j] for j in range(len(self.names))]
        errors = [float(np.max(one.std(axis=0))) / np.sqrt(draws) for one in found]
        return coded, [np.asarray(one.mean(axis=0)) for one in found], errors

    def _set(self, name: str, value: Any) -> float:
        """The number that stands for a value in coded rows."""
        j = self._find(name)
        if self.is_category(j):
            return float(self._code_of(name, value))
        coding = self.codings.get(name)
        if coding is not None and value in coding.labels:  # ordered text is used as numbers
            value = coding.values[coding.labels.index(value)]
        if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(float(value)):
            raise InputError(f"{name!r} is set to {value!r}; it is a number, and takes finite ones")
        return float(np.ldexp(float(value), self.exponents[j])) if self.exponents else float(value)

    def _code_of(self, name: str, value: Any) -> int:
        coding = self.codings[name]
        if isinstance(value, str):
            if value in coding.labels:
                return coding.codes[coding.labels.index(value)]
            if value in coding.levels:
                return coding.levels.index(value)
        elif isinstance(value, Real) and float(value) in coding.values and not (coding.nominal and self._is_text(name)):
            return coding.codes[coding.values.index(float(value))]
        listed = ", ".join(map(repr, coding.levels[:12])) + (" …" if len(coding.levels) > 12 else "")
        raise InputError(f"column {name!r} has no level {value!r}; its levels are {listed}")

    def _is_text(self, name: str) -> bool:
        """Whether the numbers of levels are positions only, that nobody who gives values knows of."""
        coding = self.codings[name]
        return any(label != show_number(value) for label, value in zip(coding.labels, coding.values))

    def _codes(self, name: str, numbers: Floats) -> Floats:
        coding = self.codings[name]
        codes, values = coding.encode(numbers), np.sort(np.array(coding.values))
        nearest = values[np.searchsorted(values[:-1] / 2 + values[1:] / 2, numbers)]
        strange = ~np.isclose(numbers, nearest, rtol=1e-9, atol=1e-9 * float(np.ptp(values) or 1.0))
        if strange.any():
            self._code_of(name, float(numbers[strange][0]))  # says which, and what there is
        return codes.astype(float)

    def _read(self, X: Any, needed: Sequence[str]) -> Floats:
        """Coded rows (n, d) of anything that has the needed columns; the others are NaN."""
        named = isinstance(X, Table | str | os.PathLike) or is_frame(X) or is_mapping(X)
        given = None if named else self._names_of(X)
        rows = np.full((_count_rows(X), len(self.names)), np.nan) if not needed else None
        if rows is None:
            found = encode(X, self.codings, list(needed), given)
            rows = np.full((len(found), len(self.names)), np.nan)
            rows[:, [self.names.index(name) for name in needed]] = found
        for name in needed:
            column = rows[:, self.names.index(name)]
            if not np.isfinite(column).all():
                row = int(np.flatnonzero(~np.isfinite(column))[0])
                said = f"row {row} of column {name!r} is {column[row]}: cells must not be missing or infinite"
                raise InputError(f"{said}; fill them in, or leave out these rows")
        if self.exponents:
            rows = np.ldexp(rows, [0 if self.is_category(j) else power for j, power in enumerate(self.exponents)])
        return self.encode_rows(rows)

    def _names_of(self, X: Any) -> tuple[str, ...]:
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] != len(self.names):
            said = f"the model has {len(self.names)} columns, and the array has the shape {shape}"
            raise InputError(f"{said}; give all columns in their order, or a frame with names")
        return self.names

    def _unscale(self, j: int, values: Any) -> Any:
        if not self.exponents or self.is_category(j):
            return values
        return np.ldexp(values, -self.exponents[j])

    def _show(self, coded: Floats) -> dict[str, Any]:
        return {
            name: self._label(name, column) if self.is_category(j) else self._unscale(j, column)
            for j, (name, column) in enumerate(zip(self.names, coded.T))
        }

    def _label(self, name: str, codes: Any) -> Any:
        """What the user calls codes: text, or numbers where levels are those."""
        coding, at = self.codings[name], np.asarray(codes).astype(np.intp)
        if coding.nominal:
            return np.array(coding.levels, dtype=object)[at]
        return np.array([coding.values[coding.codes.index(code)] for code in range(len(coding.levels))])[at]

    def _check_whole(self) -> None:
        d = len(self.names)
        if len(self.mechanisms) != d or len(self.exponents) not in (0, d):
            raise ValueError(f"there have to be {d} mechanisms")
        for j, (name, mechanism) in enumerate(zip(self.names, self.mechanisms)):
            if any(i >= d for i in mechanism.parents) or len(set(mechanism.parents)) < len(mechanism.parents):
                raise ValueError(f"the parents of {name!r} are no columns")
            if self.is_category(j) and name not in self.codings:
                raise ValueError(f"{name!r} has no coding")
        for name, one in self.codings.items():
            same = len(one.labels) == len(one.values) == len(one.codes) > 0
            if name not in self.names or not same or set(one.codes) != set(range(len(one.levels))):
                raise ValueError(f"the coding of {name!r} is not whole")
        sort_topologically(self.adjacency)
        self._draw(1, {}, 0)  # parts of the wrong sizes fail


def _count_rows(X: Any) -> int:
    if isinstance(X, Table | str | os.PathLike):
        return Table.open(X).n_rows
    return len(next(iter(X.values()), [None])) if isinstance(X, Mapping) else len(X)
