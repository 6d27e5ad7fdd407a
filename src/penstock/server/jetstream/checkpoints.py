"""Checkpoints: block files catch up with the commit log, and the log is cut.

One is due when the log has filled a segment. It makes every store durable up to the log's last
entry, so that the segments before can go; a restart replays only what came after. A stream whose
files cannot be written keeps the log from being cut and is tried again later; it goes on meanwhile,
because the log has its messages.
"""

import os
from collections.abc import Callable, Iterable

from penstock.kernel.storage import Log
from penstock.model.stream_config import Storage
from penstock.server.clock import monotonic_ns
from penstock.server.jetstream.directory import StoreDirectory
from penstock.server.jetstream.keeper import Kept

_SEGMENTS_MAX = 2  # the one that is written, and one before it
_SPARE_BYTES = 4 << 20  # for indexes and descriptions
_AGAIN_NS = 1_000_000_000  # after a failure


class Checkpoints:
    """Decides when, and does it."""

    def __init__(self, log: Log, directory: StoreDirectory, report: Callable[[str], None]) -> None:
        self.log = log
        self._directory = directory
        self._report = report
        self._not_before_ns = 0
        self.failure = ""
        self.cutting = True  # false while a stream that is not open may need the log

    def end_turn(self, streams: Iterable[Kept]) -> None:
        if self.log.segments() > _SEGMENTS_MAX and monotonic_ns() >= self._not_before_ns:
            journaled = [kept for kept in streams if kept.store.journal is not None]
            self.run(journaled, closing=False)

    def run(self, streams: Iterable[Kept], *, closing: bool) -> bool:
        """Returns true if everything is in the stores and the log is no longer needed."""
        mark = self.log.last()
        failures = []
        stores = [kept for kept in streams if kept.stream.config.storage is Storage.FILE]
        if full := self._too_full(stores):
            failures.append(full)
            stores = []
        for kept in stores:
            try:
                kept.store.blocks.checkpoint(mark, closing)
                kept.mark = mark
            except OSError as error:
                failures.append(f"stream {kept.stream.config.name}: {error}")
        try:
            self._directory.sync()
        except OSError as error:
            failures.append(str(error))
        self._tell("; ".join(failures))
        if failures or not self.cutting:
            self._not_before_ns = monotonic_ns() + _AGAIN_NS
            return False
        self.log.cut(mark)
        return True

    def _too_full(self, stores: list[Kept]) -> str:
        """Blocks must not take the space that the log still has: it would stop every stream."""
        space = os.statvfs(self._directory.root)
        needed = sum(kept.store.blocks.unwritten_bytes() for kept in stores) + _SPARE_BYTES
        if space.f_bavail * space.f_frsize >= needed:
            return ""
        return f"write {self._directory.root}: No space left for {needed} bytes"

    def _tell(self, failure: str) -> None:
        if failure and failure != self.failure:
            self._report(f"Checkpoint failed: {failure}")
        self.failure = failure
