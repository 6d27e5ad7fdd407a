"""A raw client: bytes out as they are, and what comes back cut into entries of a transcript.

An entry is one or two lines in notation: a protocol line, and for MSG and HMSG its payload. The
end of the connection is the entry `closed`, whether it came as FIN or RST: Linux keeps what was
received before an RST readable, so no data is lost to it. Nothing is read unless somebody waits
for it, so a client that nobody reads is a slow consumer.
"""

import contextlib
import json
import re
import select
import socket
import time
from collections import deque

from tests.parity.notation import escape_line
from tests.parity.receive_queue import peer_unread_bytes
from tests.parity.servers import Server
from tests.server_process import HOST, POLL_SECONDS

Entry = tuple[str, ...]

CLOSED: Entry = ("closed",)
ANSWER_SECONDS_MAX = 30.0  # how long an expected answer may take on a loaded machine
READ_BYTES = 1 << 20
KEY = r"[A-Z2-7]{55}"
# The INFO values that differ from server to server; one that does not look like this is shown.
INFO_VARIES = {
    "server_id": re.compile("N" + KEY),
    "client_id": re.compile("[1-9][0-9]*"),
    "go": re.compile(".+"),
    "nonce": re.compile(".+"),
}


class NoAnswerError(Exception):
    """Nothing, or not enough, came in time."""


class Client:
    """One connection; `inbox` holds entries that came and were not taken yet."""

    def __init__(self, server: Server, record_pings: bool = False) -> None:
        self._server = server
        self._record_pings = record_pings
        self._socket = socket.create_connection((HOST, server.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._buffer = b""
        self.inbox: deque[Entry] = deque()
        self.ended = False  # the server closed it, and the entry is or was in the inbox
        self.left = False  # we closed it

    def send(self, data: bytes) -> None:
        """Write all of it, reading meanwhile; a server that closes early is not an error here."""
        view = memoryview(data)
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while view and not self.ended:
            _, writable, _ = select.select([self._socket], [self._socket], [], ANSWER_SECONDS_MAX)
            if writable:
                try:
                    view = view[self._socket.send(view) :]
                except (BrokenPipeError, ConnectionResetError):
                    return  # what the server had to say can still be read
                deadline = time.monotonic() + ANSWER_SECONDS_MAX
            elif time.monotonic() > deadline:
                raise NoAnswerError("the server does not read")
            else:
                self.pump(0)

    def drip(self, data: bytes) -> None:
        """Write byte by byte; each is read by the server before the next is sent."""
        for at in range(len(data)):
            self.send(data[at : at + 1])
            self.settle()

    def settle(self) -> None:
        """Wait until the server's process has read everything we sent."""
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while not self.ended and self._peer_unread_bytes() > 0:
            if time.monotonic() > deadline:
                raise NoAnswerError("the server does not read")
            self.pump(POLL_SECONDS / 10)

    def shutdown(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.left = True
        self._socket.close()

    def barrier(self) -> None:
        """PING, and read up to its PONG; what came before it goes to the inbox."""
        if self.ended:
            return
        self.send(b"PING\r\n")
        before: list[Entry] = []
        while (entry := self.take()) != ("PONG",):
            before.append(entry)
            if entry == CLOSED:
                break
        self.inbox.extendleft(reversed(before))

    def wait_closed(self, seconds_max: float = ANSWER_SECONDS_MAX) -> None:
        """Read to the end; everything goes to the inbox."""
        deadline = time.monotonic() + seconds_max
        while not self.ended:
            left_seconds = deadline - time.monotonic()
            if left_seconds <= 0:
                raise NoAnswerError("the server does not close the connection")
            self.pump(left_seconds)

    def take(self, seconds_max: float = ANSWER_SECONDS_MAX) -> Entry:
        """The next entry."""
        deadline = time.monotonic() + seconds_max
        while not self.inbox:
            left_seconds = deadline - time.monotonic()
            if left_seconds <= 0 or self.ended:
                raise NoAnswerError(f"no answer; unparsed: {self._buffer[:200]!r}")
            self.pump(left_seconds)
        return self.inbox.popleft()

    def pump(self, seconds_max: float) -> bool:
        """Read what is there, or what comes in time, into the inbox; False when nothing came."""
        if self.ended or self.left:
            return False
        readable, _, _ = select.select([self._socket], [], [], seconds_max)
        if not readable:
            return False
        try:
            data = self._socket.recv(READ_BYTES)
        except ConnectionResetError:
            data = b""
        self._buffer += data
        while (entry := self._parse()) is not None:
            if entry != ("PING",) or self._record_pings:
                self.inbox.append(entry)
        if not data:
            if self._buffer:
                self.inbox.append((escape_line(self._buffer),))
            self.inbox.append(CLOSED)
            self.ended = True
        return True

    def _parse(self) -> Entry | None:
        """Cut one entry off the buffer, if it is complete."""
        end = self._buffer.find(b"\n") + 1
        if end == 0:
            return None
        line = self._buffer[:end]
        words = line.split()
        if words and words[0] in (b"MSG", b"HMSG"):
            whole = end + int(words[-1]) + 2
            if len(self._buffer) < whole:
                return None
            payload = self._buffer[end:whole]
            self._buffer = self._buffer[whole:]
            return escape_line(line), escape_line(payload)
        self._buffer = self._buffer[end:]
        if line.startswith(b"INFO "):
            return ("INFO " + self._comparable_info(line[5:]),)
        return (escape_line(line),)

    def _comparable_info(self, text: bytes) -> str:
        """INFO with sorted keys, and with names in place of the values that must differ."""
        info = json.loads(text)
        for key in self._server.implementation.info_keys_own:
            if not info.pop(key, None):
                info[key] = "missing"
        if info.get("server_name") == info.get("server_id"):
            info["server_name"] = "<server_id>"
        if info.get("port") == self._server.port:
            info["port"] = "<port>"
        for key, shape in INFO_VARIES.items():
            if key in info and shape.fullmatch(str(info[key])):
                info[key] = f"<{key}>"
        return json.dumps(info, sort_keys=True, separators=(",", ":"))

    def _peer_unread_bytes(self) -> int:
        try:
            return peer_unread_bytes(self._socket)
        except OSError:
            return 0  # the connection is gone
