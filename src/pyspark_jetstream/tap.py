"""A tap on a connection: answers to direct gets go to the kernel, everything else to nats-py.

nats-py makes an object of every message, which is more than a bulk read can afford. So the tap
takes the place of its parser: the bytes of the socket go through the kernel first, which takes out
the messages to its inboxes and hands back the rest. Handshake, TLS, pings, errors and reconnects
stay what they are. It is the one place that knows of nats-py's insides; `tests/spark` reads through
it from both servers.
"""

from collections.abc import Callable
from typing import Any, Protocol

from nats.aio.client import Client

from penstock.kernel.columns import Answers


class Parser(Protocol):
    """As nats-py calls it."""

    buf: bytearray

    async def parse(self, data: bytes = b"") -> None: ...
    def reset(self) -> None: ...


class Tap:
    """In the place of a client's parser."""

    def __init__(
        self, parser: Parser, answers: Answers, over: Callable[[Exception | None], None]
    ) -> None:
        self._parser = parser
        self._answers = answers
        self._over = over  # called when a request is answered, or cannot be any more

    async def parse(self, data: bytes = b"") -> None:
        try:
            others = self._answers.feed(data)
        except ValueError as error:
            self._over(error)
            return
        if self._answers.is_over():
            self._over(None)
        if others:
            await self._parser.parse(others)

    def reset(self) -> None:
        """The connection is a new one."""
        self._answers.reset()
        self._parser.reset()


def attach(client: Client, answers: Answers, over: Callable[[Exception | None], None]) -> None:
    """Before anything was asked for: nats-py must not be inside of a message."""
    insides: Any = client
    parser: Parser = insides._ps
    assert not parser.buf, "attached while something was being read"
    insides._ps = Tap(parser, answers, over)
