"""How much of a stream is durable, for those who may only read that.

The log makes entries durable in their order, so it is enough to remember, at the end of a turn,
which sequence was the last one and which entry has it. A stream without a journal is read as it is.
"""

from collections import deque
from typing import TYPE_CHECKING

from penstock.kernel.storage import Log

if TYPE_CHECKING:
    from penstock.server.jetstream.keeper import Kept


class Durable:
    """The part of one stream that may be read."""

    def __init__(self, kept: "Kept", log: Log | None) -> None:
        self._kept = kept
        self._log = log if kept.store.journal is not None else None
        self._noted: deque[tuple[int, int]] = deque()  # log entry, sequence
        self._sequence = 0
        self.note()

    @property
    def sequence(self) -> int:
        """No message after this one may be read yet."""
        if self._log is None:
            return self._kept.stream.sequence_last
        durable = self._log.durable()
        while self._noted and self._noted[0][0] <= durable:
            self._sequence = self._noted.popleft()[1]
        return self._sequence

    @property
    def is_moving(self) -> bool:
        """Whether something was noted that was not durable when somebody last asked."""
        return bool(self._noted)

    def note(self) -> None:
        """Something was stored, or may have been."""
        journal = self._kept.store.journal
        if self._log is None or journal is None:
            return
        entry, sequence = journal.entry, self._kept.stream.sequence_last
        if not self._noted or self._noted[-1] != (entry, sequence):
            self._noted.append((entry, sequence))
