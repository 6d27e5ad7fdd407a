"""One pull consumer without acknowledgements, its next requests sent before a batch ends: large
batches, or many requests for one message each, as of clients that take them singly."""

from benchmarks.consuming import BATCH, SIZE, consume_benchmark
from benchmarks.publishing import DURABLE, LAZY

TITLE = f"pull consumer, no acks, {SIZE} B, batches of {BATCH:,}"

LAZY_FILE = consume_benchmark("fetch", TITLE, 3.0, LAZY)
MEMORY = consume_benchmark("fetch_memory", f"{TITLE}, memory", None, LAZY, storage="memory")
LAZY_SINGLES = consume_benchmark(
    "fetch_singles", f"pull consumer, no acks, {SIZE} B, singly", None, LAZY, batch=1, ahead=200
)
DURABLE_FILE = consume_benchmark("fetch_durable", TITLE, None, DURABLE)
