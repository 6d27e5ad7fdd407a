"""Open atomic batches of one stream: messages wait here, seen by nobody, until one commits them.

This is the half that is no state of the stream: it only puts the messages of a batch in a row, and
asks nothing that depends on what is stored. Whether a batch may be stored is decided when it is
committed (`batch_commit`), all of it at once. What a server holds in all its batches is bounded,
in number and in bytes (`Room`); a batch that somebody stopped sending is given up after a while.
Messages wait in the kernel's memory, as the bytes that a commit stores: a stretch of them that
needs no look goes there with one call (`Staging.take_run`).
Batches stand in the order in which they were last heard of, so that finding the idle ones is a
look at the first. The clock here is a steady one, and comes as an argument.
"""

import enum
import re
from typing import NamedTuple

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Copies
from penstock.model.api_errors import ApiError, Fault
from penstock.model.limits import MIB
from penstock.streams import headers
from penstock.streams.admission import BATCH_ID, HEADERS_BYTES_MAX, parse_sequence
from penstock.streams.versioning import is_level_served

BATCH_SEQUENCE = b"Nats-Batch-Sequence"
BATCH_COMMIT = b"Nats-Batch-Commit"
REQUIRED_LEVEL = b"Nats-Required-Api-Level"
COMMITTED, END_OF_BATCH = b"1", b"eob"  # the values of Nats-Batch-Commit

_ID_BYTES_MAX = 64  # ADR-50
_MESSAGE_BYTES = 32  # what a message needs besides its bytes

# What makes a message one of a batch, and what has to be looked at when it comes.
NAMES = (BATCH_ID, BATCH_SEQUENCE, b"Nats-Batch-Commit:Nats-Required-Api-Level:")
# Any other header of these is looked at when the batch is committed.
CONTROL_PREFIX = b"Nats-"
_CONTROL_NAME = re.compile(rb"\r\n(Nats-[^:]*):")
PLAIN = frozenset((BATCH_ID, BATCH_SEQUENCE, BATCH_COMMIT))  # they matter to the batch alone
PLAIN_HEADERS_BYTES_MAX = HEADERS_BYTES_MAX - 256  # there is room for a commit


class Reason(enum.StrEnum):
    """Why a batch was given up, as its advisory tells it (ADR-50 knows these two)."""

    TIMEOUT = "timeout"
    INCOMPLETE = "incomplete"


class BatchLimits(NamedTuple):
    """The defaults are ADR-50's; the bytes are ours, since batches wait in memory."""

    messages_max: int = 1000
    open_max: int = 50  # in one stream
    total_max: int = 1000  # in the server
    idle_ns: int = 10_000_000_000
    bytes_max: int = 64 * MIB  # of one batch: it becomes one entry of the log
    total_bytes_max: int = 256 * MIB


class Room:
    """What all open batches of a server take."""

    def __init__(self, limits: BatchLimits) -> None:
        self.limits = limits
        self.open = 0
        self.bytes = 0


class Arrived(NamedTuple):
    """A message of a batch as it came."""

    subject: bytes
    headers: bytes
    payload: bytes

    @property
    def size(self) -> int:
        return len(self.subject) + len(self.headers) + len(self.payload) + _MESSAGE_BYTES

    @property
    def is_plain(self) -> bool:
        """Whether no header matters but those of the batch."""
        return (
            PLAIN.issuperset(control_names(self.headers))
            and len(self.headers) <= PLAIN_HEADERS_BYTES_MAX
        )


def control_names(message_headers: bytes) -> list[bytes]:
    """The headers that may matter to a server."""
    return _CONTROL_NAME.findall(message_headers)


class Stretch(NamedTuple):
    """Messages of a run that are one batch's, one behind the other, as the kernel tells it."""

    start: int
    end: int
    batch_id: bytes
    place: int  # of the first one in its batch
    bytes: int
    message_bytes_max: int
    is_plain: bool

    @property
    def size(self) -> int:
        return self.bytes + (self.end - self.start) * _MESSAGE_BYTES


