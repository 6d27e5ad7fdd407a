"""What 5,000 connections that do nothing cost in resident memory.

Each has connected, subscribed once and answers PINGs. The figure is the growth of the server's
resident memory since it was ready, divided by the connections. Memory that start-up left free takes
in the first of them, which makes the figure a little smaller than what one more connection costs.
"""

import time

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, Target
from benchmarks.servers import Server

CONNECTIONS = 5_000
SETTLE_SECONDS = 1.0  # for buffers of the handshakes to be given back, on both servers alike


def sample(server: Server, load: Load) -> Sample:
    time.sleep(SETTLE_SECONDS)
    before = server.resident_bytes()
    with load.idle(server, CONNECTIONS):
        time.sleep(SETTLE_SECONDS)
        after = server.resident_bytes()
    return {
        "connection_kb": (after - before) / CONNECTIONS / 1e3,
        "empty_kb": before / 1e3,
        "full_kb": after / 1e3,
    }


BENCHMARK = Benchmark(
    name="idle_connections",
    title=f"{CONNECTIONS:,} idle connections, resident memory",
    metrics=(
        Metric("connection_kb", "for each connection", "kB", Target("at most", 40.0, "ours")),
        Metric("empty_kb", "server without them", "kB"),
        Metric("full_kb", "server with them", "kB"),
    ),
    sample=sample,
)
