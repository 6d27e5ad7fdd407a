"""Three reference servers that are one NATS cluster: streams with replicas, and leaders that go."""

import asyncio
import json
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import nats
from nats.aio.client import Client
from nats.errors import Error

from tests.parity.servers import REFERENCE
from tests.server_process import HOST, ServerProcess
from tests.spark.ports import free_ports

NAMES = ("one", "two", "three")
SECONDS_MAX = 240.0  # for an election; a second or five if the machine has time
POLL_SECONDS = 0.2


class NatsCluster:
    """Running from `with` to the end of it; `url` has every server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running = ExitStack()
        self.servers: dict[str, ServerProcess] = {}

    def __enter__(self) -> Self:
        ports = free_ports(len(NAMES))  # routes name each other before a server runs
        routes = ", ".join(f"nats://{HOST}:{port}" for port in ports)
        with ExitStack() as starting:
            for name, port in zip(NAMES, ports, strict=True):
                config = f'cluster {{ name: tests, listen: "{HOST}:{port}", routes: [{routes}] }}\n'
                flags = ("-n", name, "-js", "-sd", str(self._folder / name))
                server = ServerProcess(REFERENCE.command, flags, config)
                self.servers[name] = starting.enter_context(server)
            self._running = starting.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.close()

    @property
    def url(self) -> str:
        return ",".join(server.url for server in self.servers.values())

    def make(self, name: str, **config: Any) -> None:
        """A stream with a replica on each, once there is somebody to ask."""
        defaults = {"name": name, "subjects": [f"{name}.>"], "allow_direct": True}
        self._asked(f"STREAM.CREATE.{name}", defaults | config | {"num_replicas": len(NAMES)})

    def leader(self, stream: str, but: str = "") -> str:
        """Of the stream, as soon as it is another than this one, which is not asked."""
        until = time.monotonic() + SECONDS_MAX
        while True:
            told = self._asked(f"STREAM.INFO.{stream}", {}, but)
            found: str = told["cluster"].get("leader", "")
            if found and found != but:
                return found
            assert time.monotonic() < until, told
            time.sleep(POLL_SECONDS)

    def _asked(self, place: str, request: dict[str, Any], but: str = "") -> dict[str, Any]:
        server = next(one for name, one in self.servers.items() if name != but)
        return asyncio.run(_answer(server.url, place, json.dumps(request).encode()))


async def _answer(url: str, place: str, request: bytes) -> dict[str, Any]:
    """What is said once there is no error: without a leader there is one, or nothing is said."""
    client: Client = await nats.connect(url)
    until = time.monotonic() + SECONDS_MAX
    told: dict[str, Any] = {}
    try:
        while time.monotonic() < until:
            try:
                told = json.loads((await client.request(f"$JS.API.{place}", request)).data)
            except Error:
                continue
            if "error" not in told:
                return told
            await asyncio.sleep(POLL_SECONDS)
    finally:
        await client.close()
    raise AssertionError(f"{place}: {told}")
