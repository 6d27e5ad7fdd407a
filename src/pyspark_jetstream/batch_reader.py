"""A batch read: planned on the driver, read where Spark likes.

Spark refuses a reader with `pushFilters` while pushdown is off, and tells nobody whether it is on.
It is exactly where its pushdown worker runs, so that is what is looked at.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from pyspark_jetstream.connection import Connection
from pyspark_jetstream.filters import push
from pyspark_jetstream.options import ReadOptions
from pyspark_jetstream.planning import Bounds, Planner, file_ranges
from pyspark_jetstream.ranges import Range, split
from pyspark_jetstream.reading import read_range
from pyspark_jetstream.rows import chosen_columns

_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


class BatchReader(DataSourceReader):
    """Ranges of sequences, and their rows."""

    def __init__(self, options: ReadOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._bounds = Bounds()

    def partitions(self) -> list[InputPartition]:
        options = self._options
        if options.is_offline:
            ranges = file_ranges(options, self._bounds)
        else:
            with Connection(options.connection) as connection:
                ranges = Planner(options, connection).ranges(self._bounds)
        return [*split(ranges, options.partitions_min)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark makes a partition of its own where there is none.
        if not isinstance(partition, Range):
            return iter(())
        return read_range(self._options, self._columns, partition)


class FilteringReader(BatchReader):
    """The same with filters of Spark."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        return list(push(filters, self._bounds, self._options.subjects))


def batch_reader(options: ReadOptions, schema: StructType) -> BatchReader:
    kind = FilteringReader if _is_pushing() else BatchReader
    return kind(options, chosen_columns(schema))


def _is_pushing() -> bool:
    main: Any = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    return _PUSHDOWN_WORKER in sys.modules or (spec is not None and spec.name == _PUSHDOWN_WORKER)
