"""The package as a whole: what importing it costs, its public names, and the documentation that is code."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import acyclic
from acyclic.errors import AcyclicError

ROOT = Path(__file__).parents[1]


def in_a_new_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_import_is_light_and_learners_need_no_optional_package():
    light = ["torch", "pandas", "polars", "pyarrow", "matplotlib", "dask", "networkx", "sklearn"]
    # scikit-learn imports pandas, and that PyArrow, where they are there.
    learning = ["torch", "polars", "matplotlib", "dask", "networkx"]
    code = f"""
import sys, acyclic
print([name for name in {light} if name in sys.modules])
acyclic.Notears()
print([name for name in {learning} if name in sys.modules])
"""
    assert in_a_new_process(code).splitlines() == ["[]", "[]"]


def test_every_public_name_is_there_and_listed_once():
    assert acyclic.__all__ == sorted(name for name in acyclic._HOMES if name not in ("__version__", "torch"))
    for name in acyclic.__all__:
        value = getattr(acyclic, name)
        assert value.__module__ == acyclic._HOMES[name]
        assert name in dir(acyclic)
        assert value.__doc__


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'notears'"):
        acyclic.notears  # noqa: B018


def test_errors_are_ordinary_value_errors():
    with pytest.raises(ValueError, match="there is no constraint"):
        acyclic.constraint("none")
    with pytest.raises(AcyclicError):
        acyclic.constraint("none")


def test_pins_satisfy_the_floors():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = dict(line.split("==") for line in (ROOT / "pins.txt").read_text().splitlines() if "==" in line)
    pinned = {re.sub(r"[-_.]+", "-", name).lower() for name in pins}
    wanted = project["dependencies"] + [need for needs in project["optional-dependencies"].values() for need in needs]
    for need in wanted:
        need, _, _ = need.partition(";")
        name = re.split(r"[\[<>=]", need)[0].lower()
        assert name == "acyclic" or name in pinned, f"{name} has no pin"
        assert not re.search(r"<|==", need), f"{need} is a cap; the project promises floors only"
