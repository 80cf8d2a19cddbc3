"""Build the Linux wheels of a release from its source archive, each for the oldest system that its tag promises.

Usage: python wheels.py ARCHIVE.tar.gz FOLDER [PLATFORM …]

ziglang compiles for other systems than this one. auditwheel then reads the library and tells which systems it runs on;
a wheel whose tag promises more is an error. Of musl it can tell only where musl is the system's own, so that here the
library is read by hand: it may need the C library and no other. Run it with a Python that has the extra dev.
"""

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

# Platforms by the tag of the wheel, and what ziglang calls them: glibc 2.17 is of 2012, musl 1.2 that of Alpine 3.13.
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
}


def build(source: Path, folder: Path, platform: str) -> Path:
    """The wheel for a platform, from an unpacked archive."""
    compiler = f"{sys.executable} -m ziglang cc -target {TARGETS[platform]}"
    settings = {"CC": compiler, "ACYCLIC_PLATFORM": platform, "ACYCLIC_LIVE": "1"}
    # Not isolated: the compiler is in this Python already, and pip would fetch it once more for each wheel.
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob(f"*-py3-none-{platform}.whl")
    return wheel


def audit(wheel: Path, platform: str) -> None:
    """Raise unless auditwheel finds nothing in the wheel that the systems of its tag lack."""
    if platform.startswith("musllinux"):
        if (needed := list_needed(wheel)) != ["libc.so"]:
            raise SystemExit(f"{wheel.name} needs {', '.join(needed)}; of musl's libraries it may need libc.so alone")
        print(f"{wheel.name}: needs libc.so alone")
        return
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    said = " ".join(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    found = re.search(r'platform tag: "(\w+?)_(\d+)_(\d+)_(\w+)"', said)
    promised = re.fullmatch(r"(\w+?)_(\d+)_(\d+)_(\w+)", platform)
    assert found, said
    assert promised, platform
    same = (found[1], found[4]) == (promised[1], promised[4])
    if not same or [int(found[i]) for i in (2, 3)] > [int(promised[i]) for i in (2, 3)]:
        raise SystemExit(f"{wheel.name} promises more than it keeps: {said}")
    print(f"{wheel.name}: consistent with {found[0].split()[-1]}")


def list_needed(wheel: Path) -> list[str]:
    """The shared libraries that those in a wheel need."""
    with zipfile.ZipFile(wheel) as packed:
        libraries = [ELFFile(io.BytesIO(packed.read(name))) for name in packed.namelist() if name.endswith(".so")]
    tags = [tag for library in libraries for tag in library.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
    return sorted({tag.needed for tag in tags})


def main() -> None:
    """Build and audit what was asked for; all of it by default."""
    archive, folder, *platforms = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        (source,) = Path(scratch).iterdir()
        for platform in platforms or TARGETS:
            audit(build(source, Path(folder), platform), platform)


if __name__ == "__main__":
    main()
