"""A store on its way in: filled from an archive, beside the streams, until it is one.

A file store lies in a folder of its own under `restores/`, which a start clears; a memory store
is nowhere yet. `unpack` reads either format of archive, `settle` ends it, both in steps between
which other things may happen. Whatever a message says is checked here as if a client had sent it.
"""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from penstock.consumers.draft import Limits
from penstock.kernel.hub import is_valid_literal
from penstock.kernel.storage import Blocks, ForeignBlocks
from penstock.model.api_errors import Fault
from penstock.model.limits import KIB, MIB, SEQUENCE_START_MAX
from penstock.model.stream_config import Storage, StreamConfig
from penstock.model.timestamps import canonical, unix_ns
from penstock.server.jetstream.consumers.archived import read_entry, read_files
from penstock.server.jetstream.consumers.intake import Intake, name_of
from penstock.server.jetstream.consumers.state_file import write_consumers
from penstock.server.jetstream.durable_files import sync
from penstock.storage.archive import (
    CONSUMER_FILE,
    END,
    MAGIC,
    META,
    ArchiveError,
    Entry,
    EntryReader,
    Piece,
    TarReader,
)
from penstock.storage.store import Record, StoreState

FOLDER = "restores"
STEP_BYTES = 256 * KIB
WRITE_BYTES = 4 * MIB  # unwritten bytes that are worth a write
SMALL_BYTES_MAX = 128 * MIB  # of files in a tar that are kept in memory until its end
HEADERS_START, HEADERS_END = b"NATS/1.0\r\n", b"\r\n\r\n"

Sequence = Annotated[int, msgspec.Meta(ge=0, le=SEQUENCE_START_MAX)]


class ArchivedState(msgspec.Struct, frozen=True):
    """What `state.json` says and we need; the rest follows from the messages."""

    first_seq: Sequence = 0
    last_seq: Sequence = 0
    last_ts: str = ""
    consumer_count: Annotated[int, msgspec.Meta(ge=0)] = 0


class ArchivedMeta(msgspec.Struct, frozen=True):
    """What `meta.inf` says and we need."""

    name: str = ""
    created: str = msgspec.field(name="Created", default="")


class Filling:
    """A store that takes messages in order."""

    def __init__(
        self,
        root: Path,
        token: str,
        config: StreamConfig,
        payload_bytes_max: int,
        bytes_max: int,
        limits: Limits,
    ) -> None:
        self._root = root
        self._inside = f"{FOLDER}/{token}"
        self.folder = root / self._inside
        self.config = config
        self._payload_bytes_max = payload_bytes_max
        self._bytes_max = bytes_max
        self._spooled_bytes = 0
        self._sequence_last = 0
        self.created_ns = 0  # if the archive tells
        self.consumers = Intake(config, limits)
        self._format: Entries | Files | None = None
        self._begun = bytearray()
        self.folder.mkdir(parents=True)
        if config.storage is Storage.MEMORY:
            self.blocks = Blocks.in_memory(config.name)
        else:
            self.blocks = Blocks.open(str(root), f"{self._inside}/stream", config.name, None)[0]

    def remove(self) -> None:
        """Leaves nothing behind."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def unpack(self, data: bytes) -> Iterator[None]:
        """Takes some of the archive."""
        if self._format is None:
            self._begun += data
            if len(self._begun) < len(MAGIC):
                return
            is_entries = self._begun.startswith(MAGIC)
            self._format = Entries(self) if is_entries else Files(self)
            data = bytes(self._begun[len(MAGIC) if is_entries else 0 :])
        yield from self._format.take(data)
        self.write_out()

    async def settle(self, now_ns: int) -> None:
        """Takes what the archive's end makes clear; every message is on disk afterwards."""
        if self._format is None:
            raise ArchiveError("unexpected end of the archive")
        await self._format.settle()
        sequence_last = StoreState(*self.blocks.state()).sequence_last
        for _ in self.consumers.settle(sequence_last, now_ns):
            await asyncio.sleep(0)
        if self.config.storage is Storage.FILE:
            self.blocks.write_out()
            await asyncio.to_thread(_sync_files, self.folder / "stream" / "msgs")

    def write_consumers(self, mark: int) -> None:
        """What a start needs to find them. Raises OSError."""
        content = self.consumers.written(mark)
        if content and self.config.storage is Storage.FILE:
            write_consumers(self.folder / "stream", content)

    def add(self, record: Record) -> None:
        self._check(record)
        self.blocks.append(*record)
        self._sequence_last = record.sequence

    def go_on_after(self, sequence: int, time_ns: int) -> None:
        """The stream had a sequence that is not in the archive: it is not used again."""
        if sequence <= self._sequence_last:
            return
        if self._sequence_last == 0 and time_ns == 0:
            self.blocks.remove_below(sequence + 1)
        else:
            self.blocks.append(sequence, time_ns, b"removed", b"", b"")
            self.blocks.remove(sequence, False)
        self._sequence_last = sequence

    def write_out(self) -> None:
        if self.blocks.unwritten_bytes() >= WRITE_BYTES:
            self.blocks.write_out()
        if self.blocks.state()[1] > self._bytes_max:
            in_memory = self.config.storage is Storage.MEMORY
            raise (Fault.MEMORY_EXCEEDED if in_memory else Fault.STORAGE_EXCEEDED).error()

    def spool(self, piece: Piece) -> None:
        """Keeps a piece of a block file until all are there."""
        self._spooled_bytes += len(piece.data)
        if self._spooled_bytes > self._bytes_max:
            raise Fault.STORAGE_EXCEEDED.error()
        folder = self.folder / "foreign" / "msgs"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{piece.block}.blk").open("ab") as file:
            file.write(piece.data)

    def open_spooled(self) -> ForeignBlocks:
        try:
            return ForeignBlocks(str(self._root), f"{self._inside}/foreign", self.config.name)
        except ValueError as error:
            raise ArchiveError(str(error)) from None

    def _check(self, record: Record) -> None:
        number = record.sequence
        if not self._sequence_last < number <= SEQUENCE_START_MAX:
            raise ArchiveError(f"message sequence {number} out of order")
        if not is_valid_literal(record.subject):
            raise ArchiveError(f"message sequence {number} has no valid subject")
        size_bytes = len(record.headers) + len(record.payload)
        if size_bytes > self._payload_bytes_max:
            raise ArchiveError(f"message sequence {number} exceeds maximum payload size")
        if 0 <= self.config.max_msg_size < size_bytes:
            raise ArchiveError(f"message sequence {number} exceeds maximum message size")
        headers = record.headers
        if headers and not (headers.startswith(HEADERS_START) and headers.endswith(HEADERS_END)):
            raise ArchiveError(f"message sequence {number} has no valid headers")


