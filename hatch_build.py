"""Compile the kernels of src/acyclic/_native into one shared library beside them.

The system's C compiler is used where there is one; otherwise the build asks pip for ziglang, which is a C compiler in a
wheel, so that an installation needs nothing but Python. The library is loaded with ctypes: it does not depend on the
Python version, hence the py3-none-<platform> tag.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path("src/acyclic/_native")
FLAGS = ["-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fPIC", "-shared"]
SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


def compiler() -> list[str]:
    """The compiler to call, or [] where the system has none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), [])


class CustomBuildHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        return [] if compiler() else ["ziglang"]

    def initialize(self, version: str, build_data: dict) -> None:
        if self.target_name != "wheel":
            return
        folder = Path(self.root) / NATIVE
        library = folder / f"kernels{SUFFIX}"
        command = compiler() or [sys.executable, "-m", "ziglang", "cc"]
        scratch = library.with_suffix(f".{os.getpid()}.tmp")
        sources = sorted(str(source) for source in folder.glob("*.c"))
        subprocess.run([*command, *FLAGS, *sources, "-o", str(scratch), "-lm"], check=True)
        scratch.replace(library)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["artifacts"].append(str(NATIVE / library.name))
