"""What a session asks for, done: each effect has one method, found through one table.

Effects of a frame are carried out in order; after a `Close` there are none left to do.
"""

from collections.abc import Callable, Iterable

import msgspec

from penstock.kernel.hub import Hub, Traffic
from penstock.model.errors import Reason
from penstock.server.auth import Verdict
from penstock.server.clock import monotonic_ns
from penstock.server.connection import Connection
from penstock.server.context import Context
from penstock.server.doorkeeper import Doorkeeper
from penstock.server.turns import Turns
from penstock.wire import effects
from penstock.wire.info import render_info
from penstock.wire.render import render_error

CloseConnection = Callable[[Connection, Reason, str], None]


class EffectRunner:
    """Carries out the effects of all sessions."""

    def __init__(
        self,
        context: Context,
        hub: Hub,
        turns: Turns,
        doorkeeper: Doorkeeper,
        close: CloseConnection,
    ) -> None:
        self._context = context
        self._hub = hub
        self._turns = turns
        self._doorkeeper = doorkeeper
        self._close_connection = close
        # Each method takes the effect its key names, which the type of a table cannot say.
        self._methods: dict[type, Callable[..., None]] = {
            effects.Send: self._send,
            effects.Warn: self._warn,
            effects.Close: self._close,
            effects.Authenticate: self._authenticate,
            effects.Settle: self._settle,
            effects.Introduce: self._introduce,
            effects.Answered: self._answered,
            effects.Publish: self._publish,
            effects.Subscribe: self._subscribe,
            effects.Unsubscribe: self._unsubscribe,
        }

    def run(self, connection: Connection, wanted: Iterable[effects.Effect], index: int) -> None:
        for effect in wanted:
            self._methods[type(effect)](connection, effect, index)

    def _send(self, connection: Connection, effect: effects.Send, _index: int) -> None:
        self._hub.send(connection.id, effect.data)

    def _warn(self, connection: Connection, effect: effects.Warn, _index: int) -> None:
        assert effect.reason.wire is not None
        self._hub.send(connection.id, render_error(effect.reason.wire))

    def _close(self, connection: Connection, effect: effects.Close, _index: int) -> None:
        self._close_connection(connection, effect.reason, effect.note)

    def _authenticate(
        self, connection: Connection, effect: effects.Authenticate, index: int
    ) -> None:
        def answer(verdict: Verdict) -> None:
            if verdict is Verdict.ALLOWED:
                connection.user = effect.connect.user
                self.run(connection, connection.session.admit(effect.connect), index)
            else:
                self._close_connection(connection, Reason.AUTHENTICATION_FAILURE, "")

        self._doorkeeper.ask(connection, effect.connect, index, answer)

    def _settle(self, connection: Connection, _effect: effects.Settle, _index: int) -> None:
        session = connection.session
        self._hub.switch(
            connection.id,
            connection.account.number,
            session.bulk and not self._context.log.trace,
            session.connect.echo,
            session.headers,
            session.connect.no_responders and session.headers,
        )

    def _introduce(self, connection: Connection, _effect: effects.Introduce, _index: int) -> None:
        info = msgspec.structs.replace(
            self._context.info_for(connection),
            connect_info=True,
            remote_account=connection.account.name,
        )
        self._hub.send(connection.id, render_info(info))

    def _answered(self, connection: Connection, _effect: effects.Answered, _index: int) -> None:
        connection.pings_out = 0
        if connection.ping_sent_ns:
            connection.rtt_ns = max(1, monotonic_ns() - connection.ping_sent_ns)

    def _publish(self, _connection: Connection, _effect: effects.Publish, index: int) -> None:
        self._turns.publish(index)

    def _subscribe(self, connection: Connection, effect: effects.Subscribe, index: int) -> None:
        columns = self._hub.traffic(connection.id)
        assert columns is not None, "a frame outlived its connection"
        maximum = self._context.options.max_subscriptions
        if 0 < maximum <= Traffic(*columns).subscriptions:
            self._warn(connection, effects.Warn(Reason.SUBSCRIPTIONS_EXCEEDED), index)
            return
        # A sid that is taken keeps its first subscription: the kernel refuses, nothing is said.
        self._hub.subscribe(connection.id, effect.pattern, effect.queue, effect.sid)
        self.run(connection, connection.session.ok(), index)

    def _unsubscribe(
        self, connection: Connection, effect: effects.Unsubscribe, _index: int
    ) -> None:
        self._hub.unsubscribe(connection.id, effect.sid, effect.delivered_max)
