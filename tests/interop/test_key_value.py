"""KV buckets of nats-py, unchanged, against penstock and against the reference."""

import asyncio
from collections.abc import Awaitable, Callable

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig, RePublish, StorageType
from nats.js.errors import (
    BadRequestError,
    BucketNotFoundError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
    NoKeysError,
)
from nats.js.kv import KeyValue

from tests.parity.servers import Server

ANSWER_SECONDS_MAX = 30.0  # a loaded machine may be that late
POLL_SECONDS = 0.02

Program = Callable[[JetStreamContext], Awaitable[None]]
Seen = tuple[str, str | None, int | None, bytes | None]  # key, operation, revision, value


def run(server: Server, program: Program) -> None:
    async def go() -> None:
        client = await nats.connect(server.url)
        jetstream = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        try:
            await asyncio.wait_for(program(jetstream), 3 * ANSWER_SECONDS_MAX)
        finally:
            await client.close()

    asyncio.run(go())


async def next_entry(watcher: KeyValue.KeyWatcher) -> Seen | None:
    """What a watcher says next; None is the end of what there was."""
    entry = await watcher.updates(timeout=ANSWER_SECONDS_MAX)
    if entry is None:
        return None
    return entry.key, entry.operation, entry.revision, entry.value


async def gone(bucket: KeyValue, key: str) -> None:
    """Waits until a key is not there any more."""
    for _ in range(round(ANSWER_SECONDS_MAX / POLL_SECONDS)):
        try:
            await bucket.get(key)
        except KeyNotFoundError:
            return
        await asyncio.sleep(POLL_SECONDS)
    raise AssertionError(f"{key} is still there")


@pytest.mark.parametrize("storage", [StorageType.FILE, StorageType.MEMORY])
def test_put_get_and_revisions(streaming: Server, storage: StorageType) -> None:
    async def program(js: JetStreamContext) -> None:
        name = f"plain-{storage.value}"
        bucket = await js.create_key_value(
            KeyValueConfig(bucket=name, history=3, storage=storage, direct=True)
        )
        assert await bucket.put("a", b"1") == 1
        assert await bucket.put("a.b", b"2") == 2
        entry = await bucket.get("a")
        assert (entry.key, entry.value, entry.revision) == ("a", b"1", 1)
        assert await bucket.update("a", b"3", last=1) == 3
        with pytest.raises(KeyWrongLastSequenceError):
            await bucket.update("a", b"4", last=1)
        with pytest.raises(KeyWrongLastSequenceError):
            await bucket.create("a", b"5")
        assert (await bucket.get("a", revision=1)).value == b"1"
        with pytest.raises(KeyNotFoundError):
            await bucket.get("a", revision=2)
        with pytest.raises(KeyNotFoundError):
            await bucket.get("missing")
        status = await bucket.status()
        assert (status.bucket, status.values, status.history) == (name, 3, 3)
        assert sorted(await bucket.keys()) == ["a", "a.b"]
        assert await js.delete_key_value(name)
        with pytest.raises(BucketNotFoundError):
            await js.key_value(name)

    run(streaming, program)


