"""Both ends of a monitoring test: a client of the pages, and a NATS client worth looking at."""

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from types import TracebackType
from typing import Any, Self

from tests.parity.servers import Server
from tests.server_process import HOST

ANSWER_SECONDS_MAX = 30.0  # a loaded machine may be that late
WITH_MONITOR = ("-m", "-1")
# A proxy that the environment names is none for a server on this machine.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Answer:
    """What came back for one request."""

    status: int
    headers: Message
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def monitor_address(server: Server) -> tuple[str, int]:
    host, port = server.ports["monitoring"][0].removeprefix("http://").rsplit(":", 1)
    return host, int(port)


def get(server: Server, path: str, method: str = "GET") -> Answer:
    host, port = monitor_address(server)
    request = urllib.request.Request(f"http://{host}:{port}{path}", method=method)
    try:
        with DIRECT.open(request, timeout=ANSWER_SECONDS_MAX) as reply:
            return Answer(reply.status, reply.headers, reply.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read().decode())


def wait_until(condition: Callable[[], bool]) -> None:
    """For what a server does in its own time, such as noticing that somebody left."""
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it never came true"


class NatsClient:
    """A raw connection; after `sync` the server has handled everything that was sent."""

    def __init__(self, server: Server, **connect: object) -> None:
        self._socket = socket.create_connection((HOST, server.port), ANSWER_SECONDS_MAX)
        self._file = self._socket.makefile("rb")
        self.info = json.loads(self._file.readline().removeprefix(b"INFO "))
        self.cid: int = self.info["client_id"]
        options = {"verbose": False, "lang": "test", "version": "1", **connect}
        self.send(f"CONNECT {json.dumps(options)}")
        self.sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def send(self, *lines: str) -> None:
        self._socket.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def sync(self) -> None:
        self.send("PING")
        while (line := self._file.readline()) != b"PONG\r\n":
            assert line, "the server closed the connection"

    def wait_closed(self) -> None:
        while self._file.readline():
            pass
