"""Killed runs go on to the same bits, and leave neither processes nor scratch. ``ACYCLIC_KILLS``: how often each."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import kills

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"),
]


def test_a_killed_run_goes_on_to_the_same_bits():
    """What starts processes of its own; how fits go on is tested in test_running, where one of them is killed."""
    assert kills.disturb("learn --bootstrap --jobs 2", int(os.environ.get("ACYCLIC_KILLS", "1"))) >= 1
