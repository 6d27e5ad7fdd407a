"""Archives published again: in order, exactly once, and what a server acts on left out."""

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nats
import psutil
import pytest
from nats.js.errors import KeyNotFoundError, NotFoundError

from penstock.pipelines.catalog import ParameterError
from penstock.pipelines.restore.target import target_of
from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream_archive.folder import ArchiveError
from tests.parity.servers import Server
from tests.spark.archiving import archived
from tests.spark.length import long
from tests.spark.restoring import restored, told
from tests.spark.streams import (
    AN_HOUR_NS,
    ANSWER_SECONDS_MAX,
    Published,
    api,
    connected,
    make,
    numbered,
    publish,
)
from tests.spark.test_exactly_once import kill
from tests.spark.test_pipelines import java  # noqa: F401 -- a fixture
from tests.spark.test_rollup import forget_last_commit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLS = int(os.environ.get("PENSTOCK_SPARK_KILLS", "2"))
ROWS_PER_BATCH = 500
ROWS = 3 * ROWS_PER_BATCH * (KILLS + 1)
SEED = int(os.environ.get("SEED", "1"))
POLL_SECONDS = 0.005

Stored = tuple[str, bytes, dict[str, str]]


def stored(server: Server, name: str, subject: str) -> list[Stored]:
    """Messages in the order of the stream."""

    async def read(client: nats.NATS) -> list[Stored]:
        js, sequence, found = client.jetstream(timeout=ANSWER_SECONDS_MAX), 1, []
        while True:
            try:
                message = await js.get_msg(name, sequence, subject=subject, next=True)
            except NotFoundError:
                return found
            assert message.subject is not None and message.seq is not None
            found.append((message.subject, message.data or b"", dict(message.headers or {})))
            sequence = message.seq + 1

    found: list[Stored] = connected(server, read)
    return found


def make_target(server: Server, name: str, subjects: list[str], **config: Any) -> None:
    subjects = [*subjects, f"spark_ledger.{name}.>"]
    make(server, name, subjects=subjects, allow_atomic=True, duplicate_window=AN_HOUR_NS, **config)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def moved(server: Server, name: str) -> None:
    """Its subjects are free for another stream."""
    api(server, f"STREAM.DELETE.{name}")


# What is published


@pytest.mark.parametrize("mode", ["batch", "msgid"])
def test_headers_that_a_server_acts_on_are_left_out(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path, path: Path, mode: str
) -> None:
    make(streaming, name, allow_rollup_hdrs=True, allow_msg_ttl=True)
    publish(
        streaming,
        [
            Published(f"{name}.a", b"1", {"Nats-Msg-Id": "x", "Trace": "t", "KV-Operation": "DEL"}),
            Published(f"{name}.b", b"2", {"nats-expected-stream": name, "Nats-TTL": "1h"}),
            Published(f"{name}.c", b"3", {"Nats-Rollup": "sub", "Nats-Sequence": "17"}),
            Published(f"{name}.a", b"", {"Nats-Expected-Stream": name}),
            Published(f"{name}.a", b"5"),
        ],
    )
    archived(spark, streaming.url, name, path, tmp_path)
    moved(streaming, name)
    target = f"{name}T"
    make_target(streaming, target, [f"{name}.>"], allow_msg_ttl=True)
    found = restored(
        spark, streaming.url, told(path, target, sinkMode=mode), tmp_path, rows_per_batch=2
    )
    assert found.mode == mode
    messages = [
        (subject, data, {key: value for key, value in headers.items() if key not in own})
        for subject, data, headers in stored(streaming, target, f"{name}.>")
        for own in [("Nats-Msg-Id", "Nats-Batch-Id", "Nats-Batch-Sequence")]
    ]
    assert messages == [
        (f"{name}.a", b"1", {"KV-Operation": "DEL", "Trace": "t"}),
        (f"{name}.b", b"2", {"Nats-TTL": "3600"}),
        (f"{name}.c", b"3", {"Nats-Sequence": "17"}),
        (f"{name}.a", b"", {}),
        (f"{name}.a", b"5", {}),
    ]


