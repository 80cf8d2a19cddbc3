"""What Python declares of the library is what its header says, and nobody else calls it."""

import ast
import re
from ctypes import c_char_p, c_double, c_int, c_int64, c_uint64, c_void_p
from pathlib import Path

import pytest

import acyclic
from acyclic._native.build import FOLDER
from acyclic._native.library import SIGNATURES, library

HEADER = re.sub(r"/\*.*?\*/", "", (FOLDER / "kernels.h").read_text(), flags=re.DOTALL)
EXPORTED = {
    name: (result, arguments)
    for result, name, arguments in re.findall(r"^EXPORT ([\w ]+ \*?)(\w+)\(([^)]*)\);", HEADER, flags=re.MULTILINE)
}


def as_ctypes(declaration):
    if declaration.strip() == "void":
        return None
    if "*" in declaration:
        return c_void_p
    kinds = {"int": c_int, "int64_t": c_int64, "uint64_t": c_uint64, "double": c_double}
    return kinds[declaration.split()[0]]


def test_every_exported_function_is_declared():
    assert list(SIGNATURES) == list(EXPORTED)


@pytest.mark.parametrize("name", EXPORTED)
def test_a_signature_is_that_of_the_header(name):
    result, arguments = EXPORTED[name]
    expected = [as_ctypes(argument) for argument in arguments.split(",") if argument.strip() != "void"]
    returned = c_char_p if result.split() == ["const", "char", "*"] else as_ctypes(result)
    assert SIGNATURES[name] == (returned, expected)
    function = getattr(library(), name)
    assert (function.restype, list(function.argtypes)) == (returned, expected)


def test_no_other_room_knows_of_ctypes():
    root = Path(acyclic.__file__).parent
    # `files` exchanges folders by a call of the system that Python does not offer.
    modules = [path for path in root.rglob("*.py") if path.parent != FOLDER and path != root / "files.py"]
    assert modules
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] == "ctypes" for name in imported), path
