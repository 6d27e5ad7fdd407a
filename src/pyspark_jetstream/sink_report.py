"""What a write says about itself: the mode that was chosen, and what a retry found.

Spark starts the Python processes that plan and commit, and sets up no logging in them unless
`spark.sql.pyspark.worker.logging.enabled` is set; their stderr is Spark's. So a line goes there
where nobody listens to the logger.
"""

import logging
from functools import cache

from pyspark_jetstream.sink_plan import Plan

LOG = logging.getLogger("pyspark_jetstream")


def report_plan(plan: Plan) -> None:
    """Once for each process, stream and mode: a streaming write is planned for every batch."""
    _listen()
    _report_mode(plan.stream, plan.mode, plan.reason)


def report_batch(plan: Plan, what: str, rows: int, found: int) -> None:
    _listen()
    if found:
        LOG.info(
            "jetstream sink: %s: %d of %d rows were in %s already (sinkMode %s)",
            what,
            found,
            rows,
            plan.stream,
            plan.mode,
        )


@cache
def _report_mode(stream: str, mode: str, reason: str) -> None:
    LOG.info("jetstream sink: %s is written with sinkMode %s: %s", stream, mode, reason)


def _listen() -> None:
    LOG.setLevel(logging.INFO)
    if not LOG.hasHandlers():
        LOG.addHandler(logging.StreamHandler())
