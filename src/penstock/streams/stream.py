"""A stream: a pure machine that applies entries in order.

Two lanes lead in. The bulk lane takes a run of publishes that need no look, with one call to the
store; the careful lane takes one message, asks every check, and answers with what there is to say.
Time comes with the entry and never goes backwards. The machine knows neither sockets nor disks:
the store is a port, and whether an answer may leave already is decided by whoever called.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from penstock.kernel.hub import Hub
from penstock.model.api_errors import ApiError
from penstock.model.stream_config import Discard, Retention, StreamConfig
from penstock.storage.lifetimes import LastOf, TimedStore
from penstock.storage.store import Alike, Latest, Limits, Record
from penstock.streams import headers
from penstock.streams.acks import PubAcks
from penstock.streams.admission import (
    MESSAGE_ID,
    ROLLUP,
    Duplicate,
    Message,
    Stored,
    admit,
)
from penstock.streams.audience import Audience, Nobody
from penstock.streams.counters import CountedSource
from penstock.streams.counting import count
from penstock.streams.dedup import DedupWindow
from penstock.streams.message_ttl import lasting, seconds_unseen
from penstock.streams.purging import roll_up
from penstock.streams.republish import Republished, Republisher
from penstock.streams.transforms import compiled


class Outcome(NamedTuple):
    """What became of one message: what its sender is told, and what others are."""

    ack: bytes
    republished: Republished | None = None
    refusal: ApiError | None = None


class Accepted(NamedTuple):
    """One message that is stored now, and its copy if there is one."""

    record: Record
    republished: Republished | None


class Stream:
    """One stream with its store."""

    def __init__(self, config: StreamConfig, store: TimedStore, created_ns: int) -> None:
        self.created_ns = created_ns
        self.store = store
        self.audience: Audience = Nobody()
        self.message_id_last = b""
        self.lost: list[tuple[int, int]] = []  # ranges whose records were found damaged
        self.lost_bytes = 0
        # How its mirror or sources are shown, if there are any; set by whoever reads them.
        self.show_origins: Callable[[], dict[str, Any]] = dict
        self.is_careful = False  # true: every message is looked at
        self.message_bytes_max = sys.maxsize  # of one that the stream itself makes larger
        self.has_begun = config.first_seq > 0  # or was purged, though there was no message yet
        self.catch_up()
        self.configure(config)
        self.dedup = DedupWindow(config.duplicate_window)

    def catch_up(self) -> None:
        """Takes over what the store holds, after it was opened or replayed."""
        state = self.store.state()
        self.sequence_last = state.sequence_last
        self._time_last_ns = state.time_last_ns

    def configure(self, config: StreamConfig) -> None:
        """Takes over a configuration that was checked."""
        self.config = config
        transform = config.subject_transform
        self._transform = compiled(transform.src, transform.dest) if transform else None
        self._republisher = Republisher(config) if config.republish else None
        self.is_changing = bool(self._transform or self._republisher)  # or copying: each message
        limits = (config.max_msgs, config.max_bytes, config.max_msgs_per_subject)
        self.limits = Limits(*(max(0, limit) for limit in limits))
        keeps = config.discard is Discard.NEW  # lower limits too concern what comes
        self._evicting = Limits(0, 0, self.limits.subject_messages) if keeps else self.limits
        self._is_evicting = any(self._evicting)
        self.acks = PubAcks(config.name)
        self.is_expiring = config.max_age > 0 or config.allow_msg_ttl  # messages may be over
        self.ttl_seconds_unseen = seconds_unseen(config)
        self.store.lifetimes.watch(watched=config.allow_msg_ttl)
        if hasattr(self, "dedup"):
            self.dedup.window_ns = config.duplicate_window

    def moment(self, now_ns: int) -> int:
        """The time of a new message: the clock, but never before the last message."""
        self._time_last_ns = max(now_ns, self._time_last_ns)
        return self._time_last_ns

    def append_run(
        self, hub: Hub, start: int, end: int, now_ns: int, message_ids: Sequence[bytes] = ()
    ) -> int:
        """Stores a run that needs no look and fits; returns its first sequence."""
        first = self.sequence_last + 1
        time_ns = self.moment(now_ns)
        self.store.append_run(hub, start, end, first, time_ns)
        self.sequence_last += end - start
        self.message_id_last = message_ids[-1] if message_ids else b""
        self.dedup.remember(message_ids, first, time_ns)
        self.audience.stored_run(hub, start, end, first)
        self.enforce_limits()
        return first

    def publish(
        self, subject: bytes, message_headers: bytes, payload: bytes, now_ns: int
    ) -> Outcome:
        """The careful lane: one message through every check."""
        message = self.arriving(subject, message_headers, payload, self.moment(now_ns))
        refusal = admit(self.view(message.subject), message)
        if isinstance(refusal, Duplicate):
            return Outcome(self.acks.duplicate(refusal.sequence))
        if isinstance(refusal, ApiError):
            return Outcome(self.acks.refused(refusal), refusal=refusal)
        prepared = self.prepared(message, self.store)
        if isinstance(prepared, ApiError):
            return Outcome(self.acks.refused(prepared), refusal=prepared)
        record, copy = self.accept(prepared)
        if self.config.allow_msg_counter:
            return Outcome(self.acks.counted(record.sequence, record.payload), copy)
        return Outcome(self.acks.stored(record.sequence), copy)

    def arriving(
        self, subject: bytes, message_headers: bytes, payload: bytes, time_ns: int
    ) -> Message:
        """A message as the stream looks at it."""
        if self._transform is not None:
            subject = self._transform.apply(subject) or subject
        return Message(subject, headers.without_status(message_headers), payload, time_ns)

    def prepared(
        self, message: Message, latest: Latest, source: CountedSource | None = None
    ) -> Message | ApiError:
        """A message that was admitted, as it will be stored: counted, with the TTL that it gets."""
        if self.config.allow_msg_counter:
            counted = count(self.config, latest, message, self.message_bytes_max, source)
            if isinstance(counted, ApiError):
                return counted
            message = counted
        if not message.headers:
            return message
        return message._replace(headers=lasting(self.config, message.headers))

    def enforce_limits(self) -> int:
        return self.store.evict(self._evicting) if self._is_evicting else 0

    def replace(
        self,
        sequences: Sequence[int],
        lasts: Sequence[LastOf],
        message_headers: bytes,
        now_ns: int,
        *,
        erase: bool,
    ) -> tuple[int, list[Republished]]:
        """Removes messages, and stores one with these headers after the last of some subjects.
        Returns how many are gone, and what others are told of the new ones."""
        lasts = [last for last in lasts if self._is_wanted(last.subject)]
        if not lasts:
            return self.store.replace(sequences, erase=erase), []
        first, time_ns = self.sequence_last + 1, self.moment(now_ns)
        others = Alike(first, time_ns, message_headers, [last.subject for last in lasts])
        count = self.store.replace(sequences, others, erase=erase)
        self.sequence_last += len(lasts)
        self.message_id_last = b""
        for sequence, last in enumerate(lasts, first):
            self.audience.stored(last.subject, sequence)
        self.enforce_limits()
        republisher = self._republisher
        if republisher is None:
            return count, []
        records = [
            (Record(sequence, time_ns, last.subject, message_headers, b""), last.sequence)
            for sequence, last in enumerate(lasts, first)
        ]
        copies = [republisher.apply(record, before) for record, before in records]
        return count, [copy for copy in copies if copy is not None]

    def view(self, subject: bytes) -> Stored:
        """What the checks of a message of this subject see."""
        return Stored(
            self.config,
            self.store,
            self.dedup,
            self.sequence_last,
            self.message_id_last,
            self._is_wanted(subject),
        )

    def _is_wanted(self, subject: bytes) -> bool:
        """With interest retention, a message that no consumer waits for is not kept."""
        return self.config.retention is not Retention.INTEREST or self.audience.wants(subject)

    def accept(self, message: Message) -> Accepted:
        """Stores a message that was admitted."""
        subject, sequence_before = message.subject, 0
        if self._republisher is not None:
            sequence_before = self.store.last_matching(subject, self.sequence_last) or 0
        self.sequence_last += 1
        record = Record(
            self.sequence_last, message.time_ns, subject, message.headers, message.payload
        )
        has_headers = bool(message.headers)
        message_id = headers.find(message.headers, MESSAGE_ID) if has_headers else b""
        self.message_id_last = message_id or b""
        if message_id:
            self.dedup.remember((message_id,), record.sequence, message.time_ns)
        if not self._is_wanted(subject):
            # It only uses up a sequence: a record that is removed at once is what remembers that.
            self.store.append(record._replace(headers=b"", payload=b""))
            self.store.remove(record.sequence, erase=False)
            _roll_up(self, record)
            return Accepted(record, None)
        self.store.append(record)
        self.audience.stored(subject, record.sequence)
        self.enforce_limits()
        _roll_up(self, record)
        if self._republisher is None:
            return Accepted(record, None)
        return Accepted(record, self._republisher.apply(record, sequence_before))


def _roll_up(stream: Stream, record: Record) -> None:
    may_roll_up = stream.config.allow_rollup_hdrs and not stream.config.deny_purge
    if may_roll_up and (scope := headers.find(record.headers, ROLLUP)):
        stream.audience.purging()
        stream.audience.purged(roll_up(stream.store, record, scope.lower()))
