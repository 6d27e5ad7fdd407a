"""What the benchmarks of consumers have in common.

A stream is filled first, outside of what is measured; then one consumer after the other reads it
from its beginning to its end. The generator checks every message and both of its sequences, and at
the end of each consumer that the server's own figures agree.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, Target, flow_sample
from benchmarks.publishing import DURABLE, WINDOW
from benchmarks.servers import Server, Sync

MESSAGES = 1_000_000  # in the stream
SIZE = 128
BATCH = 1_000  # of a pull request; two of them wait at the server


def consume_sampler(storage: str = "file", **options: Any) -> Callable[[Server, Load], Sample]:
    def sample(server: Server, load: Load) -> Sample:
        load.run("publish", server, messages=MESSAGES, size=SIZE, window=WINDOW, storage=storage)
        return flow_sample(load.run("consume", server, **{"size": SIZE, "batch": BATCH, **options}))

    return sample


def consume_metrics(ratio_min: float | None = None) -> tuple[Metric, ...]:
    target = None if ratio_min is None else Target("at least", ratio_min, "ratio")
    return (
        Metric("rate", "consumed", "per second", target),
        Metric("server_cpu_us", "server CPU for each", "us"),
        Metric("server_busy", "server CPU, of one core", "share"),
        Metric("load_busy", "generator CPU, of its core", "share"),
    )


def consume_benchmark(
    name: str, title: str, ratio_min: float | None, sync: Sync, **options: Any
) -> Benchmark:
    how = "penstock's default sync, the reference lazy" if sync is DURABLE else "lazy"
    return Benchmark(
        name=name,
        title=f"{title}, {how}",
        metrics=consume_metrics(ratio_min),
        sample=consume_sampler(**options),
        sync=sync,
    )
