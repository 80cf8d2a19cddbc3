"""Compile the kernels of this folder into one shared library: the recipe that the package's build and `make` share.

    python src/acyclic/_native/build.py [--sanitize] [LIBRARY]

It stands alone, on the standard library: a build has neither NumPy nor this package yet.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
NAME = "kernels" + {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")

FLAGS = [
    *("-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"),
    *("-fvisibility=hidden", "-fPIC", "-shared"),
]
STRICT = ["-Wall", "-Wextra", "-Werror"]
SANITIZE = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def find_compiler() -> list[str]:
    """The compiler to call, or [] where the system has none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), [])


def find_inputs(folder: Path = FOLDER) -> list[Path]:
    """Sources and headers, in one order everywhere."""
    return sorted((*folder.glob("*.c"), *folder.glob("*.h")), key=lambda path: path.name)


def digest_sources(folder: Path = FOLDER) -> str:
    """Names and contents of sources and headers, in short."""
    total = hashlib.sha256()
    for path in find_inputs(folder):
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def compile_kernels(library: Path, extra: Sequence[str] = (), folder: Path = FOLDER) -> None:
    """Compile all sources; ACYCLIC_STRICT=1 in the environment makes every warning an error."""
    command = find_compiler() or [sys.executable, "-m", "ziglang", "cc"]
    strict = STRICT if os.environ.get("ACYCLIC_STRICT") == "1" else []
    sources = [str(path) for path in find_inputs(folder) if path.suffix == ".c"]
    define = f'-DACYCLIC_DIGEST="{digest_sources(folder)}"'
    library.parent.mkdir(parents=True, exist_ok=True)
    scratch = library.with_suffix(f".{os.getpid()}.tmp")
    subprocess.run([*command, *FLAGS, *strict, *extra, define, *sources, "-o", str(scratch), "-lm"], check=True)
    scratch.replace(library)


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "--sanitize"]
    compile_kernels(Path(given[0]) if given else FOLDER / NAME, SANITIZE if "--sanitize" in sys.argv else ())
