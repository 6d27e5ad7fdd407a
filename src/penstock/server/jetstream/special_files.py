"""Pipes, sockets and devices in a store: whoever opens one may wait for ever."""

import itertools
from pathlib import Path

from penstock.model.errors import StorageError

FORMAT_FILES = ("format", "format.copy")
KNOWN = {*FORMAT_FILES, "lock", "salt", "log", "unlogged", "streams", "restores", "reserve"}
_PLACES = ("log/*", "streams/*/*", "streams/*/msgs/*")


def refuse_special_files(root: Path) -> None:
    """Raises StorageError for one under a name that would be opened."""
    known = (root / name for name in sorted(KNOWN))
    below = (path for pattern in _PLACES for path in sorted(root.glob(pattern)))
    for path in itertools.chain(known, below):
        if path.exists() and not path.is_file() and not path.is_dir():
            hint = "is no regular file but a pipe, a socket or a device; move it away"
            raise StorageError("read", str(path), hint)
