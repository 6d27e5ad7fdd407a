"""Pipelined increments through one connection: of one hot counter, and of 10,000 in turn.

Every acknowledgement must tell the exact sum, and at the end every counter is read with a direct
get, a hundred requests in one write, and must have the sum of its increments.
"""

from typing import Any

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, Target, flow_sample
from benchmarks.publishing import DURABLE, LAZY, WINDOW, rate_metrics
from benchmarks.servers import Server, Sync

COUNTERS = 10_000
METRICS = (
    *rate_metrics(1.0),
    Metric("read_rate", "counters read", "per second", Target("at least", 1.0, "ratio")),
)
FIGURES = ("p50_us", "p99_us", "read_rate")


def benchmark(name: str, what: str, sync: Sync, **options: Any) -> Benchmark:
    def sample(server: Server, load: Load) -> Sample:
        found = load.run("publish", server, counters="yes", window=WINDOW, **options)
        return {**flow_sample(found), **{figure: found[figure] for figure in FIGURES}}

    how = "every ack synced, the reference lazy" if sync is DURABLE else "lazy"
    title = f"increments of {what} in a file, window {WINDOW:,}, {how}"
    return Benchmark(name, title, METRICS, sample, sync)


LAZY_HOT = benchmark("counter_hot", "one counter", LAZY)
LAZY_MANY = benchmark("counters", f"{COUNTERS:,} counters", LAZY, subjects=COUNTERS)
DURABLE_HOT = benchmark("counter_hot_durable", "one counter", DURABLE)
DURABLE_MANY = benchmark("counters_durable", f"{COUNTERS:,} counters", DURABLE, subjects=COUNTERS)
