"""Compile the kernels of src/acyclic/_native into one shared library beside them.

The system's C compiler is used where there is one; otherwise the build asks pip for ziglang, which is a C compiler in a
wheel, so that an installation needs nothing but Python. The library is loaded with ctypes: it does not depend on the
Python version, hence the py3-none-<platform> tag.

Reports that learn again inside of the page need the kernels as a WebAssembly module too, which only ziglang compiles:
it is made where ziglang is installed, and ACYCLIC_LIVE=1 in the environment asks pip for it, as releases do.

ACYCLIC_PLATFORM names another platform in the tag, where CC is a compiler that makes libraries for it: .ci/wheels.py.
"""

import os
import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path("src/acyclic/_native")


class CustomBuildHook(BuildHookInterface):
    def recipe(self) -> dict[str, Any]:
        return runpy.run_path(str(Path(self.root) / NATIVE / "build.py"))

    def dependencies(self) -> list[str]:
        wanted = os.environ.get("ACYCLIC_LIVE") == "1" or not self.recipe()["find_compiler"]()
        return ["ziglang"] if wanted else []

    def initialize(self, version: str, build_data: dict) -> None:
        if self.target_name != "wheel":
            return
        recipe = self.recipe()
        recipe["compile_kernels"](Path(self.root) / NATIVE / recipe["NAME"])
        build_data["pure_python"] = False
        platform = os.environ.get("ACYCLIC_PLATFORM") or sysconfig.get_platform()
        build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"
        build_data["artifacts"].append(str(NATIVE / recipe["NAME"]))
        if recipe["can_compile_wasm"]():
            recipe["compile_wasm"](Path(self.root) / NATIVE / recipe["WASM"])
            build_data["artifacts"].append(str(NATIVE / recipe["WASM"]))
