"""Servers with streams, and a way to run a program with a context of the SDK against one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import count

import pytest

from penstock import client
from penstock.client import JetStream
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, Server
from tests.streaming import streaming_server

Program = Callable[[JetStream], Awaitable[None]]
Run = Callable[[Program], None]

ANSWER_SECONDS_MAX = 30  # a loaded machine may be that late

_NUMBERS = count(1)


@pytest.fixture(scope="package", params=IMPLEMENTATIONS, ids=lambda one: one.name)
def streaming(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Either server, for all tests: each uses names of its own."""
    yield from streaming_server(request.param, tmp_path_factory)


@pytest.fixture(scope="package")
def penstock_streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For what no other server has."""
    yield from streaming_server(PENSTOCK, tmp_path_factory)


def _run(server: Server, program: Program) -> None:
    async def connected() -> None:
        limits = {"timeout": ANSWER_SECONDS_MAX, "connect_timeout": ANSWER_SECONDS_MAX}
        async with client.connect(server.url, **limits) as js:
            await program(js)

    asyncio.run(asyncio.wait_for(connected(), 3 * ANSWER_SECONDS_MAX))


@pytest.fixture
def run(streaming: Server) -> Run:
    return lambda program: _run(streaming, program)


@pytest.fixture
def run_penstock(penstock_streaming: Server) -> Run:
    return lambda program: _run(penstock_streaming, program)


@pytest.fixture
def name() -> str:
    """A name that no other test uses, for streams and subjects."""
    return f"N{next(_NUMBERS)}"
