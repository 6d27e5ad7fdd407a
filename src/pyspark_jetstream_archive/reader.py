"""Reads an archive as a stream: in the order of its sequences, the same again however often.

An offset is the next sequence. A batch is one partition, since order is what an archive has and
partitions have none among each other. What an entry names never changes, so a batch that is run
again has the rows that it had, in their order: an exactly-once sink can rest on it. An archive that
has grown is read on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from pyspark_jetstream.rows import arrow_schema
from pyspark_jetstream_archive.archived_rows import archived_rows
from pyspark_jetstream_archive.folder import Archive, ArchiveError, File
from pyspark_jetstream_archive.increments import values_before, with_increments
from pyspark_jetstream_archive.selection import Selection
from pyspark_jetstream_archive.writer import COLUMNS

SCHEMA = arrow_schema(COLUMNS).append(pa.field("incr", pa.string()))

Offset = dict[str, Any]  # "archive": its id, "seq": the next one


@dataclass(frozen=True)
class Part(InputPartition):
    """Sequences from `start` up to but without `end`."""

    start: int
    end: int


class ArchiveReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One streaming query's reader."""

    def __init__(
        self, path: Path, selection: Selection, rows_max: int, with_increments: bool
    ) -> None:
        self._path = path
        self._selection = selection
        self._rows_max = rows_max
        self._with_increments = with_increments
        self._target: int | None = None  # where Trigger.AvailableNow ends

    def initialOffset(self) -> Offset:
        return {"archive": Archive(self._path).head.id, "seq": self._selection.first}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._rows_max) if self._rows_max else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._end(self._files(Archive(self._path)))

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        archive = Archive(self._path)
        self._check(archive, start)
        files = self._files(archive)
        end = self._end(files) if self._target is None else self._target
        place = int(start["seq"])
        ahead = [file.first for file in files if file.last >= place]
        if isinstance(limit, ReadMaxRows) and ahead:
            end = min(end, max(place, min(ahead)) + limit.max_rows)
        return {"archive": archive.head.id, "seq": max(place, end)}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        self._check(Archive(self._path), end)
        part = Part(int(start["seq"]), int(end["seq"]))
        return [part] if part.start < part.end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part), "of partitions()"
        archive = Archive(self._path)
        files = self._files(archive)
        first = max(partition.start, self._selection.first)
        last = min(partition.end - 1, self._selection.last)
        rows = archived_rows(
            archive, files, replace(self._selection, first=first, last=last), COLUMNS
        )
        if self._with_increments:
            place = (partition.start, partition.end)
            before = values_before(archive, files, self._selection, *place)
            rows = with_increments(rows, before)
        for piece in rows:
            if not self._with_increments:
                piece = piece.append_column("incr", pa.nulls(piece.num_rows, pa.string()))  # noqa: PLW2901
            yield from piece.cast(SCHEMA).combine_chunks().to_batches()

    def commit(self, end: Offset) -> None:
        """Nothing is consumed, so nothing is given up."""

    def _files(self, archive: Archive) -> list[File]:
        """Those that may have something that is selected."""
        every = (file for entry in archive.entries() for file in entry.files)
        return [file for file in every if self._selection.has(file)]

    def _end(self, files: list[File]) -> int:
        last = max((file.last for file in files), default=0)
        return min(last, self._selection.last) + 1

    def _check(self, archive: Archive, offset: Offset) -> None:
        if offset["archive"] != archive.head.id:
            raise ArchiveError(
                f"{self._path} is another archive than the one that this query has begun with"
            )
