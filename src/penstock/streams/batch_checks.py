"""May this batch be stored? Each of its messages goes through the checks of a single publish, in
the order that the reference has for batches, against the stream with the messages before it.

What a publisher expects of the stream is compared with the stream before the batch: within a batch
nothing can be expected of subjects that the batch itself has written. Nothing is changed here.
"""

import bisect
from collections.abc import Callable, Iterable
from typing import cast

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import Discard
from penstock.storage.store import Latest, Record, StoreState, SubjectState
from penstock.streams import headers
from penstock.streams.admission import (
    BATCHED_HEAD,
    BATCHED_SOURCE,
    BATCHED_TAIL,
    BATCHED_TTL,
    EXPECTED_LAST_MESSAGE_ID,
    EXPECTED_LAST_SEQUENCE,
    EXPECTED_LAST_SUBJECT_SEQUENCE,
    EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT,
    MESSAGE_ID,
    ROLLUP,
    Asked,
    Message,
    Stored,
    parse_sequence,
    stored_bytes,
)
from penstock.streams.check_table import CheckTable
from penstock.streams.message_ttl import TTL
from penstock.streams.purging import ROLLUP_ALL, ROLLUP_SUBJECT
from penstock.streams.subjects import is_subset


class Overlay:
    """The stream with the messages of the batch so far, for checks that ask for the latest."""

    def __init__(self, before: Stored) -> None:
        self.before = before
        self.config = before.config
        self.messages: list[Message] = []
        self.by_subject: dict[bytes, list[int]] = {}  # sequences
        self.ids: set[bytes] = set()
        self._bytes = 0

    @property
    def sequence_last(self) -> int:
        return self.before.sequence_last + len(self.messages)

    def add(self, message: Message) -> None:
        self.messages.append(message)
        self.by_subject.setdefault(message.subject, []).append(self.sequence_last)
        self._bytes += self._size(message)
        if MESSAGE_ID in message.headers and (found := headers.find(message.headers, MESSAGE_ID)):
            self.ids.add(found)

    def size_with(self, message: Message) -> int:
        """The bytes of the stream with this message too."""
        return self.state().bytes + self._size(message)

    def _size(self, message: Message) -> int:
        storage = self.config.storage
        return stored_bytes(message.subject, message.headers, message.payload, storage)

    # The port `Latest`. Limits and rollups remove nothing here: they do when it is stored.

    def state(self) -> StoreState:
        state = self.before.store.state()
        return state._replace(
            messages=state.messages + len(self.messages),
            bytes=state.bytes + self._bytes,
            sequence_last=self.sequence_last,
        )

    def load(self, sequence: int) -> Record | None:
        position = sequence - self.before.sequence_last - 1
        if position < 0:
            return self.before.store.load(sequence)
        if position >= len(self.messages):
            return None
        subject, message_headers, payload, time_ns = self.messages[position]
        return Record(sequence, time_ns, subject, message_headers, payload)

    def last_matching(self, pattern: bytes, sequence: int) -> int | None:
        wanted = pattern.decode(errors="replace")
        matching = (
            found[bisect.bisect(found, sequence) - 1]
            for subject, found in self.by_subject.items()
            if found[0] <= sequence and is_subset(subject.decode(errors="replace"), wanted)
        )
        last = max(matching, default=0)
        return last or self.before.store.last_matching(pattern, sequence)

    def subject_state(self, subject: bytes) -> SubjectState | None:
        state = self.before.store.subject_state(subject)
        added = self.by_subject.get(subject)
        if not added:
            return state
        if state is None:
            state = SubjectState(0, added[0], 0)
        messages = state.messages + len(added)
        return state._replace(messages=messages, sequence_last=added[-1])


BatchCheck = Callable[[Overlay, Message], ApiError | None]
AskedOfBatch = tuple[tuple[bytes, ...], BatchCheck]  # with the headers that it is about
Prepare = Callable[[Message, Latest], Message | ApiError]  # what the stream adds to a message


def check_batch(
    before: Stored, messages: Iterable[Message], prepare: Prepare
) -> ApiError | list[Message]:
    """The messages as they will be stored, if all of them may be."""
    overlay = Overlay(before)
    for message in messages:
        for check in _TABLE.asked(message.headers):
            if (error := check(overlay, message)) is not None:
                return error
        prepared = prepare(message, overlay)
        if isinstance(prepared, ApiError):
            return prepared
        overlay.add(prepared)
    return overlay.messages


def _unsupported(_overlay: Overlay, message: Message) -> ApiError | None:
    if headers.find(message.headers, EXPECTED_LAST_MESSAGE_ID):
        header = EXPECTED_LAST_MESSAGE_ID.decode()
        return Fault.BATCH_HEADER_UNSUPPORTED.error(header=header)
    return None


