"""The cost of one evaluation of a constraint, in products of two d×d matrices, counted as it is carried out."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, log2, prod
from typing import Any

import numpy as np
from scipy.linalg import lapack

from acyclic.constraints import catalogue, perron, resolvents
from acyclic.constraints.base import Constraint
from acyclic.experiments.series import needed_order
from acyclic.types import Floats

# Floating-point operations of LAPACK routines on n×n matrices; that of dgeev is the usual estimate with vectors.
OPERATIONS: Mapping[str, Callable[[int], float]] = {
    "dgetrf": lambda n: 2 / 3 * n**3,
    "dgetri": lambda n: 4 / 3 * n**3,
    "dgetrs": lambda n: 2 * n**2,
    "dgeev": lambda n: 25 * n**3,
    "dgebal": lambda n: 0.0,
}
# Padé approximants of the exponential: largest norm, and products (Al-Mohy & Higham 2010).
PADE = ((1.495585217958292e-2, 2), (2.539398330063230e-1, 3), (9.504178996162932e-1, 4), (2.097847961257068, 5))
PADE_LAST = (4.25, 6)
# The last product of the inverse trace is that of a plain copy, which tells nothing.
UNSEEN = {"inverse-trace": 1.0}
LEAST_SECONDS, LEAST_REPEATS = 0.05, 5


def cost(settings: Mapping[str, Any], B: Floats) -> dict[str, Any]:
    """What the evaluation of a constraint at B costs.

    Parameters
    ----------
    settings : mapping
        The constraint's name and options.
    B : ndarray (d, d)
        Non-negative.

    Returns
    -------
    dict
        ``products`` counts matrix products that are carried out; those of parts of B, products with vectors and calls
        of LAPACK by their operations over 2d³. The exponential is SciPy's, whose products are those of its algorithm.
        ``seconds`` is the median time of an evaluation, ``product_seconds`` that of one product.
    """
    options = dict(settings)
    name = options.pop("constraint")
    made = catalogue.constraint(name, **options)
    radius = perron.perron(B)[0]
    return {
        "d": len(B),
        "k": needed_order(B),
        "spectral_radius": radius,
        "products": exponential_products(B) if name == "exponential" else counted_products(made, B),
        "order": made.evaluate(B).order,
        "seconds": _median_seconds(lambda: made.evaluate(B)),
        "product_seconds": _median_seconds(lambda: B @ B),
    }


def counted_products(made: Constraint, B: Floats) -> float:
    """Products of an evaluation of any constraint but the exponential.

    Examples
    --------
    >>> B = np.full((8, 8), 0.01)
    >>> counted_products(catalogue.constraint("geometric"), B)
    7.0
    """
    tally = _Tally(len(B))
    # Constraints take their work arrays from a pool: what is put there counts what is done with it.
    for rows in (2, 4):
        made._pool.append(tally.watched(np.empty((rows, *B.shape))))
    with tally.watching_lapack():
        made.evaluate_block(tally.watched(B.copy()), len(B))
    made._pool.clear()
    return round(float(tally.operations) / (2 * len(B) ** 3) + UNSEEN.get(made.name, 0.0), 6)


def exponential_products(B: Floats) -> float:
    """Products of the scaling and squaring algorithm of Al-Mohy and Higham, 4/3 of them for its system of equations."""
    norms = {2: B @ B}
    for order in (4, 6, 8, 10):
        norms[order] = norms[order - 2] @ norms[2]
    d4, d6, d8, d10 = (float(np.abs(norms[i]).sum(axis=0).max()) ** (1 / i) for i in (4, 6, 8, 10))
    low, high = max(d4, d6), max(d6, d8)
    for eta, (largest, products) in zip((low, low, high, high), PADE):
        if eta < largest:
            return products + 4 / 3
    largest, products = PADE_LAST
    squarings = max(ceil(log2(min(high, max(d8, d10)) / largest)), 0)
    return products + squarings + 4 / 3


def _median_seconds(work: Callable[[], Any]) -> float:
    work()
    times: list[float] = []
    while len(times) < LEAST_REPEATS or sum(times) < LEAST_SECONDS:
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


@dataclass
class _Tally:
    """Counts the operations of products and of LAPACK, of this thread alone."""

    size: int
    operations: float = 0.0

    def watched(self, array: Floats) -> Floats:
        """The array as one that tells of every product it is part of."""
        found = array.view(_Watched)
        found.tally = self
        return found

    @contextmanager
    def watching_lapack(self) -> Iterator[None]:
        """Let the constraints call LAPACK through this tally."""
        here = threading.get_ident()

        def counts(name: str) -> Callable[..., Any]:
            routine, operations = getattr(lapack, name), OPERATIONS[name]

            def called(matrix: Floats, *arguments: Any, **options: Any) -> Any:
                if threading.get_ident() == here:
                    self.operations += operations(len(matrix))
                return routine(matrix, *arguments, **options)

            return called

        proxy = type("Lapack", (), {name: staticmethod(counts(name)) for name in OPERATIONS})
        with _SWAP:
            before = {module: vars(module)["lapack"] for module in (perron, resolvents)}
            try:
                for module in before:
                    vars(module)["lapack"] = proxy
                yield
            finally:
                for module, original in before.items():
                    vars(module)["lapack"] = original


_SWAP = threading.Lock()


class _Watched(np.ndarray[Any, Any]):
    """An array that adds the operations of each matrix product to a tally."""

    tally: _Tally | None = None

    def __array_finalize__(self, source: object) -> None:
        self.tally = getattr(source, "tally", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if ufunc is np.matmul and self.tally is not None:
            left, right = inputs[0].shape, inputs[1].shape
            self.tally.operations += 2.0 * prod(left) * (right[-1] if len(right) > 1 else 1)
        plain = [one.view(np.ndarray) if isinstance(one, _Watched) else one for one in inputs]
        if out is not None:
            options["out"] = tuple(one.view(np.ndarray) if isinstance(one, _Watched) else one for one in out)
        found = getattr(ufunc, method)(*plain, **options)
        if out is not None:
            return out[0] if len(out) == 1 else out
        if isinstance(found, np.ndarray):
            return self.tally.watched(found) if self.tally else found
        return found
