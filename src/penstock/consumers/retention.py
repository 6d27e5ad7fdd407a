"""What streams with a retention by consumers keep: messages that some consumer still needs.

On a work queue a message belongs to one consumer, and goes when that one is done with it. With
interest, it goes when everybody is whose filter it matches. A mirror or source of the stream counts
as a consumer, and no message goes before it has come past it. The limits hold besides.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from penstock.consumers.core import Core, Range
from penstock.model.stream_config import Retention as Policy
from penstock.storage.block_store import BlockStore
from penstock.streams.stream import Stream

EVERYTHING = b">"
RANGE_SHORT = 10_000
EXAMINED_MAX = 100_000  # messages looked at one by one; what is left then goes by limits, as theirs


class Readers(Protocol):
    """The consumers of the stream."""

    def cores(self) -> list[Core]: ...

    def cores_for(self, subject: bytes) -> Iterable[Core]:
        """Those with a filter that matches."""


class Follower(Protocol):
    """A stream that copies this one."""

    position: int  # the next sequence that it will look at

    @property
    def wants_everything(self) -> bool: ...

    def wants(self, subject: bytes) -> bool: ...


class Retention:
    """The policy of one stream."""

    def __init__(self, stream: Stream, store: BlockStore, readers: Readers) -> None:
        self._stream = stream
        self._store = store
        self._readers = readers
        self.followers: list[Follower] = []

    @property
    def policy(self) -> Policy:
        return self._stream.config.retention

    def done(self, ranges: list[Range]) -> None:
        """A consumer needs these no more."""
        if self.policy is Policy.LIMITS:
            return
        sequences = [sequence for pair in ranges for sequence in self._stored(*pair)]
        readers = len(self._readers.cores()) + len(self.followers)
        if self.followers or (self.policy is Policy.INTEREST and readers > 1):
            sequences = [sequence for sequence in sequences if self._is_free(sequence)]
        self._store.discard(sequences)

    def followed(self, follower: Follower, first: int) -> None:
        """A follower has come past the messages from `first` on."""
        if self.policy is Policy.LIMITS:
            return
        is_alone = len(self.followers) == 1 and follower.wants_everything
        if self.policy is Policy.WORKQUEUE:  # what it began behind belongs to others
            is_all = first <= self._store.state().sequence_first
        else:
            is_all = not self._readers.cores()
        if is_alone and is_all:
            self._discard_below(follower.position)
            return
        passed = self._stored(first, follower.position - 1)
        self.done([(sequence, sequence) for sequence in passed if self._is_for(follower, sequence)])

    def _is_for(self, follower: Follower, sequence: int) -> bool:
        record = self._store.load(sequence)
        return record is not None and follower.wants(record.subject)

    def _is_free(self, sequence: int) -> bool:
        """Whether nobody but the one who is done needs it; of a work queue, no follower."""
        if self.policy is Policy.INTEREST:
            return self._is_done(sequence)
        waiting = (follower for follower in self.followers if follower.position <= sequence)
        return not any(self._is_for(follower, sequence) for follower in waiting)

    def sweep(self) -> None:
        """Removes what nobody needs: after a start, or after a consumer went or was changed."""
        if self.policy is Policy.LIMITS:
            return
        cores = self._readers.cores()
        if self.policy is Policy.WORKQUEUE and not cores:
            return
        floors = [core.figures.floor_stream for core in cores]
        floors += [follower.position - 1 for follower in self.followers]
        if self.policy is Policy.INTEREST:
            self._discard_below(min(floors, default=self._stream.sequence_last) + 1)
        sequence = self._store.next_matching(EVERYTHING, 1)
        done = []
        for _ in range(EXAMINED_MAX):
            if sequence is None:
                break
            if self._is_done(sequence):
                done.append(sequence)
            sequence = self._store.next_matching(EVERYTHING, sequence + 1)
        self._store.discard(done)

    def _discard_below(self, sequence: int) -> None:
        """What begins beyond the end does not need what is there, and must not move the end."""
        self._store.discard_below(min(sequence, self._stream.sequence_last + 1))

    def spare(self, core: Core, below: int) -> None:
        """A consumer is about to pass over messages, or over some for which it had no filter.

        Its floor says nothing about those, so what a work queue has below stays: acknowledged ones
        left it at once.
        """
        if self.policy is Policy.WORKQUEUE:
            core.spared_below = max(core.spared_below, below)

    def _stored(self, first: int, last: int) -> Iterator[int]:
        """The sequences of a range that may be there; long ranges have gaps."""
        if last - first < RANGE_SHORT:
            yield from range(first, last + 1)
            return
        sequence = self._store.next_matching(EVERYTHING, first)
        while sequence is not None and sequence <= last:
            yield sequence
            sequence = self._store.next_matching(EVERYTHING, sequence + 1)

    def _is_done(self, sequence: int) -> bool:
        """Whether nobody needs it; on a work queue somebody must have had it."""
        record = self._store.load(sequence)
        if record is None:
            return False
        cores = [*self._readers.cores_for(record.subject)]
        if not cores and self.policy is Policy.WORKQUEUE:
            return False
        if self.policy is Policy.WORKQUEUE and any(sequence < core.spared_below for core in cores):
            return False
        waiting = (follower for follower in self.followers if follower.position <= sequence)
        return not any(core.ledger.needs(sequence) for core in cores) and not any(
            follower.wants(record.subject) for follower in waiting
        )
