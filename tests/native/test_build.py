"""The library belongs to its sources, and they compile without a warning."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acyclic._native import build
from acyclic._native.library import check_fresh, library

needs_compiler = pytest.mark.skipif(not build.find_compiler(), reason="there is no C compiler")


@pytest.fixture
def copy(tmp_path):
    for path in build.find_inputs():
        shutil.copy(path, tmp_path)
    return tmp_path


def test_the_library_belongs_to_the_sources_beside_it():
    assert library().kernels_digest().decode() == build.digest_sources()


@pytest.mark.parametrize("name", ["selection.h", "kernels.h", "order.c"])
def test_every_source_and_header_counts(copy, name):
    assert build.digest_sources(copy) == build.digest_sources()
    (copy / name).write_text((copy / name).read_text() + "/* changed */\n")
    assert build.digest_sources(copy) != build.digest_sources()


def test_a_stale_library_is_refused(copy):
    check_fresh(library(), Path("kernels"), copy)
    (copy / "selection.h").write_text("/* changed */\n")
    with pytest.raises(ImportError, match="pip install -e"):
        check_fresh(library(), Path("kernels"), copy)


def test_a_library_without_digest_is_refused():
    with pytest.raises(ImportError, match="pip install -e"):
        check_fresh(object(), Path("kernels"))


def test_a_library_without_sources_beside_it_is_taken(tmp_path):
    check_fresh(object(), Path("kernels"), tmp_path)


def test_the_makefile_counts_headers():
    text = (Path(__file__).parents[2] / "Makefile").read_text()
    sources = next(line for line in text.splitlines() if line.startswith("SOURCES"))
    assert "_native/*.[ch]" in sources and "_native/build.py" in sources


@needs_compiler
def test_the_sources_compile_without_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("ACYCLIC_STRICT", "1")
    build.compile_kernels(tmp_path / build.NAME, ["-O1"])
    assert (tmp_path / build.NAME).exists()


@needs_compiler
def test_strict_means_that_a_warning_is_an_error(tmp_path, monkeypatch):
    monkeypatch.delenv("ACYCLIC_STRICT", raising=False)
    (tmp_path / "warns.c").write_text("static int unused;\n")
    build.compile_kernels(tmp_path / build.NAME, folder=tmp_path)
    monkeypatch.setenv("ACYCLIC_STRICT", "1")
    with pytest.raises(subprocess.CalledProcessError):
        build.compile_kernels(tmp_path / build.NAME, folder=tmp_path)


def preprocess(*flags):
    sources = [str(path) for path in build.find_inputs() if path.suffix == ".c"]
    command = [*build.find_compiler(), "-E", *flags, *sources]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@needs_compiler
def test_versions_for_wide_registers_are_left_to_glibc(tmp_path):
    """Other C libraries, as musl, have no linker that chooses between the versions of a function."""
    known = {line.split()[1] for line in preprocess("-dM").splitlines() if line.startswith("#define")}
    wanted = {"__GNUC__", "__x86_64__", "__GLIBC__"} <= known and not {"__clang__", "__SANITIZE_ADDRESS__"} & known
    assert ("target_clones" in preprocess()) == wanted
    (tmp_path / "stdlib.h").write_text("#include_next <stdlib.h>\n#undef __GLIBC__\n")
    assert "target_clones" not in preprocess("-I", str(tmp_path))


def test_the_environment_may_name_another_library(tmp_path):
    missing = tmp_path / "none.so"
    code = "from acyclic._native.library import library; library()"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ACYCLIC_KERNELS": str(missing)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1 and "ImportError" in ran.stderr and str(missing) in ran.stderr
