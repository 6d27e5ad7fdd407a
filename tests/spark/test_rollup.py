"""Windows of a stream: what they come to, and that each is written once, whatever is run again."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.pipelines.catalog import ParameterError, find
from penstock.pipelines.rollup.target import target_of
from penstock.pipelines.rollup.terms import Terms, terms_of
from penstock.pipelines.rollup.windows import COLUMNS, STATE, as_increments, as_messages, windows
from tests.parity.servers import Server
from tests.spark.streams import AN_HOUR_NS, Published, api, make, publish
from tests.spark.test_pipelines import java, run  # noqa: F401 -- java is a fixture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
KEYS = 40  # enough that their order in a hash table is not the one in which they came


def told(**given: str) -> Terms:
    pipeline = find("rollup")
    assert pipeline is not None
    return terms_of(pipeline.checked({"stream": "ORDERS", "target": "TOTALS"} | given))


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


# Parameters


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"by": "region"}, "by is 'region'; allowed: all, subject, part:2"),
        ({"by": "part:0"}, "by is 'part:0'"),
        ({"window": "soon"}, "window is 'soon'; allowed: a time such as"),
        ({"window": "0 seconds"}, "window is '0 seconds'"),
        ({"delay": "-1 second"}, "delay is '-1 second'"),
        ({"digits": "10"}, "digits is '10'; allowed: 0 to 9"),
        ({"partitions": "0"}, "partitions is '0'; allowed: 1 to 10000"),
        ({"sinkMode": "twice"}, "sinkMode is 'twice'; allowed: auto"),
        ({"target": "ORDERS"}, "target is 'ORDERS', the stream itself"),
    ],
)
def test_what_cannot_be_is_named(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem.replace("(", r"\(")):
        told(**given)


def test_another_window_is_another_rollup() -> None:
    assert told().name == told(window="1 minute").name
    assert told().name != told(window="2 minutes").name
    assert told().name.startswith("rollup_orders_totals_")


def test_a_target_must_be_there_and_listen(streaming: Server, name: str) -> None:
    connection = {"servers": streaming.url}
    with pytest.raises(ParameterError, match=f"target is '{name}', and there is no such stream"):
        target_of(connection, told(target=name), "auto")
    make(streaming, name, subjects=[f"{name}.*.count"], allow_msg_counter=True)
    terms = told(target=name, by="part:2", prefix=name)
    assert target_of(connection, terms, "auto").is_counter
    with pytest.raises(ParameterError, match=rf"listen to {name}\.\*\.sum: nats stream edit"):
        target_of(connection, told(target=name, by="part:2", prefix=name, value="n"), "auto")


# What windows come to


def rolled(
    spark: "SparkSession",
    terms: Terms,
    *messages: tuple[str, float, object],
    is_whole: bool = False,
) -> list[dict[str, Any]]:
    rows = [(one, at(seconds), json.dumps(body).encode()) for one, seconds, body in messages]
    found = windows(spark.createDataFrame(rows, COLUMNS), terms, is_whole=is_whole)
    made = as_increments(found, terms) if is_whole else as_messages(found, terms)
    return [row.asDict() for row in made.orderBy("subject", "msg_id").collect()]


def test_a_message_for_each_window_and_subject(spark: "SparkSession") -> None:
    found = rolled(
        spark,
        told(value="amount"),
        ("orders.eu", 0, {"amount": 1.5}),
        ("orders.eu", 59.9, {"amount": "0.25"}),
        ("orders.eu", 30, {"amount": "much"}),
        ("orders.eu", 60, {"amount": -3}),
        ("orders.us", 1, {}),
    )
    first, second, other = (json.loads(row["data"]) for row in found)
    assert [row["subject"] for row in found] == [
        "rollup.ORDERS.orders.eu",
        "rollup.ORDERS.orders.eu",
        "rollup.ORDERS.orders.us",
    ]
    assert first == {
        "key": "orders.eu",
        "start": "2026-01-31T12:00:00Z",
        "end": "2026-01-31T12:01:00Z",
        "count": 3,
        "values": 2,
        "sum": 1.75,
        "min": 0.25,
        "max": 1.5,
        "avg": 0.875,
    }
    assert '"sum":1.75,' in found[0]["data"]
    assert (second["start"], second["sum"], second["count"]) == ("2026-01-31T12:01:00Z", -3, 1)
    assert (other["count"], other["values"], other.get("sum")) == (1, 0, None)
    assert len({row["msg_id"] for row in found}) == 3


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("all", {"": 3}),
        ("part:2", {".eu": 2, "._": 1}),
        ("field:from.city", {".New_York_": 1, ".Bonn": 1, "._": 1}),
        ("part:1,field:from.city", {".o.New_York_": 1, ".o.Bonn": 1, ".o._": 1}),
    ],
)
def test_keys(spark: "SparkSession", by: str, keys: dict[str, int]) -> None:
    found = rolled(
        spark,
        told(by=by, prefix="sum"),
        ("o.eu.1", 0, {"from": {"city": "New York."}}),
        ("o.eu.2", 1, {"from": {"city": "Bonn"}}),
        ("o", 2, ["no object"]),
    )
    assert {row["subject"]: json.loads(row["data"])["count"] for row in found} == {
        f"sum{key}": count for key, count in keys.items()
    }


def test_increments_are_whole(spark: "SparkSession") -> None:
    messages = [("o.eu", 0, {"n": 0.125}), ("o.eu", 1, {"n": "10.129"}), ("o.us", 2, {"n": None})]
    terms = told(value="n", by="part:2", digits="2", prefix="hits")
    found = rolled(spark, terms, *messages, is_whole=True)
    assert {row["subject"]: int(row["incr"]) for row in found} == {
        "hits.eu.count": 2,
        "hits.eu.sum": 13 + 1013,
        "hits.us.count": 1,
    }


def test_times_of_messages(spark: "SparkSession") -> None:
    found = rolled(
        spark,
        told(by="all", time="t"),
        ("o", 0, {"t": "2026-02-01T00:00:30.5Z"}),
        ("o", 0, {"t": 1769904030500}),  # the same
        ("o", 0, {"t": "no time"}),
        ("o", 0, {}),
    )
    (window,) = (json.loads(row["data"]) for row in found)
    assert (window["start"], window["count"]) == ("2026-02-01T00:00:00Z", 2)


# Exactly once


@pytest.fixture
def rocks(spark: "SparkSession") -> Iterator["SparkSession"]:
    for setting, value in STATE.items():
        spark.conf.set(setting, value)
    yield spark
    for setting in STATE:
        spark.conf.unset(setting)


def orders(name: str, minutes: range) -> list[Published]:
    """One for each key in each minute, in an order that is none."""
    return [
        Published(
            f"{name}.{key * 7 % KEYS}",
            json.dumps({"at": at(minute * 60 + key).isoformat(), "n": minute + key}).encode(),
        )
        for minute in minutes
        for key in range(KEYS)
    ]


def roll(spark: "SparkSession", server: Server, terms: Terms, checkpoint: Path) -> None:
    """Until everything is read."""
    target = target_of({"servers": server.url}, terms, "auto")
    messages = (
        spark.readStream.format("jetstream")
        .option("servers", server.url)
        .option("stream", terms.stream)
        .option("startingOffsets", "earliest")
        .schema(COLUMNS)
        .load()
    )
    (
        target.results(messages, terms)
        .writeStream.format("jetstream")
        .option("servers", server.url)
        .option("stream", terms.target)
        .option("sinkMode", target.mode)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


def forget_last_commit(checkpoint: Path) -> None:
    """As if the driver had been killed when everything was written, and nobody had noted it."""
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)


def stored(spark: "SparkSession", server: Server, name: str) -> list[dict[str, Any]]:
    rows = (
        spark.read.format("jetstream")
        .option("servers", server.url)
        .option("stream", name)
        .option("subjects", f"{name}.>")
        .load()
    )
    return [row.asDict() for row in rows.orderBy("seq").collect()]


def expected(name: str, minutes: range) -> Counter[tuple[str, str, int, int]]:
    return Counter(
        (f"{name}.{key * 7 % KEYS}", f"{at(minute * 60):%Y-%m-%dT%H:%M:%SZ}", 1, minute + key)
        for minute in minutes
        for key in range(KEYS)
    )


@pytest.mark.parametrize("is_atomic", [True, False], ids=["batch", "msgid"])
def test_a_window_is_written_once_though_its_batch_is_run_again(
    rocks: "SparkSession", streaming: Server, name: str, tmp_path: Path, is_atomic: bool
) -> None:
    target = f"{name}T"
    make(streaming, name)
    subjects = [f"{target}.>", f"spark_ledger.{target}.>"]
    make(streaming, target, subjects=subjects, allow_atomic=is_atomic, duplicate_window=AN_HOUR_NS)
    terms = told(stream=name, target=target, prefix=target, by="part:2", value="n", time="at")
    publish(streaming, orders(name, range(3)))
    for _ in range(2):
        roll(rocks, streaming, terms, tmp_path)
        forget_last_commit(tmp_path)
    publish(streaming, orders(name, range(3, 5)))
    roll(rocks, streaming, terms, tmp_path)
    found = [(row["subject"], json.loads(row["data"])) for row in stored(rocks, streaming, target)]
    assert Counter(
        (subject, window["start"], window["count"], window["sum"]) for subject, window in found
    ) == expected(target, range(4))  # the last one is not finished


@pytest.mark.parametrize("is_atomic", [True, False], ids=["batch", "msgid"])
def test_counters_take_each_window_once(
    rocks: "SparkSession", streaming: Server, name: str, tmp_path: Path, is_atomic: bool
) -> None:
    target = f"{name}T"
    make(streaming, name)
    make(
        streaming,
        target,
        subjects=[f"{target}.>", f"spark_ledger.{target}.>"],
        allow_msg_counter=True,
        allow_atomic=is_atomic,
        duplicate_window=AN_HOUR_NS,
    )
    terms = told(stream=name, target=target, prefix=target, by="part:2", value="n", time="at")
    publish(streaming, orders(name, range(4)))
    for _ in range(2):
        roll(rocks, streaming, terms, tmp_path)
        forget_last_commit(tmp_path)
    roll(rocks, streaming, terms, tmp_path)
    values = {row["subject"]: int(row["counter_value"]) for row in stored(rocks, streaming, target)}
    wanted: dict[str, int] = {}
    for subject, _, count, total in expected(target, range(3)):
        wanted[f"{subject}.count"] = wanted.get(f"{subject}.count", 0) + count
        wanted[f"{subject}.sum"] = wanted.get(f"{subject}.sum", 0) + total
    assert values == wanted


# As users run it


def values_of(rows: list[Mapping[str, Any]]) -> dict[str, int]:
    return {row["subject"]: int(row["value"]) for row in rows}


@pytest.mark.timeout(640)  # it runs Spark twice
@pytest.mark.usefixtures("java")
def test_a_run_goes_on_where_the_last_one_was(
    penstock_streaming: Server, name: str, tmp_path: Path
) -> None:
    target = f"{name}T"
    make(penstock_streaming, name)
    subjects = [f"{target}.>", f"spark_ledger.{target}.>"]
    counting = {"allow_msg_counter": True, "allow_atomic": True}
    make(penstock_streaming, target, subjects=subjects, **counting)
    given = [f"stream={name}", f"target={target}", f"prefix={target}", "by=part:1", "time=at"]
    publish(penstock_streaming, orders(name, range(2)))
    code, told, errors = run("rollup", *given, "-s", penstock_streaming.url, output=tmp_path)
    assert (code, errors) == (0, "")
    assert values_of(told["rows"]) == {f"{target}.{name}.count": KEYS}
    assert told["written by"] == "batch"
    publish(penstock_streaming, orders(name, range(2, 5)))
    code, told, errors = run("rollup", *given, "-s", penstock_streaming.url, output=tmp_path)
    assert (code, errors) == (0, "")
    assert values_of(told["rows"]) == {f"{target}.{name}.count": 4 * KEYS}
    assert api(penstock_streaming, f"STREAM.INFO.{name}")["state"]["consumer_count"] == 0
