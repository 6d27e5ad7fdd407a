"""The listening socket: takes connections and hands their descriptors to the kernel.

When the system has no descriptors left, accepting pauses instead of spinning; what is connected
goes on.
"""

import asyncio
import errno
import socket
from collections.abc import Callable

from penstock.model import limits

Accepted = Callable[[socket.socket, str, int], None]

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port -1 or 0 takes any free one."""
    infos = socket.getaddrinfo(
        host or None, max(port, 0), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    family, kind, protocol, _, address = infos[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(4096)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


class Listener:
    """Accepts connections while it is open."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listening: socket.socket,
        accepted: Accepted,
        exhausted: Callable[[OSError], None],
    ) -> None:
        self._loop = loop
        self._socket = listening
        self._accepted = accepted
        self._exhausted = exhausted
        self._paused: asyncio.TimerHandle | None = None
        self._open = True
        loop.add_reader(listening.fileno(), self._accept)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        if self._paused is not None:
            self._paused.cancel()
        else:
            self._loop.remove_reader(self._socket.fileno())
        self._socket.close()

    def _accept(self) -> None:
        for _ in range(limits.ACCEPTS_MAX):
            try:
                client, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._pause(error)
                return
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._accepted(client, address[0], address[1])

    def _pause(self, error: OSError) -> None:
        self._exhausted(error)
        self._loop.remove_reader(self._socket.fileno())
        self._paused = self._loop.call_later(limits.ACCEPT_PAUSE_NS / 1e9, self._resume)

    def _resume(self) -> None:
        self._paused = None
        self._loop.add_reader(self._socket.fileno(), self._accept)
