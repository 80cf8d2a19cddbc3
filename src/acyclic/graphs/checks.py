"""Checks that every way into a graph shares: a square matrix of finite numbers, names that are all different."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acyclic.errors import Argument, InputError, show_name, suggest
from acyclic.types import Bools, Floats, Integers

EdgeDirection = Literal["from row to column", "from column to row"]


def check_square(matrix: ArrayLike, what: str = "weights") -> Floats:
    """Give `matrix` as a finite float64 array of shape (d, d), d ≥ 1, without a copy if it is one."""
    numbers = _check_shape(matrix, what).astype(np.float64, copy=False)
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        raise InputError(
            f"{what}[{row}, {column}] is {numbers[row, column]}; every entry must be finite, "
            "and 0 where there is no edge"
        )
    return numbers


def check_marks(matrix: ArrayLike, what: str) -> Bools:
    """Give where `matrix`, checked as by `check_square`, is not 0, as a new array; of booleans no floats are made."""
    given = _check_shape(matrix, what)
    return given.copy() if given.dtype == np.bool_ else check_square(given, what) != 0


def _check_shape(matrix: ArrayLike, what: str) -> NDArray[Any]:
    try:
        given = np.asarray(matrix)
    except ValueError:
        raise InputError(f"{what} must be a square matrix, but its rows differ in length") from None
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.size == 0:
        raise InputError(
            f"{what} must be a square matrix with one row and one column per node, at least one node; "
            f"its shape is {given.shape}"
        )
    if given.dtype.kind not in "biuf":
        raise InputError(f"{what} must hold real numbers or booleans, not values of type {given.dtype}")
    return given


def orient_matrix(matrix: ArrayLike, edge_direction: str) -> Floats:
    """Give a matrix stated in `edge_direction` in the library's own direction, from row to column."""
    if edge_direction not in ("from row to column", "from column to row"):
        raise InputError(
            f"edge_direction is {edge_direction!r}; say 'from row to column' if matrix[i, j] is the edge "
            "i → j, or 'from column to row' if it is the edge j → i"
        )
    square = check_square(matrix)
    return square if edge_direction == "from row to column" else square.T


def check_names(names: Iterable[str] | None, n_nodes: int | None = None) -> tuple[str, ...]:
    """Give `names` as a tuple of unique strings, `n_nodes` of them; x0, x1, … if `names` is None."""
    if isinstance(names, str):
        raise InputError(f"names must be a sequence of strings, one per node, not the single string {names!r}")
    given = tuple(f"x{node}" for node in range(n_nodes or 0)) if names is None else tuple(names)
    if not given:
        raise InputError("no node was named; a graph must have at least one node")
    for position, name in enumerate(given):
        if not isinstance(name, str):
            raise InputError(
                f"names must be strings, but names[{position}] is {name!r} ({type(name).__name__}); "
                "convert them first, e.g. with map(str, names)"
            )
    if n_nodes is not None and len(given) != n_nodes:
        raise InputError(f"{len(given)} names were given for {n_nodes} nodes; give one name per node")
    if len(set(given)) < len(given):
        twice = next(name for position, name in enumerate(given) if name in given[:position])
        raise InputError(f"the name {show_name(twice)} is given to more than one node; names must be unique")
    return tuple(str(name) for name in given)


def match_names(names: Sequence[str], wanted: Iterable[str]) -> Integers:
    """Give the positions in `names` of the `wanted` names, which must be the same names in some order."""
    targets = check_names(wanted)
    differences = [
        f"{', '.join(map(show_name, sorted(some)))} {fault}"
        for some, fault in ((set(names) - set(targets), "missing"), (set(targets) - set(names), "unknown"))
        if some
    ]
    if differences:
        advice = " (compare takes them as they are with ", Argument("nodes", "union"), ")"
        raise InputError(f"the two sets of node names must be the same; {'; '.join(differences)}", *advice)
    position = {name: place for place, name in enumerate(names)}
    return np.array([position[name] for name in targets], dtype=np.intp)


def explain_unknown(name: str, names: Sequence[str]) -> str:
    """Say that no node has a name, and which names are near it."""
    listed = ", ".join(map(show_name, names[:10])) + ("" if len(names) <= 10 else ", …")
    return f"no node is called {name!r}{suggest(name, names)}; the nodes are {listed}"


def check_ends(edge: str, ends: Sequence[str], index: Mapping[str, int]) -> None:
    """Raise an InputError unless both ends of an edge, which is so called in the message, are nodes."""
    for end in ends:
        if end not in index:
            raise InputError(f"{edge} cannot be drawn: {explain_unknown(end, list(index))}")