@pytest.mark.parametrize("mode", ["batch", "msgid"])
def test_a_restore_goes_on_where_it_was(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path, path: Path, mode: str
) -> None:
    target = f"{name}T"
    make(streaming, name)
    publish(streaming, numbered(name, 30))
    archived(spark, streaming.url, name, path, tmp_path)
    publish(streaming, numbered(name, 12, start=31))
    archived(spark, streaming.url, name, path, tmp_path)
    moved(streaming, name)
    make_target(streaming, target, [f"{name}.>"])
    terms = told(path, target, sinkMode=mode)
    for _ in range(2):
        found = restored(spark, streaming.url, terms, tmp_path, rows_per_batch=20)
        forget_last_commit(tmp_path / terms.name(found.archive))
    restored(spark, streaming.url, terms, tmp_path, rows_per_batch=20)
    messages = stored(streaming, target, f"{name}.>")
    assert [int(data) for _, data, _ in messages] == [*range(1, 43)]


def test_counters_come_to_their_values(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path, path: Path
) -> None:
    target = f"{name}T"
    make(streaming, name, allow_msg_counter=True)
    added = [("a", 5), ("b", 1), ("a", 7), ("b", -3), ("a", 10), ("b", 10**30)]
    publish(
        streaming, [Published(f"{name}.{key}", b"", {"Nats-Incr": f"{n:+d}"}) for key, n in added]
    )
    api(streaming, f"STREAM.PURGE.{name}", {"seq": 2})  # the beginning of a
    api(streaming, f"STREAM.MSG.DELETE.{name}", {"seq": 4})
    archived(spark, streaming.url, name, path, tmp_path)
    moved(streaming, name)
    make_target(streaming, target, [f"{name}.>"], allow_msg_counter=True)
    found = restored(spark, streaming.url, told(path, target), tmp_path, rows_per_batch=2)
    assert found.mode == "batch"
    messages = stored(streaming, target, f"{name}.>")
    assert [(subject, headers["Nats-Incr"]) for subject, _, headers in messages] == [
        (f"{name}.b", "+1"),
        (f"{name}.a", "+12"),  # what was added before it is gone, and counts
        (f"{name}.a", "+10"),
        (f"{name}.b", f"{10**30 - 3:+d}"),
    ]
    assert messages[-1][1] == b'{"val":"%d"}' % (10**30 - 2)
    assert messages[-2][1] == b'{"val":"22"}'


async def _kept(server: str, bucket: str, keys: list[str]) -> dict[str, bytes | None]:
    client = await nats.connect(server)
    try:
        kv = await client.jetstream(timeout=ANSWER_SECONDS_MAX).key_value(bucket)
        found: dict[str, bytes | None] = {}
        for key in keys:
            try:
                found[key] = (await kv.get(key)).value
            except KeyNotFoundError:  # deleted ones are among them
                found[key] = None
        return found
    finally:
        await client.close()


def test_a_bucket_has_the_keys_that_it_had(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path, path: Path
) -> None:
    config = {
        "subjects": [f"$KV.{name}.>"],
        "max_msgs_per_subject": 5,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "discard": "new",
        "allow_msg_ttl": True,
        "subject_delete_marker_ttl": 3600 * 10**9,
    }
    # Lifetimes of messages are no shorter than it; long enough to be updated before it ends.
    short = {"subject_delete_marker_ttl": 3 * 10**9}
    make(streaming, f"KV_{name}", **config | short)
    publish(streaming, [Published(f"$KV.{name}.expired", b"1", {"Nats-TTL": "3s"})])
    update = {"name": f"KV_{name}", "storage": "file", "allow_direct": True, **config}
    api(streaming, f"STREAM.UPDATE.KV_{name}", update)  # its marker shall stay
    keys = ["kept", "deleted", "purged", "again", "expired"]

    async def fill(client: nats.NATS) -> None:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        kv = await js.key_value(name)
        for key in keys[:-1]:
            await kv.put(key, b"1")
        await kv.put("kept", b"2")
        for key in ("deleted", "again"):
            await kv.delete(key)
        await kv.purge("purged")
        await kv.put("again", b"3")

    connected(streaming, fill)
    last = {"last_by_subj": f"$KV.{name}.expired"}
    while api(streaming, f"STREAM.MSG.GET.KV_{name}", last)["message"].get("data"):
        time.sleep(POLL_SECONDS)  # until its marker is there
    before = asyncio.run(_kept(streaming.url, name, keys))
    archived(spark, streaming.url, f"KV_{name}", path, tmp_path)
    moved(streaming, f"KV_{name}")
    make(streaming, f"KV_{name}", **config)
    found = restored(spark, streaming.url, told(path, f"KV_{name}"), tmp_path)
    assert found.mode == "msgid"
    assert asyncio.run(_kept(streaming.url, name, keys)) == before
    assert before == {"kept": b"2", "deleted": None, "purged": None, "again": b"3", "expired": None}
    *_, marker = stored(streaming, f"KV_{name}", f"$KV.{name}.expired")
    assert marker[2]["Nats-Marker-Reason"] == "MaxAge"


