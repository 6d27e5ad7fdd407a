"""A batch on its way into the files of a stream that has no log (lazy sync).

Its records are written to a block one after the other, and a kill may come in the middle. So the
whole batch goes to a file of its own first, as the entry that a log would have, and is cleared
when the blocks have it. A start that finds one whole does again what it says; one that was cut off
was never begun. The system's cache survives a kill, so nothing is synced here.
"""

import contextlib
import struct
import zlib
from pathlib import Path

from penstock.kernel.hub import Hub
from penstock.storage.journal import Kind

NAME = "batch"
_HEAD = struct.Struct("<8sQI")  # magic, length and check sum of what follows
_MAGIC = b"PENSTBAT"


class BatchNote:
    """The file of one stream, in the place of a log for its journal."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._is_clear = False

    def append(self, _stream: int, kind: int, payload: bytes, /) -> int:
        assert kind == Kind.JOINED
        self._is_clear = False
        with self._path.open("wb", buffering=0) as file:
            for part in (_HEAD.pack(_MAGIC, len(payload), zlib.crc32(payload)), payload):
                left = memoryview(part)
                while left:
                    left = left[file.write(left) :]
        return 0

    def append_run(self, _hub: Hub, *_columns: int) -> int:
        raise AssertionError("only what is joined is noted")

    def append_message(self, *_columns: object) -> int:
        raise AssertionError("only what is joined is noted")

    def append_copies(self, *_columns: object) -> int:
        raise AssertionError("only what is joined is noted")

    def append_replaced(self, *_columns: object) -> int:
        raise AssertionError("only what is joined is noted")

    def last(self) -> int:
        return 0

    def read(self) -> bytes | None:
        """The batch that was on its way, empty if not all of it is there; None for no file."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        payload = content[_HEAD.size :]
        head = _HEAD.pack(_MAGIC, len(payload), zlib.crc32(payload))
        return payload if content.startswith(head) else b""

    def clear(self) -> None:
        """The blocks have it; what is erased there must not stay here."""
        if not self._is_clear:
            self._is_clear = True
            with contextlib.suppress(OSError):  # doing it again would change nothing
                self._path.unlink(missing_ok=True)
