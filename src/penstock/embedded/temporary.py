"""Where a server keeps streams that nobody will ask for again: in memory, if there is enough.

Linux has a file system in memory; with it a server starts in a few milliseconds and behaves in
every way as on a disk, since syncing costs nothing there. Containers often get a very small one:
then, and on other systems, it is the system's directory for temporary files, and nothing is synced.
"""

import os
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 -- the file system in memory; folders there are made private
_MEMORY_BYTES_MIN = 1 << 30  # free, before it is used
_PREFIX = "penstock-"


class TemporaryStore:
    """A private directory that is gone after `remove`, or when the process ends."""

    def __init__(self) -> None:
        self.is_in_memory = _has_room(_MEMORY)
        root = _MEMORY if self.is_in_memory else None
        self._directory = tempfile.TemporaryDirectory(
            prefix=_PREFIX, dir=root, ignore_cleanup_errors=True
        )
        self.path = Path(self._directory.name)

    def remove(self) -> None:
        self._directory.cleanup()


def _has_room(root: Path) -> bool:
    try:
        found = os.statvfs(root)
    except OSError:
        return False
    return os.access(root, os.W_OK | os.X_OK) and (
        found.f_bavail * found.f_frsize >= _MEMORY_BYTES_MIN
    )
