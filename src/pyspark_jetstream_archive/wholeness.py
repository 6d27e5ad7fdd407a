"""Whether an archive is whole: every entry, every file of it, and what each file says of itself.

Files are not read for this, their footers are; what is inside has checksums, which are asked for
when it is read.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_jetstream_archive.folder import Archive, ArchiveError, Entry, File

PROBLEMS_SHOWN_MAX = 5


def whole_entries(archive: Archive) -> list[Entry]:
    """All entries. Raises ArchiveError."""
    entries = archive.entries()
    problems = [
        problem
        for entry in entries
        for file in entry.files
        if (problem := _problem(archive, entry, file))
    ]
    if problems:
        shown = "; ".join(problems[:PROBLEMS_SHOWN_MAX])
        more = len(problems) - PROBLEMS_SHOWN_MAX
        rest = f"; and {more} more" if more > 0 else ""
        raise ArchiveError(f"{archive.path} is not whole: {shown}{rest}")
    return entries


def _problem(archive: Archive, entry: Entry, file: File) -> str:
    path = archive.messages / file.name
    try:
        size = path.stat().st_size
        if size != file.file_bytes:
            return f"{file.name} has {size} bytes, and had {file.file_bytes}"
        found = _footer(pq.ParquetFile(path).metadata)
    except FileNotFoundError:
        if (archive.staged(entry.staging) / file.staged).exists():
            return f"{file.name} was not moved to its place: run archive again"
        return f"{file.name} is missing"
    except (OSError, pa.ArrowException) as error:
        return f"{file.name} cannot be read: {error}"
    wanted = (file.rows, file.first, file.last)
    return "" if found == wanted else f"{file.name} has rows and sequences {found}, not {wanted}"


def _footer(told: pq.FileMetaData) -> tuple[int, int, int]:
    """Rows, first and last sequence."""
    column = told.schema.names.index("seq")
    groups = [told.row_group(place).column(column) for place in range(told.num_row_groups)]
    bounds = [group.statistics for group in groups]
    return told.num_rows, min(one.min for one in bounds), max(one.max for one in bounds)
