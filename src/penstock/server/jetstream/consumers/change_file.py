"""Changes of consumers since their state was last written, for streams without a log.

An answer to an acknowledgement must not leave before a file has what it says, and the state of all
consumers is too much to write each time. So the change alone is appended, without a sync: a killed
server loses nothing, a power cut may take the end. Each state has a file of changes after it, named
by the state's edition; it goes when a later state is written. Changes of a consumer are numbered
without gaps and a state says how many it has, so none is made twice, and none behind a missing one.
That a consumer was made or deleted is a change too. Consumers have rising numbers and a state says
how many were used, so one that it does not have was deleted, or comes after it.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

PREFIX = "consumers.changes."
_SEAL_BYTES = 8
_HEAD_BYTES = 4 + _SEAL_BYTES


class SavedChange(NamedTuple):
    """What a ledger gave."""

    consumer: int  # its number
    number: int  # the first change of a consumer is 1; 0: it was made, or deleted
    changes: bytes  # of one that was made: its whole ledger
    record: bytes = b""  # of one that was made


class ChangeFiles:
    """Those in one folder."""

    def __init__(self) -> None:
        self._file: int | None = None  # open to append
        self._edition = -1
        self.bytes = 0  # how long that file is
        self.there: list[int] = []  # editions of which there is a file, rising

    def append(self, folder: Path, edition: int, changes: list[SavedChange]) -> None:
        """In one write. Raises OSError; then nothing more may be appended to this edition."""
        if self._file is None or edition != self._edition:
            self.close()
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            self._file = os.open(folder / f"{PREFIX}{edition}", flags, 0o666)
            self._edition = edition
            self.there.append(edition)
        data = b"".join(_encoded(change) for change in changes)
        try:
            written = os.write(self._file, data)
            if written != len(data):
                raise OSError(f"{folder / PREFIX}{edition}: written in part")
        except OSError:
            with contextlib.suppress(OSError):  # nobody is told: it had better not be there
                os.ftruncate(self._file, self.bytes)
            raise
        self.bytes += len(data)

    def remove_before(self, folder: Path | None, edition: int) -> None:
        """A state of that edition has what is in earlier files."""
        while folder is not None and self.there and self.there[0] < edition:
            earlier = self.there.pop(0)
            if earlier == self._edition:
                self.close()
            with contextlib.suppress(OSError):  # a start will find it, and this is done then
                (folder / f"{PREFIX}{earlier}").unlink()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file, self.bytes = None, 0

    def __del__(self) -> None:
        self.close()


def editions(folder: Path) -> list[int]:
    """Those of the files that are there, rising. Raises OSError."""
    names = [path.name.removeprefix(PREFIX) for path in folder.glob(f"{PREFIX}*")]
    return sorted(int(name) for name in names if name.isdecimal())


def read_changes(folder: Path) -> Iterator[SavedChange]:
    """What can be read, in the order it was written. Raises OSError."""
    for edition in editions(folder):
        for body, _ in whole_changes((folder / f"{PREFIX}{edition}").read_bytes()):
            yield msgspec.msgpack.decode(body, type=SavedChange)


def whole_changes(data: bytes) -> Iterator[tuple[bytes, int]]:
    """The changes in a file up to the first that is not what was written, and where each ends."""
    start = 0
    while len(data) - start >= _HEAD_BYTES:
        end = start + _HEAD_BYTES + int.from_bytes(data[start : start + 4], "little")
        body = data[start + _HEAD_BYTES : end]
        if end > len(data) or data[start + 4 : start + _HEAD_BYTES] != _seal(body):
            return  # the end of what was written
        yield body, end
        start = end


def _encoded(change: SavedChange) -> bytes:
    body = msgspec.msgpack.encode(change)
    return len(body).to_bytes(4, "little") + _seal(body) + body


def _seal(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_SEAL_BYTES).digest()
