"""Which rows these are: the query, its batch and the partition, the same for every attempt.

A retried task, and a batch that is run again after its driver was killed, have the same three, and
no other rows ever do. For a streaming query Spark keeps them in the checkpoint and hands them to
tasks as local properties; their names are Spark's own and pinned by a test. A batch write has the
id that its plan was given on the driver.
"""

from dataclasses import dataclass

from pyspark import TaskContext

from pyspark_jetstream.sink_errors import SinkError

QUERY = "sql.streaming.queryId"
BATCH = "streaming.sql.batchId"


@dataclass(frozen=True)
class Task:
    """One partition of one batch."""

    query: str
    batch: int
    partition: int

    def __str__(self) -> str:
        return f"partition {self.partition} of batch {self.batch} of {self.query}"


def batch_task(write_id: str) -> Task:
    return Task(write_id, 0, _context().partitionId())


def stream_task() -> Task:
    context = _context()
    query, batch = context.getLocalProperty(QUERY), context.getLocalProperty(BATCH)
    if not query or batch is None:
        raise SinkError(
            f"Spark did not say which query and batch this task is of ({QUERY}, {BATCH}); "
            "this version of Spark is not one that rows can be written from exactly once"
        )
    return Task(query, int(batch), context.partitionId())


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "write() runs in a task"
    return context
