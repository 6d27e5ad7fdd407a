"""Lame duck mode: a server that is about to go says so, and its clients leave one by one.

No new connections; INFO with `ldm` to everybody; after a grace period the remaining connections
are closed, spread over the configured duration so that they do not all arrive elsewhere at once.
"""

from collections.abc import Callable

import msgspec

from penstock.model.errors import Reason
from penstock.server.app import Server


class LameDuck:
    """Enters the mode once; calls `finished` when nobody is left."""

    def __init__(self, server: Server, finished: Callable[[], None]) -> None:
        self._server = server
        self._finished = finished
        self._entered = False

    def enter(self) -> None:
        if self._entered:
            return
        self._entered = True
        server = self._server
        server.context.logger.info("Entering lame duck mode, stop accepting new clients")
        server.stop_listening()
        server.context.info = msgspec.structs.replace(server.context.info, lame_duck_mode=True)
        server.clients.announce()
        server.context.after("lame-duck", server.options.lame_duck_grace_ns, self._begin)

    def _begin(self) -> None:
        server = self._server
        remaining_ns = server.options.lame_duck_duration_ns - server.options.lame_duck_grace_ns
        self._pause_ns = max(0, remaining_ns) // max(1, len(server.clients))
        self._next()

    def _next(self) -> None:
        server = self._server
        connection = next(iter(server.clients), None)
        if connection is not None:
            server.clients.close(connection, Reason.SERVER_SHUTDOWN)
        if len(server.clients) == 0:
            self._finished()
        else:
            server.context.after("lame-duck", self._pause_ns, self._next)
