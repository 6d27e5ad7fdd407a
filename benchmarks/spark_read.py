"""`python -m benchmarks.spark_read`: how fast Spark reads a stream, beside what Spark can read.

One Spark session on all cores reads the same rows in turns: from a synthetic source that hands out
one Arrow batch again and again (the ceiling of any Python source), through the protocol, from block
files, and from Parquet files of the same data. Each is asked for the number of rows and the sum of
the payloads' lengths, which must be right, by three queries: one looks at every column, one
("data") at no other than the payload, one ("json") also takes a number out of each payload, as a
job that does something with them. Parquet leaves out by itself what a query does not need; a Python
source is not told, so it gets a schema of the one column. There are so many rows because a query of
a Python source costs Spark a fifth of a second before the first of them, with any source. The first
round warms up and is not counted; a figure is a median, a ratio is the median of the rounds'
ratios.
"""

import argparse
import base64
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType
from tests.parity.servers import PENSTOCK, REFERENCE, Server
from tests.spark.streams import api, make

from benchmarks.pouring import ANSWERS, pour
from pyspark_jetstream.rows import arrow_schema, row_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STREAM = "BENCH"
PAYLOAD_BYTES = 128
SUBJECTS = 100
BATCH_ROWS = 8192
PUBLISHED_AT_ONCE = 10_000
DATA = ("count(*) as rows", "sum(length(data)) as bytes")
EVERYTHING = (
    *DATA,
    "sum(length(stream)) + sum(length(subject)) as names",
    "max(seq) as seq",
    "max(timestamp) as timestamp",
    "sum(ttl) as ttl",
    "max(marker_reason) as marker_reason",
    "max(counter_value) as counter_value",
)
JSON = (*DATA, "sum(cast(get_json_object(cast(data as string), '$.n') as bigint)) as numbers")
QUERIES = {"": EVERYTHING, "data": DATA, "json": JSON}
TARGETS = {
    "protocol": (("synthetic", 0.12),),
    "blocks": (("synthetic", 0.5), ("parquet", 0.7)),
    "protocol, data": (("synthetic, data", 0.12),),
    "blocks, data": (("synthetic, data", 0.5), ("parquet, data", 0.7)),
    "protocol, json": (("synthetic, json", 0.12),),
    "blocks, json": (("synthetic, json", 0.5), ("parquet, json", 0.7)),
}


class Synthetic(DataSource):
    """Rows of the same schema out of nothing."""

    @classmethod
    def name(cls) -> str:
        return "synthetic"

    def schema(self) -> StructType:
        return row_type(False)

    def reader(self, schema: StructType) -> "SyntheticReader":
        rows, partitions = int(self.options["rows"]), int(self.options["partitions"])
        return SyntheticReader(rows, partitions, schema.names)


