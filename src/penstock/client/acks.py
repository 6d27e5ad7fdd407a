"""Acknowledgements that are acknowledged: what a consumer needs to process a message exactly once.

A plain `ack` of nats-py is sent and forgotten; if it is lost the message comes again. These wait
for the server's answer: after it, the message will not come again. Together with `msg_id` on
what is published meanwhile, a step from one stream to another happens exactly once.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from nats.aio.msg import Msg
from nats.errors import Error

_NAK = b"-NAK"
_TERM = b"+TERM"
_TIMEOUT = 5.0  # seconds


async def ack_sync(message: Msg, *, timeout: float = _TIMEOUT) -> None:
    """Acknowledges a message, and returns when the server has noted it.

    ```python
    [message] = await work.fetch(1)
    await client.ack_sync(message)
    ```
    """
    await message.ack_sync(timeout=timeout)


async def ack_all_sync(messages: Iterable[Msg], *, timeout: float = _TIMEOUT) -> None:
    """Acknowledges many messages at once, and returns when the server has noted all of them.

    If some are not answered in time, the others are acknowledged nevertheless.

    ```python
    messages = await work.fetch(2)
    await client.ack_all_sync(messages)
    ```
    """
    waiting = [message.ack_sync(timeout=timeout) for message in messages]
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer


async def nak_sync(message: Msg, *, delay: float | None = None, timeout: float = _TIMEOUT) -> None:
    """Gives a message back, to come again at once or after some seconds; waits for the answer.

    ```python
    [message] = await work.fetch(1)
    await client.nak_sync(message, delay=0.1)
    ```
    """
    payload = _NAK
    if delay is not None:
        payload += b" " + json.dumps({"delay": int(delay * 1e9)}).encode()
    await _settle(message, payload, timeout)


async def term_sync(message: Msg, *, reason: str = "", timeout: float = _TIMEOUT) -> None:
    """Ends a message that can never be processed; waits for the answer.

    ```python
    [message] = await work.fetch(1)
    await client.term_sync(message, reason="not an order")
    ```
    """
    await _settle(message, f"{_TERM.decode()} {reason}".strip().encode(), timeout)


@asynccontextmanager
async def processing(
    message: Msg, *, progress_every: float | None = None, timeout: float = _TIMEOUT
) -> AsyncIterator[Msg]:
    """Acknowledges a message when its block has ended, and gives it back if that failed.

    While the block runs, the server is told every `progress_every` seconds that it does, so that
    a long one is not taken for dead: choose less than the consumer's `ack_wait`.

    ```python
    [message] = await work.fetch(1)
    async with client.processing(message, progress_every=10):
        await js.publish("done.eu", message.data, msg_id=f"done-{message.metadata.sequence.stream}")
    ```
    """
    telling = None
    if progress_every is not None:
        telling = asyncio.create_task(_tell_progress(message, progress_every))
    try:
        yield message
    except BaseException:
        with suppress(Error):  # without a connection it comes again by itself
            if not message.is_acked:
                await message.nak()
        raise
    finally:
        if telling is not None:
            telling.cancel()
            with suppress(asyncio.CancelledError, Error):
                await telling
    if not message.is_acked:
        await ack_sync(message, timeout=timeout)


async def _tell_progress(message: Msg, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        await message.in_progress()


async def _settle(message: Msg, payload: bytes, timeout: float) -> None:
    message._check_reply()  # a message that is none of JetStream's, or is settled, has no answer
    await message._client.request(message.reply, payload, timeout=timeout)
    message._ackd = True
