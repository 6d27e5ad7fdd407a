"""Pipelined publishes to two streams in turn: no two neighbours have the same route."""

from benchmarks.publishing import DURABLE, LAZY, WINDOW, rate_benchmark

TITLE = f"publish to two file streams in turn, 128 B, window {WINDOW:,}"

LAZY_WIDE = rate_benchmark(
    "publish_two_streams", TITLE, 4.0, LAZY, streams=2, size=128, window=WINDOW
)
DURABLE_WIDE = rate_benchmark(
    "publish_two_streams_durable", TITLE, None, DURABLE, streams=2, size=128, window=WINDOW
)
