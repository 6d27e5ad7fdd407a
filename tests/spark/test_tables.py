"""A bucket as tables: every key is what a client gets, and what was seen once stays seen."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from penstock.pipelines.catalog import ParameterError, find
from penstock.pipelines.tables.bucket import bucket_of
from penstock.pipelines.tables.changes import COLUMNS, changes, held
from penstock.pipelines.tables.feed import current_changes, new_changes
from penstock.pipelines.tables.outcome import stale
from penstock.pipelines.tables.terms import Terms, table_of, terms_of
from tests.parity.servers import Server
from tests.spark.streams import ANSWER_SECONDS_MAX, api, connected, make

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

MARKERS = {"allow_msg_ttl": True, "subject_delete_marker_ttl": 600_000_000_000}

Work = Callable[[JetStreamContext, KeyValue], Awaitable[Any]]


def told(**given: str) -> Terms:
    pipeline = find("tables")
    assert pipeline is not None
    return terms_of(pipeline.checked({"bucket": "orders"} | given))


def make_bucket(server: Server, name: str, history: int = 1, **config: Any) -> None:
    """As clients make them, but for `deny_delete`, so messages can be deleted; and it listens to
    something that is no key."""
    subjects = [f"$KV.{name}.>", f"{name}.no.key"]
    defaults = {"allow_rollup_hdrs": True, "max_msgs_per_subject": history, "discard": "new"}
    make(server, f"KV_{name}", subjects=subjects, **defaults, **config)


def with_bucket(server: Server, name: str, work: Work) -> Any:
    async def main(client: Client) -> Any:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        return await work(js, await js.key_value(name))

    return connected(server, main)


def got(server: Server, name: str, keys: Iterable[str]) -> dict[str, tuple[bytes, int]]:
    """What a client gets: value and revision of every key that there is."""

    async def get(_: JetStreamContext, kv: KeyValue) -> dict[str, tuple[bytes, int]]:
        found = {}
        for key in keys:
            try:
                entry = await kv.get(key)
            except KeyNotFoundError:
                continue
            assert entry.revision is not None
            found[key] = (entry.value or b"", entry.revision)  # nats-py: None if it is empty
        return found

    entries: dict[str, tuple[bytes, int]] = with_bucket(server, name, get)
    return entries


def tabled(spark: "SparkSession", server: Server, name: str) -> dict[str, tuple[bytes, int]]:
    """The table."""
    connection = {"servers": server.url}
    found = held(current_changes(spark, bucket_of(connection, name), connection)).collect()
    assert len({row.key for row in found}) == len(found)
    return {row.key: (bytes(row.value), row.revision) for row in found}


def follow(spark: "SparkSession", server: Server, name: str, folder: Path, **options: str) -> None:
    """One run of the history."""
    connection = {"servers": server.url}
    bucket = bucket_of(connection, name)
    found = new_changes(spark, bucket, connection | {"failOnDataLoss": "false"} | options)
    writing = found.writeStream.format("parquet").option("path", str(folder / "history"))
    writing = writing.option("checkpointLocation", str(folder / "checkpoint"))
    query = writing.trigger(availableNow=True).start()
    query.awaitTermination()


def followed(spark: "SparkSession", folder: Path) -> "list[Row]":
    table = spark.read.parquet(str(folder / "history"))
    rows: list[Row] = table.orderBy("bucket_created", "revision").collect()
    return rows


# Parameters


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"bucket": "a.b"}, "bucket is 'a.b'; allowed: letters, digits, - and _"),
        ({"table": "a-b"}, "table is 'a-b'; allowed: letters, digits and _"),
        ({"catalog": "lake..kv"}, "catalog is 'lake..kv'; allowed: names with dots"),
        ({"method": "merge"}, "method is 'merge'; allowed: scan, cdc"),
        ({"method": "cdc"}, "format is 'parquet', and method cdc needs a format"),
        ({"method": "cdc", "format": "Delta"}, "format is 'delta', and method cdc needs a format"),
    ],
)
def test_what_cannot_be_is_named(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        told(**given)


def test_tables_are_where_they_are_told_to_be() -> None:
    terms = told(catalog="lake.kv", format="iceberg", method="cdc")
    assert (terms.current, terms.history) == ("lake.kv.kv_orders", "lake.kv.kv_orders_history")
    assert told(table="shop").history == "shop_history"


def test_no_two_buckets_share_a_table() -> None:
    buckets = ["a_b", "a-b", "A_b", "a_b_history", "a_b-history", "A" * 240, "a" * 240, "x" * 240]
    names = [name for one in buckets for name in (table_of(one), f"{table_of(one)}_history")]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and name == name.lower() for name in names)
    assert max(map(len, names)) < 128
    assert table_of("a_b") == "kv_a_b"


def test_a_bucket_must_be_there(streaming: Server, name: str) -> None:
    with pytest.raises(ParameterError, match=f"bucket is '{name}', and there is no stream KV_"):
        bucket_of({"servers": streaming.url}, name)


# What a bucket holds


async def _lived_in(js: JetStreamContext, kv: KeyValue) -> None:
    for key in ("a", "a.b", "sl/ash=_-", "gone", "purged", "again", "back", "deleted", "swept.1"):
        await kv.put(key, f"{key} 1".encode())
    await kv.put("a", b"a 2")
    await kv.put("empty", b"")
    await kv.put("binary", b"\x00\xff\r\n")
    await kv.delete("gone")
    await kv.purge("purged")
    await kv.delete("again")
    await kv.create("again", b"again 2")
    stream = f"KV_{kv._name}"
    revision = await kv.put("back", b"back 2")
    await js.delete_msg(stream, revision)  # the older one holds again
    for number in (1, 2):
        revision = await kv.put("deleted", b"%d" % number)
        await js.delete_msg(stream, revision)
    await js.delete_msg(stream, 8)  # the one of deleted that was left
    await kv.put("swept.2", b"2")
    await js.purge_stream(stream, subject=f"$KV.{kv._name}.swept.*")


KEYS = (
    *("a", "a.b", "sl/ash=_-", "gone", "purged", "again", "back", "deleted"),
    *("swept.1", "swept.2", "empty", "binary"),
)
HELD = {"a", "a.b", "sl/ash=_-", "again", "back", "empty", "binary"}


def test_the_table_is_what_clients_get(spark: "SparkSession", streaming: Server, name: str) -> None:
    make_bucket(streaming, name, history=5)
    with_bucket(streaming, name, _lived_in)
    entries = got(streaming, name, KEYS)
    assert set(entries) == HELD
    assert entries["back"][0] == b"back 1"
    assert tabled(spark, streaming, name) == entries


def test_what_was_there_is_gone_from_the_next_table(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    async def put(_: JetStreamContext, kv: KeyValue) -> None:
        for key in ("a", "b", "c"):
            await kv.put(key, key.encode())

    async def aged(_: JetStreamContext, kv: KeyValue) -> None:
        while True:
            if not (await kv.status()).values:
                return
            await asyncio.sleep(0.02)

    make_bucket(streaming, name)
    with_bucket(streaming, name, put)
    assert set(tabled(spark, streaming, name)) == {"a", "b", "c"}
    api(streaming, f"STREAM.PURGE.KV_{name}", {"filter": f"$KV.{name}.b"})
    assert set(tabled(spark, streaming, name)) == {"a", "c"}
    config = api(streaming, f"STREAM.INFO.KV_{name}")["config"] | {"max_age": 1_000_000_000}
    config["duplicate_window"] = config["max_age"]
    api(streaming, f"STREAM.UPDATE.KV_{name}", config)
    with_bucket(streaming, name, aged)  # without markers
    assert tabled(spark, streaming, name) == {}


def test_a_marker_is_no_value(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    async def marked(_: JetStreamContext, kv: KeyValue) -> None:
        await kv.put("stays", b"1")
        await kv.create("ends", b"2", msg_ttl=1)
        watcher = await kv.watch("ends")
        while (entry := await watcher.updates(timeout=ANSWER_SECONDS_MAX)) is None or entry.value:
            pass
        await watcher.stop()

    make_bucket(streaming, name, **MARKERS)
    with_bucket(streaming, name, marked)
    assert got(streaming, name, ["ends"]) == {"ends": (b"", 3)}  # nats-py takes it for a value
    assert tabled(spark, streaming, name) == {"stays": (b"1", 1)}
    follow(spark, streaming, name, tmp_path)
    *_, last = followed(spark, tmp_path)
    assert (last.key, last.operation, last.reason, last.value) == (
        "ends",
        "EXPIRED",
        "MaxAge",
        None,
    )


def test_markers_of_deletions_and_purges(
    spark: "SparkSession", penstock_streaming: Server, name: str, tmp_path: Path
) -> None:
    async def marked(js: JetStreamContext, kv: KeyValue) -> None:
        for key in ("a", "b", "c"):
            await kv.put(key, key.encode())
        await js.delete_msg(f"KV_{name}", 1)
        await js.purge_stream(f"KV_{name}", subject=f"$KV.{name}.b")

    make_bucket(penstock_streaming, name, **MARKERS)
    with_bucket(penstock_streaming, name, marked)
    assert set(tabled(spark, penstock_streaming, name)) == {"c"}
    follow(spark, penstock_streaming, name, tmp_path)
    happened = [(row.key, row.operation, row.reason) for row in followed(spark, tmp_path)]
    assert happened == [("c", "PUT", None), ("a", "DEL", "Remove"), ("b", "PURGE", "Purge")]


def test_a_mirror_has_the_keys_of_its_origin(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    async def put(_: JetStreamContext, kv: KeyValue) -> None:
        await kv.put("a", b"1")

    mirror = f"{name}M"
    make_bucket(streaming, name)
    with_bucket(streaming, name, put)
    config = {"mirror": {"name": f"KV_{name}"}, "allow_direct": True, "storage": "file"}
    api(streaming, f"STREAM.CREATE.KV_{mirror}", {"name": f"KV_{mirror}", **config})

    async def mirrored(client: Client) -> None:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        while True:
            if (await js.stream_info(f"KV_{mirror}")).state.messages:
                return
            await asyncio.sleep(0.02)

    connected(streaming, mirrored)
    assert tabled(spark, streaming, mirror) == {"a": (b"1", 1)}


def test_operations(spark: "SparkSession", streaming: Server, name: str) -> None:
    make_bucket(streaming, name)
    assert tabled(spark, streaming, name) == {}
    bucket = bucket_of({"servers": streaming.url}, name)
    headers = [
        ({}, None),
        ({"KV-Operation": ["DEL"]}, None),
        ({"KV-Operation": ["PURGE"], "Nats-Rollup": ["sub"]}, None),
        ({"KV-Operation": ["PUT"]}, None),
        (None, "MaxAge"),
        (None, "Remove"),
        (None, "Purge"),
        (None, "a reason of tomorrow"),
    ]
    rows = [
        (f"{bucket.prefix}k.{number}", number, None, b"v", told, marker)
        for number, (told, marker) in enumerate(headers)
    ]
    found = changes(spark.createDataFrame(rows, COLUMNS), bucket).orderBy("revision").collect()
    assert [row.key for row in found] == [f"k.{number}" for number in range(len(rows))]
    assert [row.operation for row in found] == [
        *("PUT", "DEL", "PURGE", "PUT", "EXPIRED", "DEL", "PURGE", "DEL"),
    ]
    assert [row.value is None for row in found] == [row.operation != "PUT" for row in found]


# While it is being written


def test_a_key_that_is_written_anew_is_not_lost(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    """All that the scan was to read is gone when it reads, and what there is was never planned."""

    async def write(js: JetStreamContext, kv: KeyValue) -> None:
        await js.publish(f"{name}.no.key")  # the first message, so that something is scanned
        for key in ("a", "b", "gone"):
            await kv.put(key, b"1")

    async def anew(_: JetStreamContext, kv: KeyValue) -> None:
        for number in (2, 3):
            for key in ("a", "b"):
                await kv.put(key, b"%d" % number)
        await kv.delete("gone")
        await kv.put("new", b"1")

    make_bucket(streaming, name, history=1)
    with_bucket(streaming, name, write)
    connection = {"servers": streaming.url}
    bucket = bucket_of(connection, name)
    with_bucket(streaming, name, anew)
    rows = held(current_changes(spark, bucket, connection | {"minPartitions": "2"})).collect()
    found = {row.key: (bytes(row.value), row.revision) for row in rows}
    assert found == got(streaming, name, ("a", "b", "gone", "new"))
    assert set(found) == {"a", "b", "new"}


def test_keys_that_are_written_all_the_time_are_there(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    keys = [f"k.{number}" for number in range(5)]
    is_over = Event()

    async def write(_: JetStreamContext, kv: KeyValue) -> None:
        while not is_over.is_set():
            for key in keys:
                await kv.put(key, b"v")

    def wait_for_more(messages: int) -> None:
        """So that every key has been written since."""
        goal = last_sequence() + messages
        while last_sequence() < goal:
            assert not writing.done()

    def last_sequence() -> int:
        return int(api(streaming, f"STREAM.INFO.KV_{name}")["state"]["last_seq"])

    make_bucket(streaming, name, history=1)
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(with_bucket, streaming, name, write)
        try:
            while api(streaming, f"STREAM.INFO.KV_{name}")["state"]["messages"] < len(keys):
                assert not writing.done()
            tables = []
            for _ in range(3):
                tables.append(tabled(spark, streaming, name))
                wait_for_more(2 * len(keys))
        finally:
            is_over.set()
        writing.result()
    assert [sorted(table) for table in tables] == [keys] * 3
    for earlier, later in pairwise(tables):
        assert all(earlier[key][1] < later[key][1] for key in keys)


def test_a_row_is_stale_if_its_revision_went_without_a_word(spark: "SparkSession") -> None:
    current = spark.createDataFrame(
        [("same", 1), ("newer", 2), ("gone", 3), ("back", 4)], "key string, revision bigint"
    )
    last = spark.createDataFrame(
        [("same", 1), ("newer", 9), ("back", 1)], "key string, revision bigint"
    )
    found = stale(current, last).collect()
    assert {(row.key, row.revision) for row in found} == {("gone", 3), ("back", 4)}


# What has happened


def test_the_history_keeps_what_the_bucket_does_not(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    async def begin(_: JetStreamContext, kv: KeyValue) -> None:
        for number in (1, 2):
            await kv.put("a", b"%d" % number)
        await kv.put("b", b"1")

    async def go_on(_: JetStreamContext, kv: KeyValue) -> None:
        await kv.delete("b")
        await kv.purge("a")
        await kv.put("a", b"3")

    make_bucket(streaming, name, history=2)
    with_bucket(streaming, name, begin)
    follow(spark, streaming, name, tmp_path)
    with_bucket(streaming, name, go_on)
    follow(spark, streaming, name, tmp_path)
    follow(spark, streaming, name, tmp_path)  # nothing is new
    rows = followed(spark, tmp_path)
    values = [row.value and bytes(row.value) for row in rows]
    assert [(row.revision, row.key, row.operation) for row in rows] == [
        *((1, "a", "PUT"), (2, "a", "PUT"), (3, "b", "PUT")),
        *((4, "b", "DEL"), (5, "a", "PURGE"), (6, "a", "PUT")),
    ]
    assert values == [b"1", b"2", b"1", None, None, b"3"]
    times = [row.created for row in rows]
    assert times == sorted(times)


def test_changes_that_went_unseen_are_a_failure_if_one_says_so(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    async def put(_: JetStreamContext, kv: KeyValue) -> None:
        for number in range(3):
            await kv.put("a", b"%d" % number)

    make_bucket(streaming, name, history=1)
    with_bucket(streaming, name, put)
    follow(spark, streaming, name, tmp_path)
    with_bucket(streaming, name, put)
    with pytest.raises(Exception, match="failOnDataLoss=false goes on"):
        follow(spark, streaming, name, tmp_path, failOnDataLoss="true")
    follow(spark, streaming, name, tmp_path)
    assert [row.revision for row in followed(spark, tmp_path)] == [3, 6]


def test_a_bucket_that_was_made_anew_is_told_from_the_old_one(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    async def put(_: JetStreamContext, kv: KeyValue) -> None:
        await kv.put("a", b"1")

    for _ in range(2):
        make_bucket(streaming, name)
        with_bucket(streaming, name, put)
        follow(spark, streaming, name, tmp_path)
        api(streaming, f"STREAM.DELETE.KV_{name}")
    first, second = followed(spark, tmp_path)
    assert first.revision == second.revision == 1
    assert first.bucket_created < second.bucket_created
