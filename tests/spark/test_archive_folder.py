"""The folder of an archive: whole at every moment, whoever is killed at whichever step."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_jetstream.rows import arrow_schema
from pyspark_jetstream_archive.folder import Archive, ArchiveError
from pyspark_jetstream_archive.wholeness import whole_entries
from pyspark_jetstream_archive.writer import COLUMNS, Staged, begin

EVENING = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
TOLD = {"created": "2026-01-31T00:00:00Z", "config": {"name": "ORDERS", "subjects": ["o.>"]}}


class Killed(BaseException):
    """At a step of the file system."""


def rows(*sequences: int, seconds: float = 1.0) -> pa.RecordBatch:
    """One message a second, from the evening on."""
    found = [
        {
            "stream": "ORDERS",
            "subject": "o.eu",
            "seq": sequence,
            "timestamp": EVENING + timedelta(seconds=sequence * seconds),
            "data": b"%d" % sequence,
            "headers": [("A", ["1", "2"])],
        }
        for sequence in sequences
    ]
    return pa.RecordBatch.from_pylist(found, schema=arrow_schema(COLUMNS))


def create(path: Path) -> Archive:
    return Archive.create(path, "ORDERS", ">", TOLD)


def add(path: Path, *parts: pa.RecordBatch) -> None:
    """A batch with a task for each part; Spark commits with a writer of its own."""
    writer = begin(path, "session", True)
    staged = [writer.stage(iter([part]), f"{place}-0") for place, part in enumerate(parts)]
    begin(path, "session", True).commit([*staged], 0)


def globbed(path: Path) -> list[int]:
    """What a reader sees who knows nothing of entries."""
    files = sorted((path / "messages").glob("**/*.parquet"))
    return sorted(value for file in files for value in pq.read_table(file)["seq"].to_pylist())


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Counts what changes the file system, and does not come back from one of these."""
    taken = [0]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **kwargs: Any) -> Any:
            taken[0] += 1
            if taken[0] >= step:
                raise Killed
            return real(*args, **kwargs)

        return change

    with monkeypatch.context() as patched:
        for owner, name in (
            (os, "link"),
            (os, "fsync"),
            (shutil, "rmtree"),
            (Path, "rename"),
            (Path, "mkdir"),
            (Path, "unlink"),
        ):
            patched.setattr(owner, name, counted(getattr(owner, name)))
        yield taken


def test_a_kill_at_any_step_leaves_each_message_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, is_over = 1, False
    while not is_over:
        path = tmp_path / str(step)
        create(path)
        add(path, rows(1, 2))
        with killed_at(step, monkeypatch):
            try:
                add(path, rows(1, 2, 3), rows(4, 6))  # the batch before comes again, too
                is_over = True
            except Killed:
                step += 1
        seen = globbed(path)
        decided = [1, 2, 3, 4, 6] if len(Archive(path).numbers()) == 2 else [1, 2]
        assert len(seen) == len(set(seen)), f"step {step}: twice"
        assert set(seen) <= set(decided), f"step {step}: nobody has decided on these"
        add(path, rows(1, 2, 3), rows(4, 6))
        assert globbed(path) == [1, 2, 3, 4, 6]
        entries = whole_entries(Archive(path))
        assert [(entry.after, entry.last, entry.missing) for entry in entries] == [
            (0, 2, 0),
            (2, 6, 1),
        ]
    assert step > 15  # that many steps there are; none was passed over


def test_staged_files_go_with_the_next_decision(tmp_path: Path) -> None:
    create(tmp_path / "a")
    writer = begin(tmp_path / "a", "", True)
    writer.stage(iter([rows(1)]), "0-0")  # and was killed
    assert len([*(tmp_path / "a" / "staging").iterdir()]) == 1
    add(tmp_path / "a", rows(1, 2))
    assert [*(tmp_path / "a" / "staging").iterdir()] == []
    assert globbed(tmp_path / "a") == [1, 2]


def test_of_two_runs_at_once_one_fails(tmp_path: Path) -> None:
    path = create(tmp_path / "a").path
    one, other = begin(path, "", True), begin(path, "", True)
    staged: list[Staged] = [writer.stage(iter([rows(1, 2)]), "0-0") for writer in (one, other)]
    one.commit([staged[0]], 0)
    with pytest.raises(ArchiveError, match="another run has added to"):
        other.commit([staged[1]], 0)
    assert globbed(path) == [1, 2]


def test_files_are_by_date_in_order_and_named_by_sequences(tmp_path: Path) -> None:
    path = create(tmp_path / "a").path
    add(path, rows(1, 2, 3, 4), rows(5))
    found = {
        file.relative_to(path / "messages").as_posix(): pq.read_table(file)["seq"].to_pylist()
        for file in (path / "messages").glob("**/*.parquet")
    }
    name = "date={}/{:020d}-{:020d}.parquet".format
    assert found == {
        name("2026-01-31", 1, 1): [1],
        name("2026-02-01", 2, 4): [2, 3, 4],
        name("2026-02-01", 5, 5): [5],
    }


def test_many_dates_keep_few_files_open(tmp_path: Path) -> None:
    path = create(tmp_path / "a").path
    days = 86400.0
    add(path, rows(*range(1, 40), seconds=days), rows(*range(40, 44), seconds=-days))
    assert globbed(path) == [*range(1, 44)]
    (entry,) = whole_entries(Archive(path))
    assert len({file.date for file in entry.files}) == 43


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda file: file.unlink(), r"0001-0*2\.parquet is missing"),
        (lambda file: file.write_bytes(file.read_bytes()[:-9]), r"parquet has \d+ bytes, and had"),
        (lambda file: file.write_bytes(bytes(file.stat().st_size)), "parquet cannot be read"),
    ],
    ids=["missing", "cut", "zeroed"],
)
def test_what_is_not_whole_is_named(
    tmp_path: Path, harm: Callable[[Path], None], problem: str
) -> None:
    path = create(tmp_path / "a").path
    add(path, rows(1, 2, seconds=0))
    assert len(whole_entries(Archive(path))) == 1
    harm(next((path / "messages").glob("**/*.parquet")))
    with pytest.raises(ArchiveError, match=problem):
        whole_entries(Archive(path))


def test_a_file_with_other_rows_is_named(tmp_path: Path) -> None:
    path = create(tmp_path / "a").path
    add(path, rows(1, 2, seconds=0))
    entry = next((path / "entries").glob("*.json"))
    told = json.loads(entry.read_text())
    told["files"][0]["rows"] = 3
    entry.write_text(json.dumps(told))
    with pytest.raises(ArchiveError, match=r"has rows and sequences \(2, 1, 2\), not \(3, 1, 2\)"):
        whole_entries(Archive(path))


def test_an_entry_that_is_missing_is_named(tmp_path: Path) -> None:
    path = create(tmp_path / "a").path
    add(path, rows(1, 2))
    add(path, rows(3))
    (path / "entries" / "000000000001.json").unlink()
    with pytest.raises(ArchiveError, match=r"000000000001\.json is missing"):
        whole_entries(Archive(path))


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(ArchiveError, match="has files and is no archive"):
        create(tmp_path)
    with pytest.raises(ArchiveError, match=r"there is no archive: .*archive\.json is missing"):
        Archive(tmp_path)


def test_an_archive_that_was_killed_while_it_was_made_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(1, 9):
        path = tmp_path / str(step)
        with killed_at(step, monkeypatch), contextlib.suppress(Killed):
            create(path)
        add(create(path).path, rows(1))
        assert globbed(path) == [1]
