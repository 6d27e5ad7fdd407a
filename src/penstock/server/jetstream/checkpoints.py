"""Checkpoints: block files catch up with the commit log, and the log is cut.

One is due when the log has filled a segment. The loop's thread writes every store that has changed
out and notes its state down; another thread makes that durable while the streams go on; then the
segments before can go, and a restart replays only what came after. Streams without a log are synced
the same way from time to time, and a message that was erased is overwritten once its removal is in
a checkpoint; what the log has of it is the business of `Forgetting`.

A store whose files cannot be written keeps the log from being cut and is tried again later; its
stream goes on meanwhile, because the log has its messages. A failed sync is never tried again: that
stream stops, and the log keeps what a restart needs of it.
"""

import contextlib
import functools
import itertools
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from penstock.kernel.storage import Log
from penstock.model.stream_config import Storage
from penstock.server.clock import monotonic_ns
from penstock.server.jetstream.flight import Flight
from penstock.server.jetstream.forgetting import Forgetting
from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.server.jetstream.parts import Parts

_SEGMENTS_MAX = 2  # the one that is written, and one before it
_AGAIN_NS = 1_000_000_000  # after a failure
_ALWAYS_TRIED_BYTES = 64 << 10  # what was purged has little to write and much to give back


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
        self._cut_at = 0  # the log entry
        self.failure = ""
        self.forgetting = Forgetting(log, self._loop, self._report)
        self.cutting = True  # false while a stream that is not open may need the log

    def end_turn(self) -> None:
        """A turn is over: if the log is long enough, it is time."""
        if self._flight is None and self._log.segments() > _SEGMENTS_MAX:
            self._begin(_touched(self._keeper), cut=True)

    def ask(self, streams: Iterable[Kept], *, erasing: bool = False) -> None:
        """Some streams should be durable in their own files soon; with `erasing`, because of what
        was erased, which is to be neither in them nor in the log."""
        wanted = dict.fromkeys((*self._wanted, *streams))
        self._wanted = [kept for kept in wanted if self._keeper.kept.get(kept.name) is kept]
        if self._flight is not None:
            return
        has_erasures = any(kept.store.blocks.has_erasures() for kept in self._wanted)
        if erasing and self.cutting and (has_erasures or self.forgetting.is_due):
            self._begin(dict.fromkeys((*_touched(self._keeper), *self._wanted)), cut=True)
        elif self._wanted:
            self._begin(self._wanted, cut=False)

    def relieve(self) -> None:
        """Space is short: whatever of the log and of the blocks is not needed should go."""
        if self._directory.space.is_used_up:
            self._log.keep_spare(False)
        if self._flight is None:
            touched = _touched(self._keeper)
            if touched or self._log.last() > self._cut_at:
                self._begin(touched, cut=True)

    def pause(self) -> None:
        """The log failed: stores are about to be opened again."""
        self._paused = True  # first: what has landed may ask for the next one
        self.finish()

    def go_on(self, log: Log) -> None:
        """Another log stands in for the one that failed."""
        self._log = log
        self._cut_at = 0
        self._paused = False
        self.forgetting.go_on(log)

    def finish(self) -> None:
        """Waits for the one that is under way."""
        if self._flight is not None and self._written is not None:
            self._written.result()
            self._landed(self._flight)

    def close(self, *, run: bool, and_cut: bool = False) -> None:
        """The last one, if there is to be one: the next start finds all in the stores.

        The log is cut by its own thread, which need not have come to it when this returns, unless
        it is waited for: what is left costs the next start a little time.
        """
        self.pause()
        self._thread.shutdown()
        if run and self.run(closing=True) and and_cut:
            self.forgetting.overwrite()

    def run(self, *, closing: bool) -> bool:
        """One in this thread. True if everything is in the stores and the log is not needed."""
        flight = self._take_off(self._keeper.kept.values(), cut=True, closing=closing)
        flight.write()
        again = flight.land(self._keeper)
        everyone = self._keeper.kept.values()
        again += [kept for kept in everyone if kept.store.blocks.has_overwritten()]
        for kept in dict.fromkeys(again):
            flight.take(kept, closing=closing)
        is_over = self._over(flight)
        if is_over and flight.forgets:
            with contextlib.suppress(OSError):  # the next start finds what is left
                self.forgetting.overwrite()
        return is_over

    def _begin(self, streams: Iterable[Kept], *, cut: bool) -> None:
        if self._paused or monotonic_ns() < self._not_before_ns:
            return
        self._wanted = []
        flight = self._take_off(streams, cut=cut)
        self._flight = flight
        self._written = self._thread.submit(flight.write)
        landed = functools.partial(self._loop.call_soon_threadsafe, self._landed, flight)
        self._written.add_done_callback(lambda _: landed())

    def _take_off(self, streams: Iterable[Kept], *, cut: bool, closing: bool = False) -> Flight:
        flight = Flight(self._log, self._directory.folders, cut=cut)
        stores = [kept for kept in streams if kept.stream.config.storage is Storage.FILE]
        room = max(self._directory.space.room(), _ALWAYS_TRIED_BYTES)
        stores, left = _fitting(stores, room)
        if left:
            flight.failures.append(f"write {self._directory.root}: No space left for all blocks")
            self._wanted += left
        if any(kept.store.blocks.has_erasures() for kept in stores):
            self.forgetting.owe()
        for kept in stores:
            flight.add(kept, closing=closing)
        flight.forgets = cut and not flight.failures and self.forgetting.begin(flight.mark)
        return flight

    def _landed(self, flight: Flight) -> None:
        if flight is not self._flight:
            return  # somebody waited for it, and another one may be under way
        self._flight = self._written = None
        again = flight.land(self._keeper)
        if self._over(flight) and flight.forgets:
            self.forgetting.overwrite_in(self._thread)
        self.ask(again)
        if flight.failures:
            self._loop.call_later(_AGAIN_NS / 1e9, self._try_again)

    def _try_again(self) -> None:
        """An idle server would have no other reason to find out that all is well."""
        if self.failure and self._flight is None:
            self._begin(dict.fromkeys((*_touched(self._keeper), *self._wanted)), cut=True)

    def _over(self, flight: Flight) -> bool:
        self._tell("; ".join(flight.failures))
        if flight.failures:
            self._not_before_ns = monotonic_ns() + _AGAIN_NS
        if flight.failures or not self.cutting or not flight.cut:
            return False
        removals = self._directory.folders.removals
        flight.log.cut(min(flight.mark, removals.entry_settled))
        self._cut_at = flight.mark
        return True

    def _tell(self, failure: str) -> None:
        if failure and failure != self.failure:
            self._report(f"Checkpoint failed: {failure}")
        self.failure = failure


def _touched(keeper: Keeper) -> list[Kept]:
    journals = ((kept, kept.store.journal) for kept in keeper.kept.values())
    return [kept for kept, journal in journals if journal and journal.is_touched]


def _fitting(stores: list[Kept], room: int) -> tuple[list[Kept], list[Kept]]:
    """Blocks must not take the space that the log still has: it would stop every stream. Those with
    little to write come first, since they may free what the others need."""
    needed = {kept: kept.store.blocks.unwritten_bytes() for kept in stores}
    if sum(needed.values()) <= room:
        return stores, []
    by_need = sorted(stores, key=needed.__getitem__)
    ends = itertools.accumulate(needed[kept] for kept in by_need)
    count = sum(end <= room for end in ends)
    return by_need[:count], by_need[count:]
