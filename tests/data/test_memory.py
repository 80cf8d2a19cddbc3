"""What is said of memory beforehand is what is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import acyclic
from acyclic.data import memory

MATRIX = 8

# Every second column is the child of the one before it; prints by how much memory grew while a graph was learned.
LEARN = """
import sys
from pathlib import Path
import numpy as np
import acyclic

def find(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(what))

d = int(sys.argv[1])
X = np.random.default_rng(0).standard_normal((200, d))
X[:, 1::2] += 2 * X[:, ::2]
X /= X.std(axis=0)
acyclic.learn(X[:, :4])
Path("/proc/self/clear_refs").write_text("5")
before = find("VmRSS")
result = acyclic.learn(X)
assert result.graph.n_edges >= d // 2
print(find("VmHWM") - before)
"""


def test_what_is_needed_is_the_most_of_moments_search_and_answer():
    few, some, many = 30, 2000, 20_000
    assert memory.memory_needed(few) == 2.25 * MATRIX * few**2 + 400_000 * few
    assert memory.memory_needed(some) == 2.25 * MATRIX * some**2 + 550_000_000
    assert memory.memory_needed(many) == 3.625 * MATRIX * many**2
    assert memory.memory_needed(many, "pairwise") == memory.memory_needed(many, "em") == 10 * MATRIX * many**2


def test_ten_thousand_columns_are_announced(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    with pytest.warns(memory.MemoryNeeded, match=r"10000 columns needs about 2\.7 GiB"):
        memory.check_memory(10_000)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell the peak of memory")
def test_learning_from_many_columns_takes_no_more_than_is_announced():
    d = 2000
    here = {**os.environ, "PYTHONPATH": str(Path(acyclic.__file__).parents[1])}
    run = subprocess.run([sys.executable, "-c", LEARN, str(d)], env=here, check=True, capture_output=True, text=True)
    assert int(run.stdout) <= memory.memory_needed(d)
