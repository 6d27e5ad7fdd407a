"""What is inside a snapshot, behind the s2 compression: two formats, read as they arrive.

Since 2.15 the reference writes *entries*: its magic bytes, the stream's state, its consumers, every
message with sequence and time, and an empty entry as the end. Before, it wrote a *tar* of its own
files: meta.inf, and blocks of records under msgs/. We write entries and read both.

Nothing that comes in is trusted: every length is bounded before it is waited for, tar entries must
be plain files with names of a short list, each once, and both formats must end as they should. What
is wrong is an `ArchiveError`, whose text may be told to anybody.
"""

import re
import tarfile
from collections.abc import Iterator
from typing import NamedTuple

from penstock.kernel.storage import EntryDecoder
from penstock.model.limits import KIB, MIB

MAGIC = b"NATSARC1"
ENTRY_BYTES_MAX = 65 * MIB  # the largest max_payload there is, and a subject; others are less
ENTRIES_AT_ONCE = 500  # stored in one go: about a millisecond
TAR_BLOCK_BYTES = 512
TAR_FILES_MAX = 200_000  # a stream of 1.6 TB has that many blocks
TAR_FILE_BYTES_MAX = 128 * MIB  # a block has 8 MiB and one message more; it is read as a whole
TAR_ZERO_BLOCKS_MAX = 128  # at the end: two, and what fills the tape's block of 20 or so
META_BYTES_MAX = 4 * MIB  # description and metadata of a stream are 132 kB at most
EXTENSION_BYTES_MAX = 64 * KIB  # a tar header's longer fields


class ArchiveError(Exception):
    """Not an archive, or a damaged or hostile one."""


class Entry(NamedTuple):
    """One entry; a message if it has a sequence."""

    name: bytes
    time_ns: int
    sequence: int
    headers: bytes
    payload: bytes


END = Entry(b"", 0, 0, b"", b"")


class EntryReader:
    """Entries behind the magic bytes; lengths are bounded before they are waited for."""

    def __init__(self) -> None:
        self._decoder = EntryDecoder(ENTRY_BYTES_MAX)

    @property
    def is_whole(self) -> bool:
        """True if nothing of an unfinished entry is left over."""
        return self._decoder.is_whole()

    def feed(self, data: bytes) -> Iterator[list[Entry]]:
        """The entries that are complete now, some at a time; to be used up before the next call."""
        self._decoder.feed(data)
        try:
            while rows := self._decoder.take(ENTRIES_AT_ONCE):
                yield [*map(Entry._make, rows)]
        except ValueError as error:
            raise ArchiveError(str(error)) from None


class Piece(NamedTuple):
    """Some bytes of a file in a tar; `block` is the number of a block of messages, or 0."""

    name: str
    block: int
    data: bytes
    is_last: bool


META = "meta.inf"
CONSUMER_FILE = re.compile(r"obs/((?!\.\.?/)[^/\\\0]{1,255})/(meta\.inf|o\.dat)", re.ASCII)
_FAILED = "errors.txt"  # the reference's note that it could not finish
_BLOCK = re.compile(r"msgs/([1-9][0-9]{0,8})\.blk", re.ASCII)
# Known and of no use here: checksums, keys and indexes, which can be made again.
_PASSED_OVER = re.compile(
    r"meta\.(sum|key)|msgs/([1-9][0-9]{0,8}\.(key|fss|idx)|(index|thw|sched)\.db)"
    r"|obs/(?!\.\.?/)[^/\\\0]{1,255}/meta\.(sum|key)",
    re.ASCII,
)


