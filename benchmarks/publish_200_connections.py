"""200 connections that each wait for their acknowledgement before they publish again."""

from benchmarks.publishing import DURABLE, LAZY, rate_benchmark

CONNECTIONS = 200
TITLE = f"publish to file, {CONNECTIONS} connections with one in flight each, 128 B"

LAZY_MANY = rate_benchmark(
    "publish_200_connections", TITLE, 1.8, LAZY, connections=CONNECTIONS, size=128, window=1
)
DURABLE_MANY = rate_benchmark(
    "publish_200_connections_durable",
    TITLE,
    1.0,
    DURABLE,
    connections=CONNECTIONS,
    size=128,
    window=1,
)
