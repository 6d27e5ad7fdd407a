"""Pipelined publishes into a memory stream."""

from benchmarks.publishing import LAZY, WINDOW, rate_benchmark

BENCHMARK = rate_benchmark(
    "publish_memory",
    f"publish to memory, 128 B, window {WINDOW:,}",
    4.0,
    LAZY,
    storage="memory",
    size=128,
    window=WINDOW,
)
