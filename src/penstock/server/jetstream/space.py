"""The space of the store's file system: how much of it messages may still take.

Not all that is free. The log must be able to grow to its full size, what streams hold in memory
must be written, and two segments more stay free, so that a purge or a deletion can always be
journaled and checkpointed. Below that publishes are refused, as above the server's own limit.

The file system is asked by a timer, and when half of what was left has been appended: never for a
message. Every byte appended counts twice meanwhile, for the log and for its block. If something
else takes what was to stay free, the reserve is given up; see docs/decisions/0008-a-full-disk.md.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from penstock.model.limits import KIB, MIB
from penstock.server.clock import monotonic_ns
from penstock.server.jetstream.reserve import Reserve, is_full

_SEGMENT_BYTES_MAX = 64 * MIB  # enough for the log to be cut seldom
_SEGMENT_BYTES_MIN = 256 * KIB
_SEGMENTS_PER_DISK = 64  # so that the log and all that is kept free take an eighth at most
_SEGMENTS_OF_LOG = 4  # two, the one begun while they are cut, and a spare
_SEGMENTS_FREE = 2
_RESERVE_BYTES_MAX = 32 * MIB  # else two segments: what streams may have in memory only
_FAR_BYTES = 4 << 30  # more than streams will ever hold in memory
_STEP_BYTES_MIN = 64 * KIB  # between two looks, however near the end is
_STILL_BYTES = 64 * KIB  # between two looks, if nobody takes space
_REFUSING_NS = 5_000_000_000  # after a write failed, whatever the file system says: it may not know


class _Figures(NamedTuple):
    """Bytes of a file system."""

    total: int
    free: int


_ENDLESS = _Figures(1 << 60, 1 << 60)


class Space:
    """Of the file system below one store directory."""

    def __init__(self, root: Path, *, has_reserve: bool = True) -> None:
        self._root = root
        segment_bytes = self._figures().total // _SEGMENTS_PER_DISK
        self.segment_bytes = min(max(segment_bytes, _SEGMENT_BYTES_MIN), _SEGMENT_BYTES_MAX)
        reserve_bytes = min(2 * self.segment_bytes, _RESERVE_BYTES_MAX)
        self._reserve = Reserve(root / "reserve", reserve_bytes if has_reserve else 0)
        self._floor_bytes = reserve_bytes // 4
        self.working_bytes = reserve_bytes // 8  # to write small files with
        self.is_logged = False  # whether there is a log to leave space for
        self.unwritten_bytes: Callable[[], int] = lambda: 0  # what is still to be written
        self.changed: Callable[[], None] = lambda: None
        self.shortage = ""  # why messages are refused, for the log and for monitoring
        self._left_bytes = 0
        self._added_bytes = 0
        self._refusing_until_ns = 0
        self._free_before = -1
        if self._figures().free < self._floor_bytes:  # a start needs some, too
            self._reserve.give_up()

    def left(self) -> int:
        """How many bytes of messages may still come; none while there is a shortage."""
        if self._added_bytes >= max(self._left_bytes // 2, _STEP_BYTES_MIN):
            self.look()
        return self._left_bytes - self._added_bytes

    def add(self, size: int) -> None:
        """So much has come."""
        self._added_bytes += size

    def has_room(self, size: int) -> bool:
        """True if so many bytes can be written now."""
        return self._figures().free >= size

    def room(self) -> int:
        """What can be written now and leaves something to work with."""
        return self._figures().free - self.working_bytes

    def look(self) -> None:
        """Asks the file system."""
        free = self._free_bytes()
        left = free - self._kept_free()
        if left < _FAR_BYTES:
            left -= self.unwritten_bytes()
        self._added_bytes = 0
        enough = self.segment_bytes if self.shortage else 2 * _STEP_BYTES_MIN  # no coming and going
        if left > enough and monotonic_ns() >= self._refusing_until_ns:
            self._left_bytes = left // 2
            self._reserve.make()
            self._tell("")
            return
        self._left_bytes = 0
        needed = (free - left + enough + MIB - 1) // MIB
        self._tell(
            f"No space left for messages in {self._root}: {free // MIB} MiB are free, {needed} MiB"
            " must be. Publishes are refused until streams are purged or deleted, or other"
            " files are removed"
        )

    @property
    def is_used_up(self) -> bool:
        """The reserve is gone: what is left serves only to free more."""
        return self._reserve.missing_bytes > 0

    def failed(self, failure: str) -> None:
        """A write failed. If the disk is full, messages must wait."""
        if is_full(failure):
            self._refusing_until_ns = monotonic_ns() + _REFUSING_NS
            self.look()

    def _free_bytes(self) -> int:
        """What is free. If it is hardly anything the reserve goes, but not before nobody takes any
        more: who has just filled the disk would take that as well."""
        free, before = self._figures().free, self._free_before
        self._free_before = free
        is_still = abs(free - before) <= _STILL_BYTES
        if free >= self._floor_bytes or not is_still or self.is_used_up:
            return free
        self._reserve.give_up()
        return self._figures().free

    def _kept_free(self) -> int:
        kept = _SEGMENTS_FREE * self.segment_bytes + self._reserve.missing_bytes
        if self.is_logged:
            full_size = _SEGMENTS_OF_LOG * self.segment_bytes
            kept += max(0, full_size - _files_bytes(self._root / "log"))
        return kept

    def _tell(self, shortage: str) -> None:
        is_news = bool(shortage) != bool(self.shortage)
        self.shortage = shortage
        if is_news:
            self.changed()

    def _figures(self) -> _Figures:
        try:
            found = os.statvfs(self._root)
        except OSError:  # whoever wants to write will hear why
            return _ENDLESS
        if not found.f_blocks:  # a file system without a size of its own
            return _ENDLESS
        return _Figures(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def _files_bytes(folder: Path) -> int:
    """What the files of a folder take."""
    total = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                total += entry.stat().st_blocks * 512
    except OSError:  # one that went meanwhile: so much less is counted
        return total
    return total
