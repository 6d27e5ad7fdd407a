"""What is taken out of an archive: which rows, in which order, with which increments."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_jetstream.rows import arrow_schema
from pyspark_jetstream_archive.archived_rows import archived_rows
from pyspark_jetstream_archive.folder import Archive, ArchiveError
from pyspark_jetstream_archive.reader import ArchiveReader, Offset, Part
from pyspark_jetstream_archive.selection import selection_of
from pyspark_jetstream_archive.writer import COLUMNS, begin
from tests.spark.test_archive_folder import TOLD

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOUR = 3600

Row = tuple[int, str, int, str | None]  # sequence, subject, hours after noon, value of a counter


def archive_of(path: Path, *batches: Sequence[Row]) -> Archive:
    archive = Archive.create(path, "ORDERS", ">", TOLD)
    for batch in batches:
        rows = [
            {
                "stream": "ORDERS",
                "subject": subject,
                "seq": sequence,
                "timestamp": NOON + timedelta(hours=hours),
                "data": b"%d" % sequence * 10,
                "counter_value": value,
            }
            for sequence, subject, hours, value in batch
        ]
        writer = begin(path, "", True)
        found = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(COLUMNS))
        writer.commit([writer.stage(iter([found]), "0-0")], 0)
    return archive


def plain(*sequences: int, subject: str = "o.eu", hours: int = 0) -> list[Row]:
    return [(sequence, subject, hours, None) for sequence in sequences]


def sequences_of(archive: Archive, **told: str) -> list[int]:
    files = [file for entry in archive.entries() for file in entry.files]
    chosen = {name.rstrip("_"): value for name, value in told.items()}
    selection = selection_of(chosen, archive.head.stream)
    pieces = archived_rows(archive, files, selection, ("seq", "subject"))
    return [value for rows in pieces for value in rows["seq"].to_pylist()]


def test_a_clock_that_was_set_back_does_not_change_the_order(tmp_path: Path) -> None:
    rows = [*plain(1, 2, hours=13), *plain(3), *plain(4, hours=13), *plain(5, 6), *plain(7)]
    archive = archive_of(tmp_path / "a", rows, plain(9, 10))
    assert len([*archive.messages.glob("**/*.parquet")]) == 3
    assert sequences_of(archive) == [1, 2, 3, 4, 5, 6, 7, 9, 10]


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"from_": "3"}, [3, 4, 5, 6, 7]),
        ({"to": "3"}, [1, 2, 3]),
        ({"from_": "2", "to": "2"}, [2]),
        ({"from_": "2026-02-01"}, [3, 4, 7]),
        ({"to": "2026-01-31"}, [1, 2, 5, 6]),
        ({"subjects": "o.*"}, [1, 2, 5, 6]),
        ({"subjects": "o.eu.>,p"}, [3, 4, 7]),
        ({"subjects": "o"}, []),
        ({"subjects": "o.>", "from_": "4", "to": "2026-01-31"}, [5, 6]),
        ({}, [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_a_part_of_an_archive(tmp_path: Path, told: dict[str, str], found: list[int]) -> None:
    archive = archive_of(
        tmp_path / "a",
        plain(1, 2),
        plain(3, 4, subject="o.eu.x", hours=13),
        plain(5, 6, subject="o.us"),
        [*plain(7, subject="p", hours=13), *plain(8, subject="spark_ledger.ORDERS.q.0")],
    )
    assert sequences_of(archive, **told) == found


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"from": "today"}, "from is 'today'; allowed: a sequence such as 17, or a date"),
        ({"to": "-1"}, "to is '-1'"),
        ({"to": "2026-02-30"}, "to is '2026-02-30'"),
        ({"subjects": "a b"}, "subjects has 'a b'; allowed: such as"),
        ({"subjects": "a,"}, "subjects has ''"),
    ],
)
def test_what_cannot_be_selected_is_named(told: dict[str, str], problem: str) -> None:
    with pytest.raises(ArchiveError, match=problem):
        selection_of(told, "ORDERS")


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a", plain(*range(1, 200)))
    file = next(archive.messages.glob("**/*.parquet"))
    told = pq.ParquetFile(file).metadata
    column = told.row_group(0).column(told.schema.names.index("seq"))
    start = column.dictionary_page_offset or column.data_page_offset
    content = bytearray(file.read_bytes())
    content[start + column.total_compressed_size - 3] ^= 1
    file.write_bytes(content)
    with pytest.raises(ArchiveError, match="is damaged or missing"):
        sequences_of(archive)


# Counters


def counted(archive: Archive, step: int, **told: str) -> list[tuple[int, str, int]]:
    """What a query reads in steps, each by a reader that has seen nothing before."""
    selection = selection_of(told, "ORDERS")
    offset: Offset = ArchiveReader(archive.path, selection, step, True).initialOffset()
    found: list[tuple[int, str, int]] = []
    while True:
        reader = ArchiveReader(archive.path, selection, step, True)
        following = reader.latestOffset(offset, reader.getDefaultReadLimit())
        parts: list[Any] = reader.partitions(offset, following)
        if not parts:
            return found
        (part,) = parts
        assert isinstance(part, Part)
        for batch in reader.read(part):
            rows = batch.to_pylist()
            found += [(row["seq"], row["subject"], int(row["incr"])) for row in rows]
        offset = following


COUNTS: list[Row] = [
    (3, "c.a", 0, "7"),  # what came before is gone
    (4, "c.b", 0, "1"),
    (5, "c.a", 0, "9"),
    (8, "c.b", 0, "5"),  # 6 or 7 is missing
    (9, "c.a", 0, "-2"),
    (10, "c.b", 0, "3"),  # it was purged, and began anew
]


@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_increments_come_to_the_values(tmp_path: Path, step: int) -> None:
    archive = archive_of(tmp_path / "a", COUNTS[:2], COUNTS[2:5], COUNTS[5:])
    assert counted(archive, step) == [
        (3, "c.a", 7),
        (4, "c.b", 1),
        (5, "c.a", 2),
        (8, "c.b", 4),
        (9, "c.a", -11),
        (10, "c.b", -2),
    ]


@pytest.mark.parametrize("step", [1, 100])
def test_increments_of_a_part_begin_with_its_first_value(tmp_path: Path, step: int) -> None:
    archive = archive_of(tmp_path / "a", COUNTS)
    assert counted(archive, step, **{"from": "5", "subjects": "c.a"}) == [
        (5, "c.a", 9),
        (9, "c.a", -11),
    ]


def test_a_counter_without_a_value_is_named(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a", [(1, "c.a", 0, None)])
    with pytest.raises(ArchiveError, match=r"message 1 of counter c\.a has no value"):
        counted(archive, 10)


def test_another_archive_is_not_gone_on_with(tmp_path: Path) -> None:
    one, other = archive_of(tmp_path / "a", COUNTS), archive_of(tmp_path / "b", COUNTS)
    selection = selection_of({}, "ORDERS")
    offset = ArchiveReader(one.path, selection, 1, False).initialOffset()
    reader = ArchiveReader(other.path, selection, 1, False)
    with pytest.raises(ArchiveError, match="is another archive than the one"):
        reader.latestOffset(offset, reader.getDefaultReadLimit())
