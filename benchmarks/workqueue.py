"""A work queue: one publisher, one pull consumer, every message removed by its acknowledgement.

At most 10,000 messages are in the queue or on their way, so publishing, fetching, acknowledging and
removing go on together; at the end the queue must be empty.
"""

from benchmarks.consuming import BATCH, SIZE, consume_metrics
from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Sample, flow_sample
from benchmarks.publishing import DURABLE, LAZY
from benchmarks.servers import Server

WINDOW = 10_000
TITLE = f"work queue, published, fetched and acknowledged, {SIZE} B, {WINDOW:,} on their way"


def sample(server: Server, load: Load) -> Sample:
    found = load.run("work", server, retention="workqueue", size=SIZE, batch=BATCH, window=WINDOW)
    return flow_sample(found)


LAZY_ONE = Benchmark("workqueue", f"{TITLE}, lazy", consume_metrics(), sample, LAZY)
DURABLE_ONE = Benchmark(
    "workqueue_durable",
    f"{TITLE}, penstock's default sync, the reference lazy",
    consume_metrics(),
    sample,
    DURABLE,
)
