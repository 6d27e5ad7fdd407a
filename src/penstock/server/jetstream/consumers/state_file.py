"""What a stream's consumers are, in a file of its folder: their descriptions and their ledgers.

It is written at checkpoints, so that the log before them can go; what the log has since is replayed
over it. Twins, because one flipped bit must not cost the positions of all consumers; sealed,
because what is read may decide which messages are never delivered again.

Where there is no log, what happens between checkpoints is written often and without a sync, to two
files in turn: while one is written over, the other one is whole. They are not replaced by a rename,
which on some file systems waits for the disk; a power cut may leave nothing of them, and then the
twins hold. The newest that is whole counts.
"""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from penstock.server.jetstream.durable_files import replace_all
from penstock.streams.feed import Position

FILES = ("consumers.state", "consumers.copy")
RECENT_FILES = ("consumers.recent.0", "consumers.recent.1")
_MAGIC = b"penstock consumers 1\n"
_SEAL_BYTES = 16


class SavedConsumer(NamedTuple):
    """One consumer in the file."""

    record: bytes
    ledger: bytes
    changes: int = 0  # how many of those in files of changes it has


class SavedConsumers(NamedTuple):
    """The file."""

    mark: int  # the log entry up to which it is complete
    numbers_used: int
    consumers: list[SavedConsumer]
    edition: int = 0  # a higher one is newer
    # Of the stream's sources, and the stream's last sequence behind what they tell of.
    positions: dict[str, Position] = {}  # noqa: RUF012 -- never changed
    sequence_last: int = 0

    def encode(self) -> bytes:
        data = _MAGIC + msgspec.msgpack.encode(self)
        return data + _seal(data)

    @classmethod
    def decode(cls, content: bytes) -> "SavedConsumers":
        """Raises ValueError unless it is exactly what was written."""
        data, seal = content[:-_SEAL_BYTES], content[-_SEAL_BYTES:]
        if not data.startswith(_MAGIC) or seal != _seal(data):
            raise ValueError("the checksum does not match")
        try:
            return msgspec.msgpack.decode(data[len(_MAGIC) :], type=cls)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from None


def write_consumers(folder: Path, content: bytes) -> None:
    """In any thread. Raises OSError."""
    replace_all([folder / name for name in FILES], content)


def write_recent(folder: Path, content: bytes, edition: int) -> None:
    """Over the older of the two, without a sync. Raises OSError."""
    path = os.path.join(folder, RECENT_FILES[edition % len(RECENT_FILES)])  # noqa: PTH118 -- often
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        written = 0
        while written < len(content):  # a full disk takes a part, and says why at the next one
            written += os.write(file, content[written:] if written else content)
        os.ftruncate(file, written)
    finally:
        os.close(file)


def read_consumers(folder: Path) -> tuple[SavedConsumers | None, list[str]]:
    """The newest that there is, and what was wrong; None if there is no file."""
    found: list[SavedConsumers] = []
    problems = []
    for name in (*FILES, *RECENT_FILES):
        path = folder / name
        try:
            found.append(SavedConsumers.decode(path.read_bytes()))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            problems.append(f"read {path}: {error}")
    return max(found, key=lambda saved: (saved.edition, saved.mark), default=None), problems


def _seal(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_SEAL_BYTES).digest()
