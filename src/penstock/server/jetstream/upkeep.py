"""What a store needs from time to time: expiry, writes that no log has, syncs.

A stream whose files cannot be written stops, and goes on when they can be again; its messages have
waited in memory meanwhile. Only streams that have changed are visited.
"""

from collections.abc import Callable, Iterable

from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.server.jetstream.losses import update_losses
from penstock.server.jetstream.parts import Parts

_EXPIRY_CHECK_NS = 200_000_000
_LOSSES_CHECK_NS = 5_000_000_000  # who asks for a stream's state is told at once
_WRITE_BEHIND_NS = 100_000_000  # how long an async stream's messages are in memory only
_ERASE_NS = 1_000_000_000
_ASYNC_SYNC_NS = 120_000_000_000  # as the reference's default for all streams


class Upkeep:
    """The timers of the streams."""

    def __init__(
        self, parts: Parts, keeper: Keeper, sync: Callable[[Iterable[Kept]], None]
    ) -> None:
        self._context = parts.context
        self._turns = parts.turns
        self._keeper = keeper
        self._sync_streams = sync
        self._unsynced: set[str] = set()  # streams that were written since the last sync
        settings = parts.context.options.jetstream_settings
        self._sync_interval_ns = settings.sync_interval_ns or _ASYNC_SYNC_NS

    def start(self) -> None:
        """Each timer sets itself again."""
        self._context.after("sync", self._sync_interval_ns, self._sync)
        self._context.after("expiry", _EXPIRY_CHECK_NS, self._expire)
        self._context.after("losses", _LOSSES_CHECK_NS, self._look_for_losses)
        self._context.after("erase", _ERASE_NS, self._erase)
        self._context.after("write-behind", _WRITE_BEHIND_NS, self._write_behind)

    def _write_behind(self) -> None:
        """Writes what no log has, and lets a stream go on whose files can be written again."""
        self._context.after("write-behind", _WRITE_BEHIND_NS, self._write_behind)
        for kept in self._taken(self._keeper.unwritten):
            self._unsynced.add(kept.name)
            try:
                kept.store.blocks.write_out()
            except OSError as error:
                self._failed(kept, error)
                continue
            if kept.failure:
                kept.stream.catch_up()
                kept.go_on()
                self._context.logger.info("Stream %s goes on", kept.name)

    def _sync(self) -> None:
        self._context.after("sync", self._sync_interval_ns, self._sync)
        self._unsynced |= self._keeper.unwritten
        self._sync_streams(self._taken(self._unsynced))

    def _erase(self) -> None:
        """Erased messages are overwritten once a checkpoint has their removal."""
        self._context.after("erase", _ERASE_NS, self._erase)
        streams = self._keeper.kept.values()
        self._sync_streams([kept for kept in streams if kept.store.blocks.has_erasures()])

    def _taken(self, names: set[str]) -> list[Kept]:
        """The streams of a set, which is empty afterwards."""
        kept = self._keeper.kept
        found = [kept[name] for name in names if name in kept]
        names.clear()
        return found

    def _failed(self, kept: Kept, error: OSError) -> None:
        if kept.failure:
            self._keeper.unwritten.add(kept.name)  # it is known; later once more
        else:
            self._keeper.stop(kept.stream, error)

    def _expire(self) -> None:
        self._context.after("expiry", _EXPIRY_CHECK_NS, self._expire)
        now_ns = self._keeper.now_ns()
        for kept in self._keeper.kept.values():
            if kept.stream.config.max_age <= 0 or kept.failure:
                continue
            try:
                kept.stream.expire(now_ns)
            except OSError as error:
                self._keeper.stop(kept.stream, error)
        self._turns.flush()

    def _look_for_losses(self) -> None:
        self._context.after("losses", _LOSSES_CHECK_NS, self._look_for_losses)
        for kept in self._keeper.kept.values():
            update_losses(kept, self._context.logger.error)
