"""A consumer in a backup: how the reference writes it down, and how that is read.

Since 2.15 it is one entry, JSON with configuration and state. Before, it was two files: `meta.inf`
with the configuration and when it was made, `o.dat` with the state in numbers of seven bits a byte,
those of messages and deliveries as the distance from the floor. What comes in is checked here as
far as one consumer can be: its numbers agree with each other, and none is larger than it may be.
"""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import msgspec

from penstock.consumers.ledger_state import LedgerState, Pending, Place
from penstock.consumers.varints import read_number, signed
from penstock.model.api_errors import ApiError
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.consumer_request import parse_consumer_request
from penstock.model.limits import SEQUENCE_START_MAX
from penstock.model.stream_config import Int64, shown
from penstock.model.timestamps import canonical, unix_ns
from penstock.storage.archive import ArchiveError

# Far above what any stream gets to, and far below where the kernel stops counting.
Count = Annotated[int, msgspec.Meta(ge=0, le=SEQUENCE_START_MAX)]
Number = Annotated[int, msgspec.Meta(ge=1, le=SEQUENCE_START_MAX)]

_STATE_MAGIC, _STATE_VERSION = 22, 2  # before version 2, in 2020, deliveries were not written down
_SECOND_NS = 1_000_000_000
_UINT64 = 1 << 64


class ArchivedConsumer(NamedTuple):
    """One consumer of a backup."""

    name: str  # under which it was found
    config: ConsumerConfig
    state: LedgerState
    created_ns: int = 0  # if the backup tells


class _Place(msgspec.Struct, frozen=True):
    consumer_seq: Count = 0
    stream_seq: Count = 0


class _Pending(msgspec.Struct, frozen=True):
    consumer_sequence: Number = msgspec.field(name="Sequence")
    since_ns: Int64 = msgspec.field(name="Timestamp", default=0)


class _State(msgspec.Struct, frozen=True):
    delivered: _Place = _Place()
    ack_floor: _Place = _Place()
    pending: dict[Number, _Pending] | None = None
    redelivered: dict[Number, Count] | None = None


class _Entry(msgspec.Struct, frozen=True):
    config: msgspec.Raw
    state: _State


class _Meta(msgspec.Struct, frozen=True):
    created: str = msgspec.field(name="Created", default="")


# Written


def encode_consumer(config: ConsumerConfig, ledger: bytes, sequence_last: int) -> bytes:
    """The entry of a consumer whose ledger gave this snapshot, in a stream that ends there."""
    state = LedgerState.decode(ledger)
    waiting = {row.sequence for row in state.pending}
    # What waits in the queue has waited long enough; of what was given up all deliveries count.
    pending = {
        str(sequence): {"Sequence": number, "Timestamp": 0 if sequence in state.queued else since}
        for sequence, number, since in state.pending
    }
    redelivered = {
        str(sequence): count - 1 if sequence in waiting else count
        for sequence, count in sorted(state.deliveries.items())
    }
    fields: dict[str, Any] = {
        "delivered": _shown_place(state.delivered, sequence_last),
        "ack_floor": _shown_place(state.floor, sequence_last),
    }
    fields |= {"pending": pending} if pending else {}
    fields |= {"redelivered": redelivered} if redelivered else {}
    return msgspec.json.encode({"config": shown(config), "state": fields})


def _shown_place(place: Place, sequence_last: int) -> dict[str, int]:
    """One that is to begin beyond the end: as the reference, its configuration says where."""
    return {"consumer_seq": place.consumer, "stream_seq": min(place.stream, sequence_last)}


# Read


def read_entry(name: str, content: bytes) -> ArchivedConsumer:
    entry = _decoded(content, _Entry, name)
    state = entry.state
    redelivered = state.redelivered or {}
    pending = [
        Pending(sequence, row.consumer_sequence, row.since_ns)
        for sequence, row in (state.pending or {}).items()
    ]
    delivered = Place(state.delivered.consumer_seq, state.delivered.stream_seq)
    floor = Place(state.ack_floor.consumer_seq, state.ack_floor.stream_seq)
    config = _config(bytes(entry.config), name)
    return ArchivedConsumer(name, config, _checked(name, delivered, floor, pending, redelivered))


