"""The pytest plugin: a fresh server for a test, and a connection to it.

pytest loads this for every project in whose environment penstock is installed, so it imports
nothing: what the fixtures need is loaded when the first of them is used.

`jetstream_server` is a server in a thread of its own, so tests of every kind can use it: plain
ones, those of pytest-asyncio, those of anyio. `jetstream` is a context of the SDK on a connection
that is made in whichever loop uses it first.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from penstock.client import JetStream
    from penstock.embedded.thread import ServerThread


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Keeps the asserts of the server as they are.

    pytest rewrites those of every module in a package that has a plugin, which takes a second when
    the server is first loaded and is of use for nobody. There is no public way to say so; where
    this one is gone, that second is all that is lost.
    """
    hook = getattr(early_config.pluginmanager, "rewrite_hook", None)
    getattr(hook, "_must_rewrite", set()).discard("penstock")
    getattr(hook, "_marked_for_rewrite_cache", {}).clear()


@pytest.fixture
def jetstream_options() -> dict[str, Any]:
    """Arguments of `penstock.Server` for the server of this test; override it to change them.

    ```python
    @pytest.fixture
    def jetstream_options():
        return {"max_payload": 4096}
    ```
    """
    return {}


@pytest.fixture
def jetstream_server(jetstream_options: dict[str, Any]) -> "Iterator[ServerThread]":
    """A fresh server with JetStream, its streams in memory; `url` is where to connect.

    ```python
    def test_my_program(jetstream_server):
        assert asyncio.run(main(["--server", jetstream_server.url])) == 0
    ```
    """
    from penstock.embedded.thread import serve  # noqa: PLC0415 -- only for those who use it

    server = serve(**jetstream_options).start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def jetstream(
    jetstream_server: "ServerThread", jetstream_options: dict[str, Any]
) -> "Iterator[JetStream]":
    """A `penstock.client.JetStream` of a fresh server: nats-py's context, and more.

    ```python
    async def test_orders(jetstream):
        await jetstream.add_stream(name="ORDERS", subjects=["orders.>"])
        ack = await jetstream.publish("orders.eu", b"first")
        assert ack.seq == 1
    ```

    `jetstream.connection` is the connection. In a plain test, use it inside of `asyncio.run`.
    """
    from penstock.client import JetStream  # noqa: PLC0415 -- only for those who use it
    from penstock.testing.connection import LateConnection  # noqa: PLC0415

    connection = LateConnection(jetstream_server.url, token=jetstream_options.get("token"))
    try:
        yield JetStream(connection)
    finally:
        connection.end()
