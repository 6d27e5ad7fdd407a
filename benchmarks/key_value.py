"""A KV bucket with a million keys, and an object of a gigabyte, as nats-py uses them.

The client is Python and takes most of the time on both sides; what differs is the server. Memory is
the server's, at the end of each step the highest seen.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial

import nats
from nats.js import JetStreamContext
from nats.js.api import StorageType

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, Target
from benchmarks.publishing import LAZY
from benchmarks.servers import Server

KEYS = int(os.environ.get("PENSTOCK_BENCH_KEYS", "1000000"))
OBJECT_BYTES = int(os.environ.get("PENSTOCK_BENCH_OBJECT_BYTES", str(1 << 30)))
PENDING_MAX = 2000
TIMEOUT_SECONDS = 600

NO_SLOWER = Target("at most", 1.0, "ratio")


async def _connected(server: Server) -> tuple[nats.NATS, JetStreamContext]:
    client = await nats.connect(
        f"nats://127.0.0.1:{server.port}", pending_size=64 << 20, max_reconnect_attempts=0
    )
    stream = client.jetstream(timeout=30, publish_async_max_pending=PENDING_MAX)
    # A watcher of a million keys gets them faster than it takes them: the client's own bound, half
    # a million messages, would drop the rest, whichever server sends them.
    bounds = {"pending_msgs_limit": 2 * KEYS, "pending_bytes_limit": 1 << 30}
    stream.subscribe = partial(stream.subscribe, **bounds)  # type: ignore[method-assign]
    return client, stream


async def _timed(action: Callable[[], Awaitable[None]]) -> float:
    began = time.monotonic()
    await action()
    return time.monotonic() - began


async def _keys(server: Server) -> Sample:
    client, stream = await _connected(server)
    bucket = await stream.create_key_value(bucket="B", storage=StorageType.FILE)

    async def put() -> None:
        """As `bucket.put`, but without waiting for each answer."""
        for number in range(KEYS):
            await stream.publish_async(f"$KV.B.key.{number}", b"value %d" % number)
        await stream.publish_async_completed()

    async def watch() -> None:
        watcher = await bucket.watchall()
        count = 0
        while await watcher.updates(timeout=TIMEOUT_SECONDS) is not None:
            count += 1
        assert count == KEYS, f"{count} of {KEYS} keys were seen"
        await watcher.stop()

    async def keys() -> None:
        assert len(await bucket.keys()) == KEYS

    found = {"put": await _timed(put)}
    found["put_memory"] = server.resident_bytes() / 1024
    found |= {"watch": await _timed(watch), "keys": await _timed(keys)}
    found["memory"] = server.resident_bytes() / 1024
    await client.close()
    return found


async def _object(server: Server) -> Sample:
    client, stream = await _connected(server)
    store = await stream.create_object_store(bucket="O", storage=StorageType.FILE)
    content = os.urandom(1 << 20) * (OBJECT_BYTES >> 20)

    async def put() -> None:
        await store.put("large", content)

    async def get() -> None:
        """Into a file: the client joins bytes in memory one chunk after the other."""
        with tempfile.TemporaryFile() as file:
            await store.get("large", writeinto=file)
            assert file.tell() == len(content)

    found = {"put": await _timed(put), "get": await _timed(get)}
    found["memory"] = server.resident_bytes() / 1024
    await client.close()
    return found


def sample_keys(server: Server, _load: Load) -> Sample:
    return asyncio.run(_keys(server))


def sample_object(server: Server, _load: Load) -> Sample:
    return asyncio.run(_object(server))


MILLION_KEYS = Benchmark(
    name="kv_million",
    title=f"a KV bucket with {KEYS:,} keys, nats-py",
    metrics=(
        Metric("put", "put all", "s", NO_SLOWER),
        Metric("watch", "watch from the start", "s", NO_SLOWER),
        Metric("keys", "keys", "s", NO_SLOWER),
        Metric("put_memory", "resident after the puts", "kB", NO_SLOWER),
        Metric("memory", "resident at the end", "kB", NO_SLOWER),
    ),
    sample=sample_keys,
    sync=LAZY,
)
GIGABYTE_OBJECT = Benchmark(
    name="object_gigabyte",
    title=f"an object of {OBJECT_BYTES >> 20} MiB, nats-py",
    metrics=(
        Metric("put", "put", "s", NO_SLOWER),
        Metric("get", "get", "s", NO_SLOWER),
        Metric("memory", "resident at the end", "kB", NO_SLOWER),
    ),
    sample=sample_object,
    sync=LAZY,
)
