"""The store of a stream on the kernel's blocks, in files or in memory, with a journal or without.

The journal gets every change before the caller hears of it; when it is durable is decided
elsewhere. This class only names the columns that cross the border.
"""

from collections.abc import Callable, Sequence

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Blocks
from penstock.storage.journal import Journal
from penstock.storage.store import HeaderColumn, Limits, Record, StoreState, SubjectState

_COLUMN_BYTES_MAX = 16 << 20  # of header values at a time: memory that nobody misses


class BlockLookup:
    """The part of the port that only answers."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def state(self) -> StoreState:
        return StoreState(*self.blocks.state())

    def load(self, sequence: int) -> Record | None:
        try:
            columns = self.blocks.load(sequence)
        except OSError:
            if self._is_lost(sequence):  # its record no longer verifies: there is no message
                return None
            raise
        return None if columns is None else Record(*columns)

    def _is_lost(self, sequence: int) -> bool:
        ranges, _ = self.blocks.lost()
        return any(first <= sequence <= last for first, last in ranges)

    def next_matching(self, pattern: bytes, sequence: int) -> int | None:
        return self.blocks.next_matching(pattern, sequence)

    def last_matching(self, pattern: bytes, sequence: int) -> int | None:
        return self.blocks.last_matching(pattern, sequence)

    def sequence_at(self, time_ns: int) -> int:
        found = self.blocks.sequence_at(time_ns)
        return self.state().sequence_last + 1 if found is None else found

    def subject_state(self, subject: bytes) -> SubjectState | None:
        columns = self.blocks.subject_state(subject)
        return None if columns is None else SubjectState(*columns)

    def subjects(self, pattern: bytes, offset: int, limit: int) -> list[tuple[bytes, int]]:
        return self.blocks.subjects(pattern, offset, limit)

    def pending(self, pattern: bytes, sequence: int) -> int:
        return self.blocks.pending([pattern], sequence)

    def last_by_subjects(self, patterns: Sequence[bytes], up_to: int) -> list[int]:
        return self.blocks.last_by_subjects([*patterns], up_to)

    def header_values(self, name: bytes, sequence: int) -> HeaderColumn:
        return HeaderColumn(*self.blocks.header_values(name, sequence, _COLUMN_BYTES_MAX))

    def deleted(self) -> list[tuple[int, int]]:
        return self.blocks.deleted()


class BlockStore(BlockLookup):
    """The port `Store`, served by the kernel."""

    def __init__(
        self, blocks: Blocks, journal: Journal | None, changing: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(blocks)
        self.journal = journal
        self._changing = changing  # asked before each change: there will be something to write

    def fitting(
        self, hub: Hub, start: int, end: int, limits: Limits, *, keeps_subjects: bool
    ) -> int:
        return self.blocks.fitting(hub, start, end, *limits, keeps_subjects)

    def append_run(self, hub: Hub, start: int, end: int, sequence: int, time_ns: int) -> None:
        self._changing()
        self.blocks.append_run(hub, start, end, sequence, time_ns)
        if self.journal is not None:
            self.journal.run(hub, start, end, sequence, time_ns)

    def append(self, record: Record) -> None:
        self._changing()
        self.blocks.append(*record)
        if self.journal is not None:
            self.journal.message(record)

    def remove(self, sequence: int, *, erase: bool) -> bool:
        self._changing()
        removed = self.blocks.remove(sequence, erase)
        if removed and self.journal is not None:
            self.journal.removed([sequence], erase=erase)
        return removed

    def remove_below(self, sequence: int) -> int:
        self._changing()
        moves_last = sequence > self.state().sequence_last + 1  # though nothing may be removed
        removed = self.blocks.remove_below(sequence)
        if (removed or moves_last) and self.journal is not None:
            self.journal.removed_below(sequence)
        return removed

    def evict(self, limits: Limits) -> int:
        removed = self.blocks.evict(*limits)
        if removed:
            self._changing()
        if removed and self.journal is not None:
            state = self.state()
            if limits.subject_messages:  # anywhere in the stream
                self.journal.evicted(state.sequence_last, limits)
            else:
                self.journal.removed_below(state.sequence_first)
        return removed

    def expire(self, time_ns: int) -> int:
        removed = self.blocks.expire(time_ns)
        if removed:
            self._changing()
            if self.journal is not None:
                self.journal.removed_below(self.state().sequence_first)
        return removed
