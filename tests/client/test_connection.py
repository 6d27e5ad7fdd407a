"""`client.connect`: a program that finds nobody is told, one that has lost its server waits."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from nats.errors import NoServersError

from penstock import client
from tests.parity.servers import Server


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Taken, so that nobody else gets it, but nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_where_nobody_answers(silent_port: int) -> None:
    url = f"nats://127.0.0.1:{silent_port}"

    async def program() -> None:
        async with client.connect(url):
            pass

    with pytest.raises(NoServersError) as told:
        asyncio.run(program())
    assert told.value.__notes__ == [f"no server answers at {url}"]


def test_a_connection_that_is_lost_is_made_again(streaming: Server) -> None:
    async def program() -> None:
        again = asyncio.Event()

        async def reconnected() -> None:
            again.set()

        async with client.connect(
            streaming.url, connect_timeout=30, reconnected_cb=reconnected
        ) as js:
            options = js.connection.options
            assert (options["max_reconnect_attempts"], options["reconnect_time_wait"]) == (60, 2)
            js.connection._transport.close()  # as a network does
            await again.wait()
            assert await js.account_info()

    asyncio.run(program())


def test_options_of_nats_py_are_its_own(streaming: Server) -> None:
    async def program() -> None:
        async with client.connect(
            [streaming.url], connect_timeout=30, max_reconnect_attempts=7, name="mine"
        ) as js:
            assert js.connection.options["max_reconnect_attempts"] == 7
            assert js.connection.options["reconnect_time_wait"] == 2
            assert js.connection.options["name"] == "mine"

    asyncio.run(program())
