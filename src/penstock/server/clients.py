"""All client connections: how they come in, what their sessions ask for, how they end.

Whatever ends a connection ends it through `close`, once, so that counters, timers and the memory
of closed connections are always right. What a session asks for is carried out in `effects`.
"""

import socket
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from penstock.kernel.hub import Ending, Frame, Hub, Traffic
from penstock.model import limits
from penstock.model.errors import Reason
from penstock.routing.accounts import Accounts
from penstock.server.clock import monotonic_ns, wall_ns
from penstock.server.connection import Connection
from penstock.server.context import Context
from penstock.server.doorkeeper import Doorkeeper
from penstock.server.effects import EffectRunner
from penstock.server.log import TRACE
from penstock.server.pings import Pings
from penstock.server.turns import Turns
from penstock.wire.info import render_info
from penstock.wire.render import no_responders_headers, render_error, render_status
from penstock.wire.session import Session
from penstock.wire.trace import describe

_ENDINGS = {
    Ending.CLOSED_BY_PEER: Reason.CLIENT_CLOSED,
    Ending.READ_ERROR: Reason.READ_ERROR,
    Ending.WRITE_ERROR: Reason.WRITE_ERROR,
    Ending.PENDING_TOO_LARGE: Reason.SLOW_CONSUMER_PENDING,
    Ending.WRITE_DEADLINE: Reason.SLOW_CONSUMER_DEADLINE,
}
_SLOW = (Reason.SLOW_CONSUMER_PENDING, Reason.SLOW_CONSUMER_DEADLINE)


class Closed(NamedTuple):
    """What is remembered of a connection that ended."""

    connection: Connection
    traffic: Traffic
    reason: Reason
    stopped_wall_ns: int


class Clients:
    """The table of connections."""

    def __init__(self, context: Context, hub: Hub, accounts: Accounts, turns: Turns) -> None:
        self._context = context
        self._hub = hub
        self._accounts = accounts
        self._turns = turns
        self._table: dict[int, Connection] = {}
        self._pings = Pings(context, hub, turns, self.close)
        self._doorkeeper = Doorkeeper(context, hub, turns)
        self._effects = EffectRunner(context, hub, turns, self._doorkeeper, self.close)
        self.total = 0
        self.slow = 0
        self.stale = 0
        self.retired = Traffic(0, 0, 0, 0, 0, 0, 0)
        self.closed: deque[Closed] = deque(maxlen=limits.CLOSED_CONNECTIONS_KEPT)

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._table.values())

    def accept(self, client: socket.socket, host: str, port: int) -> None:
        options = self._context.options
        account = self._accounts.global_account
        self.total += 1
        session = Session(
            auth_required=options.authorization.required,
            headers_offered=not options.no_header_support,
        )
        connection = Connection(
            id=self._hub.open(account.number, session.auth_required),
            cid=self._context.next_cid(),
            host=host,
            port=port,
            session=session,
            account=account,
            started_wall_ns=wall_ns(),
            started_ns=monotonic_ns(),
        )
        try:
            self._hub.attach(connection.id, client.detach())
        except OSError as error:
            self._hub.close(connection.id)
            self._context.logger.error("%s - Cannot be watched: %s", connection, error)
            return
        self._table[connection.id] = connection
        self._context.logger.debug("%s - Client connection created", connection)
        self._hub.send(connection.id, render_info(self._context.info_for(connection)))
        if 0 < options.max_connections < len(self._table):
            self.close(connection, Reason.CONNECTIONS_EXCEEDED)
            return
        self._doorkeeper.expect(connection, self.close)
        self._pings.start(connection)
        self._turns.flush()

    def find(self, connection_id: int) -> Connection | None:
        return self._table.get(connection_id)

    def shut(self) -> None:
        """After the last connection was closed: no thread is left behind."""
        self._doorkeeper.close()

    def announce(self) -> None:
        """INFO to everybody who understands a second one."""
        for connection in self:
            if connection.session.connect.protocol >= 1:
                self._hub.send(connection.id, render_info(self._context.info_for(connection)))
        self._turns.flush()

    def close(self, connection: Connection, reason: Reason, note: str = "") -> None:
        if connection.closed:
            return
        connection.closed = True
        columns = self._hub.traffic(connection.id)
        assert columns is not None, "the table and the kernel disagree"
        traffic = Traffic(*columns)
        if reason.wire is not None:
            self._hub.send(connection.id, render_error(reason.wire))
        self._hub.close(connection.id)
        del self._table[connection.id]
        self._pings.stop(connection)
        self._doorkeeper.forget(connection)
        self.retired = Traffic(*(a + b for a, b in zip(self.retired, traffic, strict=True)))
        self.closed.append(Closed(connection, traffic, reason, wall_ns()))
        self._log_close(connection, reason, note)

    def _log_close(self, connection: Connection, reason: Reason, note: str) -> None:
        logger = self._context.logger
        if reason in _SLOW:
            self.slow += 1
            logger.info("%s - Slow Consumer Detected: %s", connection, reason.shown)
        elif reason.wire is not None:
            self.stale += reason is Reason.STALE_CONNECTION
            logger.error("%s - %s", connection, note or reason.wire)
        detail = f"{reason.shown} ({note})" if note else reason.shown
        logger.debug("%s - Client connection closed: %s", connection, detail)

    # What a turn asks of the clients.

    def frame(self, index: int, frame: Frame) -> None:
        connection = self._table[frame.connection]
        if self._context.log.trace:
            self._context.logger.log(TRACE, "%s - <<- %s", connection, describe(frame))
        self._effects.run(connection, connection.session.apply(frame), index)

    def unanswered(self, frame: Frame) -> None:
        """Nobody listens to a request: its sender hears it on the reply subject."""
        headers = no_responders_headers(frame.subject)
        for sid in self._hub.own_sids(frame.connection, frame.reply)[:1]:
            self._hub.send(frame.connection, render_status(frame.reply, sid, headers))

    def failed(self, frame: Frame) -> None:
        connection = self._table.get(frame.connection)
        self._context.logger.exception("%s - a frame could not be handled", connection)
        if connection is not None:
            self.close(connection, Reason.PROTOCOL_VIOLATION, "internal error")

    def ended(self, connection_id: int, ending: int) -> None:
        connection = self._table.get(connection_id)
        if connection is not None:
            self.close(connection, _ENDINGS[Ending(ending)])
