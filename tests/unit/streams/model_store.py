"""A store that is slow and obvious: a dictionary. The kernel's store must do the same."""

import struct
from collections.abc import Sequence

from penstock.kernel.hub import Frame, Hub, picked_frames
from penstock.storage.store import Alike, HeaderColumn, Limits, Record, StoreState, SubjectState
from penstock.streams import headers
from penstock.streams.admission import stored_bytes
from penstock.streams.subjects import is_subset


def packed(rows: Sequence[tuple[int, int, bytes]]) -> HeaderColumn:
    """Sequences, times and values as they cross the border."""
    ends = [sum(len(value) for *_, value in rows[: row + 1]) for row in range(len(rows))]
    return HeaderColumn(
        sequences=struct.pack(f"<{len(rows)}Q", *(sequence for sequence, *_ in rows)),
        times_ns=struct.pack(f"<{len(rows)}q", *(time_ns for _, time_ns, _ in rows)),
        ends=struct.pack(f"<{len(rows)}I", *ends),
        values=b"".join(value for *_, value in rows),
        sequence_next=None,
    )


class Unwatched:
    """Nobody asks a model how long its messages live."""

    def watch(self, *, watched: bool) -> None:
        assert not watched


class ModelStore:
    """Messages by sequence. In memory a message counts for less than its record in a file."""

    def __init__(self, *, memory: bool = False) -> None:
        self.memory = memory
        self.lifetimes = Unwatched()
        self.records: dict[int, Record] = {}
        self.sequence_last = 0
        self.time_last_ns = 0

    def state(self) -> StoreState:
        first = min(self.records, default=self.sequence_last + 1)
        live = len(self.records)
        return StoreState(
            messages=live,
            bytes=sum(self._size(record) for record in self.records.values()),
            sequence_first=first if self.sequence_last else 0,
            time_first_ns=self.records[first].time_ns if live else 0,
            sequence_last=self.sequence_last,
            time_last_ns=self.time_last_ns,
            deleted=self.sequence_last + 1 - first - live if live else 0,
            subjects=len({record.subject for record in self.records.values()}),
        )

    def append_run(self, hub: Hub, start: int, end: int, sequence: int, time_ns: int) -> None:
        for position in range(start, end):
            index = hub.picked(position)
            assert index is not None
            columns = hub.frame(index)
            assert columns is not None
            frame = Frame(*columns)
            number = sequence + position - start
            self.append(Record(number, time_ns, frame.subject, frame.headers, frame.body))

    def append(self, record: Record) -> None:
        assert record.sequence > self.sequence_last
        self.records[record.sequence] = record
        self.sequence_last = record.sequence
        self.time_last_ns = record.time_ns

    def load(self, sequence: int) -> Record | None:
        return self.records.get(sequence)

    def remove(self, sequence: int, *, erase: bool) -> bool:
        del erase
        return self.records.pop(sequence, None) is not None

    def replace(
        self, sequences: Sequence[int], others: Alike | None = None, *, erase: bool = False
    ) -> int:
        removed = sum(self.remove(sequence, erase=erase) for sequence in sequences)
        if others is not None:
            for number, subject in enumerate(others.subjects, others.sequence_first):
                self.append(Record(number, others.time_ns, subject, others.headers, b""))
        return removed

    def remove_below(self, sequence: int) -> int:
        gone = [number for number in self.records if number < sequence]
        for number in gone:
            del self.records[number]
        return len(gone)

    def next_matching(self, pattern: bytes, sequence: int) -> int | None:
        found = (n for n in sorted(self.records) if n >= sequence and self._matches(n, pattern))
        return next(found, None)

    def last_matching(self, pattern: bytes, sequence: int) -> int | None:
        numbers = sorted(self.records, reverse=True)
        return next((n for n in numbers if n <= sequence and self._matches(n, pattern)), None)

    def last_by_subjects(self, patterns: Sequence[bytes], up_to: int) -> list[int]:
        lasts: dict[bytes, int] = {}
        for number in sorted(n for n in self.records if n <= up_to):
            if any(self._matches(number, pattern) for pattern in patterns):
                lasts[self.records[number].subject] = number
        return sorted(lasts.values())

    def pending(self, pattern: bytes, sequence: int) -> int:
        return sum(n >= sequence and self._matches(n, pattern) for n in self.records)

    def sequence_at(self, time_ns: int) -> int:
        found = (n for n in sorted(self.records) if self.records[n].time_ns >= time_ns)
        return next(found, self.sequence_last + 1)

    def subject_state(self, subject: bytes) -> SubjectState | None:
        numbers = [n for n in sorted(self.records) if self.records[n].subject == subject]
        return SubjectState(len(numbers), numbers[0], numbers[-1]) if numbers else None

    def subjects(self, pattern: bytes, offset: int, limit: int) -> list[tuple[bytes, int]]:
        counts: dict[bytes, int] = {}
        for number in self.records:
            if self._matches(number, pattern):
                subject = self.records[number].subject
                counts[subject] = counts.get(subject, 0) + 1
        return sorted(counts.items())[offset : offset + limit]

    def header_values(self, name: bytes, sequence: int) -> HeaderColumn:
        rows = []
        for number in sorted(n for n in self.records if n >= sequence):
            record = self.records[number]
            if (value := headers.find(record.headers, name)) is not None:
                rows.append((number, record.time_ns, value))
        return packed(rows)

    def deleted(self) -> list[tuple[int, int]]:
        first = self.state().sequence_first
        gone = [n for n in range(first, self.sequence_last + 1) if n not in self.records]
        return [(number, number) for number in gone]

    def fitting(
        self, hub: Hub, start: int, end: int, limits: Limits, *, keeps_subjects: bool
    ) -> int:
        stored = dict(self.records)
        for count, frame in enumerate(picked_frames(hub, start, end)):
            number = self.sequence_last + 1 + count
            record = Record(number, 0, frame.subject, frame.headers, frame.body)
            size, held = self._size(record), sum(map(self._size, stored.values()))
            own = [n for n in sorted(stored) if stored[n].subject == frame.subject]
            is_replacing = 0 < limits.subject_messages <= len(own)
            replaced = self._size(stored.pop(own[0])) if is_replacing else 0
            is_full = 0 < limits.messages <= len(stored) and not is_replacing
            is_too_large = 0 < limits.bytes < held + size and replaced < size
            if is_full or is_too_large or (is_replacing and keeps_subjects):
                return count
            stored[number] = record
        return end - start

    def expected(self, hub: Hub, start: int, end: int, header: bytes, sequence: int) -> int:
        lasts = {self.records[number].subject: number for number in sorted(self.records)}
        for count, frame in enumerate(picked_frames(hub, start, end)):
            value = headers.find(frame.headers, header) or b""
            is_plain = value.isdigit() and not {b"*", b">"} & {*frame.subject.split(b".")}
            if not is_plain or int(value) != lasts.get(frame.subject, 0):
                return count
            lasts[frame.subject] = sequence + count
        return end - start

    def evict(self, limits: Limits) -> int:
        messages_max, bytes_max, subject_messages_max = limits
        before = len(self.records)
        if subject_messages_max > 0:
            for subject, count in self.subjects(b">", 0, 2**63):
                state = self.subject_state(subject)
                for _ in range(max(0, count - subject_messages_max)):
                    assert state is not None
                    del self.records[state.sequence_first]
                    state = self.subject_state(subject)
        while messages_max > 0 and len(self.records) > messages_max:
            del self.records[min(self.records)]
        while bytes_max > 0 and self.state().bytes > bytes_max:
            del self.records[min(self.records)]
        return before - len(self.records)

    def expire(self, time_ns: int, _count_max: int) -> int:
        old = [n for n, record in self.records.items() if record.time_ns < time_ns]
        for number in old:
            del self.records[number]
        return len(old)

    def _matches(self, sequence: int, pattern: bytes) -> bool:
        subject = self.records[sequence].subject
        return is_subset(subject.decode("latin-1"), pattern.decode("latin-1"))

    def _size(self, record: Record) -> int:
        if self.memory:
            return 16 + len(record.subject) + len(record.headers) + len(record.payload)
        return stored_bytes(record.subject, record.headers, record.payload)