class Entries:
    """The format of 2.15: state, consumers, messages, end."""

    def __init__(self, filling: Filling) -> None:
        self._filling = filling
        self._reader = EntryReader()
        self._state: ArchivedState | None = None
        self._consumers_left = -1  # not known before the state
        self._is_over = False

    def take(self, data: bytes) -> Iterator[None]:
        for entries in self._reader.feed(data):
            for entry in entries:
                if entry.sequence and self._consumers_left == 0 and not self._is_over:
                    name, time_ns, sequence, headers, payload = entry
                    self._filling.add(Record(sequence, time_ns, name, headers, payload))
                else:
                    self._take_other(entry)
                    yield
            self._filling.write_out()
            yield

    async def settle(self) -> None:
        if not (self._is_over and self._reader.is_whole) or self._state is None:
            raise ArchiveError("backup was truncated")
        state = self._state
        last = max(state.last_seq, state.first_seq - 1)
        moment = canonical(state.last_ts)
        time_ns = 0 if moment is None else unix_ns(moment)
        self._filling.go_on_after(last, max(0, time_ns) if state.last_seq else 0)

    def _take_other(self, entry: Entry) -> None:
        if self._is_over:
            raise ArchiveError("unexpected content")
        if self._state is None:
            if entry.name != b"state.json":
                raise ArchiveError("expected state.json first")
            self._state = _decoded(entry.payload, ArchivedState, "state.json")
            self._consumers_left = self._state.consumer_count
        elif self._consumers_left:
            if not entry.name.startswith(b"consumers/"):
                raise ArchiveError("expected consumer")
            name = name_of(entry.name.removeprefix(b"consumers/"))
            self._filling.consumers.take(read_entry(name, entry.payload))
            self._consumers_left -= 1
        elif entry == END:
            self._is_over = True
        else:
            raise ArchiveError("expected message sequence")


class Files:
    """The format before: meta.inf and block files, which are complete only at the end."""

    def __init__(self, filling: Filling) -> None:
        self._filling = filling
        self._reader = TarReader()
        self._small: dict[str, bytearray] = {}  # files that are no blocks
        self._small_bytes = 0
        self._has_blocks = False

    def take(self, data: bytes) -> Iterator[None]:
        for piece in self._reader.feed(data):
            if piece.block:
                self._filling.spool(piece)
                self._has_blocks = True
            else:
                self._small.setdefault(piece.name, bytearray()).extend(piece.data)
                self._small_bytes += len(piece.data)
                if self._small_bytes > SMALL_BYTES_MAX:
                    raise ArchiveError("unexpected content")
            yield

    async def settle(self) -> None:
        if not self._reader.is_whole:
            raise ArchiveError("unexpected end of the archive")
        if META not in self._small:
            raise ArchiveError("the archive has no meta.inf")
        meta = _decoded(bytes(self._small[META]), ArchivedMeta, "meta.inf")
        filling = self._filling
        if meta.name != filling.config.name:
            raise ArchiveError("stream names do not match")
        created = canonical(meta.created)
        filling.created_ns = 0 if created is None else unix_ns(created)
        await self._take_consumers()
        if self._has_blocks:
            await self._move(await asyncio.to_thread(filling.open_spooled))

    async def _take_consumers(self) -> None:
        consumers = self._filling.consumers
        consumers.may_be_later = True
        names = [match[1] for file in self._small if (match := CONSUMER_FILE.fullmatch(file))]
        for name in dict.fromkeys(names):
            files = [self._small.get(f"obs/{name}/{file}") for file in (META, "o.dat")]
            if None in files:
                raise ArchiveError(f'consumer "{name}" is not complete')
            meta, state = (bytes(content or b"") for content in files)
            consumers.take(read_files(name, meta, state))
            await asyncio.sleep(0)

    async def _move(self, blocks: ForeignBlocks) -> None:
        """From the reference's blocks into ours, verified once more on the way."""
        sequence = 1
        while True:
            try:
                rows = blocks.messages(sequence, STEP_BYTES)
            except ValueError as error:
                raise ArchiveError(str(error)) from None
            if not rows:
                break
            for row in rows:
                self._filling.add(Record(*row))
            sequence = rows[-1][0] + 1
            self._filling.write_out()
            await asyncio.sleep(0)
        self._filling.go_on_after(*blocks.last())


def _decoded(data: bytes, kind: type[Any], name: str) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ArchiveError(f"error in {name}: {error}") from None


def _sync_files(folder: Path) -> None:
    """In a thread: what the checkpoint then has to sync is little."""
    for path in folder.iterdir():
        sync(path)
