"""Delete markers (ADR-43): messages without payload that tell readers that a subject is empty now.

They lie where the last message of the subject was, live as long as the stream's configuration says,
and leave nothing behind when they go. A purge that a KV client wrote says the same and counts as
one, as with the reference.
"""

from penstock.model.stream_config import StreamConfig
from penstock.streams import headers
from penstock.streams.durations import duration_text
from penstock.streams.message_ttl import SECOND_NS, TTL
from penstock.streams.purging import ROLLUP_SUBJECT

REASON = b"Nats-Marker-Reason"
MAX_AGE, REMOVE, PURGE = b"MaxAge", b"Remove", b"Purge"
ROLLUP = b"Nats-Rollup"
_KV_OPERATION, _KV_PURGE = b"KV-Operation", b"PURGE"


def marker_headers(config: StreamConfig, reason: bytes) -> bytes:
    """Those of a marker of this stream."""
    ttl_ns = config.subject_delete_marker_ttl // SECOND_NS * SECOND_NS
    fields = ((REASON, reason), (TTL, duration_text(ttl_ns).encode()), (ROLLUP, ROLLUP_SUBJECT))
    found = b""
    for name, value in fields:
        found = headers.add(found, name, value)
    return found


def is_marker(message_headers: bytes) -> bool:
    """Whether a message says already that its subject is empty."""
    if REASON not in message_headers and _KV_OPERATION not in message_headers:
        return False
    operation = headers.find(message_headers, _KV_OPERATION)
    return bool(headers.find(message_headers, REASON)) or operation == _KV_PURGE
