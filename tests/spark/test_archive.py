"""A stream as Parquet files by date: every message once, for readers who know nothing of Spark."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import psutil
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.pipelines.archive.terms import folder, opened
from penstock.pipelines.catalog import ParameterError
from pyspark_jetstream_archive.folder import Archive, ArchiveError
from pyspark_jetstream_archive.wholeness import whole_entries
from tests.parity.servers import Server
from tests.spark.archiving import archived
from tests.spark.streams import Published, api, make, numbered, publish
from tests.spark.test_exactly_once import kill
from tests.spark.test_pipelines import java  # noqa: F401 -- java is a fixture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLS = int(os.environ.get("PENSTOCK_SPARK_KILLS", "2"))
ROWS_PER_BATCH = 500
ROWS = 4 * ROWS_PER_BATCH * (KILLS + 1)
SEED = int(os.environ.get("SEED", "1"))
POLL_SECONDS = 0.005


def rows_of(path: Path) -> list[dict[str, Any]]:
    """As pyarrow sees them, who reads whatever is in the folder."""
    table = ds.dataset(path / "messages", partitioning="hive").to_table()
    found: list[dict[str, Any]] = table.sort_by("seq").to_pylist()
    return found


def test_an_archive_holds_what_the_stream_has(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name, allow_msg_ttl=True)
    publish(
        streaming,
        [
            Published(f"{name}.a", b"one", {"Z": "1", "A": "2", "Nats-Msg-Id": "first"}),
            Published(f"{name}.b", b"\x00\xff"),
            Published(f"{name}.c", b"gone"),
            Published(f"{name}.d", b"", {"Nats-TTL": "1h"}),
        ],
    )
    api(streaming, f"STREAM.MSG.DELETE.{name}", {"seq": 3})
    path = tmp_path / "archive"
    archived(spark, streaming.url, name, path, tmp_path)
    read = spark.read.format("jetstream").option("servers", streaming.url).option("stream", name)
    wanted = [row.asDict() for row in read.option("includeHeaders", "true").load().collect()]
    found = rows_of(path)
    assert [(row["seq"], row["subject"], row["data"], row["ttl"]) for row in found] == [
        (1, f"{name}.a", b"one", None),
        (2, f"{name}.b", b"\x00\xff", None),
        (4, f"{name}.d", b"", 3600),
    ]
    assert found[0]["headers"] == [("A", ["2"]), ("Nats-Msg-Id", ["first"]), ("Z", ["1"])]
    assert [row["timestamp"].replace(tzinfo=None) for row in found] == [
        row["timestamp"] for row in sorted(wanted, key=lambda row: row["seq"])
    ]
    assert {row["date"] for row in found} == {f"{row['timestamp']:%Y-%m-%d}" for row in found}
    (entry,) = whole_entries(Archive(path))
    assert (entry.rows, entry.missing, entry.first, entry.last) == (3, 1, 1, 4)


def test_a_run_goes_on_behind_the_last_one_whatever_its_checkpoint_says(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name)
    path = tmp_path / "archive"
    publish(streaming, numbered(name, 10))
    archived(spark, streaming.url, name, path, tmp_path / "one", maxOffsetsPerTrigger="4")
    publish(streaming, numbered(name, 10, start=11))
    archived(spark, streaming.url, name, path, tmp_path / "other")  # the first one was lost
    archived(spark, streaming.url, name, path, tmp_path / "one")
    assert [int(row["data"]) for row in rows_of(path)] == [*range(1, 21)]
    spans = [(entry.first, entry.last) for entry in whole_entries(Archive(path))]
    assert spans == [(1, 4), (5, 8), (9, 10), (11, 20)]


def test_readers_that_glob(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 50))
    path = tmp_path / "archive"
    archived(spark, streaming.url, name, path, tmp_path, maxOffsetsPerTrigger="20")
    files = f"{path}/messages/*/*.parquet"
    question = "select count(*), sum(cast(data::varchar as int)), count(distinct date) from"
    read = f"read_parquet('{files}', hive_partitioning = true)"
    state = api(streaming, f"STREAM.INFO.{name}")["state"]
    dates = {state["first_ts"][:10], state["last_ts"][:10]}  # two of them around midnight
    assert duckdb.sql(f"{question} {read}").fetchone() == (50, 1275, len(dates))
    assert spark.read.parquet(str(path / "messages")).count() == 50


def test_only_some_subjects(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 10))
    path, even = tmp_path / "archive", f"{name}.even"
    archived(spark, streaming.url, name, path, tmp_path, subjects=even)
    assert [int(row["data"]) for row in rows_of(path)] == [2, 4, 6, 8, 10]
    with pytest.raises(ArchiveError, match=f"is an archive of subjects={even}, not of >"):
        opened({"servers": streaming.url}, {"stream": name, "path": str(path), "subjects": ">"})


def test_messages_that_are_gone_stop_an_archive(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name)
    path = tmp_path / "archive"
    publish(streaming, numbered(name, 4))
    archived(spark, streaming.url, name, path, tmp_path)
    publish(streaming, numbered(name, 6, start=5))
    api(streaming, f"STREAM.PURGE.{name}", {"seq": 8})
    with pytest.raises(Exception, match="was to be read from 5 on, but its first message is 8"):
        archived(spark, streaming.url, name, path, tmp_path / "one")
    assert len(rows_of(path)) == 4
    archived(spark, streaming.url, name, path, tmp_path / "two", failOnDataLoss="false")
    assert [row["seq"] for row in rows_of(path)] == [1, 2, 3, 4, 8, 9, 10]
    told = [(entry.missing, entry.is_lossless) for entry in whole_entries(Archive(path))]
    assert told == [(0, True), (3, False)]


def test_another_stream_is_another_archive(streaming: Server, name: str, tmp_path: Path) -> None:
    make(streaming, name)
    make(streaming, f"{name}B")
    connection = {"servers": streaming.url}
    told = {"stream": name, "path": str(tmp_path / "a"), "subjects": ">"}
    opened(connection, told)
    with pytest.raises(ArchiveError, match=f"is an archive of {name}, not of {name}B"):
        opened(connection, told | {"stream": f"{name}B"})
    api(streaming, f"STREAM.DELETE.{name}")
    make(streaming, name)
    with pytest.raises(ArchiveError, match="the one that is there now is another"):
        opened(connection, told)


def test_a_path_is_a_folder() -> None:
    assert folder("file:///data/orders") == folder("/data/orders") == Path("/data/orders")
    with pytest.raises(ParameterError, match="path is 's3a://bucket/x'; allowed: a folder"):
        folder("s3a://bucket/x")


# Killed


class Archiver:
    """A driver that is started again and again."""

    def __init__(self, server: Server, stream: str, tmp_path: Path) -> None:
        self.path = tmp_path / "archive"
        self.log = tmp_path / "driver.log"
        program = [sys.executable, "-m", "tests.spark.archiving", server.url, stream]
        self._command = [*program, str(self.path), str(tmp_path / "checks"), str(ROWS_PER_BATCH)]

    def start(self) -> "subprocess.Popen[bytes]":
        with self.log.open("ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log)

    def kill_when(self, is_time: Callable[[], bool]) -> None:
        """The program, its JVM and what they have started."""
        driver = self.start()
        while not is_time():
            assert driver.poll() is None, self.log.read_text()[-2000:]
            time.sleep(POLL_SECONDS)
        every = [psutil.Process(driver.pid), *psutil.Process(driver.pid).children(recursive=True)]
        for process in every:
            kill(process)
        driver.wait()

    def staged(self) -> bool:
        """Whether there are files that nobody has decided on."""
        return any((self.path / "staging").glob("*/*.parquet"))

    def entries(self) -> int:
        return len([*(self.path / "entries").glob("[0-9]*.json")])


@pytest.mark.timeout(400 + 200 * KILLS)  # each starts Spark
@pytest.mark.usefixtures("java")
def test_an_archive_that_is_killed_again_and_again_is_one(
    penstock_streaming: Server, name: str, tmp_path: Path
) -> None:
    dice = random.Random(SEED)
    make(penstock_streaming, name)
    publish(penstock_streaming, numbered(name, ROWS))
    archiver = Archiver(penstock_streaming, name, tmp_path)
    batches_max = ROWS // ROWS_PER_BATCH // (KILLS + 1)
    for number in range(KILLS):
        goal = archiver.entries() + dice.randrange(1, max(2, batches_max))
        is_in_the_middle = archiver.staged if number % 2 == 0 else (lambda: True)
        archiver.kill_when(lambda: archiver.entries() >= goal and is_in_the_middle())  # noqa: B023
        seen = globbed(archiver.path)
        assert max(seen.values()) == 1, "twice, for who reads while nobody writes"
        assert len(seen) < ROWS, "it was over before it was killed"
    assert archiver.start().wait() == 0, archiver.log.read_text()[-2000:]
    assert globbed(archiver.path) == Counter(range(1, ROWS + 1))
    rows = rows_of(archiver.path)
    assert [int(row["data"]) for row in rows] == [row["seq"] for row in rows]
    assert not archiver.staged()
    whole_entries(Archive(archiver.path))


def globbed(path: Path) -> Counter[int]:
    files = (path / "messages").glob("**/*.parquet")
    return Counter(value for file in files for value in pq.read_table(file)["seq"].to_pylist())
