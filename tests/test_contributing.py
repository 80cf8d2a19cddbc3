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


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of what the diffs change; Python compiles it once for all of them."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_there_is_an_example_of_each_kind():
    assert list(SECTIONS) == ["A constraint", "A score of weights", "A local score", "A learner", "A kind of column"]


@pytest.mark.parametrize("title", SECTIONS)
def test_the_example_applies_and_works(title, tree):
    section = SECTIONS[title]
    diff = find_block(section, "diff")
    changed = re.findall(r"^\+\+\+ b/(.*)", diff, flags=re.MULTILINE)
    run(tree, "git", "apply", "-C1", "-", given=diff)
    try:
        for check in (["check"], ["format", "--check"]):
            run(tree, sys.executable, "-m", "ruff", *check, "--no-cache", *changed)
        tests = shlex.split(re.search(r"`pytest ([^`]+)`", section)[1])
        arguments = ["-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]
        then = f"import pytest\nraise SystemExit(pytest.main({arguments}))\n"
        run(tree, sys.executable, "-c", find_block(section, "python") + then)
    finally:
        run(tree, "git", "apply", "-R", "-C1", "-", given=diff)
