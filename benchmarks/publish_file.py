"""Pipelined publishes into a file stream from one connection, 128 B, the window kept full."""

from benchmarks.publishing import DURABLE, LAZY, WINDOW, WINDOW_SMALL, rate_benchmark

TITLE = "publish to file, 128 B, window"

LAZY_WIDE = rate_benchmark(
    "publish_file", f"{TITLE} {WINDOW:,}", 5.0, LAZY, size=128, window=WINDOW
)
LAZY_NARROW = rate_benchmark(
    "publish_file_200", f"{TITLE} {WINDOW_SMALL}", None, LAZY, size=128, window=WINDOW_SMALL
)
DURABLE_WIDE = rate_benchmark(
    "publish_file_durable", f"{TITLE} {WINDOW:,}", 3.0, DURABLE, size=128, window=WINDOW
)
DURABLE_NARROW = rate_benchmark(
    "publish_file_200_durable",
    f"{TITLE} {WINDOW_SMALL}",
    None,
    DURABLE,
    size=128,
    window=WINDOW_SMALL,
)
