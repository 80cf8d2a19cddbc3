"""Install the archives of a release with every Python on this machine, and try each as a new user would.

Usage: python release.py FOLDER. The pins hold for the Python that they were made with; others get what pip finds.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)


def find_pythons() -> dict[str, str]:
    """An interpreter for each version from the oldest that is supported, the one that runs this first."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    names = [str(path) for folder in folders for path in sorted(Path(folder).glob("python3.[0-9]*"))]
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    for name in names:
        version = re.fullmatch(r"python(3)\.(\d+)", Path(name).name)
        if version and (int(version[1]), int(version[2])) >= OLDEST and works(name):
            found.setdefault(f"{version[1]}.{version[2]}", name)
    return found


def works(python: str) -> bool:
    """Whether it starts, and can make environments: some are links to one that is gone, or lack the module."""
    return subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0


def try_archive(python: str, archive: Path, pinned: bool) -> None:
    """Install it where nothing else is, and run the README and the command."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "venv"
        subprocess.run([python, "-m", "venv", str(inside)], check=True)
        own = str(inside / ("Scripts" if os.name == "nt" else "bin") / "python")
        pins = {name: str(ROOT / "pins.txt") for name in ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT")} if pinned else {}
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        install = [
            own,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--disable-pip-version-check",
            f"{archive}[cli]",
        ]
        subprocess.run(install, check=True, env={**clean, **pins})
        shutil.copy(ROOT / "README.md", folder)
        subprocess.run([own, str(ROOT / ".ci" / "smoke.py"), "README.md"], check=True, cwd=folder, env=clean)


def main() -> None:
    """The wheel for this machine, and the source archive, with each Python."""
    folder = Path(sys.argv[1]).resolve()
    libc = "musllinux" if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or "") else "manylinux"
    archives = [*folder.glob(f"*-{libc}_*_{platform.machine()}.whl"), *folder.glob("*.tar.gz")]
    assert len(archives) == 2, f"expected one wheel for this machine and one source archive in {folder}: {archives}"
    pythons = find_pythons()
    for version, python in pythons.items():
        for archive in archives:
            print(f"== Python {version}, {archive.name}", flush=True)
            try_archive(python, archive, pinned=python == sys.executable)
    print(f"{len(archives)} archives work with Python {', '.join(pythons)}")


if __name__ == "__main__":
    main()
