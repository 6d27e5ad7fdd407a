"""Reads from block files: the same rows as the protocol gives, whatever the files hold or lack."""

import contextlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from pyspark_jetstream.block_files import find_folder, scan
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.options import read_options
from pyspark_jetstream.planning import Bounds, Planner
from pyspark_jetstream.ranges import Range
from pyspark_jetstream.reading import read_range
from pyspark_jetstream.rows import arrow_schema, row_type
from tests.parity.servers import PENSTOCK, Server
from tests.spark.streams import (
    QUERY_SECONDS_MAX,
    Published,
    api,
    make,
    numbered,
    publish,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[tuple[object, ...]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """With a stream A of 3000 messages, which are in its files: the one before it was stopped."""
    flags = ("-js", "-sd", str(tmp_path / "store"))
    with Server(PENSTOCK, flags) as before:
        fill(before, "A", 3000)
        before.signal("SIGTERM")
        before.wait_exit()
    with Server(PENSTOCK, flags) as running:
        yield running
        assert "Traceback" not in running.log


def load(spark: "SparkSession", server: Server, stream: str, **options: str) -> "DataFrame":
    reader = spark.read.format("jetstream").option("servers", server.url)
    return reader.options(stream=stream, includeHeaders="true", **options).load()


def rows(frame: "DataFrame") -> Rows:
    return sorted(tuple(row) for row in frame.collect())


def both(spark: "SparkSession", server: Server, stream: str, store: Path, **options: str) -> Rows:
    """Asserts that they are the same."""
    files = rows(load(spark, server, stream, mode="blocks", storeDir=str(store), **options))
    assert files == rows(load(spark, server, stream, mode="protocol", **options))
    return files


def fill(server: Server, name: str, count: int) -> None:
    make(server, name, allow_msg_ttl=True)
    messages = numbered(name, count)
    messages[2::7] = [
        Published(one.subject, one.data, {"A": one.data.decode(), "Nats-TTL": "1h"})
        for one in messages[2::7]
    ]
    publish(server, messages)


def test_the_same_rows_as_the_protocol(
    spark: "SparkSession", server: Server, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    assert len(both(spark, server, "A", store, minPartitions="3")) == 3000
    for sequence in (1, 2, 500, 501, 2999, 3000):
        api(server, "STREAM.MSG.DELETE.A", {"seq": sequence})
    assert len(both(spark, server, "A", store, minPartitions="2")) == 2994
    api(server, "STREAM.PURGE.A", {"seq": 100})
    api(server, "STREAM.PURGE.A", {"filter": "A.even", "keep": 10})
    publish(server, numbered("A", 50, 3001))
    some = both(spark, server, "A", store, subjects="A.even")
    assert len(some) == 10 + 25
    both(spark, server, "A", store, startingOffsets='{"A": 701}', endingOffsets='{"A": 900}')


def test_what_the_files_lack_comes_from_the_server(
    spark: "SparkSession", server: Server, tmp_path: Path
) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    shutil.copytree(store, copy)
    publish(server, numbered("A", 200, 3001))
    assert len(both(spark, server, "A", copy)) == 3200
    make(server, "YOUNG")
    publish(server, numbered("YOUNG", 5))
    assert len(both(spark, server, "YOUNG", store)) == 5


def test_a_damaged_record_is_not_believed(
    spark: "SparkSession", server: Server, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "store", copy)
    block = max(copy.glob("jetstream/streams/A.*/msgs/*.blk"), key=lambda path: path.stat().st_size)
    damaged = bytearray(block.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    block.write_bytes(damaged)
    assert len(both(spark, server, "A", copy)) == 3000
    with pytest.raises(Exception, match=r"stream A: sequence \d+ is not in its files: penstock"):
        alone(spark, copy).count()


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_scan_ends_before_what_it_cannot_verify(
    server: Server, tmp_path: Path, place: float
) -> None:
    folder = find_folder(str(tmp_path / "store"), "A")
    assert folder is not None
    reached: list[int] = []
    part = Range("A", 1, 3001, removed=())
    assert sum(rows for _, rows in scan(folder, part, 1, reached)) == 3000
    assert reached == [3001]
    block = max((path for _, path in folder.blocks()), key=lambda path: path.stat().st_size)
    damaged = bytearray(block.read_bytes())
    damaged[int(len(damaged) * place)] ^= 1
    block.write_bytes(damaged)
    found = sum(rows for _, rows in scan(folder, part, 1, reached))
    assert found == reached[0] - 1 < 3000
    assert server.alive


def alone(spark: "SparkSession", store: Path, **options: str) -> "DataFrame":
    """Without a server."""
    reader = spark.read.format("jetstream").option("mode", "blocks").options(**options)
    return reader.options(stream="A", storeDir=str(store), includeHeaders="true").load()


def test_a_store_that_nobody_uses(spark: "SparkSession", server: Server, tmp_path: Path) -> None:
    for sequence in (7, 8, 300, 3000):
        api(server, "STREAM.MSG.DELETE.A", {"seq": sequence})
    expected = rows(load(spark, server, "A", mode="protocol"))
    server.signal("SIGTERM")
    server.wait_exit()
    frame = alone(spark, tmp_path / "store")
    assert rows(frame) == expected
    assert len(expected) == 2996
    assert alone(spark, tmp_path / "store", asOfSequence="10").count() == 8
    with pytest.raises(Exception, match="times are looked up with servers"):
        alone(spark, tmp_path / "store", startingTimestamp="1").count()


def test_auto_takes_files_only_where_they_are(
    spark: "SparkSession", server: Server, tmp_path: Path
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    assert len(rows(load(spark, server, "A", mode="auto", storeDir=elsewhere))) == 3000
    with pytest.raises(Exception, match="option storeDir: there is no jetstream/streams in"):
        load(spark, server, "A", mode="blocks", storeDir=elsewhere).count()


def test_streams_in_memory_have_no_files(
    spark: "SparkSession", server: Server, tmp_path: Path
) -> None:
    make(server, "M", storage="memory")
    publish(server, numbered("M", 5))
    assert len(rows(load(spark, server, "M", mode="auto", storeDir=str(tmp_path / "store")))) == 5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_happens_to_a_stream_both_ways_see_the_same(seed: int, tmp_path: Path) -> None:
    """Random publishes, deletes, purges and restarts; without Spark, so there can be many."""
    chance = random.Random(seed)
    flags = ("-js", "-sd", str(tmp_path))
    server = Server(PENSTOCK, flags)
    try:
        make(server, "A", allow_msg_ttl=True)
        for _ in range(6):
            last = api(server, "STREAM.INFO.A")["state"]["last_seq"]
            publish(server, numbered("A", chance.randrange(1, 900), last + 1))
            for _ in range(chance.randrange(12)):
                change(server, chance)
            if chance.random() < 0.7:
                server.signal(chance.choice(["SIGTERM", "SIGKILL"]))
                server.wait_exit()
                server.close()
                server = Server(PENSTOCK, flags)
            compare(server, tmp_path, subjects="")
            compare(server, tmp_path, subjects="A.odd")
    finally:
        server.close()


def change(server: Server, chance: random.Random) -> None:
    state = api(server, "STREAM.INFO.A")["state"]
    kind = chance.random()
    if kind < 0.05:
        api(server, "STREAM.PURGE.A", {"seq": chance.randrange(1, state["last_seq"] + 2)})
    elif kind < 0.1:
        api(server, "STREAM.PURGE.A", {"filter": "A.odd", "keep": chance.randrange(50)})
    else:
        sequence = chance.randrange(1, state["last_seq"] + 1)
        with contextlib.suppress(AssertionError):  # it is gone already
            request = {"seq": sequence, "no_erase": chance.random() < 0.5}
            api(server, "STREAM.MSG.DELETE.A", request)


def compare(server: Server, store: Path, subjects: str) -> None:
    tables = []
    for mode in ("protocol", "blocks"):
        given = {"servers": server.url, "stream": "A", "mode": mode, "storeDir": str(store)}
        options = read_options(given | ({"subjects": subjects} if subjects else {}))
        with Connection(options.connection) as connection:
            (part,) = Planner(options, connection).ranges(Bounds())
        columns = tuple(row_type(True).names)
        batches = list(read_range(options, columns, part)) if part.sequences > 0 else []
        tables.append(pa.Table.from_batches(batches, arrow_schema(columns)))
    protocol, blocks = tables
    assert blocks["seq"].to_pylist() == protocol["seq"].to_pylist()
    assert blocks.to_pylist() == protocol.to_pylist()


def test_a_streaming_read_of_files(spark: "SparkSession", server: Server, tmp_path: Path) -> None:
    def run() -> list[int]:
        reader = spark.readStream.format("jetstream").option("servers", server.url)
        frame = reader.options(
            stream="A", mode="auto", storeDir=str(tmp_path / "store"), startingOffsets="earliest"
        ).load()
        writer = frame.writeStream.format("parquet").trigger(availableNow=True)
        places = {"path": str(tmp_path / "rows"), "checkpointLocation": str(tmp_path / "marks")}
        assert writer.options(**places).start().awaitTermination(QUERY_SECONDS_MAX)
        found = spark.read.parquet(str(tmp_path / "rows")).select("seq").collect()
        return sorted(row.seq for row in found)

    assert run() == [*range(1, 3001)]
    publish(server, numbered("A", 10, 3001))
    assert run() == [*range(1, 3011)]
