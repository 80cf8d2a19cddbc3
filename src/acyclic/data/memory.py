"""How much memory a table will need, said before its rows are read."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Final

from acyclic.data.missing import Missing
from acyclic.errors import Argument, InputError

__all__ = ["MemoryNeeded", "available_memory", "check_memory", "memory_needed"]

# Matrices (d, d) of float64 that are alive at once; one of booleans is an eighth.
# Moments: the sums so far and those of a block, or covariances and the correlations that columns are noted by; and
# booleans of these.
_MATRICES_OF_MOMENTS: Final = 2.5
# What rests on pairs of columns keeps counts and sums besides.
_MATRICES_OF_PAIRS: Final = 10.0
# A search: covariances, the weights of a first graph, the two of prior knowledge; and its trees, which are so large for
# each column and at most so large in all.
_MATRICES_OF_SEARCH: Final = 2.25
_TREE: Final = 400_000
_TREES: Final = 550_000_000
# Its answer: the weights found, besides, and booleans of all of them where they are judged.
_MATRICES_OF_ANSWER: Final = 3.625
# Less is not worth a word.
_WORTH_A_WORD: Final = 2 << 30


class MemoryNeeded(UserWarning):
    """A table will need much memory."""


def memory_needed(columns: int, missing: Missing = "error") -> int:
    """The most bytes that moments of so many columns, and a graph that is learned from them, take at once.

    Whatever the number of rows: these are not counted, nor what continuous methods need, which keep more matrices.

    >>> round(memory_needed(20_000) / 2**30, 1)
    10.8
    """
    moments = _MATRICES_OF_PAIRS if missing in ("pairwise", "em", "impute") else _MATRICES_OF_MOMENTS
    search = 8 * columns**2 * _MATRICES_OF_SEARCH + min(_TREES, _TREE * columns)
    return round(max(8 * columns**2 * max(moments, _MATRICES_OF_ANSWER), search))


def check_memory(columns: int, missing: Missing = "error") -> None:
    """Say how much memory a wide table needs, and refuse it only where that surely cannot be had.

    What is needed is `memory_needed`; what is available is the memory that this machine, or the group of processes this
    one runs in, has to spare, with free swap space. A table that needs more than both is refused, as an InputError;
    one that needs more than 2 GiB is announced by a `MemoryNeeded` warning, and read.
    """
    needed, available = memory_needed(columns, missing), available_memory()
    said = f"a table of {columns} columns needs about {needed / 2**30:.1f} GiB of memory to be learned from"
    if available is not None and needed > available:
        few = Argument("columns", ["…"])
        raise InputError(f"{said}, but {available / 2**30:.1f} GiB are available; choose fewer with ", few)
    if needed > _WORTH_A_WORD:
        warnings.warn(said, MemoryNeeded, stacklevel=2)


def available_memory() -> int | None:
    """Bytes of memory and swap that can be had, None where the system does not tell."""
    found = [free for free in (_of_machine(), _of_group(), _of_process()) if free is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.split()[1:2]}
        return 1024 * (sizes["MemAvailable"] + sizes.get("SwapFree", 0))
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_group() -> int | None:
    for most, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            return int(Path(most).read_text(encoding="ascii")) - _working_set(Path(used))
    return None


def _working_set(used: Path) -> int:
    """What a group of processes uses, without the pages of files that the system can take back."""
    lines = (used.parent / "memory.stat").read_text(encoding="ascii").splitlines()
    files = {line.split()[0]: int(line.split()[1]) for line in lines}
    spare = files.get("inactive_file", files.get("total_inactive_file", 0)) + files.get("active_file", 0)
    return int(used.read_text(encoding="ascii")) - spare


def _of_process() -> int | None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            return limit - pages * resource.getpagesize()
    return None
