"""May this message be stored? An ordered tuple of small predicates, asked when it is applied.

The order is the reference's: what a client hears when several things are wrong depends on it.
Each check sees the stream as it is and one message, and answers with an `ApiError`, with
`Duplicate`, or with None to go on. Nothing is changed here.
"""

import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

from penstock.model.api_errors import ApiError, Fault
from penstock.model.limits import SUBJECT_BYTES_MAX
from penstock.model.stream_config import Discard, Storage, StreamConfig
from penstock.storage.store import Latest
from penstock.streams import counters, headers
from penstock.streams.check_table import CheckTable
from penstock.streams.counters import INCREMENT
from penstock.streams.dedup import DedupWindow
from penstock.streams.message_ttl import TTL, is_storable, parse_ttl
from penstock.streams.purging import ROLLUP_ALL, ROLLUP_SUBJECT

EXPECTED_STREAM = b"Nats-Expected-Stream"
EXPECTED_LAST_SEQUENCE = b"Nats-Expected-Last-Sequence"
EXPECTED_LAST_SUBJECT_SEQUENCE = b"Nats-Expected-Last-Subject-Sequence"
EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT = b"Nats-Expected-Last-Subject-Sequence-Subject"
EXPECTED_LAST_MESSAGE_ID = b"Nats-Expected-Last-Msg-Id"
MESSAGE_ID = b"Nats-Msg-Id"
ROLLUP = b"Nats-Rollup"
STREAM_SOURCE = b"Nats-Stream-Source"
BATCH_ID = b"Nats-Batch-Id"
SCHEDULE = b"Nats-Schedule"
SCHEDULERS = (b"Nats-Scheduler", b"Nats-Schedule-Next")  # set by the server that has schedules

HEADERS_BYTES_MAX = 65_535  # the reference's bound on the headers of one stored message
_UINT64_MAX = 2**64 - 1
_NUMBER = re.compile(rb"[+-]?[0-9]+")


class Message(NamedTuple):
    """One message on its way into a stream, after the stream's own subject transform."""

    subject: bytes
    headers: bytes
    payload: bytes
    time_ns: int


class Stored(NamedTuple):
    """What the checks see of the stream."""

    config: StreamConfig
    store: Latest
    dedup: DedupWindow
    sequence_last: int
    message_id_last: bytes
    keeps: bool  # False where the message would only use up a sequence


class Duplicate(NamedTuple):
    """Not an error: the message is there already, under this sequence."""

    sequence: int


Refusal = ApiError | Duplicate | None
Check = Callable[[Stored, Message], Refusal]


def admit(stored: Stored, message: Message) -> Refusal:
    """None if the message may be stored."""
    table = _OF_KEPT if stored.keeps else _OF_OTHERS
    for check in table.asked(message.headers):
        if (refusal := check(stored, message)) is not None:
            return refusal
    return None


def admit_copied(stored: Stored, message: Message, *, has_window: bool) -> Refusal:
    """The same for a message of another stream, which has checked the rest already."""
    checks = (_COPIED, (_duplicate,) if has_window else (), _COPIED_KEPT if stored.keeps else ())
    for check in itertools.chain(*checks):
        if (refusal := check(stored, message)) is not None:
            return refusal
    return None


def parse_sequence(text: bytes) -> int | None:
    """Decimal digits up to 2^64 - 1, or None."""
    if not text.isdigit():
        return None
    digits = text.lstrip(b"0")
    if len(digits) > 20:
        return None
    value = int(digits or b"0")
    return value if value <= _UINT64_MAX else None


def _sealed(stored: Stored, _message: Message) -> Refusal:
    return Fault.STREAM_SEALED.error() if stored.config.sealed else None


def _batch(_stored: Stored, message: Message) -> Refusal:
    """Where batches are allowed, their messages do not come here."""
    if headers.find(message.headers, BATCH_ID):
        return Fault.BATCH_DISABLED.error()
    return None


def _increment(stored: Stored, message: Message) -> Refusal:
    if stored.config.allow_msg_counter:
        return counters.client_error(message.headers, message.payload)
    value = headers.find(message.headers, INCREMENT)
    if not value:
        return None
    is_number = _NUMBER.fullmatch(value) is not None
    return Fault.COUNTER_DISABLED.error() if is_number else Fault.INCREMENT_INVALID.error()


