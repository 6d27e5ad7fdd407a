"""A plain socket that publishes, with answers found by their number, for scenarios of streams."""

import json
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.parity.servers import Server
from tests.server_process import HOST

ANSWER_SECONDS_MAX = 30.0
CONNECT = b'CONNECT {"verbose":false,"headers":true,"no_responders":true,"name":"peer"}\r\n'

Headers = dict[str, str] | bytes | None
Body = dict[str, Any] | str | bytes | None


@dataclass(frozen=True)
class Pub:
    """A publish; with `acked` the answer is what comes to its reply subject. Without, it may have
    a reply subject of its own."""

    subject: str
    payload: Body = b"x"
    headers: Headers = None
    acked: bool = True
    reply: str = ""


@dataclass
class Message:
    subject: bytes
    reply: bytes
    headers: bytes
    payload: bytes


@dataclass
class Connection:
    """A client whose requests are numbered; what comes to other subscriptions is `heard`."""

    server: Server
    heard: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.socket = socket.create_connection((HOST, self.server.port))
        self.socket.settimeout(ANSWER_SECONDS_MAX)
        self._buffer = b""
        self._answers: dict[bytes, Message] = {}
        self._number = 0
        self.sids = 1
        self.socket.sendall(CONNECT + b"SUB R.* 1\r\nPING\r\n")
        self.until_pong()

    def close(self) -> None:
        self.socket.close()

    def send(self, publishes: Sequence[Pub]) -> list[bytes]:
        """All in one write; the reply subjects."""
        replies = []
        data = []
        for publish in publishes:
            reply = b""
            if publish.acked:
                self._number += 1
                reply = b"R.%d" % self._number
            replies.append(reply)
            data.append(frame(publish, reply or publish.reply.encode()))
        self.socket.sendall(b"".join(data))
        return replies

    def answer(self, reply: bytes, seconds: float) -> Message | None:
        deadline = time.monotonic() + seconds
        while reply not in self._answers:
            if not self.pump(deadline):
                return None
        return self._answers.pop(reply)

    def until_pong(self) -> None:
        while b"PONG\r\n" not in self._buffer:
            data = self.socket.recv(1 << 16)
            assert data, "the server closed the connection"
            self._buffer += data
            self._parse_all(stop=b"PONG")
        self._buffer = self._buffer.replace(b"PONG\r\n", b"", 1)

    def pump(self, deadline: float) -> bool:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        self.socket.settimeout(left)
        try:
            data = self.socket.recv(1 << 20)
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(ANSWER_SECONDS_MAX)
        assert data, "the server closed the connection"
        self._buffer += data
        self._parse_all()
        return True

    def _parse_all(self, stop: bytes = b"\0") -> None:
        while (end := self._buffer.find(b"\r\n")) >= 0:
            words = self._buffer[:end].split()
            if words[0] == stop:
                return
            if words[0] not in (b"MSG", b"HMSG"):
                assert words[0] != b"-ERR", self._buffer[:end]
                if words[0] == b"PING":
                    self.socket.sendall(b"PONG\r\n")
                self._buffer = self._buffer[end + 2 :]
                continue
            whole = end + 2 + int(words[-1]) + 2
            if len(self._buffer) < whole:
                return
            self._take(words, self._buffer[end + 2 : whole - 2])
            self._buffer = self._buffer[whole:]

    def _take(self, words: list[bytes], body: bytes) -> None:
        sizes = 2 if words[0] == b"HMSG" else 1
        header_bytes = int(words[-2]) if sizes == 2 else 0
        reply = words[3] if len(words) == 4 + sizes else b""
        message = Message(words[1], reply, body[:header_bytes], body[header_bytes:])
        if words[2] == b"1":
            self._answers[words[1]] = message
        else:
            self.heard.append(message)


def frame(publish: Pub, reply: bytes) -> bytes:
    payload = encoded(publish.payload)
    headers = encoded_headers(publish.headers)
    place = publish.subject.encode() + (b" " + reply if reply else b"")
    if headers:
        sizes = b"%d %d" % (len(headers), len(headers) + len(payload))
        return b"HPUB %s %s\r\n%s%s\r\n" % (place, sizes, headers, payload)
    return b"PUB %s %d\r\n%s\r\n" % (place, len(payload), payload)


def encoded(body: Body) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def encoded_headers(headers: Headers) -> bytes:
    if isinstance(headers, bytes):
        return headers
    if not headers:
        return b""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"NATS/1.0\r\n{lines}\r\n".encode()
