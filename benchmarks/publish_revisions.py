"""Pipelined publishes over 10,000 subjects, each at the revision that its subject has by then.

It is how a bucket's keys are updated, a key for each subject.
"""

from benchmarks.publishing import DURABLE, LAZY, WINDOW, rate_benchmark

SUBJECTS = 10_000
TITLE = f"publish to file at revisions, {SUBJECTS:,} subjects, 128 B, window {WINDOW:,}"
OPTIONS = {"revisions": "yes", "subjects": SUBJECTS, "size": 128, "window": WINDOW}

LAZY_WIDE = rate_benchmark("publish_revisions", TITLE, None, LAZY, **OPTIONS)
DURABLE_WIDE = rate_benchmark("publish_revisions_durable", TITLE, None, DURABLE, **OPTIONS)
