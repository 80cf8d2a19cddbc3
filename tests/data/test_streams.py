"""DuckDB relations and Arrow streams: the table that a frame of the same rows is."""

import numpy as np
import pandas as pd
import pytest

from acyclic.data.table import read_table
from acyclic.errors import InputError

pyarrow = pytest.importorskip("pyarrow", reason="Arrow streams are made with pyarrow here")
FRAME = pd.DataFrame(
    {
        "x": np.random.default_rng(0).standard_normal(500),
        "k": np.arange(500) % 40,
        "s": np.array(["u", "v", "w"])[np.arange(500) % 3],
    }
)


class Stream:
    """What any library may pass on."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def assert_same(found):
    expected = read_table(FRAME)
    assert (found.digest, found.kinds, found.levels) == (expected.digest, expected.kinds, expected.levels)
    assert found.moments == expected.moments
    np.testing.assert_array_equal(found.rows(), expected.rows())


@pytest.mark.parametrize("size", [1 << 20, 64])
def test_a_duckdb_relation_is_read_as_it_is_computed(size, monkeypatch):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    monkeypatch.setattr("acyclic.data.sources._BLOCK_VALUES", size)
    with duckdb.connect() as base:
        base.register("t", FRAME)
        assert_same(read_table(base.sql("select x, k, s from t")))
        broken = base.sql("select x, error('no more') as y from t where k > 5")
        with pytest.raises(InputError, match=r"cannot be read|could not read"):
            read_table(broken)


def test_an_arrow_stream_is_read_once():
    table = pyarrow.Table.from_pandas(FRAME, preserve_index=False)
    assert_same(read_table(pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=99))))
    assert_same(read_table(Stream(table)))
