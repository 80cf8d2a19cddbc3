"""CONTRIBUTING.md: every example of how to add something applies to this tree, passes the linters and works."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTIONS = {
    section.splitlines()[0]: section
    for section in re.split("^### ", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="git applies the diffs")]


def find_block(section, language):
    return re.search(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)[1]


def run(folder, *command, given=None):
    # Beneath a repository git would apply nothing, and say nothing.
    above = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    environment = {**os.environ, **above, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, input=given, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path):
    """A copy of what the diffs change."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_there_is_an_example_of_each_kind():
    assert list(SECTIONS) == ["A constraint", "A score of weights", "A local score", "A learner", "A kind of column"]


@pytest.mark.parametrize("title", SECTIONS)
def test_the_example_applies_and_works(title, tree):
    section = SECTIONS[title]
    run(tree, "git", "apply", "-C1", "-", given=find_block(section, "diff"))
    for check in (["check"], ["format", "--check"]):
        run(tree, sys.executable, "-m", "ruff", *check, "--no-cache", "src", "tests")
    run(tree, sys.executable, "-c", find_block(section, "python"))
    tests = shlex.split(re.search(r"`pytest ([^`]+)`", section)[1])
    run(tree, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