class Batch:
    """The messages of one batch so far."""

    def __init__(self, batch_id: bytes) -> None:
        self.id = batch_id
        self.messages = Copies()
        self.plain = 0  # how many at its beginning have no header that matters
        self.message_bytes_max = 0  # none has more, headers and payload
        self.bytes = 0
        self.heard_ns = 0

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def is_plain(self) -> bool:
        """Whether no header matters in any of its messages."""
        return self.plain == len(self)

    def add(self, arrived: Arrived) -> None:
        if self.is_plain and arrived.is_plain:
            self.plain += 1
        self.messages.stage(*arrived)
        size = len(arrived.headers) + len(arrived.payload)
        self.message_bytes_max = max(self.message_bytes_max, size)
        self.bytes += arrived.size

    def add_run(self, hub: Hub, stretch: Stretch) -> None:
        if self.is_plain and stretch.is_plain:
            self.plain += stretch.end - stretch.start
        self.messages.stage_run(hub, stretch.start, stretch.end)
        self.message_bytes_max = max(self.message_bytes_max, stretch.message_bytes_max)
        self.bytes += stretch.size

    def take_last(self) -> Arrived:
        last = self.messages.unstage()
        assert last is not None, "a batch has a message"
        self.plain = min(self.plain, len(self))
        subject, message_headers, payload = last
        return Arrived(subject, message_headers, payload)


class Verdict(NamedTuple):
    """What becomes of a message: with neither, it waits with its batch."""

    error: ApiError | None = None
    abandoned: Reason | None = None  # with its error: the batch is given up, and others hear of it
    complete: Batch | None = None  # it was the last one: the batch can be committed


class _Control(NamedTuple):
    """The headers that make a message one of a batch."""

    batch_id: bytes
    sequence: int
    commit: bytes | None

    @property
    def is_end(self) -> bool:
        """It ends the batch and is not in it."""
        return self.commit == END_OF_BATCH

    @property
    def size(self) -> int:
        """How many messages the batch has up to here."""
        return self.sequence - 1 if self.is_end else self.sequence


WAITS = Verdict()


