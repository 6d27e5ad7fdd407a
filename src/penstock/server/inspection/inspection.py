"""The whole store: every file read, and the log replayed over the streams, all of it in memory.

What the next start would do is done on an overlay: the same openings, the same replay. So a report
says what that start would find and serve, and no byte of the directory changes.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from penstock.kernel.storage import Overlay
from penstock.model.errors import StorageError
from penstock.server.inspection.descriptions import guessed, number_of, read_description
from penstock.server.inspection.directory_files import check_directory, refuse_other_format
from penstock.server.inspection.findings import (
    Finding,
    LogReport,
    Places,
    StoreReport,
    StreamReport,
    Weight,
)
from penstock.server.inspection.log_files import (
    check_end,
    check_log_files,
    check_losses,
    open_log,
)
from penstock.server.inspection.stream_folder import InspectedStream
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.directory import FOLDER
from penstock.server.jetstream.folders import StreamFolders, held_messages
from penstock.server.jetstream.removals import DELETED
from penstock.server.jetstream.special_files import refuse_special_files
from penstock.storage.journal import Kind

Progress = Callable[[int, int], None]  # bytes read, bytes in all


@contextlib.contextmanager
def held(root: Path) -> Iterator[None]:
    """No server begins to use the directory meanwhile; raises StorageError if one does already."""
    lock = root / "lock"
    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:  # no server was ever here, or it was removed
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        hint = "a server uses it; stop that server first"
        raise StorageError("lock", str(root), hint) from None
    finally:
        os.close(descriptor)


def store_root(directory: Path) -> Path:
    """Where the store is below a server's `store_dir`. Raises StorageError if there is none."""
    if directory.name == FOLDER and (directory / "streams").is_dir():
        directory = directory.parent
    root = directory / FOLDER
    if (root / "streams").is_dir() or any((root / name).exists() for name in ("format", "log")):
        return root
    hint = "there is no store of penstock; give the directory of -sd or store_dir"
    if root.is_dir() and any(root.iterdir()):
        hint = "another server wrote this store; penstock takes it over with a backup"
    raise StorageError("open", str(directory), hint)