def test_delete_create_again_and_history(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        bucket = await js.create_key_value(bucket="deletes", history=5)
        await bucket.put("a", b"1")
        await bucket.put("a", b"2")
        assert await bucket.delete("a")
        with pytest.raises(KeyNotFoundError):
            await bucket.get("a")
        with pytest.raises(NoKeysError):
            await bucket.keys()
        assert await bucket.create("a", b"3") == 4
        history = [(e.operation, e.revision, e.value) for e in await bucket.history("a")]
        assert history == [(None, 1, b"1"), (None, 2, b"2"), ("DEL", 3, b""), (None, 4, b"3")]
        with pytest.raises(BadRequestError, match="wrong last sequence: 4"):
            await bucket.delete("a", last=1)
        assert await bucket.delete("a", last=4)

    run(streaming, program)


def test_purge_leaves_one_marker_and_deletes_can_be_purged(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        bucket = await js.create_key_value(bucket="purges", history=5)
        for number in range(4):
            await bucket.put("a", b"%d" % number)
        await bucket.put("b", b"x")
        assert await bucket.purge("a")
        history = [(entry.operation, entry.revision) for entry in await bucket.history("a")]
        assert history == [("PURGE", 6)]
        await bucket.delete("b")
        assert (await bucket.status()).values == 3
        assert await bucket.purge_deletes(olderthan=-1)
        assert (await bucket.status()).values == 0

    run(streaming, program)


def test_watchers_see_what_is_there_and_what_comes(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        bucket = await js.create_key_value(bucket="watched", history=2)
        for key, value in (("a", b"1"), ("b.c", b"2"), ("a", b"3")):
            await bucket.put(key, value)
        watcher = await bucket.watchall()
        seen = [await next_entry(watcher) for _ in range(3)]
        assert seen == [("b.c", None, 2, b"2"), ("a", None, 3, b"3"), None]
        await bucket.put("d", b"4")
        await bucket.delete("a")
        await bucket.purge("d")
        seen = [await next_entry(watcher) for _ in range(3)]
        assert seen == [("d", None, 4, b"4"), ("a", "DEL", 5, b""), ("d", "PURGE", 6, b"")]
        await watcher.stop()
        some = await bucket.watch("b.*", include_history=True)
        assert await next_entry(some) == ("b.c", None, 2, b"2")
        assert await next_entry(some) is None
        await some.stop()
        rest = await bucket.watchall(ignore_deletes=True)
        assert await next_entry(rest) == ("b.c", None, 2, b"2")
        await rest.stop()
        assert await bucket.keys() == ["b.c"]

    run(streaming, program)


def test_a_bucket_has_an_age(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        bucket = await js.create_key_value(bucket="aged", ttl=4)  # longer than a stall
        await bucket.put("a", b"1")
        assert (await bucket.get("a")).value == b"1"
        await gone(bucket, "a")
        assert (await bucket.status()).ttl == 4

    run(streaming, program)


def test_a_key_has_a_ttl_of_its_own(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        bucket = await js.create_key_value(bucket="ttls", history=3)
        await bucket.create("short", b"1", msg_ttl=4)  # longer than the next steps take
        await bucket.create("long", b"2", msg_ttl=3600)
        await bucket.put("ever", b"3")
        assert (await bucket.get("short")).value == b"1"
        await gone(bucket, "short")
        assert sorted(await bucket.keys()) == ["ever", "long"]
        assert await bucket.create("short", b"4") == 4
        assert await bucket.purge("ever", msg_ttl=1)
        for _ in range(round(ANSWER_SECONDS_MAX / POLL_SECONDS)):
            if (await bucket.status()).values == 2:
                break
            await asyncio.sleep(POLL_SECONDS)
        assert sorted(await bucket.keys()) == ["long", "short"]
        assert (await bucket.status()).values == 2

    run(streaming, program)


def test_watchers_hear_of_keys_that_are_over(streaming: Server) -> None:
    """With limit markers, a key that expires is told of."""

    async def program(js: JetStreamContext) -> None:
        bucket = await js.create_key_value(bucket="marked", limit_marker_ttl=60, history=1)
        assert (await bucket.status()).marker_ttl == 60
        watcher = await bucket.watchall()
        assert await next_entry(watcher) is None
        await bucket.create("a", b"1", msg_ttl=3)
        assert await next_entry(watcher) == ("a", None, 1, b"1")
        over = await next_entry(watcher)
        assert over is not None
        assert (over[0], over[2], over[3]) == ("a", 2, b"")
        await watcher.stop()

    run(streaming, program)


def test_a_bucket_is_republished(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        republish = RePublish(src="$KV.copied.>", dest="copies.>")
        bucket = await js.create_key_value(bucket="copied", republish=republish)
        heard = await js._nc.subscribe("copies.>")
        await bucket.put("a", b"1")
        message = await heard.next_msg(ANSWER_SECONDS_MAX)
        assert (message.subject, message.data) == ("copies.a", b"1")

    run(streaming, program)
