"""The write side: rows of a DataFrame, batch or streaming, become messages, exactly once.

The driver makes a plan (`sink_plan.py`), which refuses what cannot be kept; each task writes its
partition in the plan's mode (`sink_ids.py`, `sink_batches.py`) and tells what it did in its commit
message. Rows are stored as they come: there is nothing left to do at the commit, and an abort takes
nothing back, since the retry finds what is stored and goes on behind it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from pyspark_jetstream.options import sink_options
from pyspark_jetstream.sink_batches import BatchWriter
from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_ids import IdWriter
from pyspark_jetstream.sink_link import Link
from pyspark_jetstream.sink_plan import MSGID_MODE, Plan, plan_of
from pyspark_jetstream.sink_report import report_batch, report_plan
from pyspark_jetstream.sink_schema import columns_of
from pyspark_jetstream.sink_task import Task, batch_task, stream_task


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task has done."""

    mode: str
    partition: int
    rows: int
    found: int  # of them, rows that an earlier attempt had stored


class BatchSink(DataSourceArrowWriter):
    """Of `df.write`: a task that is tried again adds nothing twice; a job that is, does."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_partition(self.plan, batch_task(self.plan.write_id), iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        _report(self.plan, "the write", messages)


class StreamSink(DataSourceStreamArrowWriter):
    """Of `df.writeStream`: a batch that is run again, by whomever, adds nothing twice."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_partition(self.plan, stream_task(), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        _report(self.plan, f"batch {batchId}", messages)


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchSink:
    return BatchSink(_plan(options, schema, overwrite))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> StreamSink:
    return StreamSink(_plan(options, schema, overwrite))


def _plan(options: Mapping[str, str], schema: StructType, overwrite: bool) -> Plan:
    if overwrite:
        raise SinkError(
            "a stream is only appended to: use mode append (of a streaming query: outputMode "
            "append, with a watermark for aggregates); nats stream purge empties one"
        )
    given = sink_options(options)
    plan = plan_of(given, columns_of(schema, has_subject=bool(given.subject)))
    report_plan(plan)
    return plan


def write_partition(plan: Plan, task: Task, batches: Iterator[pa.RecordBatch]) -> Written:
    is_msgid = plan.mode == MSGID_MODE
    with Link(plan.connection, plan.stream if is_msgid else "") as link:
        writer = IdWriter(plan, task, link) if is_msgid else BatchWriter(plan, task, link)
        rows, found = writer.write(batches)
    return Written(plan.mode, task.partition, rows, found)


def _report(plan: Plan, what: str, messages: list[WriterCommitMessage | None]) -> None:
    written = [message for message in messages if isinstance(message, Written)]
    rows, found = sum(one.rows for one in written), sum(one.found for one in written)
    report_batch(plan, what, rows, found)
