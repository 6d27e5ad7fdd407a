"""The kernel's hub, and the numbers that cross the border with their names.

Everything here mirrors an enum in the crates; a test compares behaviour, not numbers, so a drift
shows at once.
"""

import enum
from collections.abc import Iterator
from typing import NamedTuple

from penstock.kernel import _native

Hub = _native.Hub
SubjectIndex = _native.SubjectIndex
is_valid_literal = _native.is_valid_literal
is_valid_pattern = _native.is_valid_pattern


class Verb(enum.IntEnum):
    """What a client sent (penstock-wire, frame.rs)."""

    CONNECT = 1
    PUBLISH = 2
    PUBLISH_WITH_HEADERS = 3
    SUBSCRIBE = 4
    UNSUBSCRIBE = 5
    PING = 6
    PONG = 7
    INFO = 8
    OK = 9
    ERR = 10
    FAULT = 11


class Fault(enum.IntEnum):
    """Why bytes can never become a frame (penstock-wire, frame.rs)."""

    UNKNOWN_OPERATION = 1
    CONTROL_LINE_TOO_LONG = 2
    BAD_ARGUMENTS = 3
    PAYLOAD_TOO_LARGE = 4


class Ending(enum.IntEnum):
    """Why the kernel gave a connection up (penstock-turn, connection.rs)."""

    CLOSED_BY_PEER = 1
    READ_ERROR = 2
    WRITE_ERROR = 3
    PENDING_TOO_LARGE = 4
    WRITE_DEADLINE = 5


class Frame(NamedTuple):
    """One frame; which fields are set depends on the verb.

    Publish: subject, reply, payload with `header_bytes` of headers in front. Subscribe: subject,
    reply is the queue group, payload the sid. Unsubscribe: payload is the sid, reply the maximum
    as it was written. Connect, info and err: payload is the argument. Fault: number is a `Fault`.
    """

    verb: int
    connection: int
    header_bytes: int
    subject: bytes
    reply: bytes
    payload: bytes
    number: int

    @property
    def headers(self) -> bytes:
        return self.payload[: self.header_bytes]

    @property
    def body(self) -> bytes:
        return self.payload[self.header_bytes :]


def picked_frames(hub: Hub, start: int, end: int) -> Iterator[Frame]:
    """The frames of a run, without those of connections that are gone."""
    for position in range(start, end):
        index = hub.picked(position)
        columns = None if index is None else hub.frame(index)
        if columns is not None:
            yield Frame(*columns)


class Traffic(NamedTuple):
    """Counters of one connection."""

    messages_in: int
    bytes_in: int
    messages_out: int
    bytes_out: int
    last_activity_ns: int
    pending_bytes: int
    subscriptions: int


class Interest(NamedTuple):
    """One subscription of a connection."""

    pattern: bytes
    queue: bytes | None
    sid: bytes
    delivered: int
    delivered_max: int
