"""The store directory: its format, its lock, and the folder of each stream.

    jetstream/
      format            the version of everything below
      lock              held while a server uses the directory
      salt              makes the log's checksums this directory's own
      log/              the commit log
      unlogged          there while stores may hold more than the log knows (lazy sync)
      streams/NAME.N/   one stream: description.json and its copy, msgs/*.blk, index;
                        after a clean stop perhaps ids, the duplicate window

N is the stream's number in the log, so a name that is used again has a folder of its own. Names
become paths only after escaping. A folder goes when the log has its removal for good.
"""

import os
import shutil
import urllib.parse
from collections.abc import Callable
from pathlib import Path

from penstock.kernel.storage import Blocks, Log, StoreLock
from penstock.model.errors import StorageError
from penstock.model.stream_config import PersistMode, Storage
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.removals import DELETED, Removals

FORMAT = "penstock store 1\n"
_FOLDER = "jetstream"
_NAME_CHARACTERS_MAX = 200  # file systems take 255 bytes, the number included
# Twins, because one flipped bit must not cost a stream.
DESCRIPTION_FILES = ("description.json", "description.copy")

Opened = tuple[Blocks, int | None, list[tuple[int, int]], list[str]]


class StoreDirectory:
    """One store directory, locked as long as this object lives."""

    def __init__(self, store_dir: Path) -> None:
        self.root = store_dir / _FOLDER
        self._streams = self.root / "streams"
        self._streams.mkdir(parents=True, exist_ok=True)
        self._lock = StoreLock(str(self.root), "lock")
        self._check_format()
        self._unlogged = self.root / "unlogged"
        self.replayable_from: int | None = None
        self.log: Log | None = None  # the one that removals wait for
        self.number_max = 0  # of all folders, whether their streams could be opened or not
        self._folders: dict[str, Path] = {}  # of the streams in use, by name
        self.removals = Removals()
        self.unsynced: set[Path] = set()  # folders with a description that only the log has

    def has_room(self, size: int) -> bool:
        """True if so many bytes more can be written."""
        space = os.statvfs(self.root)
        return space.f_bavail * space.f_frsize >= size

    def open_log(self) -> Log:
        """The salt is only for new segments, so a damaged one is replaced."""
        salt = self.root / "salt"
        if not salt.exists() or len(salt.read_bytes()) != 8:
            _replace(salt, os.urandom(8), durable=True)
        return Log(str(self.root), "log", int.from_bytes(salt.read_bytes(), "little"))

    @property
    def unlogged(self) -> bool:
        """True if stores may hold more than the log: they must not be cut back to a checkpoint."""
        return self._unlogged.exists()

    @unlogged.setter
    def unlogged(self, wanted: bool) -> None:
        if wanted:
            _replace(self._unlogged, b"", durable=True)
        else:
            self._unlogged.unlink(missing_ok=True)
            _sync(self.root)

    def open_blocks(self, description: Description) -> Opened:
        """The blocks, the log entry up to which they are complete, what was lost, and notes."""
        config = description.config
        if config.storage is Storage.MEMORY:
            return Blocks.in_memory(config.name), None, [], []
        folder = self.folder(description)
        replayable_from = self.replayable_from
        if config.persist_mode is PersistMode.ASYNC:
            replayable_from = None  # the log has nothing of it
        path = folder.relative_to(self.root).as_posix()
        opened = Blocks.open(str(self.root), path, config.name, replayable_from)
        self._folders[config.name] = folder
        self.number_max = max(self.number_max, description.number)
        return opened

    def write_description(self, description: Description) -> None:
        """Where the log has it too, it is synced with the next checkpoint."""
        config = description.config
        if config.storage is Storage.MEMORY:
            return
        logged = self.log is not None and config.persist_mode is not PersistMode.ASYNC
        folder = self.folder(description)
        folder.mkdir(exist_ok=True)
        for name in DESCRIPTION_FILES:
            _replace(folder / name, description.sealed(), durable=not logged)
        if logged:
            self.unsynced.add(folder)
        else:
            _sync(self._streams)

    def descriptions(self, report: Callable[[str], None]) -> list[Description]:
        """Every stream found on disk, in the order of their numbers; what cannot be is reported."""
        found = []
        for folder in sorted(self._streams.iterdir()):
            if folder.name.endswith(DELETED):
                shutil.rmtree(folder, ignore_errors=True)
                continue
            try:
                found.append(self._described(folder, report))
            except StorageError as error:
                if any(folder.rglob("*.blk")) or any(folder.glob("description*")):
                    report(str(error))
                else:  # a creation that did not get far
                    shutil.rmtree(folder, ignore_errors=True)
        return sorted(found, key=lambda description: description.number)

    def has_folder(self, number: int) -> bool:
        return any(self._streams.glob(f"*.{number}"))

    def remove(self, name: str) -> None:
        """The folder of a stream goes as soon as the log will not bring the stream back."""
        folder = self._folders.pop(name, None)
        if folder is not None:
            self.removals.add(folder, self.log)

    def discard(self, description: Description) -> None:
        """Removes a stream that was found and not opened."""
        self.removals.add(self.folder(description), self.log)

    def folder(self, description: Description) -> Path:
        return self._streams / f"{escaped(description.config.name)}.{description.number}"

    def _described(self, folder: Path, report: Callable[[str], None]) -> Description:
        number = folder.name.rpartition(".")[2]
        if not number.isdecimal():
            raise StorageError("read", str(folder), "this is no stream's folder; left alone")
        self.number_max = max(self.number_max, int(number))
        problems = []
        for name in DESCRIPTION_FILES:
            try:
                description = Description.unsealed((folder / name).read_bytes())
            except (OSError, ValueError) as error:
                problems.append(f"{name}: {error}")
                continue
            if self.folder(description) != folder:
                problems.append(f"{name} is about another stream")
                continue
            if problems:
                report(f"read {folder}: {problems[0]}; its copy was used instead")
                self.write_description(description)
            return description
        hint = f"{'; '.join(problems)}; the stream's messages were left alone"
        raise StorageError("read", str(folder), hint)

    def _check_format(self) -> None:
        path = self.root / "format"
        if not path.exists():
            if any(self._streams.iterdir()):
                raise OSError(f"open {path}: the file is missing, but there are streams beside it")
            _replace(path, FORMAT.encode(), durable=True)
        elif path.read_bytes() != FORMAT.encode():
            known = FORMAT.strip()
            raise OSError(f"open {path}: the store has another format, this server knows {known!r}")


def sync_descriptions(folders: set[Path]) -> None:
    """Makes the descriptions in stream folders durable, in any thread."""
    there = [folder for folder in folders if folder.exists()]
    for folder in there:
        for name in DESCRIPTION_FILES:
            _sync(folder / name)
        _sync(folder)
    for parent in {folder.parent for folder in there}:
        _sync(parent)


def escaped(name: str) -> str:
    """A stream's name as the beginning of one folder name; cut where it is too long for one, since
    the stream's number behind it tells folders apart."""
    return urllib.parse.quote(name, safe="$+,=@-_ ")[:_NAME_CHARACTERS_MAX]


def _replace(path: Path, data: bytes, *, durable: bool) -> None:
    """The file has either its old content or the new one, whatever happens."""
    unfinished = path.with_name(path.name + ".unfinished")
    with unfinished.open("wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    unfinished.replace(path)
    if durable:
        _sync(path.parent)


def _sync(path: Path) -> None:
    """Makes a file, or the names in a directory, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
