"""The kernel's part of consumers: ledgers, and which consumers a message concerns.

Everything here mirrors crates/penstock-consumers; the numbers are shared with it.
"""

import enum
from typing import NamedTuple

from penstock.kernel import _native

Ledger = _native.Ledger
FilterIndex = _native.FilterIndex
alike = _native.alike
send_page = _native.send_page
send_singles = _native.send_singles


class AckPolicy(enum.IntEnum):
    """How acks settle messages (ledger.rs)."""

    NONE = 0
    EXPLICIT = 1
    ALL = 2


class Stop(enum.IntEnum):
    """Why `Ledger.deliver` stopped (deliver.rs)."""

    DONE = 1  # every request has what it asked for
    END = 2  # there is nothing more; the cursor is behind the last message
    BATCH = 3  # that request has its messages, and bytes left that must be told
    BYTES = 4  # `sequence` does not fit into what that request has left; it was not sent
    ACK_PENDING = 5  # too much is pending for anything new
    NO_INTEREST = 6  # nobody listens to the inbox of that request; nothing was spent on it
    GIVE_UP = 7  # `sequence` is queued and had all its deliveries: for `give_up`
    CROWDED = 8  # too much waits for whoever listens to that request; again in the next turn
    SOFT = 9  # `bytes_soft` was passed
    BUSY = 10  # much was looked at and little found; again in the next turn


class PageStop(enum.IntEnum):
    """Why `send_page` ended (page.rs)."""

    OVER = 1  # it is complete, or nobody listens
    BUSY = 2  # much was looked at; there may be more
    FAILED = 3  # the next message could not be read


class PageSent(NamedTuple):
    """What `send_page` answers."""

    stop: int
    sequence: int  # where to go on
    messages: int
    bytes: int
    pending: int
    sequence_before: int  # the last one sent


class Delivered(NamedTuple):
    """What `Ledger.deliver` answers."""

    stop: int
    request: int
    sequence: int
    served: list[tuple[int, int]]


class Figures(NamedTuple):
    """What `Ledger.figures` answers."""

    delivered_consumer: int
    delivered_stream: int
    floor_consumer: int
    floor_stream: int
    cursor: int  # the next sequence to look at; of a list, one above its last delivered
    ack_pending: int
    redelivered: int  # unsettled messages that had more than one delivery, given up ones included
    queued: int  # waiting to be delivered again


class Entry(NamedTuple):
    """What `Ledger.entry` answers."""

    consumer_sequence: int
    since_ns: int
    deliveries: int
    queued: bool
