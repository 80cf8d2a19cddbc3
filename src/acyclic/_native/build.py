"""Compile the kernels of this folder into one shared library: the recipe that the package's build and `make` share.

    python src/acyclic/_native/build.py [--sanitize] [LIBRARY]
    python src/acyclic/_native/build.py --wasm [MODULE]

The second is for reports, which learn again inside of the page; it needs ziglang.

It stands alone, on the standard library: a build has neither NumPy nor this package yet.
"""

from __future__ import annotations

import hashlib
import importlib.util
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
# A module without imports, of what a page needs: wasm/live.c calls it.
WASM = "kernels.wasm"
WASM_SOURCES = ("order.c", "selection.c", "exact.c", "blocks.c", "counts.c", "lines.c", "shape.c", "wasm/live.c")
WASM_FLAGS = [
    *("-target", "wasm32-wasi", "-mexec-model=reactor", "-std=c11", "-O2", "-s"),
    *("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fvisibility=hidden"),
    *(f"-Wl,--export=live_{name}" for name in ("room", "free", "learn", "blocks", "counts", "digest")),
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


def digest_wasm(folder: Path = FOLDER) -> str:
    """What `digest_sources` is for the library, for the module."""
    return digest_sources(folder) + digest_sources(folder / "wasm")


def can_compile_wasm() -> bool:
    """Whether ziglang, the one compiler that the module is made with, is at hand."""
    return importlib.util.find_spec("ziglang") is not None


def compile_wasm(module: Path, folder: Path = FOLDER) -> None:
    """Compile the part of the kernels that a page runs."""
    define = f'-DACYCLIC_DIGEST="{digest_wasm(folder)}"'
    sources = [str(folder / name) for name in WASM_SOURCES]
    scratch = module.with_suffix(f".{os.getpid()}.tmp")
    command = [sys.executable, "-m", "ziglang", "cc", *WASM_FLAGS, define, *sources, "-o", str(scratch)]
    subprocess.run(command, check=True)
    scratch.replace(module)


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "--wasm" in sys.argv:
        compile_wasm(Path(given[0]) if given else FOLDER / WASM)
        raise SystemExit
    compile_kernels(Path(given[0]) if given else FOLDER / NAME, SANITIZE if "--sanitize" in sys.argv else ())
