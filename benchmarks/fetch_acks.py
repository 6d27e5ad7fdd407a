"""One pull consumer that acknowledges every message, without waiting for anything.

At most 10,000 messages are unacknowledged at a time, so acknowledgements cannot be left behind; the
variant with 1,000, the default of both servers, cannot have two whole batches on their way.
"""

from benchmarks.consuming import BATCH, SIZE, consume_benchmark
from benchmarks.publishing import DURABLE, LAZY

TITLE = f"pull consumer, every message acknowledged, {SIZE} B, batches of {BATCH:,}"
WIDE = {"acks": "yes", "ack_pending": 10_000}
NARROW = {"acks": "yes", "ack_pending": 1_000}

LAZY_FILE = consume_benchmark("fetch_acks", TITLE, 5.0, LAZY, **WIDE)
LAZY_NARROW = consume_benchmark(
    "fetch_acks_1000", f"{TITLE}, 1,000 unacknowledged", None, LAZY, **NARROW
)
MEMORY = consume_benchmark(
    "fetch_acks_memory", f"{TITLE}, memory", None, LAZY, storage="memory", **WIDE
)
DURABLE_FILE = consume_benchmark("fetch_acks_durable", TITLE, 5.0, DURABLE, **WIDE)
