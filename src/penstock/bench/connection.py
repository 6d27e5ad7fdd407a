"""A client on a plain socket, for loads that are large writes and whole buffers of answers.

A client library handles one message after the other and is slower than the servers, so it would
measure itself. Here frames are built beforehand, and what comes back is counted and taken apart by
whole buffers. It can do what the loads need and nothing else: no TLS, no reconnect.
"""

import json
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from penstock.bench.errors import BenchError

ANSWER_SECONDS_MAX = 30.0
_RECEIVED_BYTES_MAX = 1 << 18
_PORT = 4222


class Connection:
    """One connection, to a URL that may have a user and password, or a token."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        self._host = f"{parts.hostname}:{parts.port or _PORT}"
        try:
            self._socket = socket.create_connection(
                (parts.hostname or "", parts.port or _PORT), timeout=ANSWER_SECONDS_MAX
            )
        except OSError as error:
            raise BenchError(f"no server answers at {self._host}: {error}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.inbox = f"_INBOX.{uuid4().hex}"  # nobody else has it
        self._asked = 0
        try:
            self.info = self._greeted(parts.username, parts.password)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise BenchError(f"{self._host} has gone: {error}") from None

    def receive(self) -> bytes:
        """What has come, at least a byte."""
        try:
            data = self._socket.recv(_RECEIVED_BYTES_MAX)
        except TimeoutError:
            raise BenchError(
                f"nothing came from {self._host} for {ANSWER_SECONDS_MAX:.0f} s"
            ) from None
        except OSError as error:
            raise BenchError(f"{self._host} has gone: {error}") from None
        if not data:
            raise BenchError(f"{self._host} has closed the connection")
        if b"PING\r\n" in data:  # no load has it in a payload; two may go unanswered
            self.send(b"PONG\r\n")
        if b"-ERR" in data:
            raise BenchError(excerpt(data, b"-ERR"))
        return data

    def subscribe(self, subject: str, number: int) -> None:
        self.send(f"SUB {subject} {number}\r\n".encode())

    def unsubscribe(self, number: int) -> None:
        self.send(f"UNSUB {number}\r\n".encode())

    def api(self, place: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A request to `$JS.API`; nothing else may be on its way."""
        payload = json.dumps(body).encode() if body else b""
        told: dict[str, Any] = json.loads(self.request(f"$JS.API.{place}", payload))
        if "error" in told:
            raise BenchError(f"{place}: {told['error'].get('description', told['error'])}")
        return told

    def request(self, subject: str, payload: bytes) -> bytes:
        """The payload of the answer; nothing else may be on its way."""
        self._asked += 1
        inbox, number = f"{self.inbox}.answer.{self._asked}", 1000 + self._asked
        self.subscribe(inbox, number)
        self.send(f"PUB {subject} {inbox} {len(payload)}\r\n".encode() + payload + b"\r\n")
        answer = self._answer(inbox.encode())
        self.unsubscribe(number)
        return answer

    def _answer(self, inbox: bytes) -> bytes:
        data = b""
        while True:
            data += self.receive()
            begin = data.find(b"MSG " + inbox)
            end = data.find(b"\r\n", begin) if begin >= 0 else -1
            if end < 0:
                continue
            if data[begin - 1 : begin] == b"H":
                raise BenchError(f"{self._host}: nobody answers; JetStream must be enabled there")
            size = int(data[begin:end].rpartition(b" ")[2])
            if len(data) >= end + 2 + size + 2:
                return data[end + 2 : end + 2 + size]

    def _greeted(self, user: str | None, password: str | None) -> dict[str, Any]:
        """What the server says of itself, once it has let us in."""
        greeting = b""
        while b"\r\n" not in greeting:
            greeting += self.receive()
        if not greeting.startswith(b"INFO "):
            raise BenchError(f"{self._host} is no NATS server")
        info: dict[str, Any] = json.loads(greeting[5:].partition(b"\r\n")[0])
        if info.get("tls_required"):
            raise BenchError(f"{self._host} wants TLS, which is not measured")
        options: dict[str, Any] = {"verbose": False, "pedantic": False, "headers": True}
        options |= {"no_responders": True, "lang": "python", "name": "penstock bench"}
        if user and password is not None:
            options |= {"user": unquote(user), "pass": unquote(password)}
        elif user:
            options["auth_token"] = unquote(user)
        self.send(f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode())
        answered = b""
        while b"PONG\r\n" not in answered:
            answered += self.receive()
        return info


def excerpt(data: bytes, mark: bytes) -> str:
    """A line, from a mark in it on."""
    begin = data.find(mark)
    return data[begin : begin + 200].partition(b"\r\n")[0].decode(errors="replace")
