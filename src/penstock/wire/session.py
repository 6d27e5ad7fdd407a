"""The session: what one client may say next, as a pure machine.

Frames go in, effects come out. The table `_HANDLERS` has one entry for each verb; before any of
them, `apply` asks whether the client may say anything at all yet. The bulk lane never comes here:
the kernel sends publishes past this machine once `Settle` has told it that it may.
"""

from collections.abc import Callable, Iterable

import msgspec

from penstock.kernel.hub import Fault, Frame, Verb, is_valid_literal, is_valid_pattern
from penstock.model.errors import PeerError, Reason
from penstock.wire.connect import Connect, parse_connect, parse_object
from penstock.wire.effects import (
    Answered,
    Authenticate,
    Close,
    Effect,
    Introduce,
    Publish,
    Send,
    Settle,
    Subscribe,
    Unsubscribe,
    Warn,
)
from penstock.wire.numbers import parse_size
from penstock.wire.render import OK, PONG

_PROTOCOLS = (0, 1)
_FAULTS = {
    Fault.UNKNOWN_OPERATION: Reason.UNKNOWN_OPERATION,
    Fault.CONTROL_LINE_TOO_LONG: Reason.CONTROL_LINE_TOO_LONG,
    Fault.BAD_ARGUMENTS: Reason.PROTOCOL_VIOLATION,
    Fault.PAYLOAD_TOO_LARGE: Reason.PAYLOAD_TOO_LARGE,
}


class Session:
    """One client's part of the conversation."""

    __slots__ = ("auth_required", "authorized", "connect", "connect_received", "headers_offered",
                 "info_after_pong")  # fmt: skip

    def __init__(self, *, auth_required: bool, headers_offered: bool) -> None:
        self.auth_required = auth_required
        self.authorized = not auth_required
        self.headers_offered = headers_offered
        self.connect = Connect()
        self.connect_received = False
        # The second INFO, which names the account, follows the first PONG after CONNECT.
        self.info_after_pong = False

    @property
    def headers(self) -> bool:
        return self.connect.headers and self.headers_offered

    @property
    def bulk(self) -> bool:
        """True if publishes need no look: nobody waits for +OK or wants subjects checked."""
        return self.authorized and not self.connect.verbose and not self.connect.pedantic

    def apply(self, frame: Frame) -> Iterable[Effect]:
        if not self.authorized and not _may_precede_connect(frame):
            return (Close(Reason.AUTHENTICATION_FAILURE),)
        try:
            return _HANDLERS[Verb(frame.verb)](self, frame)
        except PeerError as error:
            return (Close(error.reason, error.note),)

    def admit(self, connect: Connect) -> Iterable[Effect]:
        """The answer to `Authenticate` was yes: the rest of CONNECT is looked at only now."""
        if connect.protocol not in _PROTOCOLS:
            return (Close(Reason.BAD_CLIENT_PROTOCOL),)
        if connect.no_responders and not (connect.headers and self.headers_offered):
            return (Close(Reason.NO_RESPONDERS_REQUIRES_HEADERS),)
        self.authorized = True
        self.connect = connect
        self.info_after_pong = connect.protocol >= 1
        return (Settle(), *self.ok())

    def ok(self) -> tuple[Effect, ...]:
        """What a client that asked for it hears of everything that was accepted."""
        return (Send(OK),) if self.connect.verbose else ()

    def _on_connect(self, frame: Frame) -> Iterable[Effect]:
        if self.connect_received:
            raise PeerError(Reason.SECOND_CONNECT)
        connect = parse_connect(frame.payload)
        self.connect_received = True
        return (Authenticate(connect),)

    def _on_publish(self, frame: Frame) -> Iterable[Effect]:
        if frame.verb == Verb.PUBLISH_WITH_HEADERS and not self.headers:
            raise PeerError(Reason.HEADERS_NOT_SUPPORTED, "HPUB from a client without headers")
        if self.connect.pedantic and not is_valid_literal(frame.subject):
            # A warning only: whoever listens to such a subject gets the message all the same.
            return (Warn(Reason.INVALID_PUBLISH_SUBJECT), *self.ok(), Publish())
        return (*self.ok(), Publish())

    def _on_subscribe(self, frame: Frame) -> Iterable[Effect]:
        if not is_valid_pattern(frame.subject):
            return (Warn(Reason.INVALID_SUBJECT),)
        queue = frame.reply or None
        return (Subscribe(frame.subject, queue, frame.payload),)

    def _on_unsubscribe(self, frame: Frame) -> Iterable[Effect]:
        delivered_max = parse_size(frame.reply) or 0
        return (Unsubscribe(frame.payload, delivered_max), *self.ok())

    def _on_ping(self, _frame: Frame) -> Iterable[Effect]:
        if self.info_after_pong:
            self.info_after_pong = False
            return (Send(PONG), Introduce())
        return (Send(PONG),)

    def _on_pong(self, _frame: Frame) -> Iterable[Effect]:
        return (Answered(),)

    def _on_info(self, frame: Frame) -> Iterable[Effect]:
        try:
            parse_object(frame.payload)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise PeerError(Reason.PROTOCOL_VIOLATION, f"bad INFO: {error}") from None
        return ()

    def _on_err(self, _frame: Frame) -> Iterable[Effect]:
        return (Close(Reason.CLIENT_CLOSED, "the client sent -ERR"),)

    def _on_fault(self, frame: Frame) -> Iterable[Effect]:
        return (Close(_FAULTS[Fault(frame.number)]),)


def _ignore(_session: Session, _frame: Frame) -> Iterable[Effect]:
    return ()


def _may_precede_connect(frame: Frame) -> bool:
    """A line that is neither CONNECT nor anything else is as unwelcome as PING."""
    if frame.verb == Verb.FAULT:
        return frame.number != Fault.UNKNOWN_OPERATION
    return frame.verb == Verb.CONNECT


_HANDLERS: dict[Verb, Callable[[Session, Frame], Iterable[Effect]]] = {
    Verb.CONNECT: Session._on_connect,
    Verb.PUBLISH: Session._on_publish,
    Verb.PUBLISH_WITH_HEADERS: Session._on_publish,
    Verb.SUBSCRIBE: Session._on_subscribe,
    Verb.UNSUBSCRIBE: Session._on_unsubscribe,
    Verb.PING: Session._on_ping,
    Verb.PONG: Session._on_pong,
    Verb.INFO: Session._on_info,
    Verb.OK: _ignore,
    Verb.ERR: Session._on_err,
    Verb.FAULT: Session._on_fault,
}
