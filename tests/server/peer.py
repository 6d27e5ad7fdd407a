"""A client made of one socket, for tests that look at the bytes."""

import json
import socket
from typing import Any, ClassVar

PLAIN = b'CONNECT {"verbose":false,"pedantic":false,"headers":true}\r\n'


class Peer:
    """Reads lines; every wait ends after half a minute with an error."""

    opened: ClassVar[list["Peer"]] = []  # closed after each test, by conftest.py

    def __init__(self, port: int, greeting: bytes = PLAIN + b"PING\r\n") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self.socket.makefile("rb")
        Peer.opened.append(self)
        self.info: dict[str, Any] = json.loads(self.line().removeprefix(b"INFO "))
        if greeting:
            self.send(greeting)
            self.until(b"PONG\r\n")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def line(self) -> bytes:
        """The next line, empty when the server has closed; its own PINGs are left out."""
        try:
            while (line := self._file.readline()) == b"PING\r\n":
                pass
        except ConnectionResetError:
            return b""
        return line

    def until(self, wanted: bytes) -> list[bytes]:
        """The lines before `wanted`."""
        before = []
        while (line := self.line()) != wanted:
            assert line, f"closed before {wanted!r}; got {before!r}"
            before.append(line)
        return before

    def read(self, count: int) -> bytes:
        return self._file.read(count)

    def barrier(self) -> list[bytes]:
        """Everything the server has sent up to now."""
        self.send(b"PING\r\n")
        return self.until(b"PONG\r\n")

    def closed(self) -> bytes:
        """What comes until the server closes."""
        return b"".join(iter(self.line, b""))

    def close(self) -> None:
        self._file.close()
        self.socket.close()
