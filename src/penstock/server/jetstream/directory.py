"""The store directory: its format, its lock, and where everything is.

jetstream/
  format            the version of everything below, and format.copy
  lock              held while a server uses the directory
  salt              makes the log's checksums this directory's own
  log/              the commit log
  unlogged          there while stores may hold more than the log knows (lazy sync)
  streams/          the folders of the streams
  restores/         stores that are being filled from a backup
  reserve           nothing, to be given up when the disk is full
"""

import os
from pathlib import Path

from penstock.kernel.storage import Blocks, Log, StoreLock
from penstock.model.errors import StorageError
from penstock.model.stream_config import PersistMode, Storage
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.durable_files import replace, sync
from penstock.server.jetstream.folders import StreamFolders
from penstock.server.jetstream.space import Space
from penstock.server.jetstream.special_files import FORMAT_FILES, refuse_special_files

FORMAT = "penstock store 1\n"
FOLDER = "jetstream"
_ELSEWHERE = "choose another store_dir (-sd)"

Opened = tuple[Blocks, int | None, list[tuple[int, int]], list[str]]


class StoreDirectory:
    """One store directory, locked until `release` or the end of the process."""

    def __init__(self, store_dir: Path, *, is_temporary: bool = False) -> None:
        self.root = store_dir / FOLDER
        self.folders = StreamFolders(self.root / "streams")
        try:
            self.folders.root.mkdir(parents=True, exist_ok=True)
            refuse_special_files(self.root)
            self._lock: StoreLock | None = StoreLock(str(self.root), "lock")
            self._check_format()
        except OSError as error:
            raise self._refusal(error) from error
        self._unlogged = self.root / "unlogged"
        self.space = Space(self.root, has_reserve=not is_temporary)
        self.replayable_from: int | None = None

    def release(self) -> None:
        """Another server may use it now."""
        self._lock = None

    def open_log(self) -> Log:
        """The salt is only for new segments, so a damaged one is replaced."""
        salt = self.root / "salt"
        if not salt.exists() or len(salt.read_bytes()) != 8:
            replace(salt, os.urandom(8))
        number = int.from_bytes(salt.read_bytes(), "little")
        return Log(str(self.root), "log", number, self.space.segment_bytes)

    @property
    def unlogged(self) -> bool:
        """True if stores may hold more than the log: they must not be cut back to a checkpoint."""
        return self._unlogged.exists()

    @unlogged.setter
    def unlogged(self, wanted: bool) -> None:
        if wanted:
            replace(self._unlogged, b"")
        else:
            self._unlogged.unlink(missing_ok=True)
            sync(self.root)

    def open_blocks(self, description: Description, *, is_all_logged: bool = False) -> Opened:
        """The blocks, the log entry up to which they are complete, what was lost, and notes. If
        the log has all that was ever in them, they may be there in part, or not at all."""
        config = description.config
        if config.storage is Storage.MEMORY:
            return Blocks.in_memory(config.name), None, [], []
        replayable_from = self.replayable_from
        if config.persist_mode is PersistMode.ASYNC:
            replayable_from = None  # the log has nothing of it
        path = self.folders.folder(description).relative_to(self.root).as_posix()
        is_all_logged &= replayable_from is not None
        return Blocks.open(str(self.root), path, config.name, replayable_from, is_all_logged)

    def _check_format(self) -> None:
        """One flipped bit must not cost the store, so the format stands in two files."""
        paths = [self.root / name for name in FORMAT_FILES]
        found = [path.read_bytes() if path.exists() else None for path in paths]
        is_new = found == [None, None] and not any(self.folders.root.iterdir())
        if FORMAT.encode() in found or is_new:
            for path, content in zip(paths, found, strict=True):
                if content != FORMAT.encode():
                    replace(path, FORMAT.encode())
            return
        text = next((content for content in found if content is not None), None)
        if text is None:
            hint = "the file and its copy are missing, but there are streams beside them"
            raise StorageError("read", str(paths[0]), f"{hint}; write {FORMAT.strip()!r} into it")
        shown = text[:100].decode(errors="replace").strip()
        hint = f"the store's format is {shown!r}, this server knows {FORMAT.strip()!r}"
        raise StorageError(
            "read", str(paths[0]), f"{hint}; start the version that wrote it, or {_ELSEWHERE}"
        )

    def _refusal(self, error: OSError) -> StorageError:
        """What is wrong with the directory, and what to do."""
        path = self.root
        match error:
            case BlockingIOError():
                hint = f"it is in use by another server; stop that one, or {_ELSEWHERE}"
            case NotADirectoryError() | FileExistsError():
                above = [path, *path.parents]
                path = next((one for one in above if one.exists() and not one.is_dir()), path)
                hint = f"it is not a directory; {_ELSEWHERE}"
            case PermissionError():
                user = os.geteuid()
                hint = f"permission denied to user {user}; let it write there, or {_ELSEWHERE}"
            case _:
                hint = f"{error.strerror or error}; {_ELSEWHERE}"
        return StorageError("open", str(path), hint)
