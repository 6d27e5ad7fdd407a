"""Object stores of nats-py, unchanged, against penstock and against the reference."""

import asyncio
import base64
import hashlib
import io
import json
import random
from collections.abc import Awaitable, Callable

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import ObjectInfo, ObjectLink, ObjectMeta, ObjectMetaOptions
from nats.js.errors import BucketNotFoundError, ObjectDeletedError, ObjectNotFoundError
from nats.js.object_store import ObjectStore

from tests.parity.servers import Server

ANSWER_SECONDS_MAX = 30.0
LARGE_BYTES = 5 * 1024 * 1024 + 17

Program = Callable[[JetStreamContext], Awaitable[None]]


def run(server: Server, program: Program) -> None:
    async def go() -> None:
        client = await nats.connect(server.url)
        jetstream = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        try:
            await asyncio.wait_for(program(jetstream), 3 * ANSWER_SECONDS_MAX)
        finally:
            await client.close()

    asyncio.run(go())


async def next_name(watcher: ObjectStore.ObjectWatcher) -> tuple[str, bool] | None:
    """What a watcher says next: a name and whether it is deleted; None is the end of what was."""
    found = await watcher.updates(timeout=ANSWER_SECONDS_MAX)
    return None if found is None else (found.name, bool(found.deleted))


def test_an_object_of_a_few_megabytes(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        store = await js.create_object_store("large")
        data = random.Random(1).randbytes(LARGE_BYTES)
        info = await store.put("data", io.BytesIO(data), ObjectMeta(description="words"))
        assert (info.size, info.bucket, info.description) == (LARGE_BYTES, "large", "words")
        assert info.chunks == -(-LARGE_BYTES // (128 * 1024))
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
        assert info.digest == f"SHA-256={digest}"
        found = await store.get("data")
        assert found.data == data
        with io.BytesIO() as taken:
            await store.get("data", writeinto=taken)
            assert taken.tell() == LARGE_BYTES
        status = await store.status()
        assert status.size >= LARGE_BYTES

    run(streaming, program)


def test_objects_are_listed_replaced_and_deleted(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        store = await js.create_object_store("several")
        for name in ("a", "b c", "d/é"):
            await store.put(name, name.encode())
        assert sorted(info.name for info in await store.list()) == ["a", "b c", "d/é"]
        await store.put("a", b"another")
        assert (await store.get("a")).data == b"another"
        await store.delete("a")
        with pytest.raises(ObjectNotFoundError):
            await store.get("a")
        with pytest.raises((ObjectDeletedError, ObjectNotFoundError)):
            await store.get_info("a")
        deleted = await store.get_info("a", show_deleted=True)
        assert (deleted.deleted, deleted.size) == (True, 0)
        assert sorted(i.name for i in await store.list(ignore_deletes=True)) == ["b c", "d/é"]
        with pytest.raises(ObjectNotFoundError):
            await store.get("missing")
        await store.update_meta("b c", ObjectMeta(name="b c", description="described"))
        assert (await store.get_info("b c")).description == "described"
        assert await js.delete_object_store("several")
        with pytest.raises(BucketNotFoundError):
            await js.object_store("several")

    run(streaming, program)


def test_watchers_see_what_is_there_and_what_comes(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        store = await js.create_object_store("watched")
        await store.put("a", b"1")
        await store.put("b", b"2")
        watcher = await store.watch()
        assert [await next_name(watcher) for _ in range(3)] == [("a", False), ("b", False), None]
        await store.put("c", b"3")
        await store.delete("a")
        assert [await next_name(watcher) for _ in range(2)] == [("c", False), ("a", True)]
        await watcher.stop()

    run(streaming, program)


def test_a_link_leads_to_an_object_of_another_bucket(streaming: Server) -> None:
    """nats-py follows links but makes none, so what other clients write is published here."""

    async def program(js: JetStreamContext) -> None:
        target = await js.create_object_store("target")
        await target.put("data", b"1234")
        store = await js.create_object_store("linking")
        info = ObjectInfo(
            name="link",
            bucket="linking",
            nuid="n",
            options=ObjectMetaOptions(link=ObjectLink(bucket="target", name="data")),
        )
        name = base64.urlsafe_b64encode(b"link").decode()
        await js.publish(
            f"$O.linking.M.{name}",
            json.dumps(info.as_dict()).encode(),
            headers={"Nats-Rollup": "sub"},
        )
        assert (await store.get("link")).data == b"1234"
        found = await store.get_info("link")
        assert found.is_link()
        await target.delete("data")
        with pytest.raises(ObjectNotFoundError):
            await store.get("link")

    run(streaming, program)


def test_a_sealed_store_takes_nothing(streaming: Server) -> None:
    async def program(js: JetStreamContext) -> None:
        store = await js.create_object_store("sealed")
        await store.put("a", b"1")
        await store.seal()
        assert (await store.status()).sealed
        assert (await store.get("a")).data == b"1"
        with pytest.raises(nats.js.errors.APIError):
            await store.put("b", b"2")

    run(streaming, program)