def _increment_missing(stored: Stored, message: Message) -> Refusal:
    if stored.config.allow_msg_counter and not headers.find(message.headers, INCREMENT):
        return Fault.INCREMENT_MISSING.error()
    return None


def _expected_stream(stored: Stored, message: Message) -> Refusal:
    name = headers.find(message.headers, EXPECTED_STREAM)
    if name and name != stored.config.name.encode():
        return Fault.EXPECTED_STREAM.error()
    return None


def _ttl(stored: Stored, message: Message) -> Refusal:
    value = headers.find(message.headers, TTL)
    if value and parse_ttl(value) is not None and not stored.config.allow_msg_ttl:
        return Fault.TTL_DISABLED.error()
    return None


def _ttl_value(_stored: Stored, message: Message) -> Refusal:
    value = headers.find(message.headers, TTL)
    if value and not is_storable(value, message.time_ns):
        return Fault.TTL_INVALID.error()
    return None


def _schedule(_stored: Stored, message: Message) -> Refusal:
    if headers.find(message.headers, SCHEDULE):
        return Fault.SCHEDULES_DISABLED.error()
    if any(headers.find(message.headers, name) for name in SCHEDULERS):
        return Fault.SCHEDULER_INVALID.error()
    return None


def _expected_last_subject_sequence(stored: Stored, message: Message) -> Refusal:
    text = headers.find(message.headers, EXPECTED_LAST_SUBJECT_SEQUENCE)
    other = headers.find(message.headers, EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT)
    if not text:
        return Fault.EXPECTED_SUBJECT_SEQUENCE_MISSING.error() if other else None
    last = stored.store.last_matching(other or message.subject, stored.sequence_last) or 0
    if parse_sequence(text) != last:
        return Fault.EXPECTED_LAST_SEQUENCE.error(sequence=last)
    return None


def _expected_last_sequence(stored: Stored, message: Message) -> Refusal:
    text = headers.find(message.headers, EXPECTED_LAST_SEQUENCE)
    if text and parse_sequence(text) != stored.sequence_last:
        return Fault.EXPECTED_LAST_SEQUENCE.error(sequence=stored.sequence_last)
    return None


def _forged_source(_stored: Stored, message: Message) -> Refusal:
    if headers.find(message.headers, STREAM_SOURCE):
        return Fault.SOURCE_HEADER_FORGED.error()
    return None


def _duplicate(stored: Stored, message: Message) -> Refusal:
    message_id = headers.find(message.headers, MESSAGE_ID)
    if not message_id:
        return None
    sequence = stored.dedup.find(message_id, message.time_ns)
    return None if sequence is None else Duplicate(sequence)


def _expected_last_message_id(stored: Stored, message: Message) -> Refusal:
    expected = headers.find(message.headers, EXPECTED_LAST_MESSAGE_ID)
    if expected and expected != stored.message_id_last:
        last = stored.message_id_last.decode(errors="replace")
        return Fault.EXPECTED_LAST_MESSAGE_ID.error(message_id=last)
    return None


def _rollup(stored: Stored, message: Message) -> Refusal:
    value = headers.find(message.headers, ROLLUP)
    if not value:
        return None
    if not stored.config.allow_rollup_hdrs or stored.config.deny_purge:
        return Fault.ROLLUP_FAILED.error(reason="rollup not permitted")
    if value.lower() not in (ROLLUP_SUBJECT, ROLLUP_ALL):
        shown = value.lower().decode(errors="replace")
        return Fault.ROLLUP_FAILED.error(reason=f'rollup value invalid: "{shown}"')
    return None


def _copy_size(stored: Stored, message: Message) -> Refusal:
    """A counter's message gets another body here."""
    return None if stored.config.allow_msg_counter else _message_size(stored, message)


def _message_size(stored: Stored, message: Message) -> Refusal:
    maximum = stored.config.max_msg_size
    if maximum >= 0 and len(message.headers) + len(message.payload) > maximum:
        return Fault.MESSAGE_TOO_LARGE.error()
    return None


def _subject_size(_stored: Stored, message: Message) -> Refusal:
    """A long control line, or a transform, may make it longer than a record can hold."""
    if len(message.subject) > SUBJECT_BYTES_MAX:
        return Fault.MESSAGE_TOO_LARGE.error()
    return None


