"""The server's own services: subjects that a part of the server answers.

A service listens like a subscriber, but as a *target* of the kernel's router: its requests come to
Python as runs, after core fan-out. A handler is pure: request in, reply out, None for no reply.
"""

from collections.abc import Callable
from typing import NamedTuple

from penstock.kernel.hub import Frame, Hub
from penstock.routing.accounts import Account


class Request(NamedTuple):
    """One message to a service."""

    account: Account
    frame: Frame

    @property
    def headers(self) -> bytes:
        return self.frame.payload[: self.frame.header_bytes]

    @property
    def payload(self) -> bytes:
        return self.frame.payload[self.frame.header_bytes :]


Handler = Callable[[Request], bytes | None]


class Services:
    """Which handler stands behind which target number."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._handlers: list[tuple[Account, Handler]] = []

    def add(self, account: Account, pattern: bytes, handler: Handler) -> None:
        target = len(self._handlers)
        self._handlers.append((account, handler))
        added = self._hub.add_target(account.number, pattern, target)
        assert added, f"not a pattern: {pattern!r}"

    def handle(self, target: int, frame: Frame) -> None:
        account, handler = self._handlers[target]
        reply = handler(Request(account, frame))
        if reply is not None and frame.reply:
            self._hub.publish(account.number, frame.reply, b"", b"", reply)
