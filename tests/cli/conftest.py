"""A server for commands to ask, with something in it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

import penstock
from penstock import client
from penstock.client import JetStream
from tests.cli.run import Ran, called

ORDERS = 12


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with penstock.serve() as url:
        do(url, fill)
        yield url


def do(url: str, work: Callable[[JetStream], Coroutine[Any, Any, None]]) -> None:
    async def connected() -> None:
        async with client.connect(url) as js:
            await work(js)

    asyncio.run(connected())


async def fill(js: JetStream) -> None:
    await js.add_stream(name="ORDERS", subjects=["orders.>"], allow_atomic=True, allow_direct=True)
    for number in range(1, ORDERS + 1):
        region = "us" if number % 3 == 0 else "eu"
        headers = {"Id": str(number)}
        await js.publish(f"orders.{region}", b'{"price": %d}' % number, headers=headers)
    await js.add_stream(name="HITS", subjects=["hits.>"], allow_msg_counter=True, allow_direct=True)
    hits = await js.counters("HITS")
    for page, value in (("home", 5), ("shop", 7), ("home", -2)):
        await hits.add(f"hits.{page}", value)
    await js.add_stream(name="RAW", subjects=["raw.>"])
    await js.publish("raw.bytes", b"\xff\x00")
    await js.publish("raw.text", b"\x1b[31mred")


Command = Callable[..., Ran]


@pytest.fixture
def command(url: str) -> Command:
    """Runs a command against the server."""

    def run(*arguments: Any) -> Ran:
        return called(*arguments, environment={"NATS_URL": url})

    return run
