"""Checkpoints: block files catch up with the commit log, and the log is cut.

One is due when the log has filled a segment. The loop's thread writes every store that has changed
out and notes its state down; another thread makes that durable while the streams go on; then the
segments before can go, and a restart replays only what came after. Streams without a log are synced
the same way from time to time, and a message that was erased is overwritten once its removal is in
a checkpoint.

A store whose files cannot be written keeps the log from being cut and is tried again later; its
stream goes on meanwhile, because the log has its messages. A failed sync is never tried again: that
stream stops, and the log keeps what a restart needs of it.
"""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from penstock.kernel.storage import Log
from penstock.model.stream_config import Storage
from penstock.server.clock import monotonic_ns
from penstock.server.jetstream.flight import Flight
from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.server.jetstream.parts import Parts

_SEGMENTS_MAX = 2  # the one that is written, and one before it
_SPARE_BYTES = 4 << 20  # for indexes and descriptions
_AGAIN_NS = 1_000_000_000  # after a failure


class Checkpoints:
    """Decides when, and sees it through. At most one is under way."""

    def __init__(self, parts: Parts, log: Log, keeper: Keeper) -> None:
        self._log = log
        self._loop = parts.context.loop
        self._report = parts.context.logger.error
        self._directory = parts.directory
        self._keeper = keeper
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-checkpoint")
        self._flight: Flight | None = None
        self._written: Future[None] | None = None
        self._wanted: list[Kept] = []
        self._not_before_ns = 0
        self._paused = False
        self.failure = ""
        self.cutting = True  # false while a stream that is not open may need the log

    def end_turn(self) -> None:
        """A turn is over: if the log is long enough, it is time."""
        if self._flight is None and self._log.segments() > _SEGMENTS_MAX:
            self._begin(self._touched(), cut=True)

    def _touched(self) -> list[Kept]:
        journals = ((kept, kept.store.journal) for kept in self._keeper.kept.values())
        return [kept for kept, journal in journals if journal and journal.is_touched]

    def ask(self, streams: Iterable[Kept]) -> None:
        """Some streams should be durable in their own files soon."""
        wanted = dict.fromkeys((*self._wanted, *streams))
        self._wanted = [kept for kept in wanted if self._keeper.kept.get(kept.name) is kept]
        if self._flight is None and self._wanted:
            self._begin(self._wanted, cut=False)

    def pause(self) -> None:
        """The log failed: stores are about to be opened again."""
        self.finish()
        self._paused = True

    def go_on(self, log: Log) -> None:
        """Another log stands in for the one that failed."""
        self._log = log
        self._paused = False

    def finish(self) -> None:
        """Waits for the one that is under way."""
        if self._written is not None:
            self._written.result()
            self._landed()

    def close(self, *, run: bool) -> None:
        """The last one, if there is to be one: the next start finds all in the stores."""
        self.pause()
        self._thread.shutdown()
        if run:
            self.run(closing=True)

    def run(self, *, closing: bool) -> bool:
        """One in this thread. True if everything is in the stores and the log is not needed."""
        flight = Flight(self._log, self._directory.folders, cut=True)
        for kept in self._fitting(self._keeper.kept.values(), flight):
            flight.add(kept, closing=closing)
        flight.write()
        for kept in flight.land(self._keeper):
            flight.take(kept, closing=closing)
        return self._over(flight)

    def _begin(self, streams: Iterable[Kept], *, cut: bool) -> None:
        if self._paused or monotonic_ns() < self._not_before_ns:
            return
        flight = Flight(self._log, self._directory.folders, cut=cut)
        for kept in self._fitting(streams, flight):
            flight.add(kept)
        self._wanted = []
        self._flight = flight
        self._written = self._thread.submit(flight.write)
        self._written.add_done_callback(lambda _: self._loop.call_soon_threadsafe(self._landed))

    def _fitting(self, streams: Iterable[Kept], flight: Flight) -> list[Kept]:
        """Blocks must not take the space that the log still has: it would stop every stream."""
        stores = [kept for kept in streams if kept.stream.config.storage is Storage.FILE]
        needed = sum(kept.store.blocks.unwritten_bytes() for kept in stores) + _SPARE_BYTES
        if self._directory.has_room(needed):
            return stores
        root = self._directory.root
        flight.failures.append(f"write {root}: No space left for {needed} bytes")
        return []

    def _landed(self) -> None:
        flight, self._flight, self._written = self._flight, None, None
        if flight is None:
            return  # somebody waited for it
        again = flight.land(self._keeper)
        self._over(flight)
        self.ask(again)
        if flight.failures:
            self._loop.call_later(_AGAIN_NS / 1e9, self._try_again)

    def _try_again(self) -> None:
        """An idle server would have no other reason to find out that all is well."""
        if self.failure and self._flight is None:
            self._begin(self._touched(), cut=True)

    def _over(self, flight: Flight) -> bool:
        self._tell("; ".join(flight.failures))
        if flight.failures:
            self._not_before_ns = monotonic_ns() + _AGAIN_NS
        if flight.failures or not self.cutting or not flight.cut:
            return False
        removals = self._directory.folders.removals
        flight.log.cut(min(flight.mark, removals.entry_settled))
        return True

    def _tell(self, failure: str) -> None:
        if failure and failure != self.failure:
            self._report(f"Checkpoint failed: {failure}")
        self.failure = failure
