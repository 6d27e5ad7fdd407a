"""An inbox for many answers to one request."""

import asyncio
import builtins
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, TimeoutError


class Inbox:
    """Answers that came and were not taken yet.

    nats-py's `next_msg` starts a task for each message; here a task is started only to wait.
    """

    def __init__(self, connection: Client) -> None:
        self._connection = connection
        self._arrived: deque[Msg] = deque()
        self._waiter: asyncio.Future[None] | None = None

    async def take(self, message: Msg) -> None:
        self._arrived.append(message)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self, timeout: float) -> Msg:
        if not self._arrived:
            await self._wait(timeout)
        return self._arrived.popleft()

    async def _wait(self, timeout: float) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait_for(self._waiter, timeout)
        except builtins.TimeoutError:
            if self._connection.is_closed:
                raise ConnectionClosedError from None
            raise TimeoutError from None
        finally:
            self._waiter = None


@asynccontextmanager
async def asked(connection: Client, subject: str, payload: bytes) -> AsyncIterator[Inbox]:
    """Sends a request; its answers come to the inbox while the block runs."""
    inbox = Inbox(connection)
    reply = connection.new_inbox()
    subscription = await connection.subscribe(
        reply, cb=inbox.take, pending_msgs_limit=-1, pending_bytes_limit=-1
    )
    try:
        await connection.publish(subject, payload, reply=reply)
        yield inbox
    finally:
        if not connection.is_closed:
            await subscription.unsubscribe()
