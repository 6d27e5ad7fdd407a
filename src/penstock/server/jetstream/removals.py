"""Folders of deleted streams: they go when the log has the deletion for good.

Before, a crash would bring the stream back, and it must not come back with half of its files. A
folder goes by its name first; its files follow in the background, or at the next start. One that
cannot be renamed is tried again by every checkpoint, which does not cut the log before.
"""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

DELETED = ".deleted"  # ends the name of a folder that is on its way out; a start clears it
_ALL_SETTLED = 1 << 63


class Removal(NamedTuple):
    entry: int  # of the log, that has the deletion
    number: int  # of the stream
    folder: Path


class Removals:
    """Folders that wait for the log."""

    def __init__(self) -> None:
        self._waiting: list[Removal] = []
        self._failed: list[Removal] = []
        self._renamed: list[Removal] = []  # and their new names are not durable
        # Removes the files of a folder that nobody knows any more.
        self.clear: Callable[[Path], None] = clear

    @property
    def entry_settled(self) -> int:
        """The log entry up to which deletions need the log no more."""
        unsettled = (*self._waiting[:1], *self._failed, *self._renamed)
        return min((max(0, removal.entry - 1) for removal in unsettled), default=_ALL_SETTLED)

    def take_renamed(self) -> list[Removal]:
        """The caller will make names durable, or put them back."""
        taken, self._renamed = self._renamed, []
        return taken

    def put_back(self, renamed: list[Removal]) -> None:
        self._renamed += renamed

    def add(self, folder: Path, number: int, entry: int) -> None:
        """Entries come in order; 0 is for what is in no log."""
        removal = Removal(entry, number, folder)
        if entry:
            self._waiting.append(removal)
        else:
            self._carry_out(removal)

    def carry_out(self, durable: int) -> None:
        while self._waiting and self._waiting[0].entry <= durable:
            self._carry_out(self._waiting.pop(0))

    def finish(self) -> None:
        """Tries again what has failed before; raises if it fails again."""
        failed, self._failed = self._failed, []
        for removal in failed:
            self._carry_out(removal)
        if self._failed:
            raise OSError(f"rename {self._failed[0].folder}: the deleted stream would come back")

    def write_again(self, journal: Callable[[int], int]) -> None:
        """What a failed log has not kept is written to another one, by stream number."""
        waiting = [*self._failed, *self._waiting]
        self._failed = []
        self._waiting = [removal._replace(entry=journal(removal.number)) for removal in waiting]

    def _carry_out(self, removal: Removal) -> None:
        try:
            leaving = rename(removal.folder)
        except FileNotFoundError:
            return
        except OSError:
            self._failed.append(removal)
            return
        self._renamed.append(removal)
        self.clear(leaving)


def rename(folder: Path) -> Path:
    """From now on nobody finds it; the name under which its files are left."""
    return folder.rename(folder.with_name(folder.name + DELETED))


def clear(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the next start finds it
        shutil.rmtree(folder)
