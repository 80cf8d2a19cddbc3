"""Hypothesis draws the same examples in every run, whatever they take; HYPOTHESIS_PROFILE=search looks for new ones.

`-m "not slow"` draws a quarter of them: the first ones, which are the simplest.
"""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("search", print_blob=True, deadline=None)
settings.register_profile("few", settings.get_profile("same"), max_examples=25)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# A shell that starts the tests in the background has them ignore Ctrl-C, and their children with them.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What `-m "not slow"` leaves out without loading it: torch, browsers, the paper's experiments, other packages,
# clusters, corpora of hostile input, every question in every world.
SLOW_ROOMS = [
    Path(__file__).parent / room
    for room in (
        "benchmarks",
        "browser",
        "experiments",
        "handoff",
        "learners/neural",
        "constraints/test_autograd.py",
        "constraints/test_torch.py",
        "data/test_hostile.py",
        "data/test_partitions.py",
        "test_hostile.py",
        "test_mcp.py",
        "test_notebooks.py",
        "test_worlds_matrix.py",
        "trust/test_redrawn.py",
        "trust/test_tls.py",
    )
]


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "not slow" and "HYPOTHESIS_PROFILE" not in os.environ:
        settings.load_profile("few")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.option.markexpr == "not slow" and collection_path in SLOW_ROOMS else None


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of the command that asks for nothing is tried on so few draws as to take no time."""
    if "acyclic.cli.trying" in sys.modules:
        monkeypatch.setattr("acyclic.cli.trying.DRAWS", 2)
