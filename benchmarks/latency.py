"""Publisher to subscriber with one message in flight: the shortest way through a server."""

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample
from benchmarks.servers import Server


def sample(server: Server, load: Load) -> Sample:
    found = load.run("latency", server, size=128)
    cpu_us = found["server_cpu_seconds"] * 1e6 / max(found["delivered"], 1)
    return {"p50_us": found["p50_us"], "p99_us": found["p99_us"], "server_cpu_us": cpu_us}


BENCHMARK = Benchmark(
    name="latency",
    title="publisher to subscriber, one message in flight, 128 B",
    metrics=(
        Metric("p50_us", "latency p50", "us"),
        Metric("p99_us", "latency p99", "us"),
        Metric("server_cpu_us", "server CPU for each", "us"),
    ),
    sample=sample,
)
