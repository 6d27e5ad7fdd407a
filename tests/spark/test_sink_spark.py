"""The sink as Spark uses it: batch writes, streaming queries, and what Spark tells its tasks."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.spark.sink_bench import Bench, bench, payloads

__all__ = ["bench"]  # a fixture

MODES = ("msgid", "batch")
ROWS = 3000


def options(bench: Bench, mode: str) -> dict[str, str]:
    return {
        "servers": bench.url,
        "stream": bench.name,
        "sinkMode": mode,
        "ledgerSubject": f"ledger.{bench.name}",
    }


def table(spark: SparkSession, bench: Bench, count: int = ROWS) -> DataFrame:
    subject = f"concat('{bench.name}.', id % 5) as subject"
    return spark.range(0, count, 1, 2).selectExpr(subject, "cast(id as string) as data")


def every(count: int) -> Counter[bytes]:
    return Counter(b"%d" % number for number in range(count))


@pytest.mark.parametrize("mode", MODES)
def test_a_table_is_written(spark: SparkSession, bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    table(spark, bench).write.format("jetstream").options(**options(bench, mode)).mode(
        "append"
    ).save()
    assert Counter(payloads(bench.stored())) == every(ROWS)


class Copy:
    """A streaming query over a table that grows; it can be made to forget that it has committed."""

    def __init__(self, spark: SparkSession, bench: Bench, mode: str, folder: Path) -> None:
        self._spark = spark
        self._bench = bench
        self._mode = mode
        self._rows = str(folder / "rows")
        self.checkpoint = folder / "checkpoint"

    def grow(self, first: int, count: int) -> None:
        numbers = self._spark.range(first, first + count, 1, 2)
        numbers.write.mode("append").parquet(self._rows)

    def run(self) -> str:
        """Everything there is; returns the id of the query."""
        subject = f"concat('{self._bench.name}.', id % 5) as subject"
        source = self._spark.readStream.schema("id long").parquet(self._rows)
        query = (
            source.selectExpr(subject, "cast(id as string) as data")
            .writeStream.format("jetstream")
            .options(**options(self._bench, self._mode))
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return str(query.id)

    def forget_commit(self, batch: int) -> None:
        """As if the driver had been killed after the rows were written."""
        for name in (str(batch), f".{batch}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_that_is_run_again_adds_nothing(
    spark: SparkSession, bench: Bench, mode: str, tmp_path: Path
) -> None:
    bench.create(allow_atomic=True, duplicate_window=3600)
    copy = Copy(spark, bench, mode, tmp_path)
    copy.grow(0, ROWS)
    copy.run()
    copy.forget_commit(0)
    copy.grow(ROWS, 10)
    copy.run()
    assert Counter(payloads(bench.stored())) == every(ROWS + 10)


def test_spark_tells_tasks_their_query_and_batch(
    spark: SparkSession, bench: Bench, tmp_path: Path
) -> None:
    """The names of these properties are Spark's own: exactly once rests on them."""
    bench.create()
    copy = Copy(spark, bench, "msgid", tmp_path)
    copy.grow(0, 4)
    query = copy.run()
    copy.grow(4, 2)
    assert copy.run() == query
    ids = [one.headers["Nats-Msg-Id"].rsplit("/", 2)[0] for one in bench.stored()]
    assert Counter(ids) == {f"{query}/0": 4, f"{query}/1": 2}


def test_another_query_has_other_rows(spark: SparkSession, bench: Bench, tmp_path: Path) -> None:
    bench.create()
    copy = Copy(spark, bench, "msgid", tmp_path)
    copy.grow(0, 4)
    copy.run()
    shutil.rmtree(copy.checkpoint)
    copy.run()
    assert Counter(payloads(bench.stored())) == every(4) + every(4)


REFUSED: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "a wrong type": ({}, ["id as subject", "'x' as data"], "column subject is bigint"),
    "an unknown column": ({}, ["'a' as subject", "'x' as data", "id as key"], "column key is not"),
    "no atomic batches": (
        {"sinkMode": "batch"},
        ["'a' as subject", "'x' as data"],
        "lacks allow_atomic",
    ),
    "an unknown option": ({"topic": "a"}, ["'a' as subject", "'x' as data"], "option topic"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_before_the_job(
    spark: SparkSession, bench: Bench, case: str
) -> None:
    given, columns, told = REFUSED[case]
    bench.create()
    writer = spark.range(10).selectExpr(*columns).write.format("jetstream")
    asked = {**options(bench, "auto"), **given}
    with pytest.raises(PySparkException, match=told):
        writer.options(**asked).mode("append").save()
    assert bench.everything() == []


def test_a_stream_is_not_overwritten(spark: SparkSession, bench: Bench) -> None:
    bench.create()
    writer = table(spark, bench).write.format("jetstream").options(**options(bench, "auto"))
    with pytest.raises(PySparkException, match="a stream is only appended to"):
        writer.mode("overwrite").save()


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("complete", "outputMode append, with a watermark"),
        ("update", "jetstream does not support Update mode"),  # Spark's words
    ],
)
def test_queries_are_written_in_output_mode_append_alone(
    spark: SparkSession, bench: Bench, tmp_path: Path, mode: str, told: str
) -> None:
    bench.create()
    spark.range(10).write.parquet(str(tmp_path / "rows"))
    counted = spark.readStream.schema("id long").parquet(str(tmp_path / "rows")).groupBy().count()
    query = (
        counted.selectExpr(f"'{bench.name}.a' as subject", "string(count) as data")
        .writeStream.format("jetstream")
        .options(**options(bench, "msgid"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .outputMode(mode)
        .start()
    )
    with pytest.raises(PySparkException, match=told):
        query.awaitTermination()
    assert bench.everything() == []
