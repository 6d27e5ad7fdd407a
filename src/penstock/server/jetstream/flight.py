"""A checkpoint on its way to the disk: the state of some stores, noted down at one moment."""

from concurrent.futures import ThreadPoolExecutor

from penstock.kernel.storage import Blocks, Checkpoint, Log
from penstock.server.jetstream.consumers.state_file import write_consumers
from penstock.server.jetstream.folders import StreamFolders
from penstock.server.jetstream.keeper import Keeper, Kept

_WRITERS_MAX = 8


class ConsumersPart:
    """The consumers of one stream, on their way to their file."""

    def __init__(self, kept: Kept, content: bytes) -> None:
        self.kept = kept
        self._folder = kept.consumers.saved.folder
        self._content = content
        self.error = ""

    def write(self) -> None:
        """In the other thread."""
        assert self._folder is not None, "a stream in memory writes no file"
        try:
            write_consumers(self._folder, self._content)
        except OSError as error:
            self.error = str(error)


class Flight:
    """Begun and ended by the loop's thread, written by another."""

    def __init__(self, log: Log, folders: StreamFolders, *, cut: bool) -> None:
        self.log = log
        self.mark = log.last()
        self.cut = cut  # the log up to the mark is not needed afterwards
        self.forgets = False  # nor may anything of it be left
        self.failures: list[str] = []
        self._folders = folders
        self._changes = None
        try:
            self._changes = folders.take_changes()
        except OSError as error:
            self.failures.append(str(error))
        self._parts: list[tuple[Kept, Blocks, Checkpoint]] = []
        self._consumers: list[ConsumersPart] = []

    def add(self, kept: Kept, *, closing: bool = False) -> None:
        """Notes the state of a store and of the stream's consumers down."""
        if kept.store.journal is not None:
            kept.store.journal.is_touched = False
        if content := kept.consumers.saved.note(self.mark):
            self._consumers.append(ConsumersPart(kept, content))
        try:
            noted = kept.store.blocks.begin_checkpoint(self.mark, closing)
        except OSError as error:
            self.fail(kept, str(error))
            return
        if noted is not None:
            self._parts.append((kept, kept.store.blocks, noted))

    def take(self, kept: Kept, *, closing: bool) -> None:
        """Makes a store durable at once."""
        try:
            kept.store.blocks.checkpoint(self.mark, closing)
            kept.mark = self.mark
            kept.consumers.saved.write(self.mark)
        except OSError as error:
            self.fail(kept, str(error))

    def write(self) -> None:
        """In the other thread, or in several: a disk syncs many files at once about as fast as
        one."""
        with ThreadPoolExecutor(_WRITERS_MAX) as writers:
            writers.map(lambda part: part[2].write(), self._parts)
            writers.map(ConsumersPart.write, self._consumers)
        if self._changes is not None:
            try:
                self._folders.write(self._changes)
                self._changes = None
            except OSError as error:
                self.failures.append(str(error))

    def land(self, keeper: Keeper) -> list[Kept]:
        """Tells the stores; answers with those that want another checkpoint soon. What failed
        because the stream was deleted meanwhile is no failure."""
        if self._changes is not None:
            self._folders.put_back(self._changes)
        again = []
        for part in self._consumers:
            part.kept.consumers.saved.written(self.mark, failed=bool(part.error))
            if part.error and keeper.kept.get(part.kept.name) is part.kept:
                self.fail(part.kept, part.error)
        for kept, blocks, noted in self._parts:
            try:
                wants_more = blocks.end_checkpoint(noted)
                error = noted.error
            except OSError as failure:
                wants_more, error = False, str(failure)
            if not error and kept.store.blocks is blocks:
                kept.mark = self.mark
                if wants_more:
                    again.append(kept)
            elif error and keeper.kept.get(kept.name) is kept:
                self.fail(kept, error)
                if noted.lost:
                    keeper.stop(kept.stream, OSError(error))
                else:
                    again.append(kept)
        return again

    def fail(self, kept: Kept, error: str) -> None:
        if kept.store.journal is not None:
            kept.store.journal.is_touched = True
        self.failures.append(f"stream {kept.stream.config.name}: {error}")
