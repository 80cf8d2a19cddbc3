"""The compiled kernels: plain C behind ctypes, which releases the interpreter lock during every call."""

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


@cache
def library() -> ctypes.CDLL:
    """Load the shared library that the build put beside this file."""
    path = Path(__file__).with_name(f"kernels{_SUFFIX}")
    if not path.exists():
        raise ImportError(f"{path.name} is missing: install the package with pip, which compiles it")
    return ctypes.CDLL(str(path))


def pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    """Address of a C-contiguous array; the caller keeps the array alive during the call."""
    if not array.flags.c_contiguous:
        raise ValueError("a kernel was given an array that is not C-contiguous")
    return ctypes.c_void_p(array.ctypes.data)


def strong_components(support: NDArray[np.uint8]) -> tuple[int, int, NDArray[np.int32]]:
    """Number, largest size and labels of the strongly connected components of a (d, d) 0/1 matrix.

    Labels follow reverse topological order: an edge between components goes from the larger label to the smaller.
    """
    d = len(support)
    labels = np.empty(d, np.int32)
    work = np.empty(4 * d, np.int32)
    count: int = library().strong_components(d, pointer(support), pointer(labels), pointer(work))
    return count, int(work[0]), labels
