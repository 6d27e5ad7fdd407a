"""Pipelined publishes that all have a `Nats-Msg-Id` of their own, within the duplicate window."""

from benchmarks.publishing import DURABLE, LAZY, WINDOW, rate_benchmark

TITLE = f"publish to file with message ids, 128 B, window {WINDOW:,}"

LAZY_WIDE = rate_benchmark(
    "publish_ids", TITLE, 3.0, LAZY, message_ids="yes", size=128, window=WINDOW
)
DURABLE_WIDE = rate_benchmark(
    "publish_ids_durable", TITLE, None, DURABLE, message_ids="yes", size=128, window=WINDOW
)
