"""Spark and a NATS cluster: streams with three replicas, and a leader that stops for a while."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import nats
import pytest

pytest.importorskip("pyspark")

from tests.spark.length import long
from tests.spark.nats_cluster import NatsCluster
from tests.spark.streams import AN_HOUR_NS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

ROWS = 3000
ROWS_PER_BATCH = "200"
ATTEMPTS_MAX = 5
QUERY_SECONDS_MAX = 280
POLL_SECONDS = 0.05

pytestmark = [long, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsCluster]:
    """With a stream that has something in it."""
    with NatsCluster(tmp_path_factory.mktemp("cluster")) as running:
        running.make("A")
        asyncio.run(_filled(running.servers[running.leader("A")].url))
        yield running


async def _filled(url: str) -> None:
    client = await nats.connect(url)
    js = client.jetstream()
    acks = [await js.publish_async(f"A.{n % 2}", b"%d" % n) for n in range(ROWS)]
    await asyncio.gather(*acks)
    await client.close()


def stored(spark: "SparkSession", cluster: NatsCluster, stream: str, **more: str) -> "DataFrame":
    options = {"servers": cluster.url, "stream": stream, "subjects": f"{stream}.>"} | more
    return spark.read.format("jetstream").options(**options).load()


def every_row(frame: "DataFrame") -> Counter[int]:
    return Counter(int(row.data) for row in frame.select("data").collect())


def test_a_batch_reads_replicas(spark: "SparkSession", cluster: NatsCluster) -> None:
    assert every_row(stored(spark, cluster, "A", minPartitions="4")) == Counter(range(ROWS))


@pytest.mark.parametrize("mode", ["batch", "msgid"])
@pytest.mark.parametrize("role", ["A", "target"])
def test_a_leader_that_stops_costs_nothing(
    spark: "SparkSession", cluster: NatsCluster, tmp_path: Path, mode: str, role: str
) -> None:
    """The one of what is read, or of what is written. A query that fails is started again."""
    target = f"{mode}{role}"
    subjects = [f"{target}.>", f"ledger.{target}.>"]
    cluster.make(target, subjects=subjects, allow_atomic=True, duplicate_window=AN_HOUR_NS)
    stream = target if role == "target" else role
    query = started(spark, cluster, target, mode, tmp_path)
    until = time.monotonic() + QUERY_SECONDS_MAX
    while query.lastProgress is None and query.isActive and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    leader = cluster.leader(stream)
    cluster.servers[leader].signal("SIGSTOP")
    try:
        assert query.isActive
        cluster.leader(stream, but=leader)
    finally:
        cluster.servers[leader].signal("SIGCONT")
    for _ in range(ATTEMPTS_MAX):
        if is_done(query):
            break
        query = started(spark, cluster, target, mode, tmp_path)
    assert query.exception() is None
    assert every_row(stored(spark, cluster, target)) == Counter(range(ROWS))


def started(
    spark: "SparkSession", cluster: NatsCluster, target: str, mode: str, folder: Path
) -> "StreamingQuery":
    from pyspark.sql.functions import concat, lit

    rows = (
        spark.readStream.format("jetstream")
        .options(servers=cluster.url, stream="A", startingOffsets="earliest")
        .options(maxOffsetsPerTrigger=ROWS_PER_BATCH, minPartitions="2")
        .load()
    )
    return (
        rows.select(concat(lit(f"{target}."), "subject").alias("subject"), "data")
        .writeStream.format("jetstream")
        .options(servers=cluster.url, stream=target, sinkMode=mode)
        .options(ledgerSubject=f"ledger.{target}")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def is_done(query: "StreamingQuery") -> bool:
    """Whether it has come to its end; a task that has waited too long fails it."""
    from pyspark.errors import StreamingQueryException

    try:
        return bool(query.awaitTermination(QUERY_SECONDS_MAX))
    except StreamingQueryException:
        return False
