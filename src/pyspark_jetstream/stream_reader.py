"""A streaming read: offsets are the next sequence of each stream, and when that was created.

The second tells a stream from another one of its name. The reader lives on the driver as long as
its query, with one connection; Spark asks it for offsets, writes them down and asks for the ranges
between two of them, which read the same again after a restart.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from pyspark_jetstream.admission import Available, admitted, is_enough
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.data_loss import check_start
from pyspark_jetstream.options import StreamReadOptions
from pyspark_jetstream.planning import Planner
from pyspark_jetstream.ranges import Range, split
from pyspark_jetstream.reading import read_range
from pyspark_jetstream.rows import chosen_columns
from pyspark_jetstream.stream_facts import StreamFacts

MESSAGE_BYTES = 4096.0  # what a message counts when a batch is cut: 65,536 to a partition

Offset = dict[str, dict[str, Any]]  # stream: {"seq": the next one, "created": when}


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One streaming query's reader."""

    def __init__(self, options: StreamReadOptions, schema: StructType) -> None:
        self._columns = chosen_columns(schema)
        self._options = options
        self._connection: Connection | None = None
        self._latest: Offset | None = None
        self._target: Offset | None = None  # where Trigger.AvailableNow ends
        self._batch_at = time.monotonic()

    def initialOffset(self) -> Offset:
        planner, read = self._planner(), self._options.read
        offset = {}
        for facts in self._facts(planner):
            start = check_start(read, facts, planner.sequence(read.start, facts), "")
            offset[facts.name] = {"seq": start, "created": facts.created}
        return offset

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark takes one; all of them count (`latestOffset`)."""
        options = self._options
        if options.offsets_max:
            return ReadMaxRows(options.offsets_max)
        if options.bytes_max:
            return ReadMaxBytes(options.bytes_max)
        if options.offsets_min:
            return ReadMinRows(options.offsets_min)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._now(self._facts(self._planner()))

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        facts = {one.name: one for one in self._facts(self._planner())}
        self._latest = self._now([*facts.values()])
        ends = self._latest if self._target is None else self._target
        available = {}
        for name, one in facts.items():
            begin = self._start(one, start.get(name))
            end = min(ends[name]["seq"], one.end) if name in ends else begin
            available[name] = Available(begin, max(end, begin), one.message_bytes)
        if isinstance(limit, ReadAllAvailable):
            chosen = {name: one.start + one.sequences for name, one in available.items()}
        else:
            waited_ms = (time.monotonic() - self._batch_at) * 1000
            is_ending = self._target is not None  # waiting for more would never end
            if not is_ending and not is_enough(available, self._options, waited_ms):
                return start
            chosen = admitted(available, self._options)
        if any(one.sequences for one in available.values()):
            self._batch_at = time.monotonic()
        return {name: {"seq": chosen[name], "created": one.created} for name, one in facts.items()}

    def reportLatestOffset(self) -> Offset | None:
        """What the streams had when they were last looked at: Spark shows it, so lag is seen."""
        return self._latest

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        planner, read = self._planner(), self._options.read
        ranges = []
        for facts in self._facts(planner):
            if facts.name not in end:
                continue  # it was added to the options behind this batch
            if end[facts.name]["created"] != facts.created:
                check_start(read, facts, end[facts.name]["seq"], end[facts.name]["created"])
                continue
            begin = self._start(facts, start.get(facts.name))
            stop = min(end[facts.name]["seq"], facts.end)
            found = planner.range(facts, begin, stop, read.subjects)
            # Cut by offsets and options alone: a batch that is run again must have the partitions
            # it had, or an exactly-once sink would take its rows for others.
            ranges.append(replace(found, message_bytes=MESSAGE_BYTES))
        return [*split(ranges, read.partitions_min)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Range):
            return iter(())
        return read_range(self._options.read, self._columns, partition)

    def commit(self, end: Offset) -> None:
        """Nothing is consumed, so nothing is given up."""

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.__exit__(None, None, None)
            self._connection = None

    def _start(self, facts: StreamFacts, start: dict[str, Any] | None) -> int:
        """Of a stream that was added to a query: its first message, as Kafka's partitions."""
        if start is None:
            return facts.first
        return check_start(self._options.read, facts, start["seq"], start["created"])

    def _now(self, facts: list[StreamFacts]) -> Offset:
        return {one.name: {"seq": one.end, "created": one.created} for one in facts}

    def _facts(self, planner: Planner) -> list[StreamFacts]:
        return [planner.facts(name) for name in self._options.read.streams]

    def _planner(self) -> Planner:
        if self._connection is None:
            self._connection = Connection(self._options.read.connection).__enter__()
        return Planner(self._options.read, self._connection)


class RefusingReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Of wrong options: says so when it is asked for anything.

    A reader that cannot be made at all is told by Spark 4.3 as an unbound variable of its own.
    """

    def __init__(self, refusal: ValueError) -> None:
        self._refusal = refusal

    def initialOffset(self) -> Offset:
        raise self._refusal

    def getDefaultReadLimit(self) -> ReadLimit:
        raise self._refusal

    def prepareForTriggerAvailableNow(self) -> None:
        raise self._refusal

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        raise self._refusal

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        raise self._refusal

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        raise self._refusal
