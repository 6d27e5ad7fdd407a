"""`Nats-TTL`: how long a message lives, as its publisher asks for it (ADR-43).

Whole seconds, a Go duration of at least one, `never`, or zero, which says nothing. The kernel reads
it (`penstock-wire`, lifetime.rs), here and again when the message is stored. A stream with delete
markers raises it to theirs, or a marker could be gone before the one that it follows.
"""

from penstock.kernel.storage import parse_lifetime
from penstock.model.stream_config import StreamConfig
from penstock.streams import headers

TTL = b"Nats-TTL"
NEVER = -1
SECOND_NS = 1_000_000_000
# A longer one is looked at: it may end when no clock can tell.
_SECONDS_UNSEEN_MAX = 100 * 366 * 24 * 3600
_MOMENT_NS_MAX = 2**63 - 2  # what the kernel can count to; one more is never

# Seconds, `NEVER`, 0 for none, or None if it is no TTL.
parse_ttl = parse_lifetime


def is_storable(value: bytes, time_ns: int) -> bool:
    """Whether a message of that time can have this TTL."""
    seconds = parse_ttl(value)
    return seconds is not None and time_ns + seconds * SECOND_NS <= _MOMENT_NS_MAX


def seconds_unseen(config: StreamConfig) -> tuple[int, int]:
    """A TTL from the first to the second of these is stored as it is, without a look; none if the
    second is less."""
    if not config.allow_msg_ttl:
        return 1, 0
    return _seconds_min(config), _SECONDS_UNSEEN_MAX


def lasting(config: StreamConfig, message_headers: bytes) -> bytes:
    """The headers of a message that is about to be stored, with its TTL raised if need be."""
    seconds_min = _seconds_min(config)
    value = headers.find(message_headers, TTL) if seconds_min else None
    seconds = parse_ttl(value) if value else None
    if seconds is None or not 0 < seconds < seconds_min:
        return message_headers
    return headers.add(headers.remove(message_headers, TTL), TTL, b"%d" % seconds_min)


def _seconds_min(config: StreamConfig) -> int:
    """As the reference: where a subject has one message, no marker is in the way of another."""
    if config.max_msgs_per_subject == 1:
        return 0
    return config.subject_delete_marker_ttl // SECOND_NS