class SyntheticReader(DataSourceReader):
    def __init__(self, rows: int, partitions: int, columns: list[str]) -> None:
        self._rows, self._partitions, self._columns = rows, partitions, columns

    def partitions(self) -> list[InputPartition]:
        share = self._rows // self._partitions
        counts = [share] * (self._partitions - 1)
        return [InputPartition(count) for count in (*counts, self._rows - sum(counts))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batch = _synthetic_batch(BATCH_ROWS).select(self._columns)
        left = partition.value
        while left:
            rows = min(left, BATCH_ROWS)
            yield batch if rows == BATCH_ROWS else batch.slice(0, rows)
            left -= rows


def payload(number: int) -> bytes:
    """A small document that no writer of Parquet makes smaller."""
    start, end = b'{"n":%d,"noise":"' % number, b'"}'
    noise = base64.b64encode(os.urandom(PAYLOAD_BYTES))
    return start + noise[: PAYLOAD_BYTES - len(start) - len(end)] + end


def _synthetic_batch(rows: int) -> pa.RecordBatch:
    numbers = range(rows)
    columns = {
        "stream": [STREAM] * rows,
        "subject": [f"bench.{number % SUBJECTS}" for number in numbers],
        "seq": list(numbers),
        "timestamp": list(numbers),
        "data": [payload(number) for number in numbers],
        "ttl": [None] * rows,
        "marker_reason": [None] * rows,
        "counter_value": [None] * rows,
    }
    schema = arrow_schema(tuple(row_type(False).names))
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def fill(server: Server, rows: int) -> None:
    make(server, STREAM, subjects=["bench.>"])
    payloads = [payload(number) for number in range(PUBLISHED_AT_ONCE)]
    frames = [
        b"PUB bench.%d %d\r\n%b\r\n" % (number % SUBJECTS, PAYLOAD_BYTES, payload)
        for number, payload in enumerate(payloads)
    ]
    last = b"PUB bench.0 %b %d\r\n%b\r\n" % (ANSWERS, PAYLOAD_BYTES, payloads[0])
    shares = (min(PUBLISHED_AT_ONCE, rows - at) for at in range(0, rows, PUBLISHED_AT_ONCE))
    pour(server.port, (b"".join(frames[: share - 1]) + last for share in shares))
    stored = api(server, f"STREAM.INFO.{STREAM}")["state"]["messages"]
    if stored != rows:
        raise SystemExit(f"{stored} of {rows} messages were stored")


def measured(frame: "DataFrame", rows: int, asked: tuple[str, ...]) -> float:
    """Rows a second."""
    start = time.perf_counter()
    (found,) = frame.selectExpr(*asked).collect()
    seconds = time.perf_counter() - start
    if (found.rows, found.bytes) != (rows, rows * PAYLOAD_BYTES):
        raise SystemExit(f"read {found}, not {rows} rows of {PAYLOAD_BYTES} bytes")
    return rows / seconds


def session(folder: Path) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.python.unix.domain.socket.enabled", "true")  # as docs/spark.md advises
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(Synthetic)
    return spark


def frames(
    spark: SparkSession, server: Server, folder: Path, rows: int
) -> dict[str, Callable[[], "DataFrame"]]:
    """Ways to read."""
    parts = str(spark.sparkContext.defaultParallelism)
    parquet = str(folder / "parquet")

    def reader(name: str, schema: str, options: dict[str, str]) -> Callable[[], "DataFrame"]:
        chosen = spark.read.format(name).options(**options)
        return (chosen.schema(schema) if schema else chosen).load

    stream = {"servers": server.url, "stream": STREAM, "minPartitions": parts}
    sources = {
        "synthetic": ("synthetic", {"rows": str(rows), "partitions": parts}),
        "protocol": ("jetstream", stream | {"mode": "protocol"}),
        "blocks": ("jetstream", stream | {"mode": "blocks", "storeDir": str(folder / "store")}),
    }
    if server.implementation is REFERENCE:
        del sources["blocks"]  # other files
    ways = {}
    for way, (name, options) in sources.items():
        ways[way] = reader(name, "", options)
        for query in ("data", "json"):
            ways[f"{way}, {query}"] = reader(name, "data binary", options)
    ways["protocol"]().write.parquet(parquet)
    for way in ("parquet", "parquet, data", "parquet, json"):
        ways[way] = lambda: spark.read.parquet(parquet)
    return ways


def shown(figures: dict[str, list[float]]) -> Iterator[str]:
    for way, rates in figures.items():
        low, high = min(rates), max(rates)
        line = f"{way:16} {statistics.median(rates):12,.0f} rows/s ({low:,.0f} - {high:,.0f})"
        for other, target in TARGETS.get(way, ()):
            ratios = [mine / theirs for mine, theirs in zip(rates, figures[other], strict=True)]
            ratio = statistics.median(ratios)
            verdict = "met" if ratio >= target else "MISSED"
            line += f"; {ratio:.2f} of {other} (at least {target}: {verdict})"
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_read", description=__doc__)
    parser.add_argument("--rows", type=int, default=12_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server", choices=["penstock", "reference"], default="penstock")
    asked: Any = parser.parse_args()
    implementation = REFERENCE if asked.server == "reference" else PENSTOCK
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Server(implementation, ("-js", "-sd", str(folder / "store"))) as server:
            fill(server, asked.rows)
            spark = session(folder)
            ways = frames(spark, server, folder, asked.rows)
            figures: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(asked.rounds + 1):
                for way, frame in ways.items():
                    query = way.partition(", ")[2]
                    rate = measured(frame(), asked.rows, QUERIES[query])
                    if turn:
                        figures[way].append(rate)
            spark.stop()
    cores = os.cpu_count()
    print(f"{asked.server}, {asked.rows:,} rows of {PAYLOAD_BYTES} B, {cores} cores, warm medians")
    print("\n".join(shown(figures)))


if __name__ == "__main__":
    main()
