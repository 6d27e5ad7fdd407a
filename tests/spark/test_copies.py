"""Direct gets that a copy answers which is behind the stream's leader, as in clusters and mirrors.

A relay stands between the reader and a server: it gives everything on, but for a while its direct
gets end early, as those of such a copy do.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import nats
import pytest

pytest.importorskip("pyspark")

from nats.aio.client import Client
from nats.aio.msg import Msg

from pyspark_jetstream.connection import Connection
from pyspark_jetstream.options import ReadOptions, read_options
from pyspark_jetstream.planning import Bounds, Planner
from pyspark_jetstream.reading import read_range
from tests.parity.servers import Server
from tests.spark.streams import api, make, numbered, publish

API, REAL_API = "COPY.API", "$JS.API"
NOT_FOUND = b"NATS/1.0 404 Message Not Found\r\n\r\n"


class Relay:
    """A copy that says of the first few direct gets that it has no such message."""

    def __init__(self, url: str, late: int) -> None:
        self.late = late
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._client: Client = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()

    async def _open(self) -> Client:
        client = await nats.connect(self._url)
        await client.subscribe(f"{API}.>", cb=self._give_on)
        await client.flush()
        return client

    async def _give_on(self, message: Msg) -> None:
        if ".DIRECT.GET." in message.subject and self.late:
            self.late -= 1
            status = f"HPUB {message.reply} {len(NOT_FOUND)} {len(NOT_FOUND)}\r\n".encode()
            await self._client._send_command(status + NOT_FOUND + b"\r\n")
            await self._client.flush()
            return
        place = message.subject.replace(API, REAL_API, 1)
        await self._client.publish(place, message.data, reply=message.reply)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def behind(streaming: Server) -> Iterator[Relay]:
    relay = Relay(streaming.url, late=3)
    yield relay
    relay.close()


def through_the_relay(server: Server, folder: Path, **given: str) -> ReadOptions:
    context = folder / "context.json"
    context.write_text(json.dumps({"url": server.url, "jetstream_api_prefix": API}))
    return read_options({"context": str(context)} | given)


def read(options: ReadOptions) -> list[int]:
    with Connection(options.connection) as connection:
        (part,) = Planner(options, connection).ranges(Bounds())
    found = read_range(options, ("seq",), part)
    return [sequence for batch in found for sequence in batch["seq"].to_pylist()]


def test_no_row_is_lost_to_a_copy_that_is_behind(
    behind: Relay, streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 20))
    assert read(through_the_relay(streaming, tmp_path, stream=name)) == [*range(1, 21)]
    assert not behind.late


def test_nor_of_one_subject(behind: Relay, streaming: Server, name: str, tmp_path: Path) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 20))
    even = through_the_relay(streaming, tmp_path, stream=name, subjects=f"{name}.even")
    assert read(even) == [*range(2, 21, 2)]
    assert not behind.late


def test_what_the_leader_has_not_either_is_not_waited_for(
    behind: Relay, streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 20))
    for sequence in (19, 20):
        api(streaming, f"STREAM.MSG.DELETE.{name}", {"seq": sequence})
    behind.late = 0
    assert read(through_the_relay(streaming, tmp_path, stream=name)) == [*range(1, 19)]


def test_times_are_looked_up_at_the_leader(
    behind: Relay, streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 20))
    since = through_the_relay(streaming, tmp_path, stream=name, startingTimestamp="1")
    assert read(since) == [*range(1, 21)]
