"""`python -m benchmarks.spark_write`: rows from Spark into a stream.

They stand beside a ceiling: a Python writer of the same kind (Arrow in) that counts rows and bytes
and stores nothing. Whatever the sink does besides is its own cost, and the server's, which runs on
the same cores. One warm-up of each, then rounds in which all take turns; medians. Both kinds of
writes: a batch write, and a streaming query that finds all its rows at once. After each round the
stream must hold every row once.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from benchmarks.publishing import DURABLE, LAZY
from benchmarks.servers import CONTESTANTS, Contestant, Server, fresh_store, running
from benchmarks.talk import Talk

ROWS = 1_000_000
SIZE = 128
PARTITIONS = 2
TARGET = 0.4
SUBJECT = "rows.all"
LEDGER = "ledger"


class Counted(WriterCommitMessage):
    """How much a task of the ceiling has seen."""

    def __init__(self, rows: int, size: int) -> None:
        self.rows, self.size = rows, size


def count(batches: Iterator[pa.RecordBatch]) -> Counted:
    rows = size = 0
    for batch in batches:
        rows += batch.num_rows
        size += pc.sum(pc.binary_length(batch.column("data"))).as_py()
    return Counted(rows, size)


class BatchCeiling(DataSourceArrowWriter):
    """Looks at the rows of a batch write."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return count(iterator)


class StreamCeiling(DataSourceStreamArrowWriter):
    """Looks at the rows of a streaming write."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return count(iterator)


class Ceiling(DataSource):
    """`format("ceiling")`."""

    @classmethod
    def name(cls) -> str:
        return "ceiling"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return BatchCeiling()

    def streamWriter(  # noqa: N802 -- Spark's name
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        return StreamCeiling()


def payload() -> str:
    return f"cast(rpad(cast(id as string), {SIZE}, 'x') as binary) as data"


def batch_write(spark: SparkSession, rows: int, kind: str, options: dict[str, str]) -> float:
    frame: DataFrame = spark.range(0, rows, 1, PARTITIONS).selectExpr(payload())
    began = time.monotonic()
    frame.write.format(kind).options(**options).mode("append").save()
    return rows / (time.monotonic() - began)


def stream_write(spark: SparkSession, rows: int, kind: str, options: dict[str, str]) -> float:
    """One batch of a streaming query; the rate is that of the batch, as its progress says."""
    source = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", rows)
        .option("numPartitions", PARTITIONS)
        .load()
        .selectExpr("value as id")
        .selectExpr(payload())
    )
    checkpoint = tempfile.mkdtemp(prefix="penstock-bench-")
    try:
        writer = source.writeStream.format(kind).options(**options)
        query = writer.option("checkpointLocation", checkpoint).trigger(once=True).start()
        query.awaitTermination()
        took_ms = query.lastProgress["durationMs"]["addBatch"]
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    return rows / took_ms * 1000


WAYS: dict[str, Callable[[SparkSession, int, str, dict[str, str]], float]] = {
    "batch": batch_write,
    "streaming": stream_write,
}


def ask(server: Server, place: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    with contextlib.closing(Talk(server)) as talk:
        return talk.ask(place, body)


def one_round(spark: SparkSession, server: Server, rows: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for way, write in WAYS.items():
        found[f"{way} ceiling"] = write(spark, rows, "ceiling", {})
        for mode in ("msgid", "batch"):
            config = {
                "name": "ROWS",
                "subjects": [SUBJECT, f"{LEDGER}.>"],
                "allow_atomic": mode == "batch",
            }
            ask(server, "STREAM.CREATE.ROWS", config)
            options = {
                "servers": f"nats://127.0.0.1:{server.port}",
                "stream": "ROWS",
                "subject": SUBJECT,
                "ledgerSubject": LEDGER,
                "sinkMode": mode,
            }
            found[f"{way} {mode}"] = write(spark, rows, "jetstream", options)
            state = ask(server, "STREAM.INFO.ROWS", {"subjects_filter": SUBJECT})["state"]
            stored = state["subjects"][SUBJECT]
            assert stored == rows, f"{stored} of {rows} rows are there"
            ask(server, "STREAM.DELETE.ROWS")
    return found


def report(name: str, samples: list[dict[str, float]]) -> None:
    medians = {key: statistics.median(one[key] for one in samples) for key in samples[0]}
    for way in WAYS:
        ceiling = medians[f"{way} ceiling"]
        print(f"{name}, {way} write: the ceiling is {ceiling:,.0f} rows/s")
        for mode in ("msgid", "batch"):
            rate = medians[f"{way} {mode}"]
            verdict = "met" if rate >= TARGET * ceiling else "MISSED"
            share = rate / ceiling
            print(f"  sinkMode {mode}: {rate:,.0f} rows/s, {share:.2f} of it ({TARGET}: {verdict})")


def measure(spark: SparkSession, contestant: Contestant, given: argparse.Namespace) -> None:
    sync = DURABLE if given.durable else LAZY
    with fresh_store(Path(given.store)) as store, running(contestant, store, sync) as server:
        one_round(spark, server, given.rows)
        samples = [one_round(spark, server, given.rows) for _ in range(given.rounds)]
    report(contestant.name, samples)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_write", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--durable", action="store_true", help="every acknowledgement synced")
    parser.add_argument("--only", choices=[one.name for one in CONTESTANTS])
    parser.add_argument("--store", default=tempfile.gettempdir())
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{PARTITIONS}]")
    with builder.config("spark.ui.enabled", "false").getOrCreate() as spark:
        spark.sparkContext.setLogLevel("ERROR")
        spark.dataSource.register(Ceiling)
        for contestant in CONTESTANTS:
            if given.only in (None, contestant.name):
                measure(spark, contestant, given)


if __name__ == "__main__":
    main()
