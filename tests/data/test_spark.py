"""PySpark frames: the same partial results, where Java and pyspark are found."""

import os
import shutil
import sys

import numpy as np
import pytest

import acyclic
from acyclic.data.table import read_table
from acyclic.errors import InputError
from data.test_partitions import TABLES, assert_equal

pyspark = pytest.importorskip("pyspark", reason="Spark frames need the extra spark: pyspark is not installed")
pytest.importorskip("pyarrow", reason="Spark frames need the extra spark: pyarrow is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark frames need Java, which is not on the path", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    os.environ["PYTHONPATH"] = settings["spark.executorEnv.PYTHONPATH"]
    builder = SparkSession.builder.master("local[2]").appName("acyclic")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def parted(spark, frame, pieces):
    """The rows in order, in partitions of equal lengths."""
    plain = frame.astype({name: str for name in frame if frame[name].dtype == "category"})
    rows = [
        tuple(None if value != value else value for value in row) for row in plain.astype(object).to_numpy().tolist()
    ]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, pieces), list(frame.columns), samplingRatio=1.0)


@pytest.mark.parametrize("name", ["numbers", "weights", "logarithms", "pairs", "em", "every kind"])
def test_a_spark_frame_gives_the_table_of_one_machine(name, spark):
    make, options = TABLES[name]
    frame = make().drop(columns=["grade"], errors="ignore")
    assert_equal(read_table(parted(spark, frame, 5), **options), read_table(frame, **options))


def test_many_partitions_are_merged_by_the_executors(spark, monkeypatch):
    monkeypatch.setattr("acyclic.data.spark_engine._MOST_AT_TOP", 2)
    monkeypatch.setattr("acyclic.data.reading._BROUGHT_VALUES", 10)
    frame = TABLES["numbers"][0]()[["x", "y", "z"]]
    table = read_table(parted(spark, frame, 20))
    assert_equal(table, read_table(frame))
    np.testing.assert_array_equal(table.sample(40), read_table(frame).sample(40))
    assert (acyclic.learn(table).graph.adjacency == acyclic.learn(frame).graph.adjacency).all()


def test_a_bad_cell_is_named_with_its_partition(spark):
    frame = TABLES["pairs"][0]()
    with pytest.raises(InputError, match=r"missing \(NaN or null\): 'x' \(first in row \d+ of partition 0\)"):
        read_table(parted(spark, frame, 3))
    with pytest.raises(InputError, match="cluster is for"):
        read_table(parted(spark, frame, 3), cluster="tcp://127.0.0.1:1")
