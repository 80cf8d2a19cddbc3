"""Hypothesis draws the same examples in every run, whatever they take; HYPOTHESIS_PROFILE=search looks for new ones."""

import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("search", print_blob=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# A shell that starts the tests in the background has them ignore Ctrl-C, and their children with them.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What `-m "not slow"` leaves out without loading it: torch networks, browsers, the paper's experiments, other packages.
SLOW_ROOMS = [Path(__file__).parent / room for room in ("browser", "experiments", "handoff", "learners/neural")]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.option.markexpr == "not slow" and collection_path in SLOW_ROOMS else None
