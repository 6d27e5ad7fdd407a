"""A whole batch goes into its stream, or nothing of it.

This is where a batch is applied: every check that depends on the stream is asked here and nowhere
before, so that it does not matter who has collected the messages. Then each message is stored as a
single publish is, and the changes of all of them are one entry of the journal. Messages that are
stored as they waited, and that nothing else depends on, are stored with one call; those that have
no header that matters are not even looked at. A batch of these that ends with a guard, which
expects something of its own subject, is stored the same way behind a look at the guard alone.
"""

from typing import TypeVar

from penstock.model.api_errors import ApiError
from penstock.model.stream_config import Discard
from penstock.storage.store import Latest
from penstock.streams import bulk, headers
from penstock.streams.admission import (
    EXPECTED_LAST_SUBJECT_SEQUENCE,
    MESSAGE_ID,
    ROLLUP,
    Message,
)
from penstock.streams.batch_checks import check_batch
from penstock.streams.batches import BATCH_COMMIT, COMMITTED, PLAIN, Arrived, Batch, control_names
from penstock.streams.feed import take_run
from penstock.streams.stream import Accepted, Outcome, Stream

GUARD = PLAIN | {EXPECTED_LAST_SUBJECT_SEQUENCE}

AnyMessage = TypeVar("AnyMessage", Arrived, Message)


def commit(stream: Stream, batch: Batch, now_ns: int) -> list[Outcome]:
    """What there is to say, in order: copies of all messages, and with the last the answer."""
    last = batch.take_last()
    is_guarded = batch.is_plain and _is_guard(batch, last)
    batch.add(_committed(last))
    time_ns = stream.moment(now_ns)
    if (batch.is_plain or is_guarded) and _needs_no_look(stream, batch):
        refusal = _guard_refusal(stream, last, time_ns) if is_guarded else None
        if refusal is not None:
            return [Outcome(stream.acks.refused(refusal))]
        return [_store_together(stream, batch, [], time_ns)]
    messages = [stream.arriving(*row[2:], time_ns) for row in batch.messages.rows()]
    messages[-1] = stream.arriving(*last, time_ns)  # what it is marked with is not the sender's
    changes = stream.config.allow_msg_counter or stream.config.subject_delete_marker_ttl
    prepare = stream.prepared if changes else _as_it_is
    checked = check_batch(stream.view(messages[0].subject), messages, prepare)
    if isinstance(checked, ApiError):
        return [Outcome(stream.acks.refused(checked))]
    if _goes_together(stream) and all(map(_is_as_it_was, messages, checked)):
        ids = [headers.find(message.headers, MESSAGE_ID) or b"" for message in checked]
        return [_store_together(stream, batch, ids, time_ns)]
    checked[-1] = _committed(checked[-1])
    with stream.store.joined():
        stored: list[Accepted] = [stream.accept(message) for message in checked]
    ack = stream.acks.batch(stored[-1].record.sequence, batch.id, len(stored))
    return [Outcome(ack, accepted.republished) for accepted in stored]


def _is_guard(batch: Batch, last: Arrived) -> bool:
    """Whether it asks only that its subject, of which the batch has no other, is as it was."""
    is_asking = not last.is_plain and GUARD.issuperset(control_names(last.headers))
    return is_asking and not batch.messages.has_subject(last.subject)


def _guard_refusal(stream: Stream, last: Arrived, time_ns: int) -> ApiError | None:
    """None of the messages before it has its subject, so they are nothing to what it asks."""
    guard = stream.arriving(*last, time_ns)
    checked = check_batch(stream.view(guard.subject), [guard], _as_it_is)
    return checked if isinstance(checked, ApiError) else None


def _as_it_is(message: Message, _latest: Latest) -> Message:
    return message


def _committed(last: AnyMessage) -> AnyMessage:
    """The last message carries the commit, also if one that is not stored brought it."""
    if headers.find(last.headers, BATCH_COMMIT) is not None:
        return last
    return last._replace(headers=headers.add(last.headers, BATCH_COMMIT, COMMITTED))


def _needs_no_look(stream: Stream, batch: Batch) -> bool:
    """Whether no check could refuse a plain message, and none is changed on its way."""
    config = stream.config
    return (
        _goes_together(stream)
        and not config.allow_msg_counter
        and config.discard is not Discard.NEW
        and not 0 <= config.max_msg_size < batch.message_bytes_max
    )


def _goes_together(stream: Stream) -> bool:
    """Whether messages that were admitted can be stored with one call.

    Limits are enforced behind the last one then. For one kind of them, or for numbers, that comes
    to the same as behind each; but not where subjects are bounded and bytes are, too.
    """
    config = stream.config
    return bulk.takes_all(stream) and not (config.max_msgs_per_subject > 0 and config.max_bytes > 0)


def _is_as_it_was(arrived: Message, prepared: Message) -> bool:
    """Whether a message is stored as it came, and does nothing else there."""
    is_changed = prepared.headers is not arrived.headers or prepared.payload is not arrived.payload
    return not is_changed and not headers.find(prepared.headers, ROLLUP)


def _store_together(stream: Stream, batch: Batch, ids: list[bytes], time_ns: int) -> Outcome:
    first = stream.sequence_last + 1
    batch.messages.number(first, time_ns)
    with stream.store.joined():
        take_run(stream, batch.messages)
    stream.dedup.remember(ids, first, time_ns)
    return Outcome(stream.acks.batch(stream.sequence_last, batch.id, len(batch)))
