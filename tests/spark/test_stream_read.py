"""Streaming reads: offsets, admission, restarts and streams that are not what they were."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from penstock.pipelines.errors import reason
from tests.parity.servers import Server
from tests.spark.streams import QUERY_SECONDS_MAX, api, make, numbered, publish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery


class Run:
    """Queries from streams to Parquet, one after the other on the same checkpoint."""

    def __init__(self, spark: "SparkSession", server: Server, folder: Path) -> None:
        self._spark, self._server, self._folder = spark, server, folder

    def query(self, **options: str) -> "StreamingQuery":
        """Everything that is there now."""
        frame = (
            self._spark.readStream.format("jetstream")
            .option("servers", self._server.url)
            .options(**options)
            .load()
        )
        query = (
            frame.writeStream.format("parquet")
            .option("path", str(self._folder / "rows"))
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(QUERY_SECONDS_MAX)
        return query

    def rows(self) -> list[tuple[str, int]]:
        frame = self._spark.read.parquet(str(self._folder / "rows"))
        return sorted((row.stream, row.seq) for row in frame.select("stream", "seq").collect())

    def sequences(self) -> list[int]:
        return [sequence for _, sequence in self.rows()]


@pytest.fixture
def run(spark: "SparkSession", streaming: Server, tmp_path: Path) -> Run:
    return Run(spark, streaming, tmp_path)


def batches(query: "StreamingQuery") -> list[int]:
    return [progress["numInputRows"] for progress in query.recentProgress]


def test_restarts_go_on_where_they_were(run: Run, streaming: Server, name: str) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 30))
    run.query(stream=name, startingOffsets="earliest", maxOffsetsPerTrigger="12")
    assert run.sequences() == [*range(1, 31)]
    publish(streaming, numbered(name, 5))
    run.query(stream=name, startingOffsets="earliest")
    assert run.sequences() == [*range(1, 36)]
    run.query(stream=name, startingOffsets="earliest")
    assert run.sequences() == [*range(1, 36)]


def test_a_trigger_takes_what_it_may_and_says_what_is_left(
    run: Run, streaming: Server, name: str
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 30))
    query = run.query(stream=name, startingOffsets="earliest", maxOffsetsPerTrigger="12")
    assert [rows for rows in batches(query) if rows] == [12, 12, 6]
    first: Any = query.recentProgress[0]["sources"][0]
    assert '"seq": 13' in str(first["endOffset"]).replace("'", '"')
    assert '"seq": 31' in str(first["latestOffset"]).replace("'", '"')


def test_bytes_bound_a_trigger(run: Run, streaming: Server, name: str) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 40))
    size = api(streaming, f"STREAM.INFO.{name}")["state"]["bytes"]
    query = run.query(
        stream=name, startingOffsets="earliest", maxBytesPerTrigger=str(size // 2 + 1)
    )
    assert len([rows for rows in batches(query) if rows]) in (2, 3)
    assert run.sequences() == [*range(1, 41)]


def test_by_default_a_query_begins_with_what_comes(run: Run, streaming: Server, name: str) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 5))
    run.query(stream=name)
    publish(streaming, numbered(name, 2))
    run.query(stream=name, minOffsetsPerTrigger="1000")
    assert run.sequences() == [6, 7]


def test_a_stream_that_is_added_is_read_from_its_beginning(
    run: Run, streaming: Server, name: str
) -> None:
    make(streaming, f"{name}A")
    make(streaming, f"{name}B")
    publish(streaming, numbered(f"{name}A", 3) + numbered(f"{name}B", 2))
    run.query(stream=f"{name}A", startingOffsets="earliest")
    run.query(stream=f"{name}A,{name}B", startingOffsets="earliest")
    assert run.rows() == [
        *((f"{name}A", sequence) for sequence in (1, 2, 3)),
        *((f"{name}B", sequence) for sequence in (1, 2)),
    ]


def test_a_start_that_is_gone(run: Run, streaming: Server, name: str) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 5))
    run.query(stream=name, startingOffsets="earliest")
    publish(streaming, numbered(name, 5))
    api(streaming, f"STREAM.PURGE.{name}", {"seq": 9})
    with pytest.raises(Exception, match="its first message is 9 now"):
        run.query(stream=name)
    run.query(stream=name, failOnDataLoss="false")
    assert run.sequences() == [1, 2, 3, 4, 5, 9, 10]


def test_another_stream_of_the_same_name(run: Run, streaming: Server, name: str) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 5))
    run.query(stream=name, startingOffsets="earliest")
    api(streaming, f"STREAM.DELETE.{name}")
    make(streaming, name)
    publish(streaming, numbered(name, 7))
    with pytest.raises(Exception, match="it was created anew"):
        run.query(stream=name)
    run.query(stream=name, failOnDataLoss="false")
    assert run.sequences() == sorted([*range(1, 6), *range(1, 8)])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"endingOffsets": "latest"}, "option endingOffsets: it is not an option of a streaming"),
        ({"maxOffsetsPerTrigger": "0"}, "option maxOffsetsPerTrigger: '0' cannot be; allowed: a"),
    ],
)
def test_wrong_options_before_a_query(
    spark: "SparkSession", streaming: Server, name: str, wrong: dict[str, str], told: str
) -> None:
    """Spark looks at the options only then, if it is told the columns."""
    make(streaming, name)
    reader = spark.readStream.format("jetstream").schema("seq long").options(**wrong)
    frame = reader.options(servers=streaming.url, stream=name).load()
    query = frame.writeStream.format("noop").trigger(availableNow=True).start()
    with pytest.raises(Exception) as raised:
        query.awaitTermination(QUERY_SECONDS_MAX)
    assert reason(raised.value).startswith(told)
