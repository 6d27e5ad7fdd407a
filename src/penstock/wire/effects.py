"""What a session asks the server to do, as data, in the order it must happen."""

from typing import NamedTuple

from penstock.model.errors import Reason
from penstock.wire.connect import Connect


class Send(NamedTuple):
    data: bytes


class Close(NamedTuple):
    """Say `reason` to the peer if it has words, then close."""

    reason: Reason
    note: str = ""


class Warn(NamedTuple):
    """Say `reason` to the peer; the connection stays open."""

    reason: Reason


class Authenticate(NamedTuple):
    """Find out whether the client may come in; later frames of it wait for the answer."""

    connect: Connect


class Settle(NamedTuple):
    """The client is in: give the kernel its switches."""


class Publish(NamedTuple):
    """The frame goes to everybody who listens."""


class Subscribe(NamedTuple):
    """Add the subscription, and say +OK to a client that asked for it, if it was accepted."""

    pattern: bytes
    queue: bytes | None
    sid: bytes


class Unsubscribe(NamedTuple):
    sid: bytes
    delivered_max: int


class Introduce(NamedTuple):
    """Send INFO again, now with the account the client belongs to."""


class Answered(NamedTuple):
    """The peer answered a PING."""


Effect = (
    Send
    | Close
    | Warn
    | Authenticate
    | Settle
    | Publish
    | Subscribe
    | Unsubscribe
    | Introduce
    | Answered
)
