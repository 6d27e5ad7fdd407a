"""Streams for tests: made and filled by nats-py, as any other client does it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import nats
from nats.aio.client import Client

from tests.parity.servers import Server

WINDOW = 500  # publishes on their way at a time
ANSWER_SECONDS_MAX = 60.0  # a loaded machine whose disk stalls; idle: milliseconds
QUERY_SECONDS_MAX = 300  # of a query that takes a few
# Of a duplicate window: between two runs of a query, a busy machine may take minutes.
AN_HOUR_NS = 3_600_000_000_000


@dataclass(frozen=True)
class Published:
    """A message to be stored."""

    subject: str
    data: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def connected(server: Server, work: Callable[[Client], Awaitable[Any]], **access: Any) -> Any:
    async def main() -> Any:
        client = await nats.connect(server.url, connect_timeout=ANSWER_SECONDS_MAX, **access)
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(main())


def api(server: Server, place: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
    import json

    async def ask(client: Client) -> dict[str, Any]:
        payload = json.dumps(request).encode() if request is not None else b""
        answer = await client.request(f"$JS.API.{place}", payload, timeout=ANSWER_SECONDS_MAX)
        told: dict[str, Any] = json.loads(answer.data)
        assert "error" not in told, told
        return told

    found: dict[str, Any] = connected(server, ask)
    return found


def make(server: Server, name: str, **config: Any) -> None:
    defaults = {"name": name, "subjects": [f"{name}.>"], "storage": "file", "allow_direct": True}
    api(server, f"STREAM.CREATE.{name}", defaults | config)


def publish(server: Server, messages: Sequence[Published]) -> None:
    """All of them, in order."""

    async def store(client: Client) -> None:
        js = client.jetstream(publish_async_max_pending=WINDOW)
        for start in range(0, len(messages), WINDOW):
            acks = [
                await js.publish_async(one.subject, one.data, headers=one.headers or None)
                for one in messages[start : start + WINDOW]
            ]
            await asyncio.gather(*acks)

    connected(server, store)


def numbered(name: str, count: int, start: int = 1) -> list[Published]:
    """Messages on two subjects, each with its number."""
    return [
        Published(f"{name}.{'even' if number % 2 == 0 else 'odd'}", b"%d" % number)
        for number in range(start, start + count)
    ]
