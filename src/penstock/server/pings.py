"""Pings: is the client still there, and how far away is it?

The first PING leaves soon after the connection is made and measures the round trip. Later ones
leave only when the client was silent for a whole interval. Too many without an answer, and the
connection is stale.
"""

import random
from collections.abc import Callable

from penstock.kernel.hub import Hub, Traffic
from penstock.model import limits
from penstock.model.errors import Reason
from penstock.server.clock import monotonic_ns
from penstock.server.connection import Connection
from penstock.server.context import Context
from penstock.server.turns import Turns
from penstock.wire.render import PING

JITTER = 0.2  # of the first interval, so that clients that came together do not stay together

CloseConnection = Callable[[Connection, Reason], None]


class Pings:
    """The ping timers of all connections."""

    def __init__(self, context: Context, hub: Hub, turns: Turns, close: CloseConnection) -> None:
        self._context = context
        self._hub = hub
        self._turns = turns
        self._close = close
        self._interval_ns = context.options.ping_interval_ns

    def start(self, connection: Connection) -> None:
        first_ns = min(self._interval_ns, limits.PING_FIRST_NS)
        delay_ns = int(first_ns * (1 + JITTER * random.random()))
        self._set(connection, delay_ns)

    def stop(self, connection: Connection) -> None:
        self._context.wheel.cancel(("ping", connection.id))

    def _set(self, connection: Connection, delay_ns: int) -> None:
        self._context.after(("ping", connection.id), delay_ns, lambda: self._due(connection))

    def _due(self, connection: Connection) -> None:
        columns = self._hub.traffic(connection.id)
        assert columns is not None, "the timer outlived its connection"
        now_ns = monotonic_ns()
        silent_ns = now_ns - Traffic(*columns).last_activity_ns
        unmeasured = connection.rtt_ns == 0 and connection.pings_out == 0
        if silent_ns >= self._interval_ns or unmeasured:
            if connection.pings_out >= self._context.options.ping_max:
                self._close(connection, Reason.STALE_CONNECTION)
                return
            connection.pings_out += 1
            connection.ping_sent_ns = now_ns
            self._hub.send(connection.id, PING)
            self._turns.flush()
        if not connection.closed:
            self._set(connection, self._interval_ns)
