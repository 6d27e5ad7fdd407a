"""A stream: a pure machine that applies entries in order.

Two lanes lead in. The bulk lane takes a run of publishes that need no look, with one call to the
store; the careful lane takes one message, asks every check, and answers with what there is to say.
Time comes with the entry and never goes backwards. The machine knows neither sockets nor disks:
the store is a port, and whether an answer may leave already is decided by whoever called.
"""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.kernel.hub import Hub
from penstock.model.api_errors import ApiError
from penstock.model.stream_config import Discard, Retention, StreamConfig
from penstock.storage.store import Limits, Record, Store, StoreState
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
from penstock.streams.dedup import DedupWindow
from penstock.streams.purging import roll_up
from penstock.streams.republish import Republished, Republisher
from penstock.streams.transforms import compiled


class Outcome(NamedTuple):
    """What became of one message: what its sender is told, and what others are."""

    ack: bytes
    republished: Republished | None = None


class Stream:
    """One stream with its store."""

    def __init__(self, config: StreamConfig, store: Store, created_ns: int) -> None:
        self.created_ns = created_ns
        self.store = store
        self.message_id_last = b""
        self.lost: list[tuple[int, int]] = []  # ranges whose records were found damaged
        self.lost_bytes = 0
        self.is_careful = False  # true: every message is looked at
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
        limits = (config.max_msgs, config.max_bytes, config.max_msgs_per_subject)
        self._limits = Limits(*(max(0, limit) for limit in limits))
        self.acks = PubAcks(config.name)
        if hasattr(self, "dedup"):
            self.dedup.window_ns = config.duplicate_window

    @property
    def bulk(self) -> bool:
        """True if runs need no look at their messages: nothing depends on a single one."""
        config = self.config
        return not (
            self.is_careful
            or config.sealed
            or config.retention is Retention.INTEREST
            or self._transform
            or self._republisher
        )

    def state(self) -> StoreState:
        return self.store.state()

    def moment(self, now_ns: int) -> int:
        """The time of a new message: the clock, but never before the last message."""
        self._time_last_ns = max(now_ns, self._time_last_ns)
        return self._time_last_ns

    def fitting(self, hub: Hub, start: int, end: int) -> int:
        """How many of a run, from its first message on, can be stored without a look; whether the
        next one has to be refused is not said."""
        config = self.config
        if config.discard is not Discard.NEW:
            return end - start
        keeps_subjects = config.discard_new_per_subject
        return self.store.fitting(hub, start, end, self._limits, keeps_subjects=keeps_subjects)

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
        self.enforce_limits()
        return first

    def publish(
        self, subject: bytes, message_headers: bytes, payload: bytes, now_ns: int
    ) -> Outcome:
        """The careful lane: one message through every check."""
        if self._transform is not None:
            subject = self._transform.apply(subject) or subject
        message_headers = headers.without_status(message_headers)
        message = Message(subject, message_headers, payload, self.moment(now_ns))
        refusal = admit(self._stored(), message)
        if isinstance(refusal, Duplicate):
            return Outcome(self.acks.duplicate(refusal.sequence))
        if isinstance(refusal, ApiError):
            return Outcome(self.acks.refused(refusal))
        sequence_before = self._sequence_before(subject)
        record = self._append(message)
        ack = self.acks.stored(record.sequence)
        if self._republisher is None or not self._is_wanted():
            return Outcome(ack)
        return Outcome(ack, self._republisher.apply(record, sequence_before))

    def enforce_limits(self) -> int:
        return self.store.evict(self._limits)

    def expire(self, now_ns: int) -> int:
        """Removes what is older than max_age; returns how many."""
        if self.config.max_age <= 0:
            return 0
        return self.store.expire(now_ns - self.config.max_age)

    def _stored(self) -> Stored:
        return Stored(
            self.config,
            self.store,
            self.dedup,
            self.sequence_last,
            self.message_id_last,
            self._is_wanted(),
        )

    def _sequence_before(self, subject: bytes) -> int:
        if self._republisher is None:
            return 0
        return self.store.last_matching(subject, self.sequence_last) or 0

    def _is_wanted(self) -> bool:
        """With interest retention, a message that no consumer waits for is not kept.

        The seam for consumers: there are none yet.
        """
        return self.config.retention is not Retention.INTEREST

    def _append(self, message: Message) -> Record:
        self.sequence_last += 1
        record = Record(
            self.sequence_last, message.time_ns, message.subject, message.headers, message.payload
        )
        message_id = headers.find(message.headers, MESSAGE_ID) or b""
        self.message_id_last = message_id
        self.dedup.remember((message_id,), record.sequence, message.time_ns)
        if not self._is_wanted():
            # It only uses up a sequence: a record that is removed at once is what remembers that.
            self.store.append(record._replace(headers=b"", payload=b""))
            self.store.remove(record.sequence, erase=False)
            return record
        self.store.append(record)
        self.enforce_limits()
        if scope := headers.find(record.headers, ROLLUP):
            roll_up(self.store, record, scope.lower())
        return record
