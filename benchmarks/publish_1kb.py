"""Pipelined publishes of 1 kB into a file stream: bytes rather than messages."""

from benchmarks.publishing import DURABLE, LAZY, WINDOW, rate_benchmark

TITLE = f"publish to file, 1 kB, window {WINDOW:,}"

LAZY_WIDE = rate_benchmark("publish_1kb", TITLE, 2.5, LAZY, size=1024, window=WINDOW)
DURABLE_WIDE = rate_benchmark("publish_1kb_durable", TITLE, 2.0, DURABLE, size=1024, window=WINDOW)
