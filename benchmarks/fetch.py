"""One pull consumer without acknowledgements, its next request sent before the batch ends."""

from benchmarks.consuming import BATCH, SIZE, consume_benchmark
from benchmarks.publishing import DURABLE, LAZY

TITLE = f"pull consumer, no acks, {SIZE} B, batches of {BATCH:,}"

LAZY_FILE = consume_benchmark("fetch", TITLE, 3.0, LAZY)
MEMORY = consume_benchmark("fetch_memory", f"{TITLE}, memory", None, LAZY, storage="memory")
DURABLE_FILE = consume_benchmark("fetch_durable", TITLE, None, DURABLE)