# What stands against it


@pytest.fixture
def restorable(spark: "SparkSession", streaming: Server, name: str, tmp_path: Path) -> Path:
    """An archive of two subjects and a lifetime."""
    make(streaming, name, allow_msg_ttl=True)
    messages = [
        Published(f"{name}.eu", b"x" * 500),
        Published(f"{name}.us", b"", {"Nats-TTL": "1h"}),
    ]
    publish(streaming, messages)
    archived(spark, streaming.url, name, tmp_path / "archive", tmp_path)
    moved(streaming, name)
    return tmp_path / "archive"


def test_what_a_target_does_not_take_is_told_before(
    restorable: Path, streaming: Server, name: str
) -> None:
    def refused(match: str, kind: type[Exception] = ParameterError, **parameters: str) -> None:
        with pytest.raises(kind, match=match):
            target_of({"servers": streaming.url}, told(restorable, name, **parameters))

    def made(**config: Any) -> None:
        make(streaming, name, **{"subjects": [f"{name}.eu"], **config})

    refused(f"target is '{name}', and there is no such stream")
    made()
    refused("lacks allow_msg_ttl: nats stream edit .* or say ttl=drop")
    refused(rf"does not listen to {name}\.us: nats stream edit {name} --subjects", ttl="drop")
    refused(
        "lacks allow_atomic, which sinkMode batch needs", SinkError, sinkMode="batch", ttl="drop"
    )
    refused("ttl is 'double'; allowed: keep, drop", ttl="double")
    taken = told(restorable, name, ttl="drop", subjects=f"{name}.eu")
    assert target_of({"servers": streaming.url}, taken).mode == "msgid"
    moved(streaming, name)
    made(max_msg_size=100)
    refused("has a message of 500 bytes, and .* takes 100", ttl="drop")
    moved(streaming, name)
    made(allow_msg_counter=True)
    refused("is a stream of counters .allow_msg_counter., and the archive has none")
    next((restorable / "messages").glob("**/*.parquet")).unlink()
    refused("is not whole: .*parquet is missing", ArchiveError)
    with pytest.raises(ArchiveError, match="there is no archive"):
        target_of({"servers": streaming.url}, told(restorable / "nothing", name))


def test_counters_go_to_counters(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path, path: Path
) -> None:
    make(streaming, name, allow_msg_counter=True)
    publish(streaming, [Published(f"{name}.a", b"", {"Nats-Incr": "+1"})])
    archived(spark, streaming.url, name, path, tmp_path)
    moved(streaming, name)
    make(streaming, name)
    with pytest.raises(ParameterError, match=r"is of counters, and .* lacks allow_msg_counter"):
        target_of({"servers": streaming.url}, told(path, name))


# Killed


@long  # an archive that is killed, and a copy, are not
@pytest.mark.timeout(400 + 200 * KILLS)  # each starts Spark
@pytest.mark.usefixtures("java")
def test_a_restore_that_is_killed_again_and_again_is_one(
    spark: "SparkSession", penstock_streaming: Server, name: str, tmp_path: Path, path: Path
) -> None:
    dice = random.Random(SEED)
    server, target = penstock_streaming, f"{name}T"
    make(server, name)
    publish(server, numbered(name, ROWS))
    archived(spark, server.url, name, path, tmp_path)
    moved(server, name)
    make_target(server, target, [f"{name}.>"])
    program = [sys.executable, "-m", "tests.spark.restoring", server.url, str(path), target]
    command = [*program, str(tmp_path / "checks"), str(ROWS_PER_BATCH)]
    log = tmp_path / "driver.log"

    def start() -> "subprocess.Popen[bytes]":
        with log.open("ab") as file:
            return subprocess.Popen(command, stdout=file, stderr=file)

    def count() -> int:
        return int(api(server, f"STREAM.INFO.{target}")["state"]["messages"])

    for _ in range(KILLS):
        driver, goal = start(), count() + dice.randrange(50, ROWS // (KILLS + 1))
        while count() < goal:
            assert driver.poll() is None, log.read_text()[-2000:]
            time.sleep(POLL_SECONDS)
        process = psutil.Process(driver.pid)
        for one in [process, *process.children(recursive=True)]:
            kill(one)
        driver.wait()
    assert start().wait() == 0, log.read_text()[-2000:]
    found = [int(data) for _, data, _ in stored(server, target, f"{name}.>")]
    assert found == [*range(1, ROWS + 1)]
