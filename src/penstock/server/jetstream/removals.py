"""Folders of deleted streams: they go when the log has the deletion for good.

Before, a crash would bring the stream back, and it must not come back with half of its files.
"""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from penstock.kernel.storage import Log

DELETED = ".deleted"  # ends the name of a folder that is on its way out; a start clears it


class Removals:
    """Folders that wait for the log."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Path]] = []  # log entry, stream number, folder

    def add(self, folder: Path, log: Log | None) -> None:
        last, durable = (0, 0) if log is None else (log.last(), log.durable())
        self._waiting.append((last, int(folder.name.rpartition(".")[2]), folder))
        self.carry_out(durable)

    def carry_out(self, durable: int) -> None:
        while self._waiting and self._waiting[0][0] <= durable:
            _, _, folder = self._waiting.pop(0)
            leaving = folder.with_name(folder.name + DELETED)
            with contextlib.suppress(OSError):  # a later start finds it in the log again
                folder.rename(leaving)
                shutil.rmtree(leaving)

    def write_again(self, journal: Callable[[int], int]) -> None:
        """What a failed log has not kept is written to another one, by stream number."""
        waiting, self._waiting = self._waiting, []
        self._waiting = [(journal(number), number, folder) for _, number, folder in waiting]