def _headers_size(_stored: Stored, message: Message) -> Refusal:
    if len(message.headers) > HEADERS_BYTES_MAX:
        return Fault.HEADERS_TOO_LARGE.error()
    return None


def _room(stored: Stored, message: Message) -> Refusal:
    """With discard new, a message that does not fit is refused; one that takes the place of the
    oldest of its subject may fit where another does not."""
    config = stored.config
    if config.discard is not Discard.NEW:
        return None
    state = stored.store.state()
    replaced = _replaced(stored, message)
    if replaced and config.discard_new_per_subject and not headers.find(message.headers, ROLLUP):
        return Fault.STREAM_STORE_FAILED.error(reason="maximum messages per subject exceeded")
    if 0 < config.max_msgs <= state.messages and not replaced:
        return Fault.STREAM_STORE_FAILED.error(reason="maximum messages exceeded")
    size = stored_bytes(message.subject, message.headers, message.payload, config.storage)
    if 0 < config.max_bytes < state.bytes + size and replaced < size:
        return Fault.STREAM_STORE_FAILED.error(reason="maximum bytes exceeded")
    return None


def _replaced(stored: Stored, message: Message) -> int:
    """The size of the message that would make room for this one, 0 if none would."""
    maximum = stored.config.max_msgs_per_subject
    state = stored.store.subject_state(message.subject) if maximum > 0 else None
    if state is None or state.messages < maximum:
        return 0
    first = stored.store.load(state.sequence_first)
    if first is None:
        return 0
    return stored_bytes(first.subject, first.headers, first.payload, stored.config.storage)


def stored_bytes(
    subject: bytes, message_headers: bytes, payload: bytes, storage: Storage = Storage.FILE
) -> int:
    """What a message counts for: in files the size of its record, in memory 16 more than it has."""
    size = len(subject) + len(message_headers) + len(payload)
    if storage is Storage.MEMORY:
        return size + 16
    return size + 34 if message_headers else size + 30


# Each with the headers without one of which it need not be asked; none means that it always is.
Asked = tuple[tuple[bytes, ...], Check]
_ALWAYS: tuple[Asked, ...] = (
    ((), _sealed),
    ((), _message_size),
    ((), _subject_size),
    ((BATCH_ID,), _batch),
    ((), _headers_size),
    ((INCREMENT,), _increment),
    ((EXPECTED_STREAM,), _expected_stream),
    ((TTL,), _ttl),
    (
        (EXPECTED_LAST_SUBJECT_SEQUENCE, EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT),
        _expected_last_subject_sequence,
    ),
    ((EXPECTED_LAST_SEQUENCE,), _expected_last_sequence),
    ((SCHEDULE, *SCHEDULERS), _schedule),
    ((STREAM_SOURCE,), _forged_source),
    ((MESSAGE_ID,), _duplicate),
    ((EXPECTED_LAST_MESSAGE_ID,), _expected_last_message_id),
    ((ROLLUP,), _rollup),
)
_KEPT: tuple[Asked, ...] = (((), _increment_missing), ((TTL,), _ttl_value), ((), _room))
_OF_KEPT, _OF_OTHERS = CheckTable((*_ALWAYS, *_KEPT)), CheckTable(_ALWAYS)
_COPIED: tuple[Check, ...] = (_sealed, _copy_size, _subject_size, _headers_size)
_COPIED_KEPT: tuple[Check, ...] = (_increment_missing, _room)

# What means the same for a message of an atomic batch: `batch_checks` puts its own in between.
ARRIVING: tuple[Check, ...] = (_sealed, _message_size)
BATCHED_HEAD: tuple[Asked, ...] = (
    ((), _sealed),
    ((), _message_size),
    ((), _subject_size),
    ((), _headers_size),
    ((INCREMENT,), _increment),
    ((EXPECTED_STREAM,), _expected_stream),
)
BATCHED_TTL: tuple[Asked, ...] = (((TTL,), _ttl_value),)
BATCHED_SOURCE: tuple[Asked, ...] = (((STREAM_SOURCE,), _forged_source), ((), _increment_missing))
BATCHED_TAIL: tuple[Asked, ...] = (((SCHEDULE, *SCHEDULERS), _schedule), ((ROLLUP,), _rollup))
