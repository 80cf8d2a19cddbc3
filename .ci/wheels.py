"""Build the Linux wheels of a release from its source archive, each for the oldest system that its tag promises.

Usage: python wheels.py ARCHIVE.tar.gz FOLDER [PLATFORM …]

ziglang compiles for other systems than this one. auditwheel then reads the library and tells which systems it runs on;
a wheel whose tag promises more is an error. Of musl it can tell only where musl is the system's own. That tag promises
two things, and both are read off the library here: it needs the C library and no other, and of that nothing but what
musl 1.2.0 has, without versions of symbols, which only glibc knows. Run it with a Python that has the extra dev.
"""

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from elftools.elf.elffile import ELFFile

# Platforms by the tag of the wheel, and what ziglang calls them: glibc 2.17 is of 2012, musl 1.2 that of Alpine 3.13.
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
}
MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
# What the musl of ziglang has, and musl 1.2.0 had not.
LATER = {"_Fork", "gettid", "preadv2", "pthread_getname_np", "pwritev2", "qsort_r", "reallocarray", "statx"}


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
    """Raise unless the wheel asks nothing of a system that those of its tag lack."""
    if platform.startswith("musllinux"):
        for library in open_libraries(wheel):
            if faults := find_faults(library, platform):
                raise SystemExit(f"{wheel.name} {'; '.join(faults)}")
        print(f"{wheel.name}: needs libc.so alone, and of it what musl 1.2.0 has")
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


def open_libraries(wheel: Path) -> list[ELFFile]:
    """The shared libraries in a wheel."""
    with zipfile.ZipFile(wheel) as packed:
        found = [ELFFile(io.BytesIO(packed.read(name))) for name in packed.namelist() if name.endswith(".so")]
    assert found, f"{wheel.name} has no library"
    return found


def find_faults(library: ELFFile, platform: str) -> list[str]:
    """What a system of a musllinux tag would lack."""
    faults = []
    machine = MACHINES[platform.removeprefix("musllinux_1_2_")]
    if library["e_machine"] != machine:
        faults.append(f"is for {library['e_machine']}, not for {machine}")
    needed = {tag.needed for tag in library.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    if needed != {"libc.so"}:
        faults.append(f"needs {', '.join(sorted(needed))}; of musl's libraries it may need libc.so alone")
    if library.get_section_by_name(".gnu.version_r") is not None:
        faults.append("asks for versions of symbols, which musl does not have")
    symbols = library.get_section_by_name(".dynsym").iter_symbols()
    asked = {symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name}
    weak = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
    if lacking := asked - weak - (list_musl() - LATER):
        faults.append(f"asks for {', '.join(sorted(lacking))}, which musl 1.2.0 does not have")
    return faults


def list_musl() -> set[str]:
    """The names that musl's library has, from the list of them that comes with ziglang."""
    spec = find_spec("ziglang")
    listed = Path(spec.submodule_search_locations[0]) / "lib" / "libc" / "musl" / "libc.S"
    return set(re.findall(r"^(\w+):", listed.read_text(), flags=re.MULTILINE))


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