class Inspection:
    """One look at one store directory, whose lock is held."""

    def __init__(self, root: Path, progress: Progress) -> None:
        self._root = root
        self._places = Places(root.parent)
        self._overlay = Overlay(str(root))
        self._progress = progress
        self._bytes = sum(path.stat().st_size for path in root.glob("streams/*/msgs/*.blk"))
        self._bytes_read = 0
        self._is_lazy = (root / "unlogged").exists()
        self._replayable_from = None if self._is_lazy else 1
        self._findings: list[Finding] = []
        self._described: dict[int, list[Finding]] = {}  # about descriptions
        self._undescribed: dict[int, Path] = {}
        self._streams: dict[int, InspectedStream] = {}
        self._passed_over: dict[int, int] = {}  # how many entries of streams that are not there
        self._mark = 0

    def run(self) -> StoreReport:
        """Raises StorageError for what another version wrote, OSError for what cannot be read."""
        refuse_other_format(self._root)
        self._findings += check_directory(self._root, self._places)
        for description, folder in self._find_folders():
            self._open(folder, description)
        for description, folder in self._guess():
            self._open(folder, description, is_guess=True)
        log_report = self._replay()
        self._check_left()
        return StoreReport(
            directory=str(self._root.parent),
            synced="interval" if self._is_lazy else "always",
            log=log_report,
            streams=tuple(self._reports()),
            findings=tuple(self._findings),
        )

    def _find_folders(self) -> list[tuple[Description, Path]]:
        """Those with a description; the others may be described by the log."""
        found = []
        streams = self._root / "streams"
        for folder in sorted(streams.iterdir()) if streams.is_dir() else ():
            number = number_of(folder)
            if folder.name.endswith(DELETED):
                self._note(folder, "was deleted", "none: the next start removes what is left")
            elif number is None or not folder.is_dir():
                self._note(folder, "is no stream's folder", "none: it is left alone")
            else:
                description, findings = read_description(folder, self._places)
                self._described[number] = findings
                if description is None:
                    self._undescribed[number] = folder
                else:
                    found.append((description, folder))
        return found

    def _guess(self) -> list[tuple[Description, Path]]:
        """Streams that nothing describes, under the names of their folders."""
        if not self._undescribed:
            return []
        in_log = described_in_log(self._root)
        found = []
        for number, folder in self._undescribed.items():
            if number in in_log:
                continue
            description = guessed(folder)
            if description is not None and held_messages(folder):
                found.append((description, folder))
        return found

    def _open(self, folder: Path, description: Description, *, is_guess: bool = False) -> None:
        try:
            stream = InspectedStream(
                self._root,
                folder,
                description,
                self._replayable_from,
                self._overlay,
                self._places,
                self._read,
            )
        except OSError as error:
            self._stuck(folder, description.config.name, error)
            return
        if is_guess and not stream.has_records:  # the name is another one, or all is damaged
            return
        self._undescribed.pop(description.number, None)
        self._mark = max(self._mark, stream.mark)
        stream.findings[:0] = self._described.pop(description.number, [])
        self._streams[description.number] = stream

    def _stuck(self, path: Path, name: str, error: OSError) -> None:
        self._findings.append(
            Finding(
                weight=Weight.STUCK,
                file=self._places.name(path),
                problem=f"stream {name} cannot be opened: {error}",
                consequence="the stream is not served; nothing of it is changed",
            )
        )

    def _replay(self) -> LogReport:
        log = open_log(self._root, self._overlay)
        self._findings += check_log_files(self._root, log, self._places)
        stores = {
            stream.number: (stream.store.blocks, stream.mark) for stream in self._streams.values()
        }
        first = log.oldest()
        while (entry := log.next_replayed(Kind.RUN, stores)) is not None:
            position, number, kind, payload = entry
            self._apply(position, number, kind, payload)
            stream = self._streams.get(number)
            if stream is None:
                stores.pop(number, None)
            elif number not in stores:
                stores[number] = stream.store.blocks, stream.mark
        for number, start, end in log.gaps():
            if number in self._streams:
                self._streams[number].lost.append((start, end))
        self._findings += check_losses(log, self._root, self._places)
        self._findings += check_end(log, self._mark, self._places, self._root)
        files = len([*(self._root / "log").glob("*.log")])
        return LogReport(files=files, first=first, last=log.last())

    def _apply(self, position: int, number: int, kind: int, payload: bytes) -> None:
        if kind == Kind.DELETED:
            self._delete(number)
            return
        if kind == Kind.CONFIGURED and number not in self._streams:
            with contextlib.suppress(ValueError):
                self._open_from_log(Description.decode(payload))
        stream = self._streams.get(number)
        if stream is None:
            self._passed_over[number] = self._passed_over.get(number, 0) + 1
            return
        try:
            stream.replay(position, Kind(kind), payload)
        except (OSError, ValueError) as error:
            del self._streams[number]
            self._stuck(self._root / "log", stream.name, OSError(f"entry {position}: {error}"))

    def _open_from_log(self, description: Description) -> None:
        """A stream that was made since the last checkpoint, or whose description is damaged."""
        number = description.number
        findings = [
            msgspec.structs.replace(
                found,
                weight=Weight.MENDABLE,
                consequence="none: the log describes the stream, and it is written anew from that",
            )
            for found in self._described.pop(number, [])
            if found.size  # a kill before the first checkpoint leaves none of them
        ]
        self._undescribed.pop(number, None)
        folder = StreamFolders(self._root / "streams").folder(description)
        if not folder.exists():
            findings.append(
                Finding(
                    weight=Weight.MENDABLE,
                    file=self._places.name(folder),
                    problem="is missing",
                    consequence="the stream is made again from the log; what that does not have is"
                    " lost",
                )
            )
        self._described[number] = findings
        self._open(folder, description)

    def _delete(self, number: int) -> None:
        self._passed_over.pop(number, None)
        self._undescribed.pop(number, None)
        self._described.pop(number, None)
        if (stream := self._streams.pop(number, None)) is not None:
            folder = stream.folder
            self._note(folder, "was deleted", "none: the next start removes what is left")

    def _check_left(self) -> None:
        """Folders that nothing explains, and entries of streams that have no folder."""
        for number, folder in self._undescribed.items():
            if number in self._passed_over or held_messages(folder):
                self._findings += [
                    msgspec.structs.replace(
                        found,
                        weight=Weight.STUCK,
                        consequence="nobody knows the stream's name: its messages are not served,"
                        " and left alone",
                    )
                    for found in self._described.get(number, [])
                ]
            else:
                self._note(folder, "is a stream that was never made", "none: it had no message")
        for number, count in self._passed_over.items():
            if number not in self._undescribed:
                self._findings.append(
                    Finding(
                        weight=Weight.LOST,
                        file=self._places.name(self._root / "streams"),
                        problem=f"the folder of stream number {number} is missing",
                        consequence=f"the stream is lost; {count} entries of the log belong to it",
                    )
                )

    def _reports(self) -> Iterator[StreamReport]:
        taken: set[str] = set()
        for number in sorted(self._streams):
            stream = self._streams[number]
            if stream.name in taken:
                stream.findings.append(
                    Finding(
                        weight=Weight.STUCK,
                        file=self._places.name(stream.folder),
                        problem=f"stream {stream.name} is there twice",
                        consequence="the one with the lower number is served, this one is left",
                    )
                )
            taken.add(stream.name)
            yield stream.report()

    def _note(self, path: Path, problem: str, consequence: str) -> None:
        self._findings.append(
            Finding(
                weight=Weight.NOTE,
                file=self._places.name(path),
                problem=problem,
                consequence=consequence,
            )
        )

    def _read(self, size: int) -> None:
        self._bytes_read += size
        self._progress(self._bytes_read, self._bytes)


def described_in_log(root: Path) -> set[int]:
    """Numbers of the streams that the log describes and does not delete."""
    log = open_log(root, Overlay(str(root)))
    numbers: set[int] = set()
    while (entry := log.next_replayed(Kind.RUN, {})) is not None:
        _, number, kind, payload = entry
        if kind == Kind.CONFIGURED:
            with contextlib.suppress(ValueError):
                Description.decode(payload)
                numbers.add(number)
        elif kind == Kind.DELETED:
            numbers.discard(number)
    return numbers


def inspect(directory: Path, progress: Progress = lambda _read, _all: None) -> StoreReport:
    """Raises StorageError: no store, one in use, one of another version, or with files that are
    none."""
    root = store_root(directory.absolute())
    refuse_special_files(root)
    with held(root):
        return Inspection(root, progress).run()
