"""A message on its way into a stream of counters: from what was sent to what is stored.

The rules of the sum are `counters`; here is what a stream adds: which message of the store came
before, and whether the outcome is still one that the stream may hold.
"""

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import StreamConfig
from penstock.storage.store import Latest
from penstock.streams import counters
from penstock.streams.admission import HEADERS_BYTES_MAX, Message
from penstock.streams.counters import CountedSource


def count(
    config: StreamConfig,
    store: Latest,
    message: Message,
    bytes_max: int,
    source: CountedSource | None = None,
) -> Message | ApiError:
    """The message with the value that its subject comes to."""
    state = store.subject_state(message.subject)
    last = None if state is None else store.load(state.sequence_last)
    if state is not None and last is None:  # its record is damaged
        return Fault.COUNTER_BROKEN.error()
    found = counters.counted(message.headers, message.payload, last, source)
    if isinstance(found, ApiError):
        return found
    size = len(found.headers) + len(found.payload)
    if size > bytes_max or 0 <= config.max_msg_size < size:
        return Fault.MESSAGE_TOO_LARGE.error()
    if len(found.headers) > HEADERS_BYTES_MAX:
        return Fault.HEADERS_TOO_LARGE.error()
    return message._replace(headers=found.headers, payload=found.payload)
