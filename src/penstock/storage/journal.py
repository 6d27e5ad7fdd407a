"""The journal of one stream: its changes as entries of the server's commit log.

An entry says what was done, not what was asked, so that replaying it needs no judgement. What
limits removed is written too: they may be others by the time of the replay.
"""

import enum

import msgspec

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Log
from penstock.storage.store import Record


class Kind(enum.IntEnum):
    """What an entry holds. The numbers are in files: they never change."""

    CONFIGURED = 1  # JSON: the stream's description
    DELETED = 2  # nothing
    RUN = 3  # messages, as the kernel writes them
    REMOVED = 4  # JSON: sequences
    REMOVED_BELOW = 5  # JSON: one sequence
    EVICTED = 6  # JSON: the last sequence at that time, and the limits for it and its subjects
    ERASED = 7  # JSON: sequences, to be overwritten too


class Journal:
    """Writes the entries of one stream."""

    def __init__(self, log: Log, number: int) -> None:
        self._log = log
        self.number = number
        # Since somebody set it back, who made the store durable; what a start finds is unknown.
        self.is_touched = True

    def run(self, hub: Hub, start: int, end: int, first: int, time_ns: int) -> None:
        self.is_touched = True
        self._log.append_run(hub, self.number, Kind.RUN, start, end, first, time_ns)

    def message(self, record: Record) -> None:
        self.is_touched = True
        self._log.append_message(self.number, Kind.RUN, *record)

    def removed(self, sequences: list[int], *, erase: bool) -> None:
        kind = Kind.ERASED if erase else Kind.REMOVED
        self._append(kind, msgspec.json.encode(sequences))

    def removed_below(self, sequence: int) -> None:
        self._append(Kind.REMOVED_BELOW, msgspec.json.encode(sequence))

    def evicted(self, sequence_last: int, limits: tuple[int, int, int]) -> None:
        self._append(Kind.EVICTED, msgspec.json.encode((sequence_last, *limits)))

    def configured(self, description: bytes) -> None:
        self._append(Kind.CONFIGURED, description)

    def deleted(self) -> int:
        """Returns the entry that must be durable before anything goes."""
        return self._append(Kind.DELETED, b"")

    def _append(self, kind: Kind, payload: bytes) -> int:
        self.is_touched = True
        return self._log.append(self.number, kind, payload)
