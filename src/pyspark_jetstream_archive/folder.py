"""The folder of an archive, and how it comes to hold each message exactly once.

    archive.json                 which stream this is of
    entries/000000000001.json    what one batch has added: its files, their sequences and counts
    messages/date=2026-01-31/    the Parquet files; a name is the first and last sequence in it
    staging/                     files that nobody has decided on

A batch is *staged*: tasks write its files where no reader looks. Then it is *decided*: one entry,
written whole, names them. Then it is *settled*: they are moved to `messages`. A kill before the
decision leaves nothing but staged files, which the next decision removes; a kill behind it leaves
an entry whose files are moved by whoever comes next. So a reader of `messages` who knows nothing of
entries sees no message twice at any moment, and none that was not decided.

How far the archive has come is its last entry's last sequence, and nothing else: a batch that comes
again is cut there. Invariant: entries are numbered without gaps, and each goes on behind the one
before it. Of two runs that believe to be alone, one writes the next entry and the other fails.
"""

import shutil
import uuid
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pyspark_jetstream_archive.durable import sync_folder, write_new

FORMAT = 1
HEAD = "archive.json"
ENTRIES, MESSAGES, STAGING = "entries", "messages", "staging"


class ArchiveError(Exception):
    """An archive is not there, not whole, or another one than expected; and what to do."""


class Head(msgspec.Struct, frozen=True):
    """What an archive is of: one stream, from its creation on."""

    id: str
    stream: str
    created: str  # when the stream was, which tells it from another one of its name
    subjects: str  # which of its messages
    config: dict[str, Any]  # the stream's, at the beginning of the archive
    format: int = FORMAT


class File(msgspec.Struct, frozen=True):
    """One Parquet file."""

    date: str
    staged: str  # its name in the staging folder
    rows: int
    first: int  # sequences
    last: int
    message_bytes: int
    largest: int  # bytes of its largest message
    file_bytes: int

    @property
    def name(self) -> str:
        """Below `messages`. No other file of the date begins with the same sequence."""
        return f"date={self.date}/{self.first:020d}-{self.last:020d}.parquet"


class Entry(msgspec.Struct, frozen=True):
    """What one batch has added."""

    number: int
    after: int  # where the entry before it ends; 0 for the first
    last: int
    staging: str  # the folder below `staging` where its files were
    session: str  # of Spark
    seconds: float
    is_lossless: bool  # messages that are missing were removed, expired or replaced
    files: tuple[File, ...]

    @property
    def first(self) -> int:
        return min(file.first for file in self.files)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def missing(self) -> int:
        """Sequences without a message."""
        return self.last - (self.after or self.first - 1) - self.rows


class Archive:
    """An archive that is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head = _read(path / HEAD, Head)
        if self.head.format != FORMAT:
            raise ArchiveError(f"{path} has format {self.head.format}; this version knows {FORMAT}")

    @classmethod
    def create(cls, path: Path, stream: str, subjects: str, told: dict[str, Any]) -> "Archive":
        """What the stream is was `told` by the server; an archive that is there is left alone."""
        cls.check_free(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            hint = "name a path where Spark's user may make folders"
            raise ArchiveError(f"{path} cannot be made: {error.strerror}; {hint}") from None
        head = Head(uuid.uuid4().hex, stream, told["created"], subjects, told["config"])
        if not (path / HEAD).exists():
            write_new(path / HEAD, msgspec.json.format(msgspec.json.encode(head)))
        for name in (ENTRIES, MESSAGES, STAGING):
            (path / name).mkdir(exist_ok=True)
        sync_folder(path)
        return cls(path)

    @staticmethod
    def check_free(path: Path) -> None:
        """That an archive is there, or can be made: nobody else's files are in its way."""
        others = [one for one in path.glob("*") if HEAD not in one.name]  # a draft of it is ours
        if others and not (path / HEAD).exists():
            raise ArchiveError(f"{path} has files and is no archive: name another path")

    @property
    def messages(self) -> Path:
        return self.path / MESSAGES

    def numbers(self) -> list[int]:
        """Of the entries, ascending."""
        return sorted(int(file.stem) for file in (self.path / ENTRIES).glob("[0-9]*.json"))

    def entry(self, number: int) -> Entry:
        return _read(self._place(number), Entry)

    def entries(self) -> list[Entry]:
        """All of them. Raises ArchiveError if one is missing."""
        numbers = self.numbers()
        missing = sorted(set(range(1, len(numbers) + 1)) - set(numbers))
        if missing:
            raise ArchiveError(f"{self.path} is not whole: {self._place(missing[0])} is missing")
        entries = [self.entry(number) for number in numbers]
        after = 0
        for entry in entries:
            if entry.after != after:
                where = self._place(entry.number)
                raise ArchiveError(f"{where} goes on behind {entry.after}, and not behind {after}")
            after = entry.last
        return entries

    def latest(self) -> Entry | None:
        numbers = self.numbers()
        return self.entry(numbers[-1]) if numbers else None

    def decide(self, entry: Entry) -> None:
        """From here on it is part of the archive."""
        try:
            for folder in (self.staged(entry.staging), self.path / STAGING):
                sync_folder(folder)  # its files are durable BEFORE an entry names them
            write_new(self._place(entry.number), msgspec.json.format(msgspec.json.encode(entry)))
        except (FileExistsError, FileNotFoundError):  # the entry is there; what was staged is gone
            raise ArchiveError(
                f"another run has added to {self.path} meanwhile; this one has changed nothing"
            ) from None

    def settle(self, entry: Entry) -> None:
        """Moves its files to where they belong, those that are not there yet."""
        staging = self.staged(entry.staging)
        for file in entry.files:
            place = self.messages / file.name
            if place.exists():
                continue
            place.parent.mkdir(exist_ok=True)
            try:
                (staging / file.staged).rename(place)
            except FileNotFoundError:
                if not place.exists():  # else somebody else has just settled it
                    raise ArchiveError(f"{self.path} is not whole: {place} is missing") from None
        for date in {file.date for file in entry.files}:
            sync_folder(self.messages / f"date={date}")
        sync_folder(self.messages)

    def stage(self, attempt: str) -> Path:
        """A folder for the files of one attempt at a batch."""
        folder = self.staged(attempt)
        folder.mkdir(exist_ok=True)
        return folder

    def staged(self, attempt: str) -> Path:
        return self.path / STAGING / attempt

    def attempts(self) -> list[str]:
        """Names of what is staged. Asked for BEFORE a decision: these come too late behind it."""
        return [folder.name for folder in (self.path / STAGING).iterdir()]

    def clear(self, *attempts: str) -> None:
        for name in attempts:
            shutil.rmtree(self.staged(name), ignore_errors=True)

    def _place(self, number: int) -> Path:
        return self.path / ENTRIES / f"{number:012d}.json"


_Read = TypeVar("_Read")


def _read(path: Path, kind: type[_Read]) -> _Read:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        raise ArchiveError(f"there is no archive: {path} is missing") from None
    except msgspec.DecodeError as error:
        raise ArchiveError(f"{path} cannot be read: {error}") from None
