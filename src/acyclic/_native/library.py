"""The shared library, the signatures of its functions, and the checks of what they are given."""

from __future__ import annotations

import os
from ctypes import CDLL, addressof, c_char, c_char_p, c_double, c_int, c_int64, c_uint64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acyclic._native.build import FOLDER, NAME, digest_sources, find_inputs
from acyclic.deadline import Stopped
from acyclic.facts import Ended, Fact

NO_MEMORY, STOPPED = -1, -2
"""What kernels return instead of a count: see kernels.h."""

FLOAT, INT32, INT64, UINT32, UINT64, UINT8 = (
    np.dtype(kind) for kind in (np.float64, np.int32, np.int64, np.uint32, np.uint64, np.uint8)
)

_ARRAY = c_void_p
_REGRESSION = [c_double, c_double, _ARRAY, _ARRAY, _ARRAY]
"""n, the cost of a parent, noise shares, allowed and required parents."""

# For each exported function what it returns and takes, in the order of kernels.h. The last array of those that may run
# for long is the flag that stops them.
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "kernels_digest": (c_char_p, []),
    "strong_components": (c_int, [c_int, _ARRAY, _ARRAY, _ARRAY]),
    "hash_values": (None, [c_int64, c_int64, _ARRAY, _ARRAY]),
    "elastic_net": (c_int64, [c_int] * 3 + [_ARRAY] * 8 + [c_double] + [c_int] * 4 + [_ARRAY]),
    "select_parents": (c_int, [c_int] * 3 + [_ARRAY, *_REGRESSION, c_int, c_int, _ARRAY, _ARRAY, _ARRAY]),
    "polish_order": (c_int, [c_int] + [_ARRAY] * 4 + [c_int, c_int, c_double, _ARRAY]),
    "order_search_open": (
        c_void_p,
        [c_int, _ARRAY, *_REGRESSION, _ARRAY, c_int, c_int, c_int64, c_uint64] + [_ARRAY] * 4,
    ),
    "order_search_use": (c_void_p, [c_void_p, c_void_p]),
    "order_search_parts": (None, [c_void_p, _ARRAY, _ARRAY]),
    "blocks_open": (
        c_void_p,
        [c_int] + [_ARRAY] * 8 + [c_double, c_double, c_int64, _ARRAY, c_double, c_int],
    ),
    "counts_open": (
        c_void_p,
        [c_int, c_int] + [_ARRAY] * 3 + [c_int64, _ARRAY] + [c_double] * 3 + [c_int],
    ),
    "order_search_close": (None, [c_void_p]),
    "order_search_start": (c_int, [c_void_p, _ARRAY, _ARRAY]),
    "order_search_descend": (c_int64, [c_void_p, c_int64, c_double, _ARRAY]),
    "order_search_kick": (c_int64, [c_void_p, c_int, c_double, c_int64, c_int64, c_double, _ARRAY]),
    "order_search_rival": (c_int, [c_void_p, c_int, c_int, c_int, c_int64, c_double, _ARRAY, _ARRAY]),
    "order_search_best": (c_double, [c_void_p, _ARRAY]),
    "order_search_work": (c_int64, [c_void_p]),
    "order_search_parents": (c_int64, [c_void_p, c_int, c_int, _ARRAY, _ARRAY, c_int64]),
    "order_search_scores": (None, [c_void_p, _ARRAY, _ARRAY]),
    "order_search_grow": (c_int, [c_void_p, _ARRAY, c_double, _ARRAY, _ARRAY]),
    "order_search_widen": (c_int, [c_void_p, _ARRAY, _ARRAY, _ARRAY]),
    "order_search_missed": (c_int, [c_void_p, c_int, c_int, c_int, _ARRAY, _ARRAY]),
    "screen_candidates": (
        c_int,
        [c_int] * 3 + [_ARRAY, _ARRAY, c_double, c_double] + [c_int] * 4 + [_ARRAY, _ARRAY, _ARRAY],
    ),
    "exact_scores": (c_int, [c_int] * 3 + [_ARRAY, *_REGRESSION, c_int, _ARRAY, _ARRAY]),
    "exact_orders": (c_int, [c_int, _ARRAY, c_int, _ARRAY, _ARRAY]),
    "exact_graph": (None, [c_int, _ARRAY, _ARRAY, c_double, _ARRAY]),
    "exact_margins": (
        c_int,
        [c_int] * 3 + [_ARRAY, *_REGRESSION, c_int] + [_ARRAY] * 4 + [c_double, c_double] + [_ARRAY] * 7,
    ),
    "exact_margins_of": (c_int, [c_int] * 3 + [_ARRAY] * 5 + [c_double, c_double] + [_ARRAY] * 7),
    "counts_scores": (
        c_int,
        [c_int] * 2
        + [_ARRAY] * 3
        + [c_int64, _ARRAY]
        + [c_double] * 3
        + [c_int] * 3
        + [_ARRAY] * 2
        + [c_double, c_int64]
        + [_ARRAY] * 2,
    ),
}


@cache
def library() -> CDLL:
    """Load the library that the build put beside this file, or that ACYCLIC_KERNELS in the environment names."""
    path = Path(os.environ.get("ACYCLIC_KERNELS") or FOLDER / NAME)
    if not path.exists():
        raise ImportError(f"{path} is missing: install the package with pip, which compiles it")
    loaded = CDLL(str(path))
    check_fresh(loaded, path)
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def check_fresh(loaded: CDLL, path: Path, folder: Path = FOLDER) -> None:
    """Refuse a library that was compiled from other sources than those that lie in the folder, if any do."""
    compiled = getattr(loaded, "kernels_digest", None)
    if compiled is not None:
        compiled.restype = c_char_p
    if find_inputs(folder) and (compiled is None or compiled() != digest_sources(folder).encode()):
        raise ImportError(
            f"{path} was compiled from other sources than those beside it; install the package again with "
            f"'pip install -e .', or compile it with 'python {folder / 'build.py'}'"
        )


def check(name: str, array: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless a kernel can read the array as it is."""
    if array.dtype is not dtype and array.dtype != dtype:
        raise ValueError(f"{name} has entries of type {array.dtype}; the kernel reads {dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} has the shape {array.shape}; the kernel reads {shape}")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} is not C-contiguous; give np.ascontiguousarray of it")


def check_writable(name: str, array: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless a kernel can read the array as it is and write to it."""
    check(name, array, dtype, shape)
    if not array.flags.writeable:
        raise ValueError(f"{name} is read-only; the kernel writes to it")


def check_size(d: int) -> int:
    """The number of nodes, or a ValueError where there is none or more than a C int can index twice."""
    if not 1 <= d <= 46_340:
        raise ValueError(f"the kernels take 1 to 46340 nodes; got {d}")
    return d


def address(array: NDArray[Any] | None) -> int | None:
    """Where a checked array lies, or None. Take it inside of the function that calls the kernel.

    The function keeps the array alive for as long as it runs, also where the thread that asked for it has gone on.
    """
    if array is None:
        return None
    # A third of the time of array.ctypes, and small problems are many; a read-only array does not allow it.
    return addressof(c_char.from_buffer(array.data)) if array.flags.writeable else array.ctypes.data


def check_status(status: int, purpose: str) -> int:
    """The count that a kernel returned, or a MemoryError that names the purpose, or Stopped."""
    if status >= 0:
        return status
    if status == STOPPED:
        raise Stopped(Fact.of(Ended.INTERRUPTED))
    raise MemoryError(f"not enough memory {purpose}")
