"""Samples of acknowledgements: percentiles, redeliveries and slow consumers, made up and real."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nats
import pytest
from nats.js.api import ConsumerConfig

from penstock.pipelines.acks import latency
from penstock.pipelines.acks.plot import draw
from penstock.pipelines.acks.terms import terms_of
from penstock.pipelines.catalog import ParameterError, find
from tests.parity.servers import Server
from tests.spark.length import long_with_reference
from tests.spark.streams import ANSWER_SECONDS_MAX, make
from tests.spark.test_pipelines import FLAWED, java, run  # noqa: F401 -- java is a fixture

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLES = "$JS.EVENT.METRIC.CONSUMER.ACK"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NOT_STORED_THEN = NOON + timedelta(days=1)  # samples say when they were taken


def sample(seconds: float, consumer: str, ms: float, deliveries: int = 1) -> bytes:
    told = {
        "type": latency.TYPE,
        "timestamp": f"{NOON + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%f}123Z",
        "stream": "ORDERS",
        "consumer": consumer,
        "stream_seq": 7,
        "ack_time": int(ms * 1e6),
        "deliveries": deliveries,
    }
    return json.dumps(told).encode()


def sampled(spark: "SparkSession", *messages: bytes) -> "DataFrame":
    rows = [(NOT_STORED_THEN, data) for data in messages]
    return latency.samples(spark.createDataFrame(rows, latency.COLUMNS))


def test_percentiles_of_each_window(spark: "SparkSession") -> None:
    found = sampled(
        spark,
        *(sample(number * 0.5, "a", number) for number in range(1, 101)),
        sample(61, "a", 5000, deliveries=3),
        sample(62, "b", 1, deliveries=2),
    )
    rows = latency.latency(found, "1 minute", 1000).orderBy("start", "consumer").collect()
    figures = ("samples", "p50_ms", "p90_ms", "p99_ms", "max_ms", "redelivered", "deliveries_max")
    assert [(row.consumer, *(row[name] for name in figures)) for row in rows] == [
        ("a", 100, 50, 90, 99, 100, 0, 1),
        ("a", 1, 5000, 5000, 5000, 5000, 1, 3),
        ("b", 1, 1, 1, 1, 1, 1, 2),
    ]
    assert [row.is_slow for row in rows] == [False, True, False]
    assert rows[1].start.astimezone(UTC) == NOON + timedelta(minutes=1)


def test_when_a_consumer_was_slow(spark: "SparkSession") -> None:
    times = {0: 1.0, 60: 2000.0, 120: 1.0, 180: 3000.0, 240: 1.0}
    found = sampled(spark, *(sample(seconds, "a", ms) for seconds, ms in times.items()))
    windows = latency.latency(found, "1 minute", 1000)
    (row,) = latency.consumers(found, windows).collect()
    assert (row.windows, row.slow_windows, row.samples, row.p50_ms) == (5, 2, 5, 1)
    assert row.slow_from.astimezone(UTC) == NOON + timedelta(minutes=1)
    assert row.slow_until.astimezone(UTC) == NOON + timedelta(minutes=4)


@pytest.mark.parametrize("data", [b"no JSON", b"{}", b'{"type": "other", "consumer": "a"}'])
def test_what_is_no_sample_counts_for_nobody(spark: "SparkSession", data: bytes) -> None:
    found = sampled(spark, data, sample(0, "a", 1))
    windows = latency.latency(found, "1 minute", 1000)
    (row,) = latency.consumers(found, windows).collect()
    assert (row.consumer, row.samples, row.windows) == ("a", 1, 1)
    assert [one.samples for one in windows.where("consumer is null").collect()] == [1]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"slow": "never"}, "slow is 'never'; allowed: milliseconds"),
        ({"slow": "-1"}, "slow is '-1'"),
        ({"window": "1"}, "window is '1'"),
        ({"plot": "acks.doc"}, "plot is 'acks.doc'; allowed: a file"),
    ],
)
def test_what_cannot_be_is_named(given: dict[str, str], problem: str) -> None:
    pipeline = find("acks")
    assert pipeline is not None
    with pytest.raises(ParameterError, match=problem):
        terms_of(pipeline.checked({"stream": "ACKS"} | given))


async def consume(url: str, name: str) -> None:
    """Ten orders: each acknowledged, one of them not at first."""
    client = await nats.connect(url)
    js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
    for number in range(10):
        await js.publish(f"{name}.order", b"%d" % number)
    config = ConsumerConfig(durable_name="worker", sample_freq="100%", ack_wait=600)
    pull = await js.pull_subscribe(f"{name}.order", "worker", config=config)
    first, *others = await pull.fetch(10, ANSWER_SECONDS_MAX)
    await first.nak()
    (again,) = await pull.fetch(1, ANSWER_SECONDS_MAX)
    for message in (*others, again):
        await message.ack_sync(ANSWER_SECONDS_MAX)
    behind = await js.subscribe(f"{SAMPLES}.{name}.>", ordered_consumer=True)
    for _ in range(10):  # samples come behind their acknowledgements
        await behind.next_msg(ANSWER_SECONDS_MAX)
    await client.close()


def test_a_plot_that_cannot_be_written_costs_nobody_the_tables(
    spark: "SparkSession", tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    windows = latency.latency(sampled(spark, sample(0, "c", 5)), "1 minute", 1000.0)
    place = tmp_path / "gone" / "acks.png"  # it was there when the run began
    told = draw(windows, [], 1000.0, place)
    assert told == f"none: {place}: No such file or directory"


@long_with_reference
@pytest.mark.usefixtures("java")
def test_samples_of_a_server(streaming: Server, name: str, tmp_path: Path) -> None:
    make(streaming, name)
    make(streaming, f"{name}ACKS", subjects=[f"{SAMPLES}.{name}.>"])
    asyncio.run(consume(streaming.url, name))
    plot = tmp_path / "acks.png"
    given = (f"stream={name}ACKS", "slow=0.000001", f"plot={plot}", "window=1 day")
    code, told, errors = run("acks", *given, "-s", streaming.url, output=tmp_path / "out")
    assert (code, errors) == (FLAWED, "")  # nobody is that fast
    (row,) = told["rows"]
    assert_figures(row, name)
    assert (told["consumers"], told["slow"], told["unreadable"]) == (1, 1, 0)
    assert told["problems"][0].startswith(f"{name} worker: slow in ")
    assert plot.read_bytes().startswith(b"\x89PNG")


def assert_figures(row: dict[str, Any], name: str) -> None:
    assert (row["stream"], row["consumer"], row["samples"]) == (name, "worker", 10)
    assert (row["redelivered"], row["deliveries_max"]) == (1, 2)
    assert 0 < row["p50_ms"] <= row["p90_ms"] <= row["p99_ms"] <= row["max_ms"]
