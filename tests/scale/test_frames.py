"""`GroundwireUDF` under the real Spark and Dask. `make test-scale` runs this."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.scale.samples import labels, many

from groundwire.integrations.udf import GroundwireUDF

pytestmark = pytest.mark.filterwarnings("ignore")
TIMES = 10


def by_id(frame: Any) -> dict[str, str]:
    assert len(frame) == len(set(frame["id"]))
    return dict(zip(frame["id"], frame["label"], strict=True))


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Spark with two Python workers in processes of their own."""
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {"spark.ui.enabled": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "4"}
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_the_udf_runs_under_spark_in_pandas_and_arrow_batches(spark: Any) -> None:
    schema = "id string, response string, sources array<string>, question string"
    frame = spark.createDataFrame(many(TIMES), schema).repartition(2)
    udf = GroundwireUDF(profile="strict")
    found = frame.mapInPandas(udf.map, schema=udf.schema).toPandas()
    assert by_id(found) == labels(TIMES)
    assert found["score"].isna().sum() == TIMES  # the rows that could not be checked
    assert by_id(frame.mapInArrow(udf.map, schema=udf.schema).toPandas()) == labels(TIMES)


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_the_udf_runs_under_dask(scheduler: str) -> None:
    pandas, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    udf = GroundwireUDF(profile="strict")
    with pytest.importorskip("dask").config.set({"dataframe.convert-string": False}):  # it would flatten lists
        frame = frames.from_pandas(pandas.DataFrame(many(TIMES)), npartitions=3)
        found = frame.map_partitions(udf, meta=udf.meta).compute(scheduler=scheduler, num_workers=2)
    assert by_id(found) == labels(TIMES)
