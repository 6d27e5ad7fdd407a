"""Writes batches of a streaming query to an archive; `folder.py` has the protocol.

Spark makes a writer on the driver for every batch: it settles what was decided before, and tells
tasks where the archive ends. Rows up to there are in it already, so a batch that comes again, from
whatever checkpoint, adds what is missing and nothing twice. The commit decides.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from pyspark_jetstream.rows import arrow_schema, row_type
from pyspark_jetstream_archive.dated_files import DatedFiles
from pyspark_jetstream_archive.folder import Archive, Entry, File

COLUMNS = tuple(field.name for field in row_type(with_headers=True))


@dataclass(frozen=True)
class Attempt:
    """One attempt at a batch, as its tasks know it."""

    number: int  # of the entry that it would be
    after: int  # where the archive ends: rows up to there are in it
    staging: str
    began_at: float


@dataclass(frozen=True)
class Staged(WriterCommitMessage):
    """What a task has written."""

    attempt: Attempt
    files: tuple[File, ...]


def begin(path: Path, session: str, is_lossless: bool) -> "ArchiveWriter":
    """On the driver."""
    archive = Archive(path)
    latest = archive.latest()
    if latest is not None:
        archive.settle(latest)
    number, after = (latest.number, latest.last) if latest else (0, 0)
    attempt = Attempt(number + 1, after, uuid.uuid4().hex, time.time())
    return ArchiveWriter(path, attempt, session, is_lossless)


class ArchiveWriter(DataSourceStreamArrowWriter):
    """Spark commits with another one than it wrote with: what is decided on is what the tasks'
    messages say."""

    def __init__(self, path: Path, attempt: Attempt, session: str, is_lossless: bool) -> None:
        self._path = path
        self._attempt = attempt
        self._session = session
        self._is_lossless = is_lossless

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None, "write() runs in a task"
        return self.stage(iterator, f"{context.partitionId()}-{context.taskAttemptId()}")

    def stage(self, batches: Iterator[pa.RecordBatch], stem: str) -> Staged:
        files = DatedFiles(Archive(self._path).stage(self._attempt.staging), stem)
        schema = arrow_schema(COLUMNS)
        for batch in batches:
            rows = pa.Table.from_batches([batch]).cast(schema)
            if self._attempt.after:
                rows = rows.filter(pc.greater(rows["seq"], self._attempt.after))
            if rows.num_rows:
                files.add(rows)
        return Staged(self._attempt, tuple(files.close()))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        staged = [one for one in messages if isinstance(one, Staged)]
        archive = Archive(self._path)
        attempts = archive.attempts()
        if any(one.files for one in staged):
            entry = self._entry(staged)
            archive.decide(entry)
            archive.settle(entry)
            archive.clear(*attempts)
        else:
            self.abort(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        own = {one.attempt.staging for one in messages if isinstance(one, Staged)}
        Archive(self._path).clear(*own)

    def _entry(self, staged: list[Staged]) -> Entry:
        attempt = staged[0].attempt
        assert all(one.attempt == attempt for one in staged), "tasks of one batch have one writer"
        files = sorted((file for one in staged for file in one.files), key=lambda one: one.first)
        return Entry(
            number=attempt.number,
            after=attempt.after,
            last=max(file.last for file in files),
            staging=attempt.staging,
            session=self._session,
            seconds=round(time.time() - attempt.began_at, 3),
            is_lossless=self._is_lossless,
            files=tuple(files),
        )
