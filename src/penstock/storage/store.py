"""The port of a store: what a stream needs of the place where its messages are.

File and memory stores are one type in the kernel; tests may bring their own. A store keeps order
and sizes and answers by sequence, time and subject. It knows nothing of limits' meaning, headers or
acknowledgements: those are the stream's.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Copies


class Record(NamedTuple):
    """One stored message."""

    sequence: int
    time_ns: int
    subject: bytes
    headers: bytes
    payload: bytes


class StoreState(NamedTuple):
    """Figures of a store. `sequence_first` is the next one where there is no message."""

    messages: int
    bytes: int
    sequence_first: int
    time_first_ns: int
    sequence_last: int
    time_last_ns: int
    deleted: int
    subjects: int


class SubjectState(NamedTuple):
    messages: int
    sequence_first: int
    sequence_last: int


class HeaderColumn(NamedTuple):
    """One header of many messages, as buffers: numbers little endian, of 8, 8 and 4 bytes."""

    sequences: bytes
    times_ns: bytes
    ends: bytes  # of the values; each begins where the one before it ends
    values: bytes
    sequence_next: int | None  # where to go on, if there is more


class Alike(NamedTuple):
    """Messages that differ in their subjects only, and have no payload."""

    sequence_first: int
    time_ns: int
    headers: bytes
    subjects: list[bytes]


class Limits(NamedTuple):
    """What a store may hold; 0 is no limit."""

    messages: int
    bytes: int
    subject_messages: int


class CountTerms(NamedTuple):
    """How increments become messages, and which of them are not for the store to count."""

    increment: bytes  # the header that has it
    special: bytes  # a header; if the last message of a subject has it, the next one is special
    head: bytes  # what a payload has in front of the sum
    tail: bytes  # and behind it
    message_bytes_max: int  # of headers and payload


class Latest(Protocol):
    """What has to be known of a store to judge a new message."""

    def state(self) -> StoreState: ...

    def load(self, sequence: int) -> Record | None: ...

    def last_matching(self, pattern: bytes, sequence: int) -> int | None:
        """The last message at or before `sequence` whose subject matches."""

    def subject_state(self, subject: bytes) -> SubjectState | None: ...


class Lookup(Latest, Protocol):
    """The half of a store that only answers; every number is an integer, every text bytes."""

    def next_matching(self, pattern: bytes, sequence: int) -> int | None:
        """The first message at or after `sequence` whose subject matches."""

    def last_by_subjects(self, patterns: Sequence[bytes], up_to: int) -> list[int]:
        """Of each subject that matches one of them, its last message at or before; sorted."""

    def pending(self, pattern: bytes, sequence: int) -> int:
        """How many messages match at or after `sequence`."""

    def sequence_at(self, time_ns: int) -> int:
        """The first message at or after a time; one past the last if there is none."""

    def subjects(self, pattern: bytes, offset: int, limit: int) -> list[tuple[bytes, int]]:
        """Subjects that match, sorted, with their number of messages."""

    def header_values(self, name: bytes, sequence: int) -> HeaderColumn:
        """The header of the messages at or after `sequence` that have it, as many as is good."""

    def expected(self, hub: Hub, start: int, end: int, header: bytes, sequence: int) -> int:
        """How many of the picked frames `start..end`, from the first on, say in a header which
        sequence the last message of their subject has, if those before are stored from `sequence`
        on and nothing is removed. It may be fewer than there are."""

    def deleted(self) -> list[tuple[int, int]]:
        """Ranges of removed sequences between the first and the last, both ends included."""


class Store(Lookup, Protocol):
    """The half that changes."""

    def fitting(
        self, hub: Hub, start: int, end: int, limits: Limits, *, keeps_subjects: bool
    ) -> int:
        """How many of the picked frames `start..end`, from the first on, fit if nothing gives way
        but the oldest of a message's own subject; with `keeps_subjects`, not even that. It may be
        fewer than there are."""

    def append_run(self, hub: Hub, start: int, end: int, sequence: int, time_ns: int) -> None:
        """Stores the picked frames `start..end` of the turn under rising sequences."""

    def append_copies(self, copies: Copies) -> None:
        """Stores messages of another store, under the sequences that they have."""

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
        """Stores what the increments of the picked frames `start..end` come to, from the first on
        up to one that is special. Of what is above the limits the oldest go, message by message; or
        it ends with a message that is above them, and then the caller is to evict."""

    def append(self, record: Record) -> None: ...

    def joined(self) -> AbstractContextManager[None]:
        """What is changed inside is all there after a crash, or nothing of it is."""

    def remove(self, sequence: int, *, erase: bool) -> bool: ...

    def remove_below(self, sequence: int) -> int:
        """Removes everything before `sequence`, from where numbering goes on if that is beyond the
        last one; returns how many."""

    def evict(self, limits: Limits) -> int:
        """Removes the oldest above the limits; returns how many."""

    def expire(self, time_ns: int, count_max: int) -> int:
        """Removes what is older than a time, whatever its lifetime; returns how many, which is
        about `count_max` at the most."""

    def replace(
        self, sequences: Sequence[int], others: "Alike | None" = None, *, erase: bool = False
    ) -> int:
        """Removes messages, with sequences that go up, and stores others after them: one change,
        of which a crash leaves all or nothing. Returns how many were removed."""
