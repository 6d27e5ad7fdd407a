"""What the log has to forget: it may have a copy of every message that was erased.

The debt is an entry's number. A checkpoint that cuts the log lets it begin another segment at its
mark; when everything up to there is in the stores, the files that had it are set aside, and
overwritten in another thread. The debt is paid if the log begins after it by then; otherwise the
next checkpoint goes on. A crash forgets no debt: as long as the log has a message, it also has its
erasure behind it, and what is set aside has a name of its own.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future

from penstock.kernel.storage import Log


class Forgetting:
    """The debt of one server's log."""

    def __init__(
        self, log: Log, loop: asyncio.AbstractEventLoop, report: Callable[[str], None]
    ) -> None:
        self._log = log
        self._loop = loop
        self._report = report
        self._owed: int | None = None  # the entry up to which nothing may be left
        self._told = 0  # the entry up to which the log was told so
        self._failure = ""

    @property
    def is_due(self) -> bool:
        return self._owed is not None

    def owe(self) -> None:
        """What the log has by now may not be left."""
        self._owed = self._log.last()

    def begin(self, mark: int) -> bool:
        """A checkpoint begins that will cut the log at its last entry. True if it then forgets."""
        if not self.is_due:
            return False
        if self._log.oldest() > self._told:  # however often it cannot be cut, one new segment
            self._log.forget()
            self._told = mark
        return True

    def overwrite(self) -> None:
        """The log is being cut; returns when nothing is left."""
        self._log.remains().overwrite()
        self._settle(self._log, None)

    def overwrite_in(self, thread: Executor) -> None:
        """The same, elsewhere: it takes as long as what there is takes to write."""
        log = self._log

        def done(written: Future[None]) -> None:
            self._loop.call_soon_threadsafe(self._settle, log, written.exception())

        thread.submit(log.remains().overwrite).add_done_callback(done)

    def go_on(self, log: Log) -> None:
        """Another log stands in for the one that failed."""
        self._log = log
        self._told = 0
        if self.is_due:
            self.owe()

    def _settle(self, log: Log, error: BaseException | None) -> None:
        failure = "" if error is None else str(error)
        if failure and failure != self._failure:
            self._report(f"Erased messages may be left in the log: {failure}")
        self._failure = failure
        if not failure and log is self._log and self._owed is not None:
            self._owed = self._owed if log.oldest() <= self._owed else None
