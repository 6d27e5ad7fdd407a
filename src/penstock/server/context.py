"""What every part of one running server shares: its options, log, timers and INFO.

One context for each server and nothing global, so that many servers can live in one process.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import msgspec

from penstock.config.options import Options
from penstock.server.clock import monotonic_ns
from penstock.server.connection import Connection
from penstock.server.log import ServerLog
from penstock.server.timers import TimerWheel
from penstock.wire.info import ServerInfo


@dataclass
class Context:
    """The shared things of one server."""

    options: Options
    log: ServerLog
    loop: asyncio.AbstractEventLoop
    info: ServerInfo
    started_wall_ns: int
    wheel: TimerWheel = field(default_factory=TimerWheel)
    _cids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _armed: asyncio.TimerHandle | None = None
    _armed_ns: int = 0

    @property
    def logger(self) -> logging.Logger:
        return self.log.logger

    def next_cid(self) -> int:
        return next(self._cids)

    def info_for(self, connection: Connection) -> ServerInfo:
        return msgspec.structs.replace(
            self.info, client_id=connection.cid, client_ip=connection.host
        )

    def after(self, key: Hashable, delay_ns: int, callback: Callable[[], None]) -> None:
        """Calls back once after `delay_ns`; the same key set again moves it."""
        self.wheel.set(key, monotonic_ns() + delay_ns, callback)
        self._arm()

    def stop_timers(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
            self._armed = None

    def _arm(self) -> None:
        next_ns = self.wheel.next_ns()
        if next_ns is None or (self._armed is not None and self._armed_ns <= next_ns):
            return
        if self._armed is not None:
            self._armed.cancel()
        self._armed_ns = next_ns
        delay_seconds = max(0, next_ns - monotonic_ns()) / 1e9
        self._armed = self.loop.call_later(delay_seconds, self._fire)

    def _fire(self) -> None:
        self._armed = None
        try:
            self.wheel.advance(monotonic_ns())
        finally:  # one that fails must not stop the others
            self._arm()
