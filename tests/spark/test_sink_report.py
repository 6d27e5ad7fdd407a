"""What a write tells: the mode with its reason, once; and what a retry has found."""

import pyarrow as pa
import pytest

from pyspark_jetstream.sink import StreamSink, Written
from pyspark_jetstream.sink_report import report_plan
from tests.spark.sink_bench import TASK, Bench, bench, rows

__all__ = ["bench"]  # a fixture

ROWS = pa.schema({"subject": pa.string(), "data": pa.binary()})


def test_the_mode_is_told_once_with_its_reason(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.create(allow_atomic=True)
    plan = bench.plan(ROWS)
    for _ in range(3):  # a streaming write is planned for every batch
        report_plan(plan)
    told = f"{bench.name} is written with sinkMode batch: the stream has allow_atomic"
    assert [told in record.getMessage() for record in caplog.records] == [True]


def test_a_commit_tells_what_a_retry_has_found(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.create()
    sink = StreamSink(bench.plan(ROWS))
    first = bench.write(rows(bench, 10))
    again = bench.write(rows(bench, 10))
    assert (first, again) == (
        Written("msgid", TASK.partition, 10, 0),
        Written("msgid", TASK.partition, 10, 10),
    )
    sink.commit([first], 6)
    sink.commit([again, None], 7)
    told = f"batch 7: 10 of 10 rows were in {bench.name} already (sinkMode msgid)"
    assert [told in record.getMessage() for record in caplog.records] == [True]
