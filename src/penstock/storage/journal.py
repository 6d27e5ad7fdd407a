"""The journal of one stream: its changes as entries of the server's commit log.

An entry says what was done, not what was asked, so that replaying it needs no judgement. What
limits removed is written too: they may be others by the time of the replay. Changes that belong
together are joined into one entry, which is there or not.
"""

import contextlib
import enum
import struct
from collections.abc import Iterator
from typing import Protocol

import msgspec

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Copies, encode_message
from penstock.storage.store import Record

_PART_HEAD = struct.Struct("<BQ")  # kind and length


class Kind(enum.IntEnum):
    """What an entry holds. The numbers are in files: they never change."""

    CONFIGURED = 1  # JSON: the stream's description
    DELETED = 2  # nothing
    RUN = 3  # messages, as the kernel writes them
    REMOVED = 4  # JSON: sequences
    REMOVED_BELOW = 5  # JSON: one sequence
    EVICTED = 6  # JSON: the last sequence at that time, and the limits for it and its subjects
    ERASED = 7  # JSON: sequences, to be overwritten too
    CONSUMER = 8  # JSON: the description of one of the stream's consumers
    CONSUMER_DELETED = 9  # JSON: its number
    CONSUMER_CHANGED = 10  # its number (8 bytes), and what its ledger has to say
    REPLACED = 11  # sequences, and the messages that took their place, as the kernel writes them
    JOINED = 16  # several of the others, each behind its kind and length: all of them or none
    COPIED = 24  # messages with their sequences: of another stream, or counted
    SOURCED = 25  # JSON: how far one of the stream's sources was read


CONSUMER_KINDS = (Kind.CONSUMER, Kind.CONSUMER_DELETED, Kind.CONSUMER_CHANGED, Kind.SOURCED)


class EntryLog(Protocol):
    """Where entries go: the server's commit log, or what stands in for it."""

    def append(self, stream: int, kind: int, payload: bytes, /) -> int: ...

    def append_run(
        self, hub: Hub, stream: int, kind: int, start: int, end: int, first: int, time_ns: int, /
    ) -> int: ...

    def append_message(
        self,
        stream: int,
        kind: int,
        sequence: int,
        time_ns: int,
        subject: bytes,
        headers: bytes,
        message: bytes,
        /,
    ) -> int: ...

    def append_copies(self, stream: int, kind: int, copies: Copies, before: int, /) -> int: ...

    def append_replaced(
        self,
        stream: int,
        kind: int,
        sequences: list[int],
        erase: bool,
        subjects: list[bytes],
        headers: bytes,
        first: int,
        time_ns: int,
        /,
    ) -> int: ...

    def last(self) -> int: ...


def split(joined: bytes) -> Iterator[tuple[Kind, bytes]]:
    """The entries that were joined into one, in their order."""
    at = 0
    while at < len(joined):
        kind, length = _PART_HEAD.unpack_from(joined, at)
        at += _PART_HEAD.size + length
        yield Kind(kind), joined[at - length : at]


def erases(kind: Kind, payload: bytes) -> bool:
    """Whether an entry is of messages that nothing may be left of."""
    return kind is Kind.ERASED or (kind is Kind.REPLACED and payload[:1] != b"\0")


class Journal:
    """Writes the entries of one stream."""

    def __init__(self, log: EntryLog, number: int) -> None:
        self._log = log
        self.number = number
        # Since somebody set it back, who made the store durable; what a start finds is unknown.
        self.is_touched = True
        self.entry = log.last()  # the one that the messages stored last are in
        self._parts: list[bytes] | None = None  # while changes are being joined

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        """What is written inside becomes one entry when it ends; if it fails, there is none."""
        assert self._parts is None
        parts = self._parts = []
        try:
            yield
        finally:
            self._parts = None
        if parts:
            self.entry = self.append(Kind.JOINED, b"".join(parts))

    def run(self, hub: Hub, start: int, end: int, first: int, time_ns: int) -> None:
        assert self._parts is None, "a run is never joined to anything"
        self.is_touched = True
        self.entry = self._log.append_run(hub, self.number, Kind.RUN, start, end, first, time_ns)

    def message(self, record: Record) -> None:
        if self._parts is not None:
            self.append(Kind.RUN, encode_message(*record))
            return
        self.is_touched = True
        self.entry = self._log.append_message(self.number, Kind.RUN, *record)

    def copied(self, copies: Copies, before: int) -> None:
        """Into a store whose last sequence was `before`."""
        if self._parts is not None:
            self.append(Kind.COPIED, copies.encoded(before))
            return
        self.is_touched = True
        self.entry = self._log.append_copies(self.number, Kind.COPIED, copies, before)

    def removed(self, sequences: list[int], *, erase: bool) -> None:
        kind = Kind.ERASED if erase else Kind.REMOVED
        self.append(kind, msgspec.json.encode(sequences))

    def removed_below(self, sequence: int) -> None:
        self.append(Kind.REMOVED_BELOW, msgspec.json.encode(sequence))

    def replaced(
        self,
        sequences: list[int],
        erase: bool,
        subjects: list[bytes],
        headers: bytes,
        first: int,
        time_ns: int,
    ) -> None:
        if self._parts is not None:
            assert not subjects, "what is joined has its messages as they are"
            self.removed(sequences, erase=erase)
            return
        self.is_touched = True
        entry = self._log.append_replaced(
            self.number, Kind.REPLACED, sequences, erase, subjects, headers, first, time_ns
        )
        if subjects:
            self.entry = entry

    def evicted(self, sequence_last: int, limits: tuple[int, int, int]) -> None:
        self.append(Kind.EVICTED, msgspec.json.encode((sequence_last, *limits)))

    def configured(self, description: bytes) -> None:
        self.append(Kind.CONFIGURED, description)

    def deleted(self) -> int:
        """Returns the entry that must be durable before anything goes."""
        return self.append(Kind.DELETED, b"")

    def consumer(self, description: bytes) -> None:
        self.append(Kind.CONSUMER, description)

    def consumer_deleted(self, number: int) -> None:
        self.append(Kind.CONSUMER_DELETED, msgspec.json.encode(number))

    def consumer_changed(self, number: int, changes: bytes) -> None:
        self.append(Kind.CONSUMER_CHANGED, number.to_bytes(8, "little") + changes)

    def append(self, kind: Kind, payload: bytes) -> int:
        """Any entry, as its kind has it; returns its number."""
        self.is_touched = True
        if self._parts is not None:
            self._parts += _PART_HEAD.pack(kind, len(payload)), payload
            return self.entry
        return self._log.append(self.number, kind, payload)
