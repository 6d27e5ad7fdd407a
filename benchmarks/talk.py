"""A plain socket for benchmarks whose load is a few large writes: frames are built beforehand, so
Python takes little of the time. What the native generator does is not done here.
"""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.generator import LoadError
from benchmarks.servers import Server

# As clients do: without `pedantic` both servers would check every subject.
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n'
HANDSHAKE = CONNECT + b"SUB R.> 1\r\n"
ANSWER_SECONDS_MAX = 120.0
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def frame(subject: str, reply: str, headers: Mapping[str, str], payload: bytes) -> bytes:
    """A publish with headers."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"NATS/1.0\r\n{lines}\r\n".encode()
    place = f"{subject} {reply}" if reply else subject
    sizes = f"{len(head)} {len(head) + len(payload)}"
    return f"HPUB {place} {sizes}\r\n".encode() + head + payload + b"\r\n"


def cpu_seconds(server: Server) -> float:
    """What the process has used so far, user and system."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


class Talk:
    """One connection; answers come to subjects that begin with `R.`."""

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(ANSWER_SECONDS_MAX)
        self._buffer = b""
        self._asked = 0
        self.send(HANDSHAKE)

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes | bytearray) -> None:
        self._socket.sendall(data)

    def ask(self, subject: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A request to `$JS.API`; nothing else may be on its way."""
        self._asked += 1
        reply = f"R.api.{self._asked}"
        payload = json.dumps(body).encode() if body else b""
        self.send(f"PUB $JS.API.{subject} {reply} {len(payload)}\r\n".encode() + payload + b"\r\n")
        for found, answer in self.answers():
            if found == reply.encode():
                told: dict[str, Any] = json.loads(answer)
                if "error" in told:
                    raise LoadError(f"{subject} was answered with {told['error']}")
                return told
        raise LoadError(f"{subject} was not answered")

    def answers(self) -> Iterator[tuple[bytes, bytes]]:
        """Subjects and payloads, as they come."""
        while True:
            while (found := self._next()) is not None:
                yield found
            try:
                data = self._socket.recv(1 << 18)
            except TimeoutError as fault:
                raise LoadError(f"nothing came for {ANSWER_SECONDS_MAX:.0f} s") from fault
            if not data:
                raise LoadError("the server closed the connection")
            self._buffer += data

    def _next(self) -> tuple[bytes, bytes] | None:
        while (end := self._buffer.find(b"\r\n")) >= 0:
            words = self._buffer[:end].split()
            if words[0] not in (b"MSG", b"HMSG"):
                if words[0] == b"-ERR":
                    raise LoadError(self._buffer[:end].decode())
                if words[0] == b"PING":
                    self.send(b"PONG\r\n")
                self._buffer = self._buffer[end + 2 :]
                continue
            whole = end + 2 + int(words[-1]) + 2
            if len(self._buffer) < whole:
                return None
            head = int(words[-2]) if words[0] == b"HMSG" else 0
            payload = self._buffer[end + 2 + head : whole - 2]
            self._buffer = self._buffer[whole:]
            return words[1], payload
        return None
