"""The store directory: its format, its lock, and the folder of each stream.

    jetstream/
      format            the version of everything below
      lock              held while a server uses the directory
      salt              makes the log's checksums this directory's own
      log/              the commit log
      streams/NAME/     one stream: description.json, msgs/*.blk, index

Names become paths only after escaping. A description that cannot be read stops that stream with an
error and deletes nothing.
"""

import os
import shutil
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from penstock.kernel.storage import Blocks, Log, StoreLock
from penstock.model.errors import StorageError
from penstock.model.stream_config import Storage, StreamConfig, shown
from penstock.model.stream_request import parse_stream_request

FORMAT = "penstock store 1\n"
_FOLDER = "jetstream"


class Description(NamedTuple):
    """What is written down about a stream, beside its messages."""

    number: int  # its name in the commit log, never used again
    config: StreamConfig
    created_ns: int

    def encode(self) -> bytes:
        fields = {
            "number": self.number,
            "created_ns": self.created_ns,
            "config": shown(self.config),
        }
        return msgspec.json.encode(fields)

    @classmethod
    def decode(cls, data: bytes) -> "Description":
        fields = msgspec.json.decode(data, type=dict[str, object])
        config = parse_stream_request(msgspec.json.encode(fields["config"])).config
        number, created_ns = fields["number"], fields["created_ns"]
        assert isinstance(number, int)
        assert isinstance(created_ns, int)
        return cls(number, config, created_ns)


class StoreDirectory:
    """One store directory, locked as long as this object lives."""

    def __init__(self, store_dir: Path) -> None:
        self.root = store_dir / _FOLDER
        self._streams = self.root / "streams"
        self._streams.mkdir(parents=True, exist_ok=True)
        self._lock = StoreLock(str(self.root), "lock")
        self._check_format()
        self.replayable_from: int | None = None

    def open_log(self) -> Log:
        salt = self.root / "salt"
        if not salt.exists():
            _replace(salt, os.urandom(8))
        return Log(str(self.root), "log", int.from_bytes(salt.read_bytes(), "little"))

    def open_blocks(
        self, description: Description
    ) -> tuple[Blocks, int | None, list[tuple[int, int]], list[str]]:
        """The blocks, the log entry up to which they are complete, what was lost, and notes."""
        config = description.config
        if config.storage is Storage.MEMORY:
            return Blocks.in_memory(config.name), None, [], []
        folder = f"streams/{escaped(config.name)}"
        return Blocks.open(str(self.root), folder, config.name, self.replayable_from)

    def write_description(self, description: Description) -> None:
        if description.config.storage is Storage.MEMORY:
            return
        folder = self._streams / escaped(description.config.name)
        folder.mkdir(exist_ok=True)
        _replace(folder / "description.json", description.encode())

    def descriptions(self) -> Iterator[Description | StorageError]:
        """Every stream found on disk, or why one cannot be used."""
        for folder in sorted(self._streams.iterdir()):
            path = folder / "description.json"
            try:
                yield Description.decode(path.read_bytes())
            except Exception as error:  # whatever is wrong with it concerns this stream alone
                yield StorageError("read", str(path), f"{error}; its messages were left alone")

    def remove(self, name: str) -> None:
        shutil.rmtree(self._streams / escaped(name), ignore_errors=True)

    def _check_format(self) -> None:
        path = self.root / "format"
        if not path.exists():
            _replace(path, FORMAT.encode())
        elif path.read_text() != FORMAT:
            raise StorageError(
                "open", str(path), f"the store has another format, expected {FORMAT.strip()!r}"
            )


def escaped(name: str) -> str:
    """A stream's name as one folder name."""
    return urllib.parse.quote(name, safe="$+,=@-_ ")


def _replace(path: Path, data: bytes) -> None:
    """The file has either its old content or the new one, whatever happens."""
    unfinished = path.with_name(path.name + ".unfinished")
    with unfinished.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
