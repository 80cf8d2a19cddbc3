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

# Matrices (d, d) of float64 that are alive at once while moments are made, and checked and noted on.
_MATRICES: Final = 4
# What rests on pairs of columns keeps counts and sums besides.
_MATRICES_OF_PAIRS: Final = 10
# Less is not worth a word.
_WORTH_A_WORD: Final = 2 << 30


class MemoryNeeded(UserWarning):
    """A table will need much memory."""


def memory_needed(columns: int, missing: Missing = "error") -> int:
    """Bytes that the moments of so many columns take while they are made, whatever the number of rows.

    >>> round(memory_needed(20_000) / 2**30)
    12
    """
    return 8 * columns**2 * (_MATRICES_OF_PAIRS if missing in ("pairwise", "em") else _MATRICES)


def check_memory(columns: int, missing: Missing = "error") -> None:
    """Say how much memory a wide table needs, and refuse it only where that surely cannot be had.

    What is needed is `memory_needed`; what is available is the memory that this machine, or the group of processes this
    one runs in, has to spare, with free swap space. A table that needs more than both is refused, as an InputError;
    one that needs more than 2 GiB is announced by a `MemoryNeeded` warning, and read.
    """
    needed, available = memory_needed(columns, missing), available_memory()
    said = f"a table of {columns} columns needs about {needed / 2**30:.1f} GiB of memory for its covariances"
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
