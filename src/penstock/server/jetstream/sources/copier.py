"""Messages go from the store of one stream into another: in bulk inside of the kernel what needs no
look, and one by one what does.

Both ways lead through the target's ingest, as publishes do. What the target refuses stops the
copying there.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from penstock.kernel.storage import Copies, CopyStop
from penstock.model.api_errors import ApiError
from penstock.model.limits import SUBJECT_BYTES_MAX
from penstock.streams import headers
from penstock.streams.admission import HEADERS_BYTES_MAX, STREAM_SOURCE
from penstock.streams.counters import CountedSource
from penstock.streams.feed import (
    Copied,
    Feed,
    position_from,
    special_headers,
    take_one,
    take_run,
    takes_in_bulk,
)
from penstock.streams.stream import Outcome

if TYPE_CHECKING:
    from penstock.server.jetstream.keeper import Kept

_BYTES_AT_ONCE = 1 << 20  # a few milliseconds; the others of the turn wait that long
_LOOKED_AT_ONCE = 500  # messages that Python looks at, for the same reason
_NAMES_MAX = 10_000  # of subjects that are renamed; where there are more, they are learned again

Row = tuple[int, int, bytes, bytes, bytes]
Sourced = tuple[int, int, bytes, bytes, bytes]


class Step(NamedTuple):
    """What came of one piece of work."""

    after: int  # the sequence of the origin to go on with
    taken: int = 0  # of the last message that the target took
    refusal: ApiError | None = None  # of the one to go on with


class Copier:
    """The way from one stream into another."""

    def __init__(self, target: "Kept", feed: Feed, origin: "Kept", identity: str) -> None:
        self._target = target
        self._feed = feed
        self._origin = origin
        self._identity = identity
        self._copies = Copies()

    def step(self, position: int, up_to: int, now_ns: int) -> Step:
        """Takes a piece of the messages from `position` up to `up_to`. Raises OSError if they
        cannot be read; if they cannot be stored, the target says so."""
        if not takes_in_bulk(self._target.stream, self._feed):
            return self._one_by_one(position, up_to, now_ns, _LOOKED_AT_ONCE)
        stop, step = self._bulk(position, up_to, now_ns)
        if stop is not CopyStop.SPECIAL or self._target.failure:
            return step
        count = 1 if step.taken else _LOOKED_AT_ONCE  # one special message rarely comes alone
        looked_at = self._one_by_one(step.after, up_to, now_ns, count)
        return looked_at._replace(taken=looked_at.taken or step.taken)

    def _bulk(self, position: int, up_to: int, now_ns: int) -> tuple[CopyStop, Step]:
        stream, feed = self._target.stream, self._feed
        sourced = None
        if not feed.is_mirror:
            first, time_ns = stream.sequence_last + 1, stream.moment(now_ns)
            sourced = (first, time_ns, *feed.line(self._identity))
        stop, after = self._read(position, up_to, sys.maxsize, sourced, looks=False)
        last = self._copies.last()
        if last is None or not self._store(self._append_all):
            return stop, Step(after)
        taken = last[0] if feed.is_mirror else _sequence_in(last[1])
        return stop, Step(after, taken)

    def _append_all(self) -> list[Outcome]:
        take_run(self._target.stream, self._copies)
        return []

    def _one_by_one(self, position: int, up_to: int, now_ns: int, count: int) -> Step:
        _, after = self._read(position, up_to, count, None, looks=True)
        taken, refusal = 0, None

        def publish_all() -> list[Outcome]:
            nonlocal after, taken, refusal
            outcomes = []
            for row in self._copies.rows():
                outcome = self._publish(row, now_ns)
                if outcome.refusal is not None:
                    refusal, after = outcome.refusal, row[0]
                    break
                outcomes.append(outcome)
                taken = row[0]
            self._target.stream.catch_up()
            return outcomes

        self._store(publish_all)
        return Step(after, taken, refusal)

    def _read(
        self, position: int, up_to: int, count: int, sourced: Sourced | None, *, looks: bool
    ) -> tuple[CopyStop, int]:
        """Fills `_copies`; why it stopped, and where to go on."""
        stream = self._target.stream
        size_max = stream.config.max_msg_size
        has_size_max = size_max >= 0 and not looks
        stop, after = self._copies.take(
            self._origin.store.blocks,
            self._feed.patterns,
            position,
            up_to,
            messages_max=count,
            bytes_max=_BYTES_AT_ONCE,
            header_bytes_max=sys.maxsize if looks else HEADERS_BYTES_MAX,
            message_bytes_max=size_max if has_size_max else sys.maxsize,
            dropped=self._feed.dropped,
            special=[] if looks else special_headers(stream, self._feed),
            sourced=sourced,
            renames=not looks and not self._feed.is_plain,
        )
        return CopyStop(stop), min(after, up_to + 1)

    def _publish(self, row: Row, now_ns: int) -> Outcome:
        sequence, time_ns, subject, message_headers, payload = row
        feed = self._feed
        if feed.is_mirror:
            copied = Copied(sequence, time_ns)
        else:
            copied = Copied(source=CountedSource(feed.name, subject.decode(errors="replace")))
            message_headers = feed.signed(message_headers, sequence, subject, self._identity)
        new_subject = feed.transformed(subject)
        if takes_in_bulk(self._target.stream, feed):
            self._learn(subject, new_subject)
        return take_one(self._target.stream, new_subject, message_headers, payload, now_ns, copied)

    def _learn(self, subject: bytes, name: bytes) -> None:
        """The next message with that subject needs no look because of it."""
        is_learned = not self._feed.is_plain and len(name) <= SUBJECT_BYTES_MAX
        if is_learned and self._copies.rename(subject, name) >= _NAMES_MAX:
            self._copies = Copies()

    def _store(self, action: Callable[[], list[Outcome]]) -> bool:
        assert self._target.ingest is not None
        return self._target.ingest.copy(action)


def _sequence_in(message_headers: bytes) -> int:
    found = position_from(headers.find(message_headers, STREAM_SOURCE) or b"")
    return found[1].sequence if found else 0
