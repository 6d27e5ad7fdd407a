"""The server's own services: subjects that a part of the server answers, one request at a time.

A handler is pure: request in, reply out, None for no reply. One that fails is logged by `failed`
and costs its sender's connection, nobody else's.
"""

import contextlib
from collections.abc import Callable
from typing import NamedTuple

from penstock.kernel.hub import Frame, Hub, picked_frames
from penstock.routing.accounts import Account
from penstock.routing.targets import Targets


class Request(NamedTuple):
    """One message to a service."""

    account: Account
    frame: Frame

    @property
    def headers(self) -> bytes:
        return self.frame.headers

    @property
    def payload(self) -> bytes:
        return self.frame.body


Handler = Callable[[Request], bytes | None]
Failed = Callable[[Frame], None]
Told = Callable[[Request, bytes], None]  # of a request and the reply that has been sent
Gate = Callable[[], contextlib.AbstractContextManager[None]]


class Service:
    """One handler as a target."""

    def __init__(
        self,
        hub: Hub,
        account: Account,
        handler: Handler,
        failed: Failed,
        gate: Gate,
        told: Told,
    ) -> None:
        self._hub = hub
        self._account = account
        self._handler = handler
        self._failed = failed
        self._gate = gate
        self._told = told

    def take(self, start: int, end: int) -> None:
        for frame in picked_frames(self._hub, start, end):
            self._answer(frame)

    def _answer(self, frame: Frame) -> None:
        request = Request(self._account, frame)
        try:
            reply = self._handler(request)
            if reply is not None and frame.reply:
                with self._gate():
                    self._hub.publish(self._account.number, frame.reply, b"", b"", reply)
            if reply is not None:
                self._told(request, reply)
        except Exception:  # a bug of ours must not reach other connections
            self._failed(frame)


class Services:
    """All services of a server."""

    def __init__(self, hub: Hub, targets: Targets, failed: Failed) -> None:
        self._hub = hub
        self._targets = targets
        self._failed = failed

    def add(
        self,
        account: Account,
        pattern: bytes,
        handler: Handler,
        gate: Gate = contextlib.nullcontext,
        told: Told = lambda _request, _reply: None,
    ) -> None:
        """Replies leave inside `gate`, which may hold them back; `told` is called behind each."""
        service = Service(self._hub, account, handler, self._failed, gate, told)
        self._targets.listen(self._targets.add(service), account, pattern)
