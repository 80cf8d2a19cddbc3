"""The result file: everything comes back, and nothing else is taken for one."""

import numpy as np
import pytest
from hypothesis import given, settings

import acyclic
from acyclic.errors import InputError
from strategies import hostile_names


@pytest.fixture(scope="module")
def result():
    return acyclic.learn(acyclic.simulate(n_nodes=8, n=500, variances=(0.5, 4.0), random_state=2).X)


def test_round_trip(result, tmp_path):
    path = tmp_path / "run.json"
    result.save(path)
    again = acyclic.load(path)
    assert again.graph == result.graph
    assert again.cpdag == result.cpdag
    assert again.support == result.support
    assert again.verdict == result.verdict
    assert again.provenance == result.provenance
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


@settings(max_examples=20, deadline=None)
@given(hostile_names(3))
def test_hostile_names(names):
    moments = acyclic.Moments(100, np.zeros(3), [[1, 0.9, 0.8], [0.9, 2, 1.6], [0.8, 1.6, 3]], names)
    result = acyclic.learn(moments)
    again = acyclic.Result.from_json(result.to_json())
    assert again.graph == result.graph


def test_provenance_says_what_was_done(result):
    assert result.provenance["rows"] == 500
    assert set(result.provenance["versions"]) == {"acyclic", "numpy", "scipy", "python"}
    assert len(result.provenance["data"]) == 64


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"format": "acyclic result 99"}', "not json", '{"format": "acyclic result 1"}']
)
def test_other_files_are_refused(text, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a result file"):
        acyclic.load(path)


def test_binary_file(tmp_path):
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="UTF-8"):
        acyclic.load(path)
