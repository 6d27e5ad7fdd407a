"""Runs of increments: the bulk lane of a stream of counters.

Where a message has no control header but its increment, and nothing of the stream's own comes in
between, the kernel adds and stores a whole run: what one message adds is there for the next. It
leaves off before a message that takes more than adding two numbers (one that must be refused, a
number beyond 128 bits, a counter with sources to remember); that one goes through the careful lane.
A limit of the stream counts at once: what has to go may be the last message of a counter, whose
next increment begins from nothing.
"""

import sys

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Copies
from penstock.storage.store import CountTerms
from penstock.streams import counters
from penstock.streams.stream import Stream


def count_run(stream: Stream, hub: Hub, start: int, end: int, now_ns: int) -> Copies:
    """Stores messages of a run of increments, from its first on, as long as none needs a look."""
    first, time_ns = stream.sequence_last + 1, stream.moment(now_ns)
    columns = (first, time_ns, _terms(stream), stream.limits)
    counted = stream.store.append_counted(hub, start, end, *columns)
    if len(counted):
        stream.sequence_last += len(counted)
        stream.message_id_last = b""
        stream.audience.stored_run(hub, start, start + len(counted), first)
        stream.enforce_limits()
    return counted


def _terms(stream: Stream) -> CountTerms:
    maximum = stream.config.max_msg_size
    return CountTerms(
        increment=counters.INCREMENT,
        special=counters.COUNTER_SOURCES,
        head=counters.BODY_HEAD,
        tail=counters.BODY_TAIL,
        message_bytes_max=min(stream.message_bytes_max, maximum if maximum >= 0 else sys.maxsize),
    )
