"""The store of a stream on the kernel's blocks, in files or in memory, with a journal or without.

The journal gets every change before the caller hears of it; when it is durable is decided
elsewhere. This class only names the columns that cross the border.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Blocks, Copies
from penstock.storage.carried import Carried
from penstock.storage.journal import Journal
from penstock.storage.lifetimes import Lifetimes
from penstock.storage.store import (
    Alike,
    CountTerms,
    HeaderColumn,
    Limits,
    Record,
    StoreState,
    SubjectState,
)

_NOTHING = Alike(0, 0, b"", [])
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

    def expected(self, hub: Hub, start: int, end: int, header: bytes, sequence: int) -> int:
        return self.blocks.expected(hub, start, end, header, sequence)

    def deleted(self) -> list[tuple[int, int]]:
        return self.blocks.deleted()


class BlockStore(BlockLookup):
    """The port `Store`, served by the kernel."""

    def __init__(
        self, blocks: Blocks, journal: Journal | None, changing: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(blocks)
        self.journal = journal
        self.lifetimes = Lifetimes(self)
        self.note: Journal | None = None  # without a journal: where joined changes go first,
        self.clear_note: Callable[[], None] = lambda: None  # until the blocks have them
        self.changing = changing  # asked before each change: there will be something to write
        self.carried = Carried()
        # Told of removals, but not of `discard`: true if they were all before the first message.
        self.on_removed: Callable[[bool], None] = lambda _in_front: None

    def fitting(
        self, hub: Hub, start: int, end: int, limits: Limits, *, keeps_subjects: bool
    ) -> int:
        return self.blocks.fitting(hub, start, end, *limits, keeps_subjects)

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        if self.journal is not None:
            with self.journal.joined():
                yield
        elif self.note is not None:
            self.carried.let_go(self.state().sequence_last)  # later it would part what is joined
            self.journal = self.note
            try:
                with self.note.joined():
                    yield
            finally:
                self.journal = None
        else:  # in memory nothing outlives a crash
            yield

    def write_out(self) -> None:
        """What is stored goes to the files."""
        self.blocks.write_out()
        self.clear_note()

    def append_run(self, hub: Hub, start: int, end: int, sequence: int, time_ns: int) -> None:
        self.changing()
        self.blocks.append_run(hub, start, end, sequence, time_ns)
        if self.journal is not None:
            self.journal.run(hub, start, end, sequence, time_ns)

    def append_copies(self, copies: Copies) -> None:
        self.changing()
        before = self.state().sequence_last
        self.blocks.append_copies(copies)
        if self.journal is not None:
            self.journal.copied(copies, before)

    def append_counted(
        self,
        hub: Hub,
        start: int,
        end: int,
        sequence: int,
        time_ns: int,
        terms: CountTerms,
        limits: Limits,
    ) -> Copies:
        self.changing()
        if self.carried.since is not None:
            self.carried.let_go_by(limits, self.state(), end - start)
        counted = Copies()
        blocks, columns = self.blocks, (sequence, time_ns, *terms, *limits)
        evicted = counted.count(blocks, hub, start, end, *columns)
        if len(counted) and self.journal is not None:
            self.journal.copied(counted, sequence - 1)
        if evicted:
            if self.journal is not None:
                self.journal.removed_below(self.state().sequence_first)
            self.on_removed(True)
        return counted

    def append(self, record: Record) -> None:
        self.changing()
        self.blocks.append(*record)
        if self.journal is not None:
            self.journal.message(record)

    def remove(self, sequence: int, *, erase: bool) -> bool:
        self.changing()
        self.carried.let_go(sequence)
        removed = self.blocks.remove(sequence, erase)
        if removed:
            if self.journal is not None:
                self.journal.removed([sequence], erase=erase)
            self.on_removed(False)
        return removed

    def discard(self, sequences: Sequence[int]) -> None:
        """Removes messages that nobody needs any more."""
        self.changing()
        self.carried.let_go_some(sequences)
        removed = [sequence for sequence in sequences if self.blocks.remove(sequence, False)]
        if removed and self.journal is not None:
            self.journal.removed(removed, erase=False)

    def discard_below(self, sequence: int) -> None:
        """The same for everything before a sequence that is there."""
        self.changing()
        self.carried.let_go(sequence - 1)
        if self.blocks.remove_below(sequence) and self.journal is not None:
            self.journal.removed_below(sequence)

    def remove_below(self, sequence: int) -> int:
        self.changing()
        self.carried.let_go(sequence - 1)
        moves_last = sequence > self.state().sequence_last + 1  # though nothing may be removed
        removed = self.blocks.remove_below(sequence)
        if (removed or moves_last) and self.journal is not None:
            self.journal.removed_below(sequence)
        if removed:
            self.on_removed(True)
        return removed

    def evict(self, limits: Limits) -> int:
        if self.carried.since is not None:
            self.carried.let_go_by(limits, self.state())
        removed = self.blocks.evict(*limits)
        if removed:
            self.changing()
        if removed and self.journal is not None:
            state = self.state()
            if limits.subject_messages:  # anywhere in the stream
                self.journal.evicted(state.sequence_last, limits)
            else:
                self.journal.removed_below(state.sequence_first)
        if removed:
            self.on_removed(not limits[2])
        return removed

    def replace(
        self, sequences: Sequence[int], others: Alike | None = None, *, erase: bool = False
    ) -> int:
        self.changing()
        self.carried.let_go_some(sequences)
        first, time_ns, headers, subjects = others or _NOTHING
        columns = ([*sequences], erase, subjects, headers, first, time_ns)
        removed = self.blocks.replace(*columns)
        if self.journal is not None and (removed or subjects):
            self.journal.replaced(*columns)
        if removed:
            self.on_removed(sequences[-1] < self.state().sequence_first)
        return removed

    def expire(self, time_ns: int, count_max: int) -> int:
        self.carried.let_go(self.state().sequence_last)
        removed = self.blocks.expire(time_ns, count_max)
        if removed:
            self.changing()
            if self.journal is not None:
                self.journal.removed_below(self.state().sequence_first)
            self.on_removed(True)
        return removed
