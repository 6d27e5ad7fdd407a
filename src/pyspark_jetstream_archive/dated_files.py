"""The Parquet files that one task stages: one for each date, its rows in the stream's order.

Times of a stream ascend, but for clocks that are set back; so two dates are open at a time, and a
third closes the one that was written to least recently. Pages have checksums, which a restore asks
for.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyspark_jetstream_archive.durable import sync_file
from pyspark_jetstream_archive.folder import File

OPEN_MAX = 2
GROUP_BYTES = 32 << 20  # of a row group, before compression
DICTIONARIES = ["stream", "subject", "marker_reason", "headers.key_value.key"]

_MOMENT = pa.timestamp("us", "UTC")


class DatedFiles:
    """Takes batches of rows with ascending sequences."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem  # other tasks, and other attempts, have others
        self._open: dict[str, _OpenFile] = {}
        self._closed: list[File] = []

    def add(self, rows: pa.Table) -> None:
        dates = pc.cast(rows["timestamp"].cast(_MOMENT), pa.date32())
        for date in pc.unique(dates).to_pylist():
            self._of(date.isoformat()).add(rows.filter(pc.equal(dates, date)))

    def close(self) -> list[File]:
        """All of them, durable."""
        while self._open:
            self._close_one()
        return self._closed

    def _of(self, date: str) -> "_OpenFile":
        found = self._open.pop(date, None)
        if found is None:
            if len(self._open) == OPEN_MAX:
                self._close_one()
            number = len(self._closed) + len(self._open)
            found = _OpenFile(self._folder / f"{self._stem}-{number}.parquet", date)
        self._open[date] = found  # as the last one
        return found

    def _close_one(self) -> None:
        self._closed.append(self._open.pop(next(iter(self._open))).close())


class _OpenFile:
    def __init__(self, path: Path, date: str) -> None:
        self._path = path
        self._date = date
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = 0
        self._rows = self._bytes = self._largest = 0
        self._first = self._last = 0

    def add(self, rows: pa.Table) -> None:
        sequences = rows["seq"]
        self._first = self._first or sequences[0].as_py()
        self._last = sequences[-1].as_py()
        self._rows += rows.num_rows
        lengths = pc.binary_length(rows["data"])
        self._bytes += pc.sum(lengths).as_py() or 0
        self._largest = max(self._largest, pc.max(lengths).as_py() or 0)
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= GROUP_BYTES:
            self._write()

    def close(self) -> File:
        self._write()
        assert self._writer is not None, "a file is opened for its first row"
        self._writer.close()
        sync_file(self._path)
        return File(
            date=self._date,
            staged=self._path.name,
            rows=self._rows,
            first=self._first,
            last=self._last,
            message_bytes=self._bytes,
            largest=self._largest,
            file_bytes=self._path.stat().st_size,
        )

    def _write(self) -> None:
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting).combine_chunks()
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path,
                rows.schema,
                compression="zstd",
                use_dictionary=DICTIONARIES,
                write_page_checksum=True,
                coerce_timestamps="us",
            )
        self._writer.write_table(rows)
        self._waiting, self._waiting_bytes = [], 0
