"""What of a run of publishes can be stored without a look at each message.

Whether a stream takes runs at all depends on its configuration and on who reads it. How many of one
fit, or find what they expect, is asked of the store: an answer may be too small, never too large,
and whether the next message has to be refused is for the careful lane to say.
"""

from penstock.kernel.hub import Hub
from penstock.model.stream_config import Discard, Retention
from penstock.streams.admission import EXPECTED_LAST_SUBJECT_SEQUENCE
from penstock.streams.stream import Stream


def takes_all(stream: Stream) -> bool:
    """True if runs need no look at their messages: nothing depends on a single one, or it is
    nothing but the sum of a counter."""
    keeps_all = stream.config.retention is not Retention.INTEREST
    return takes_what_is_read(stream) and (keeps_all or stream.audience.wants_everything)


def takes_what_is_read(stream: Stream) -> bool:
    """The same, for messages that somebody reads."""
    return not (stream.is_careful or stream.config.sealed or stream.is_changing)


def fitting(stream: Stream, hub: Hub, start: int, end: int) -> int:
    """How many of a run, from its first message on, can be stored."""
    config = stream.config
    if config.discard is not Discard.NEW:
        return end - start
    keeps_subjects = config.discard_new_per_subject
    return stream.store.fitting(hub, start, end, stream.limits, keeps_subjects=keeps_subjects)


def expected(stream: Stream, hub: Hub, start: int, end: int) -> int:
    """How many can be stored because the last message of their subject is the one they expect.
    None of them may push out what the next expects."""
    header, first = EXPECTED_LAST_SUBJECT_SEQUENCE, stream.sequence_last + 1
    met_end = start + stream.store.expected(hub, start, end, header, first)
    limits = stream.limits
    if stream.config.discard is Discard.NEW or not (limits.messages or limits.bytes):
        return fitting(stream, hub, start, met_end)
    return stream.store.fitting(hub, start, met_end, limits, keeps_subjects=False)
