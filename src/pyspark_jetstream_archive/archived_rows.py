"""The messages of an archive in their order, out of the files that have them.

Files are read one after the other, a piece at a time. Where their sequences overlap, which they do
only if a clock was set back over midnight, these files are read together and sorted. Checksums of
pages are verified.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_jetstream_archive.folder import Archive, ArchiveError, File
from pyspark_jetstream_archive.selection import Selection

PIECE_ROWS = 10_000


def archived_rows(
    archive: Archive, files: Sequence[File], selection: Selection, columns: Sequence[str]
) -> Iterator[pa.Table]:
    """Pieces of some columns, ascending by sequence; `seq` and `subject` are among them."""
    for group in overlapping([file for file in files if selection.has(file)]):
        pieces = _pieces(archive, group[0], columns)
        if len(group) > 1:
            every = [piece for file in group for piece in _pieces(archive, file, columns)]
            pieces = iter([pa.concat_tables(every).sort_by("seq")])
        for piece in pieces:
            rows = piece.filter(selection.mask(piece))
            if rows.num_rows:
                yield rows


def overlapping(files: Sequence[File]) -> list[list[File]]:
    """Groups of files, in order; the sequences of different groups do not overlap."""
    groups: list[list[File]] = []
    last = 0
    for file in sorted(files, key=lambda one: one.first):
        if groups and file.first <= last:
            groups[-1].append(file)
        else:
            groups.append([file])
        last = max(last, file.last)
    return groups


def _pieces(archive: Archive, file: File, columns: Sequence[str]) -> Iterator[pa.Table]:
    try:
        with pq.ParquetFile(
            archive.messages / file.name, page_checksum_verification=True, pre_buffer=False
        ) as opened:
            for batch in opened.iter_batches(PIECE_ROWS, columns=[*columns], use_threads=False):
                yield pa.Table.from_batches([batch]).select([*columns])
    except (OSError, pa.ArrowException) as error:
        problem = f"{archive.messages / file.name} is damaged or missing: {error}"
        raise ArchiveError(problem) from None
