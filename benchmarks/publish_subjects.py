"""Pipelined publishes over 10,000 subjects, each message to another one than the one before."""

from benchmarks.publishing import DURABLE, LAZY, WINDOW, rate_benchmark

SUBJECTS = 10_000
TITLE = f"publish to file, {SUBJECTS:,} subjects, 128 B, window {WINDOW:,}"

LAZY_WIDE = rate_benchmark(
    "publish_subjects", TITLE, 5.0, LAZY, subjects=SUBJECTS, size=128, window=WINDOW
)
DURABLE_WIDE = rate_benchmark(
    "publish_subjects_durable", TITLE, None, DURABLE, subjects=SUBJECTS, size=128, window=WINDOW
)
