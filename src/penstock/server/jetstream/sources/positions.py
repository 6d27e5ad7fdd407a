"""How far a stream has read its sources, kept beside its messages.

Every message of a source says where it comes from, so the stored messages are what positions are
found in. But messages go: by limits, by a purge. So positions are written down too, after the
messages they tell of, with the last sequence at that time; what was stored behind it is looked at
after a start. The position of a source that is no longer configured is kept: it may return.
"""

import struct

import msgspec

from penstock.storage.store import HeaderColumn
from penstock.streams.admission import STREAM_SOURCE
from penstock.streams.feed import Position, position_from
from penstock.streams.stream import Stream

_KNOWN_MAX = 10_000  # sources that a stream has ever had; the oldest are forgotten first


class Sourced(msgspec.Struct, array_like=True, frozen=True):
    """A journal entry."""

    index_name: str
    sequence: int
    identity: str
    sequence_last: int  # of the stream, behind the messages that this tells of
    began: int = 0


class Positions:
    """Positions by the index names of feeds."""

    def __init__(self, known: dict[str, Position] | None = None, sequence_last: int = 0) -> None:
        self.known = known or {}
        self.sequence_last = sequence_last
        self.are_noted = True  # false if a state must be written that has them

    def note(self, index_name: str, position: Position, sequence_last: int) -> bytes:
        """Remembers a position; answers with the entry that says so."""
        self.known[index_name] = position
        self.sequence_last = sequence_last
        self.are_noted = False
        while len(self.known) > _KNOWN_MAX:
            del self.known[next(iter(self.known))]
        sequence, identity, began = position
        return msgspec.json.encode(Sourced(index_name, sequence, identity, sequence_last, began))

    def replay(self, payload: bytes) -> None:
        entry = msgspec.json.decode(payload, type=Sourced)
        self.known[entry.index_name] = Position(entry.sequence, entry.identity, entry.began)
        self.sequence_last = entry.sequence_last
        self.are_noted = False

    def look_behind(self, stream: Stream) -> None:
        """Takes over what the stream's messages say that were stored after the last note."""
        if stream.sequence_last < self.sequence_last:  # what it tells of is not all there
            self.known, self.sequence_last = {}, 0
            self.are_noted = False
        sequence: int | None = self.sequence_last + 1
        while sequence is not None:
            column = stream.store.header_values(STREAM_SOURCE, sequence)
            self._take(column)
            sequence = column.sequence_next
        self.sequence_last = stream.sequence_last

    def _take(self, column: HeaderColumn) -> None:
        start = 0
        for (end,) in struct.iter_unpack("<I", column.ends):
            if (found := position_from(column.values[start:end])) is not None:
                index_name, position = found
                before = self.known.get(index_name)
                if before is not None and before.identity == position.identity:
                    position = position._replace(began=before.began)
                self.known[index_name] = position
                self.are_noted = False
            start = end
