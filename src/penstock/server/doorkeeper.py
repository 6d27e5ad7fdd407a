"""The door: lets clients in, turns them away, or loses patience with them.

A slow comparison (bcrypt) runs in a thread, few at a time; meanwhile the kernel holds that
connection's later frames back, and nobody else waits.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from penstock.kernel.hub import Hub
from penstock.model import limits
from penstock.model.errors import Reason
from penstock.server.auth import HashCheck, Verdict, check
from penstock.server.connection import Connection
from penstock.server.context import Context
from penstock.server.turns import Turns
from penstock.wire.connect import Connect

CloseConnection = Callable[[Connection, Reason], None]
Answer = Callable[[Verdict], None]


class Doorkeeper:
    """Authentication of all connections."""

    def __init__(self, context: Context, hub: Hub, turns: Turns) -> None:
        self._context = context
        self._hub = hub
        self._turns = turns
        self._threads: ThreadPoolExecutor | None = None

    def expect(self, connection: Connection, close: CloseConnection) -> None:
        """Gives a new connection a while to say who it is."""
        authorization = self._context.options.authorization
        if authorization.required:
            self._context.after(
                ("auth", connection.id),
                authorization.timeout_ns,
                lambda: close(connection, Reason.AUTHENTICATION_TIMEOUT),
            )

    def forget(self, connection: Connection) -> None:
        self._context.wheel.cancel(("auth", connection.id))

    def ask(self, connection: Connection, connect: Connect, index: int, answer: Answer) -> None:
        """Answers at once, or later with the connection held after the frame `index`."""
        self.forget(connection)
        verdict = check(self._context.options.authorization, connect)
        if isinstance(verdict, HashCheck):
            self._hub.hold_after(index)
            self._ask_thread(connection, verdict, answer)
        else:
            answer(verdict)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _ask_thread(self, connection: Connection, slow: HashCheck, answer: Answer) -> None:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(limits.HASH_CHECKS_MAX, "penstock-auth")

        def done(future: asyncio.Future[Verdict]) -> None:
            if connection.closed or future.cancelled():
                return
            answer(future.result())
            self._hub.release(connection.id)
            self._turns.flush()
            self._turns.soon()

        def compare() -> Verdict:
            return Verdict.DENIED if connection.closed else slow.run()

        self._context.loop.run_in_executor(self._threads, compare).add_done_callback(done)
