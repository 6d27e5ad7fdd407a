"""The reserve: a file that does nothing but take space, to be given up when the disk is full.

With it gone the log can go on for requests that free space. It is made again when there is more.
"""

import contextlib
import errno
import os
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SIGNS = tuple(sign for number in _FULL for sign in (f"[Errno {number}]", f"(os error {number})"))


def is_full(failure: str) -> bool:
    """Whether a failure, in the words of Python or of the kernel, is for lack of space."""
    return any(sign in failure for sign in _SIGNS)


class Reserve:
    """One such file."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self.size = size
        self._is_there = False
        with contextlib.suppress(OSError):
            found = path.stat()
            # What copies a store may leave out what are only zeros.
            self._is_there = found.st_size == size <= found.st_blocks * 512

    @property
    def missing_bytes(self) -> int:
        return 0 if self._is_there else self.size

    def make(self) -> None:
        """If there is none and it can be."""
        if self._is_there or not self.size:
            return
        try:
            with self._path.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, self.size)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._path.unlink()
            if error.errno not in _FULL:  # this file system cannot; it is not asked again
                self.size = 0
            return
        self._is_there = True

    def give_up(self) -> None:
        self._is_there = False
        with contextlib.suppress(OSError):
            self._path.unlink()
