"""From the end of a scan to the end of the stream: one task reads on until nothing is left.

It begins when its own input is through, and that is behind an aggregation, so the whole scan is. A
direct get is answered in the order of sequences, and its last page says that nothing is pending:
whichever message the stream has at that moment was met on the way, or was there for the scan. A
range that ends at a sequence would not do: what is written anew meanwhile is behind it. It comes to
an end because reading is many times as fast as writing.
"""

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from penstock.pipelines.tables.bucket import Bucket
from penstock.pipelines.tables.changes import COLUMNS, NAMES
from pyspark_jetstream.options import ReadOptions, read_options
from pyspark_jetstream.ranges import Range
from pyspark_jetstream.reading import read_range

_EVERYTHING = 1 << 62  # no sequence comes that far

Batches = Iterator[pa.RecordBatch]


def caught_up(scanned: DataFrame, bucket: Bucket, connection: Mapping[str, str]) -> DataFrame:
    """The same messages, and those that came while they were read. They are behind a groupBy."""
    # Read here: files that let in (contexts, credentials) are where the definitions are loaded, and
    # need not be where the task runs.
    options = _options(bucket, connection)
    return scanned.select(*NAMES).mapInArrow(_passing_on(bucket, options), COLUMNS)


def _options(bucket: Bucket, connection: Mapping[str, str]) -> ReadOptions:
    told = {"stream": bucket.stream, "includeHeaders": "true", "failOnDataLoss": "false"}
    return read_options({**connection, **told})


def _passing_on(bucket: Bucket, options: ReadOptions) -> Callable[[Batches], Batches]:
    def passed_on(batches: Batches) -> Batches:
        yield from batches
        context = TaskContext.get()
        assert context is not None, "Spark runs this in a task"
        if context.partitionId() == 0:
            yield from behind(bucket, options)

    return passed_on


def behind(bucket: Bucket, options: ReadOptions) -> Batches:
    """What the stream has behind the end that the bucket had."""
    part = Range(
        stream=bucket.stream,
        start=bucket.end,
        end=_EVERYTHING,
        created=bucket.created,
        subjects=(bucket.subjects,),
    )
    return read_range(options, NAMES, part)
