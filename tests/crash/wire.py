"""A client on a plain socket: many publishes in one write, and nothing hidden by a library."""

import contextlib
import json
import select
import socket
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.server_process import HOST

ANSWER_SECONDS_MAX = 60.0  # a loaded machine with a slow disk; usually milliseconds
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n'


class Message(NamedTuple):
    subject: str
    headers: bytes
    payload: bytes
    reply: str = ""


class Wire:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), ANSWER_SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()
        self._needed = 0  # bytes that make the next message whole
        self._unread: list[Message] = []  # came together with one that was waited for
        self._requests = 0
        self._is_hung_up = False
        self._inbox = f"_INBOX.{self._socket.getsockname()[1]}."
        self.send(CONNECT + f"SUB {self._inbox}* 1\r\n".encode())

    def close(self) -> None:
        self._socket.close()

    def hang_up(self) -> None:
        """What has arrived can be read, and then it is as if the server had closed; a thread that
        waits for more notices, and so does one that waits for room to send."""
        self._is_hung_up = True
        with contextlib.suppress(OSError):  # the server has closed
            self._socket.shutdown(socket.SHUT_RDWR)

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except BrokenPipeError:
            if not self._is_hung_up:
                raise

    def read(self, seconds_max: float) -> list[Message]:
        """What arrived, after waiting for something for a while."""
        if self._unread:
            unread, self._unread = self._unread, []
            return unread
        ready, _, _ = select.select([self._socket], [], [], seconds_max)
        if not ready:
            return []
        data = self._socket.recv(1 << 20)
        if not data:
            raise ConnectionResetError("closed by the server")
        self._buffer += data
        return self._parsed() if len(self._buffer) >= self._needed else []

    def request(
        self, subject: str, payload: bytes = b"", seconds_max: float = ANSWER_SECONDS_MAX
    ) -> Any:
        """One request, its reply as JSON."""
        reply = self.ask(subject, payload)
        return json.loads(self.wait(reply, seconds_max).payload)

    def ask(self, subject: str, payload: bytes, headers: bytes = b"") -> str:
        self._requests += 1
        reply = f"{self._inbox}{self._requests}"
        self.send(published(subject, reply, payload, headers))
        return reply

    def wait(self, subject: str, seconds_max: float = ANSWER_SECONDS_MAX) -> Message:
        return self._wait(subject.__eq__, subject, seconds_max)

    def wait_any(self, prefix: str, seconds_max: float = ANSWER_SECONDS_MAX) -> Message:
        """The next one whose subject starts so."""
        return self._wait(lambda subject: subject.startswith(prefix), prefix, seconds_max)

    def _wait(self, wanted: Callable[[str], bool], shown: str, seconds_max: float) -> Message:
        deadline = time.monotonic() + seconds_max
        while (left := deadline - time.monotonic()) > 0:
            messages = self.read(left)
            for position, message in enumerate(messages, 1):
                if wanted(message.subject):
                    self._unread = messages[position:]
                    return message
        raise TimeoutError(f"nothing on {shown} after {seconds_max} s")

    def _parsed(self) -> list[Message]:
        found = []
        data, at = self._buffer, 0
        while (end := data.find(b"\r\n", at)) >= 0:
            words = bytes(data[at:end]).split(b" ")
            verb = words[0]
            if verb not in {b"MSG", b"HMSG"}:
                if verb == b"PING":
                    self.send(b"PONG\r\n")
                at = end + 2
                continue
            size = int(words[-1])
            header_size = int(words[-2]) if verb == b"HMSG" else 0
            self._needed = end + 2 + size + 2 - at
            if len(data) - at < self._needed:
                break
            body = bytes(data[end + 2 : end + 2 + size])
            reply = words[3].decode() if len(words) > (5 if verb == b"HMSG" else 4) else ""
            subject = words[1].decode()
            found.append(Message(subject, body[:header_size], body[header_size:], reply))
            at, self._needed = end + 2 + size + 2, 0
        del data[:at]
        return found


def published(subject: str, reply: str, payload: bytes, headers: bytes = b"") -> bytes:
    """A PUB or HPUB; `headers` are lines with their ends."""
    if not headers:
        return b"PUB %s %s %d\r\n%s\r\n" % (
            subject.encode(),
            reply.encode(),
            len(payload),
            payload,
        )
    block = b"NATS/1.0\r\n" + headers + b"\r\n"
    sizes = b"%d %d" % (len(block), len(block) + len(payload))
    return b"HPUB %s %s %s\r\n%s%s\r\n" % (subject.encode(), reply.encode(), sizes, block, payload)
