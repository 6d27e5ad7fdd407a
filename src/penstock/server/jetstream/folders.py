"""The folders of streams: what each is about, and how they come and go.

    streams/NAME.N/   description.json and its copy, msgs/*.blk, index

N is the stream's number in the log, so a name that is used again has a folder of its own. Names
become paths only after escaping. What the log has reaches the folders later: new folders and
descriptions are durable with the next checkpoint, removals are made when they are durable. Where
there is no log, all of this is durable at once, or fails and changes nothing.
"""

import contextlib
import urllib.parse
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from penstock.kernel.storage import Log
from penstock.model.errors import StorageError
from penstock.model.stream_config import PersistMode, Storage
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.durable_files import replace_all, sync
from penstock.server.jetstream.removals import DELETED, Removal, Removals, clear, rename

_NAME_CHARACTERS_MAX = 200  # file systems take 255 bytes, the number included
TWINS = ("description.json", "description.copy")  # one flipped bit must not cost a stream


class Changes(NamedTuple):
    """Descriptions by number, and which folders were renamed."""

    descriptions: dict[int, Description]
    renamed: list[Removal]


class StreamFolders:
    """Everything below `streams/` but the blocks themselves."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log: Log | None = None  # None: changes are in no log
        self._numbers_used = 0
        self.removals = Removals()
        self._unwritten: dict[int, Description] = {}  # that the log has, by number
        self._unreadable: dict[int, tuple[Path, str]] = {}  # found by a start, with the problem

    def new_number(self) -> int:
        """The name of a new stream in the log; none is ever used again."""
        self._numbers_used += 1
        return self._numbers_used

    def skip_numbers(self, number: int) -> None:
        """Numbers up to this one were used, whether their streams can be opened or not."""
        self._numbers_used = max(self._numbers_used, number)

    def folder(self, description: Description) -> Path:
        return self.root / f"{escaped(description.config.name)}.{description.number}"

    def write_description(self, description: Description) -> None:
        """If the log has it, its files follow with the next checkpoint."""
        config = description.config
        if config.storage is Storage.MEMORY:
            return
        if self.log is not None and config.persist_mode is not PersistMode.ASYNC:
            self._unwritten[description.number] = description
            return
        folder = self.folder(description)
        is_new = not (folder / TWINS[0]).exists()
        _write_twins(folder, description)
        if is_new:
            sync(self.root)

    def take_changes(self) -> "Changes":
        """What the log says about streams and their folders do not; now it is the caller's."""
        if self.log is not None:
            self.removals.carry_out(self.log.durable())
        self.removals.finish()
        changes = Changes(self._unwritten, self.removals.take_renamed())
        self._unwritten = {}
        return changes

    def write(self, changes: "Changes") -> None:
        """Makes changes durable, in any thread; the log may be cut afterwards."""
        for description in changes.descriptions.values():
            folder = self.folder(description)
            try:
                _write_twins(folder, description)
            except FileNotFoundError:
                if folder.exists():  # else it was deleted meanwhile
                    raise
        if changes.renamed:
            sync(self.root)

    def put_back(self, changes: "Changes") -> None:
        """They could not be written; what came after them counts more."""
        self._unwritten = changes.descriptions | self._unwritten
        self.removals.put_back(changes.renamed)

    def descriptions(self, report: Callable[[str], None]) -> list[Description]:
        """Every stream found on disk, in the order of their numbers."""
        found = []
        for folder in sorted(self.root.iterdir()):
            if folder.name.endswith(DELETED):
                self.removals.clear(folder)
                continue
            number = folder.name.rpartition(".")[2]
            if not number.isdecimal():
                report(f"read {folder}: this is no stream's folder; left alone")
                continue
            self.skip_numbers(int(number))
            try:
                found.append(self._described(folder, report))
            except StorageError as error:
                self._unreadable[int(number)] = (folder, str(error))
        return sorted(found, key=lambda description: description.number)

    def settle_unreadable(
        self, opened: Collection[int], left: Collection[int], report: Callable[[str], None]
    ) -> None:
        """After the log: folders that their description does not explain, nor a stream that was
        opened. Those that the log has something about are left for a later start."""
        for number, (folder, problem) in self._unreadable.items():
            if number in opened or not folder.exists():
                continue
            if number in left or held_messages(folder):
                report(problem)
            else:  # a creation that did not get far
                clear(folder)
        self._unreadable.clear()

    def has_folder(self, number: int) -> bool:
        return any(self.root.glob(f"*.{number}"))

    def move_in(self, folder: Path, description: Description) -> None:
        """A folder with blocks becomes a stream's, or nothing does."""
        _write_twins(folder, description)
        folder.rename(self.folder(description))
        try:
            sync(self.root)
        except OSError:
            self.remove(description)
            raise

    def remove(self, description: Description, entry: int = 0) -> None:
        """The folder goes when the log has the entry that says so for good; 0: at once."""
        if description.config.storage is Storage.FILE:
            self._unwritten.pop(description.number, None)
            self.removals.add(self.folder(description), description.number, entry)

    def remove_now(self, description: Description) -> None:
        """Where there is no log: the stream is gone for good, or nothing has changed."""
        if description.config.storage is Storage.MEMORY:
            return
        folder = self.folder(description)
        leaving = rename(folder)
        try:
            sync(self.root)
        except OSError:
            with contextlib.suppress(OSError):
                leaving.rename(folder)
            raise
        self.removals.clear(leaving)

    def _described(self, folder: Path, report: Callable[[str], None]) -> Description:
        """From one of the twins; the other one is mended."""
        found, problems = [], []
        for name in TWINS:
            try:
                description = Description.unsealed((folder / name).read_bytes())
            except (OSError, ValueError) as error:
                problems.append(f"{name}: {error}")
                continue
            if self.folder(description) != folder:
                problems.append(f"{name} is about another stream")
                continue
            found.append(description)
        if not found:
            hint = f"{'; '.join(problems)}; the stream's messages were left alone"
            raise StorageError("read", str(folder), hint)
        if problems and (folder / TWINS[1]).exists():  # else a kill before the second was there
            report(f"read {folder}: {problems[0]}; its twin was used instead")
        if found != [found[0]] * len(TWINS):  # or a kill between the two
            self.write_description(found[0])
        return found[0]


def _write_twins(folder: Path, description: Description) -> None:
    replace_all([folder / name for name in TWINS], description.sealed())


def escaped(name: str) -> str:
    """A stream's name as the beginning of one folder name; cut where it is too long for one, since
    the stream's number behind it tells folders apart."""
    return urllib.parse.quote(name, safe="$+,=@-_ ")[:_NAME_CHARACTERS_MAX]


def held_messages(folder: Path) -> bool:
    """Whether somebody may miss what is in a folder that nothing describes.

    A kill in the middle of a creation leaves an index and no description; later, an index that is
    alone lost its descriptions to something else.
    """
    was_described = any((folder / name).exists() for name in TWINS)
    has_index = (folder / "index").exists()
    return (has_index and was_described) or any(
        path.stat().st_size for path in folder.rglob("*.blk")
    )