def _ttl(overlay: Overlay, message: Message) -> ApiError | None:
    """Where there are none, a batch is not told that one is wrong besides."""
    if headers.find(message.headers, TTL) and not overlay.config.allow_msg_ttl:
        return Fault.TTL_DISABLED.error()
    return None


def _duplicate(overlay: Overlay, message: Message) -> ApiError | None:
    message_id = headers.find(message.headers, MESSAGE_ID)
    if not message_id:
        return None
    known = overlay.before.dedup.find(message_id, message.time_ns)
    if message_id in overlay.ids or known is not None:
        return Fault.BATCH_DUPLICATE_ID.error()
    return None


def _expected_last_sequence(overlay: Overlay, message: Message) -> ApiError | None:
    text = headers.find(message.headers, EXPECTED_LAST_SEQUENCE)
    if not text:
        return None
    if parse_sequence(text) != overlay.sequence_last:
        return Fault.EXPECTED_LAST_SEQUENCE.error(sequence=overlay.sequence_last)
    return Fault.EXPECTED_LAST_SEQUENCE_UNSAID.error() if overlay.messages else None


def _expected_last_subject_sequence(overlay: Overlay, message: Message) -> ApiError | None:
    text = headers.find(message.headers, EXPECTED_LAST_SUBJECT_SEQUENCE)
    other = headers.find(message.headers, EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT)
    if not text:
        return Fault.EXPECTED_SUBJECT_SEQUENCE_MISSING.error() if other else None
    subject, before = other or message.subject, overlay.before
    if subject in overlay.by_subject:
        return Fault.EXPECTED_LAST_SEQUENCE_UNSAID.error()
    last = before.store.last_matching(subject, before.sequence_last) or 0
    if parse_sequence(text) != last:
        return Fault.EXPECTED_LAST_SEQUENCE.error(sequence=last)
    return None


def _rollup_place(overlay: Overlay, message: Message) -> ApiError | None:
    """A rollup must not remove a message of its own batch."""
    scope = (headers.find(message.headers, ROLLUP) or b"").lower()
    if scope == ROLLUP_SUBJECT and message.subject in overlay.by_subject:
        return Fault.ROLLUP_FAILED.error(reason="batch rollup sub invalid")
    if scope == ROLLUP_ALL and overlay.messages:
        return Fault.ROLLUP_FAILED.error(reason="batch rollup all invalid")
    return None


def _room(overlay: Overlay, message: Message) -> ApiError | None:
    """With discard new the whole batch must fit, without anything giving way."""
    config = overlay.config
    if config.discard is not Discard.NEW:
        return None
    state, maximum = overlay.state(), config.max_msgs_per_subject
    if 0 < config.max_msgs <= state.messages:
        return Fault.STREAM_STORE_FAILED.error(reason="maximum messages exceeded")
    if 0 < config.max_bytes < overlay.size_with(message):
        return Fault.STREAM_STORE_FAILED.error(reason="maximum bytes exceeded")
    is_bound = config.discard_new_per_subject and maximum > 0
    if not is_bound or headers.find(message.headers, ROLLUP):
        return None
    of_subject = overlay.subject_state(message.subject)
    if of_subject is not None and of_subject.messages >= maximum:
        return Fault.STREAM_STORE_FAILED.error(reason="maximum messages per subject exceeded")
    return None


def _as_published(checks: tuple[Asked, ...]) -> tuple[AskedOfBatch, ...]:
    """Checks of a single publish that depend on nothing but the configuration: the messages of the
    batch so far are nothing to them, and they look for no duplicates."""
    return tuple((names, cast(BatchCheck, check)) for names, check in checks)


# In the reference's order, each with the headers that it is about; none for what is always asked.
CHECKS: tuple[AskedOfBatch, ...] = (
    ((EXPECTED_LAST_MESSAGE_ID,), _unsupported),
    *_as_published(BATCHED_HEAD),
    ((TTL,), _ttl),
    *_as_published(BATCHED_TTL),
    ((MESSAGE_ID,), _duplicate),
    *_as_published(BATCHED_SOURCE),
    ((EXPECTED_LAST_SEQUENCE,), _expected_last_sequence),
    (
        (EXPECTED_LAST_SUBJECT_SEQUENCE, EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT),
        _expected_last_subject_sequence,
    ),
    *_as_published(BATCHED_TAIL),
    ((ROLLUP,), _rollup_place),
    ((), _room),
)
_TABLE = CheckTable(CHECKS)