def read_files(name: str, meta: bytes, content: bytes) -> ArchivedConsumer:
    """Of the format before; the state may be of a later moment than the messages."""
    created = canonical(_decoded(meta, _Meta, name).created)
    config = _config(meta, name)
    try:
        state = _checked(name, *_unpacked(content))
    except IndexError:
        raise ArchiveError(f'consumer "{name}": its state is cut off') from None
    created_ns = 0 if created is None else max(0, unix_ns(created))
    return ArchivedConsumer(name, config, state, created_ns)


def _config(content: bytes, name: str) -> ConsumerConfig:
    if content == b"null":
        raise ArchiveError(f'consumer "{name}" has no configuration')
    try:
        return parse_consumer_request(b'{"config":%s}' % content, strict=False).config
    except ApiError as error:
        raise ArchiveError(f'consumer "{name}": {error.description}') from None


def _decoded(content: bytes, kind: type[Any], name: str) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ArchiveError(f'consumer "{name}": {error}') from None


def _checked(
    name: str, delivered: Place, floor: Place, pending: list[Pending], redelivered: dict[int, int]
) -> LedgerState:
    if max(delivered) > SEQUENCE_START_MAX:
        raise ArchiveError(f'consumer "{name}": its position cannot be')
    if floor.consumer > delivered.consumer or floor.stream > delivered.stream:
        raise ArchiveError(f'consumer "{name}": its floor is above what was delivered')
    for sequence, number, _ in pending:
        is_above = floor.stream < sequence <= delivered.stream
        if not is_above or not 0 < number <= delivered.consumer:
            raise ArchiveError(f'consumer "{name}": message {sequence} cannot be pending')
    waiting = {row.sequence for row in pending}
    deliveries = {}
    for sequence, count in redelivered.items():
        if not 0 < sequence <= delivered.stream or count > SEQUENCE_START_MAX:
            raise ArchiveError(f'consumer "{name}": message {sequence} was not delivered again')
        if sequence not in waiting:
            deliveries[sequence] = max(1, count)
        elif count:
            deliveries[sequence] = count + 1
    return LedgerState(delivered, floor, sorted(pending), deliveries)


def _unpacked(content: bytes) -> tuple[Place, Place, list[Pending], dict[int, int]]:
    """Raises IndexError where it is cut off."""
    if content[:2] != bytes((_STATE_MAGIC, _STATE_VERSION)):
        raise ArchiveError("a consumer's state is of no known format")
    numbers = _numbers(content)
    floor = Place(next(numbers), next(numbers))
    delivered = Place(next(numbers), next(numbers))
    pending = []
    if count := next(numbers):
        base_seconds = signed(next(numbers))
        for _ in range(count):
            sequence, number = floor.stream + next(numbers), floor.consumer + next(numbers)
            since_ns = (base_seconds - signed(next(numbers))) * _SECOND_NS
            pending.append(Pending(sequence, number, min(max(0, since_ns), (1 << 63) - 1)))
    # What was given up may lie below the floor, so far that the distance goes round.
    rows = [(next(numbers), next(numbers)) for _ in range(next(numbers))]
    redelivered = {(floor.stream + distance) % _UINT64: count for distance, count in rows}
    if len({row.sequence for row in pending}) != len(pending):
        raise ArchiveError("a consumer's state has a message twice")
    return delivered, floor, pending, redelivered


def _numbers(content: bytes) -> Iterator[int]:
    at = 2
    while True:
        try:
            value, at = read_number(content, at)
        except ValueError:
            raise ArchiveError("a consumer's state has a number that is too large") from None
        yield value