class TarReader:
    """The files of a tar, in pieces. A push parser, because `tarfile` can only pull."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._seen: set[str] = set()
        self._extended: dict[str, str] = {}  # fields of the next file that its header cannot hold
        self._name = ""  # of the file that is being read
        self._block: int | None = None  # and its number; None: passed over
        self._left_bytes = 0  # of that file
        self._padding_bytes = 0  # behind it
        self._zero_blocks = 0

    @property
    def is_whole(self) -> bool:
        return self._zero_blocks >= 2 and not self._waiting

    def feed(self, data: bytes) -> Iterator[Piece]:
        """What can be read now; to be used up before the next call."""
        waiting = self._waiting
        waiting += data
        while waiting:
            if self._left_bytes:
                part = bytes(waiting[: self._left_bytes])
                del waiting[: len(part)]
                self._left_bytes -= len(part)
                if self._block is not None:
                    yield Piece(self._name, self._block, part, self._left_bytes == 0)
            elif self._padding_bytes:
                passed = min(self._padding_bytes, len(waiting))
                del waiting[:passed]
                self._padding_bytes -= passed
            elif len(waiting) < TAR_BLOCK_BYTES or not self._head():
                return
            elif self._block is not None and self._left_bytes == 0:
                yield Piece(self._name, self._block, b"", True)

    def _head(self) -> bool:
        """Takes a header, with its extension if it is one; False if more is needed."""
        waiting = self._waiting
        head = bytes(waiting[:TAR_BLOCK_BYTES])
        self._block = None
        if not any(head):
            self._zero_blocks += 1
            if self._zero_blocks > TAR_ZERO_BLOCKS_MAX:
                raise ArchiveError("unexpected content")
            del waiting[:TAR_BLOCK_BYTES]
            return True
        if self._zero_blocks:
            raise ArchiveError("unexpected content")
        try:
            info = tarfile.TarInfo.frombuf(head, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            raise ArchiveError("corrupt input") from error
        if info.type == tarfile.XHDTYPE:
            return self._extension(info.size)
        del waiting[:TAR_BLOCK_BYTES]
        self._file(info)
        return True

    def _extension(self, size_bytes: int) -> bool:
        if not 0 < size_bytes <= EXTENSION_BYTES_MAX or self._extended:
            raise ArchiveError("unexpected content")
        end = TAR_BLOCK_BYTES + size_bytes
        whole = TAR_BLOCK_BYTES + size_bytes + -size_bytes % TAR_BLOCK_BYTES
        if len(self._waiting) < whole:
            return False
        self._extended = _extended_fields(bytes(self._waiting[TAR_BLOCK_BYTES:end]))
        del self._waiting[:whole]
        return True

    def _file(self, info: tarfile.TarInfo) -> None:
        name = self._extended.get("path", info.name)
        size_bytes = _size(self._extended["size"]) if "size" in self._extended else info.size
        self._extended = {}
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or size_bytes < 0:
            raise ArchiveError("unexpected content")
        if name in self._seen or len(self._seen) >= TAR_FILES_MAX:
            raise ArchiveError("unexpected content")
        self._seen.add(name)
        self._name, self._block = name, _block_of(name)
        if size_bytes > (META_BYTES_MAX if name.endswith(META) else TAR_FILE_BYTES_MAX):
            raise ArchiveError("unexpected content")
        self._left_bytes = size_bytes
        self._padding_bytes = -size_bytes % TAR_BLOCK_BYTES


def _block_of(name: str) -> int | None:
    if name == META or CONSUMER_FILE.fullmatch(name) is not None:
        return 0
    if (match := _BLOCK.fullmatch(name)) is not None:
        return int(match[1])
    if name == _FAILED:
        raise ArchiveError("the snapshot was not finished")
    if _PASSED_OVER.fullmatch(name) is None:
        raise ArchiveError("unexpected content")
    return None


def _extended_fields(data: bytes) -> dict[str, str]:
    """Fields as POSIX extends them: `length key=value`, each on a line of that length."""
    fields = {}
    at = 0
    while at < len(data):
        length_text, _, _ = data[at : at + 8].partition(b" ")
        length = _size(length_text.decode("ascii", "replace"))
        line = data[at : at + length]
        if len(line) != length or not line.endswith(b"\n") or length <= len(length_text) + 1:
            raise ArchiveError("corrupt input")
        key, _, value = line[len(length_text) + 1 : -1].partition(b"=")
        try:
            fields[key.decode()] = value.decode()
        except UnicodeDecodeError:
            raise ArchiveError("corrupt input") from None
        at += length
    return fields


def _size(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ArchiveError("corrupt input")
    return int(text)
