"""What the benchmarks of publishing into streams have in common.

Both servers have the same configuration file. *Lazy* is `sync_interval: "2m"` on both: nobody waits
for the disk. *Durable* is penstock's default, where every acknowledgement waits for its sync,
against the reference's own default, which is lazy. Every acknowledgement is checked by the
generator, and the stream's last sequence at the end.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, Target, flow_sample
from benchmarks.servers import Server, Sync

LAZY = Sync("2m", "2m")
DURABLE = Sync(None, None)
ALWAYS = Sync("always", "always")

WINDOW = 4_000  # publishes without acknowledgement; the reference's own limit is 10,000
WINDOW_SMALL = 200


def publish_sampler(**options: Any) -> Callable[[Server, Load], Sample]:
    def sample(server: Server, load: Load) -> Sample:
        found = load.run("publish", server, **options)
        return {**flow_sample(found), "p50_us": found["p50_us"], "p99_us": found["p99_us"]}

    return sample


def rate_metrics(ratio_min: float | None = None) -> tuple[Metric, ...]:
    """For those that are about the rate."""
    target = None if ratio_min is None else Target("at least", ratio_min, "ratio")
    return (
        Metric("rate", "acknowledged", "per second", target),
        Metric("server_cpu_us", "server CPU for each", "us"),
        Metric("server_busy", "server CPU, of one core", "share"),
        Metric("load_busy", "generator CPU, of its core", "share"),
        Metric("p50_us", "ack after, p50", "us"),
        Metric("p99_us", "ack after, p99", "us"),
    )


def latency_metrics(ratio_max: float | None = None) -> tuple[Metric, ...]:
    """For those that are about what one publisher waits."""
    target = None if ratio_max is None else Target("at most", ratio_max, "ratio")
    return (
        Metric("p50_us", "ack after, p50", "us", target),
        Metric("p99_us", "ack after, p99", "us"),
        Metric("rate", "acknowledged", "per second"),
        Metric("server_cpu_us", "server CPU for each", "us"),
    )


def rate_benchmark(
    name: str, title: str, ratio_min: float | None, sync: Sync, **options: Any
) -> Benchmark:
    how = "every ack synced, the reference lazy" if sync is DURABLE else "lazy"
    return Benchmark(
        name=name,
        title=f"{title}, {how}",
        metrics=rate_metrics(ratio_min),
        sample=publish_sampler(**options),
        sync=sync,
    )
