"""One HTTP connection: uvicorn's h11 protocol with our log and with a deadline.

Uvicorn times idle connections only between requests; here a client that connects and says
nothing, or never ends its headers, is closed as well, as the reference does.
"""

import asyncio
import logging

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

REQUEST_SECONDS_MAX = 5  # for the headers of a request, and for the next one; the reference's


class MonitorProtocol(H11Protocol):
    """Logs to the server's own log, so no global logger is touched."""

    def __init__(self, config: Config, state: ServerState, logger: logging.Logger) -> None:
        super().__init__(config, state, {})
        self.logger = logger
        self.access_log = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except h11.LocalProtocolError:
            self.transport.abort()  # nonsense at a moment when no answer can be given
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._disarm()

    @property
    def _waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        if not self._waiting:
            self._disarm()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(REQUEST_SECONDS_MAX, self._expire)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        self._deadline = None
        if self._waiting:
            self.transport.close()
