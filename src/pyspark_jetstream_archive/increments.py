"""What to add to counters, so that they come to what the archive says they came to.

It is the difference to the value before, in what is taken of the archive: where all messages of a
counter are there, that is what each of them had added (`Nats-Incr`). The first one that is there
adds its whole value, and one behind a gap what the missing ones had added too, so values are right
though history is missing.

What a counter had at the beginning of a piece is looked up in the archive, never remembered: a
piece that is read again gives the same increments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_jetstream_archive.archived_rows import archived_rows
from pyspark_jetstream_archive.folder import Archive, ArchiveError, File
from pyspark_jetstream_archive.selection import Selection

_VALUES = ("seq", "subject", "counter_value")

Values = dict[str, int]


def values_before(
    archive: Archive, files: Sequence[File], selection: Selection, start: int, end: int
) -> Values:
    """What the counters of `start` to `end` (exclusive) had come to before; only what is selected
    counts. One that had not begun is left out."""
    if start <= max(selection.first, min((file.first for file in files), default=0)):
        return {}
    inside = replace(
        selection, first=max(start, selection.first), last=min(end - 1, selection.last)
    )
    before = replace(selection, last=start - 1)
    subjects: set[str] = set()
    for rows in archived_rows(archive, files, inside, ("seq", "subject")):
        subjects.update(pc.unique(rows["subject"]).to_pylist())
    wanted = pa.array(sorted(subjects), pa.string())
    found: dict[str, str] = {}
    for rows in archived_rows(archive, files, before, _VALUES):
        known = rows.filter(pc.is_in(rows["subject"], wanted))
        values = (known[name].to_pylist() for name in ("subject", "counter_value"))
        found.update(zip(*values, strict=True))
    return {subject: _number(value, subject, 0) for subject, value in found.items()}


def with_increments(pieces: Iterator[pa.Table], values: Values) -> Iterator[pa.Table]:
    """Each piece with a column `incr`; `values` goes along."""
    for rows in pieces:
        increments = []
        columns = (rows[name].to_pylist() for name in _VALUES)
        for sequence, subject, text in zip(*columns, strict=True):
            value = _number(text, subject, sequence)
            increments.append(f"{value - values.get(subject, 0):+d}")
            values[subject] = value
        yield rows.append_column("incr", pa.array(increments, pa.string()))


def _number(text: str | None, subject: str, sequence: int) -> int:
    try:
        return int(text or "")
    except ValueError:
        told = "has no value" if text is None else f"has a value of {len(text)} digits"
        raise ArchiveError(
            f"message {sequence} of counter {subject} {told}, which cannot be restored; leave the "
            "counter out with subjects"
        ) from None
