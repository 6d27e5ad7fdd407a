"""Request and reply through one responder, a reply subject of its own for each request.

Many in flight shows the rate; one at a time shows what a caller waits, which is four passes through
the kernel and two through the server.
"""

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, flow_metrics, flow_sample
from benchmarks.servers import Server

CONNECTIONS = 16
INFLIGHT = 16  # on each connection

LATENCIES = (Metric("p50_us", "latency p50", "us"), Metric("p99_us", "latency p99", "us"))


def _sample(server: Server, load: Load, connections: int, inflight: int) -> Sample:
    found = load.run("requests", server, connections=connections, inflight=inflight, size=128)
    return {**flow_sample(found), "p50_us": found["p50_us"], "p99_us": found["p99_us"]}


def many(server: Server, load: Load) -> Sample:
    return _sample(server, load, CONNECTIONS, INFLIGHT)


def one(server: Server, load: Load) -> Sample:
    return _sample(server, load, 1, 1)


MANY = Benchmark(
    name="requests",
    title=f"requests, {CONNECTIONS} connections with {INFLIGHT} in flight each, 128 B",
    metrics=(*flow_metrics(what="replies"), *LATENCIES),
    sample=many,
)
ONE = Benchmark(
    name="requests_one",
    title="requests, one at a time, 128 B",
    metrics=(*flow_metrics(what="replies"), *LATENCIES),
    sample=one,
)
