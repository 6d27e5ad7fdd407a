"""Checkpoints: block files catch up with the commit log, and the log is cut.

One is due when the log has filled a segment. It makes every journaled store durable up to the
log's last entry, so that the segments before can go; a restart replays only what came after.
"""

from collections.abc import Iterable

from penstock.kernel.storage import Log
from penstock.server.jetstream.keeper import Kept

_SEGMENTS_MAX = 2  # the one that is written, and one before it


class Checkpoints:
    """Decides when, and does it."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def end_turn(self, streams: Iterable[Kept]) -> None:
        if self._log.segments() > _SEGMENTS_MAX:
            self.run(streams, closing=False)

    def run(self, streams: Iterable[Kept], *, closing: bool) -> None:
        mark = self._log.last()
        for kept in streams:
            if kept.store.journal is not None:
                kept.store.blocks.checkpoint(mark, closing)
                kept.mark = mark
        self._log.cut(mark)
