"""One connection that waits for each acknowledgement before it publishes again."""

from benchmarks.measure import Benchmark
from benchmarks.publishing import ALWAYS, DURABLE, LAZY, latency_metrics, publish_sampler

TITLE = "publish to file, one at a time, 128 B"
SAMPLER = publish_sampler(size=128, window=1)

LAZY_ONE = Benchmark("publish_sync", f"{TITLE}, lazy", latency_metrics(1.0), SAMPLER, LAZY)
ALWAYS_ONE = Benchmark(
    "publish_sync_always", f"{TITLE}, both sync always", latency_metrics(1.2), SAMPLER, ALWAYS
)
DURABLE_ONE = Benchmark(
    "publish_sync_durable",
    f"{TITLE}, every ack synced, the reference lazy",
    latency_metrics(),
    SAMPLER,
    DURABLE,
)