class Staging:
    """The open batches of one stream, the one that was silent for longest first."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._limits = room.limits
        self._open: dict[bytes, Batch] = {}

    def __len__(self) -> int:
        return len(self._open)

    def take(self, arrived: Arrived, now_ns: int) -> Verdict:
        """Puts a message to its batch."""
        control = _control(arrived.headers)
        if isinstance(control, ApiError):
            return Verdict(control)
        batch = self._open.pop(control.batch_id, None)
        if batch is None:
            if (error := self._beginning(control, arrived)) is not None:
                return Verdict(error)
            batch = Batch(control.batch_id)
            self._room.open += 1
        verdict = self._judge(batch, control, arrived)
        if verdict is not None:
            self._let_go(batch)
            return verdict
        if not control.is_end:
            if headers.find(arrived.headers, REQUIRED_LEVEL):
                arrived = arrived._replace(headers=headers.remove(arrived.headers, REQUIRED_LEVEL))
            batch.add(arrived)
            self._room.bytes += arrived.size
        if control.commit is not None:
            self._let_go(batch)
            return Verdict(complete=batch)
        batch.heard_ns = now_ns
        self._open[batch.id] = batch
        return WAITS

    def take_run(self, hub: Hub, stretch: Stretch, now_ns: int) -> bool:
        """Puts messages to their batch, all of them; false, and nothing, if one of them might be
        refused."""
        limits, room, batch = self._limits, self._room, self._open.get(stretch.batch_id)
        count = stretch.end - stretch.start
        waiting, batch_bytes = (0, 0) if batch is None else (len(batch), batch.bytes)
        if (
            stretch.place != waiting + 1
            or waiting + count > limits.messages_max
            or batch_bytes + stretch.size > limits.bytes_max
            or room.bytes + stretch.size > limits.total_bytes_max
        ):
            return False
        if batch is None:
            if len(self._open) >= limits.open_max or room.open >= limits.total_max:
                return False
            batch = Batch(stretch.batch_id)
            room.open += 1
        else:
            del self._open[stretch.batch_id]
        batch.add_run(hub, stretch)
        room.bytes += stretch.size
        batch.heard_ns = now_ns
        self._open[batch.id] = batch
        return True

    def expire(self, now_ns: int) -> list[bytes]:
        """Gives up the batches that nothing was heard of for too long; returns their ids."""
        given_up = []
        while self._open:
            batch = next(iter(self._open.values()))
            if batch.heard_ns + self._limits.idle_ns > now_ns:
                break
            given_up.append(self._drop(batch))
        return given_up

    def next_ns(self) -> int | None:
        """When the next one is to be given up, if nothing is heard of it."""
        first = next(iter(self._open.values()), None)
        return None if first is None else first.heard_ns + self._limits.idle_ns

    def clear(self) -> list[bytes]:
        """Gives up all; returns their ids."""
        return [self._drop(batch) for batch in [*self._open.values()]]

    def _beginning(self, control: _Control, arrived: Arrived) -> ApiError | None:
        """Why a batch that nobody knows cannot begin with this message."""
        limits, room = self._limits, self._room
        if control.sequence != 1:
            if control.size > limits.messages_max:
                return Fault.BATCH_TOO_LARGE.error(size=limits.messages_max)
            return Fault.BATCH_INCOMPLETE.error()
        is_full = room.bytes + arrived.size > limits.total_bytes_max
        if len(self._open) >= limits.open_max or room.open >= limits.total_max or is_full:
            return Fault.BATCHES_EXCEEDED.error()
        return None

    def _judge(self, batch: Batch, control: _Control, arrived: Arrived) -> Verdict | None:
        """Why the batch ends here without being committed, in the reference's order."""
        if control.commit not in (None, COMMITTED, END_OF_BATCH):
            return Verdict(Fault.BATCH_COMMIT_INVALID.error())
        level = headers.find(arrived.headers, REQUIRED_LEVEL) or b""
        if not is_level_served(level.decode(errors="replace")):
            return Verdict(Fault.API_LEVEL_TOO_LOW.error(), Reason.INCOMPLETE)
        if control.sequence != len(batch) + 1 or control.size == 0:
            return Verdict(Fault.BATCH_INCOMPLETE.error(), Reason.INCOMPLETE)
        error = self._too_much(batch, control, arrived)
        return None if error is None else Verdict(error, Reason.INCOMPLETE)

    def _too_much(self, batch: Batch, control: _Control, arrived: Arrived) -> ApiError | None:
        limits, size = self._limits, 0 if control.is_end else arrived.size
        if control.size > limits.messages_max:
            return Fault.BATCH_TOO_LARGE.error(size=limits.messages_max)
        if batch.bytes + size > limits.bytes_max:
            return Fault.BATCH_TOO_LARGE.error(size=f"{limits.bytes_max} bytes")
        if self._room.bytes + size > limits.total_bytes_max:
            return Fault.BATCHES_EXCEEDED.error()
        return None

    def _drop(self, batch: Batch) -> bytes:
        del self._open[batch.id]
        self._let_go(batch)
        return batch.id

    def _let_go(self, batch: Batch) -> None:
        self._room.open -= 1
        self._room.bytes -= batch.bytes


def _control(message_headers: bytes) -> _Control | ApiError:
    batch_id = headers.find(message_headers, BATCH_ID) or b""
    if len(batch_id) > _ID_BYTES_MAX:
        return Fault.BATCH_ID_INVALID.error()
    sequence = parse_sequence(headers.find(message_headers, BATCH_SEQUENCE) or b"")
    if sequence is None:
        return Fault.BATCH_SEQUENCE_MISSING.error()
    return _Control(batch_id, sequence, headers.find(message_headers, BATCH_COMMIT))
