"""A ledger's snapshot, taken apart and put together: for backups, which have their own format.

It mirrors crates/penstock-consumers (replay.rs, varint.rs): numbers of seven bits a byte, sequences
and times as the distance from the one before, and pending messages in runs.
"""

from typing import NamedTuple

from penstock.consumers.varints import read_number, signed

_FORMAT = 1
_NEVER_CHANGED = 0  # the number of the last change in it


class Place(NamedTuple):
    """A delivery, or how far all of them are settled."""

    consumer: int
    stream: int


class Pending(NamedTuple):
    """A message that is not settled."""

    sequence: int
    consumer_sequence: int
    since_ns: int


class LedgerState(NamedTuple):
    """What a snapshot says, but for a list that comes before the cursor."""

    delivered: Place
    floor: Place  # the one that is told
    pending: list[Pending]  # rising
    deliveries: dict[int, int]  # of pending messages with more than one, and of those given up
    queued: frozenset[int] = frozenset()

    @classmethod
    def decode(cls, snapshot: bytes) -> "LedgerState":
        """Of `Ledger.snapshot`."""
        reader = _Reader(snapshot)
        assert reader.number() == _FORMAT, "the kernel has another format"
        reader.number()
        delivered, _, floor = (Place(reader.number(), reader.number()) for _ in range(3))
        reader.number()
        pending: list[Pending] = []
        for _ in range(reader.number()):
            count = reader.number()
            first = Pending(reader.sequence(), reader.number(), reader.time_ns())
            pending += (_later(first, step) for step in range(count))
        deliveries = {reader.sequence(): reader.number() for _ in range(reader.number())}
        queued = frozenset(reader.sequence() for _ in range(reader.number()))
        return cls(delivered, floor, pending, deliveries, queued)

    def encode(self) -> bytes:
        """For `Ledger.restore`; it goes on behind what was delivered, and nothing is queued."""
        writer = _Writer()
        cursor = self.delivered.stream + 1
        writer.numbers(_FORMAT, _NEVER_CHANGED, *self.delivered, *self.floor, *self.floor, cursor)
        writer.numbers(len(self.pending))
        for sequence, consumer_sequence, since_ns in self.pending:
            writer.numbers(1)
            writer.sequence(sequence)
            writer.numbers(consumer_sequence)
            writer.time_ns(since_ns)
        writer.numbers(len(self.deliveries))
        for sequence, count in sorted(self.deliveries.items()):
            writer.sequence(sequence)
            writer.numbers(count)
        writer.numbers(0, 0)
        return bytes(writer.data)


def _later(first: Pending, step: int) -> Pending:
    return Pending(first.sequence + step, first.consumer_sequence + step, first.since_ns)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._sequence = 0
        self._time_ns = 0

    def number(self) -> int:
        value, self._at = read_number(self._data, self._at)
        return value

    def sequence(self) -> int:
        self._sequence += signed(self.number())
        return self._sequence

    def time_ns(self) -> int:
        self._time_ns = _int64(self._time_ns + signed(self.number()))
        return self._time_ns


class _Writer:
    def __init__(self) -> None:
        self.data = bytearray()
        self._sequence = 0
        self._time_ns = 0

    def numbers(self, *values: int) -> None:
        for number in values:
            value = number
            while value >= 0x80:
                self.data.append(value & 0x7F | 0x80)
                value >>= 7
            self.data.append(value)

    def _distance(self, distance: int) -> None:
        self.numbers((distance << 1 ^ distance >> 63) & (1 << 64) - 1)

    def sequence(self, sequence: int) -> None:
        self._distance(sequence - self._sequence)
        self._sequence = sequence

    def time_ns(self, time_ns: int) -> None:
        self._distance(_int64(time_ns - self._time_ns))
        self._time_ns = time_ns


def _int64(value: int) -> int:
    """As the kernel's times go round."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
