"""What a store needs from time to time: expiry, writes that no log has, syncs.

A stream whose files cannot be written stops, and goes on when they can be again; its messages have
waited in memory meanwhile. Only streams that have changed are visited.
"""

import asyncio
from collections import deque

from penstock.server.jetstream.checkpoints import Checkpoints
from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.server.jetstream.losses import update_losses
from penstock.server.jetstream.parts import Parts
from penstock.streams.departures import EXPIRED_AT_ONCE_MAX, Departure, expire, is_due

_EXPIRY_CHECK_NS = 200_000_000  # the reference looks four times a second at the most
_EXPIRED_LEAST = 20  # messages; as much as a look at a stream costs
_LOSSES_CHECK_NS = 5_000_000_000  # who asks for a stream's state is told at once
_WRITE_BEHIND_NS = 100_000_000  # how long an async stream's messages are in memory only
_ERASE_NS = 1_000_000_000
_SPACE_CHECK_NS = 250_000_000
_ASYNC_SYNC_NS = 120_000_000_000  # as the reference's default for all streams


class Upkeep:
    """The timers of the streams."""

    def __init__(self, parts: Parts, keeper: Keeper, checkpoints: Checkpoints) -> None:
        self._context = parts.context
        self._turns = parts.turns
        self._keeper = keeper
        self._checkpoints = checkpoints
        self._space = parts.directory.space
        self._unsynced: set[str] = set()  # streams that were written since the last sync
        self._due: deque[Kept] = deque()  # streams with messages that are over
        self._expiring: asyncio.Handle | None = None  # soon
        settings = parts.context.options.jetstream_settings
        self._sync_interval_ns = settings.sync_interval_ns or _ASYNC_SYNC_NS

    def start(self) -> None:
        """Each timer sets itself again."""
        self._context.after("sync", self._sync_interval_ns, self._sync)
        self._context.after("expiry", 0, self._expire)
        self._context.after("losses", _LOSSES_CHECK_NS, self._look_for_losses)
        self._context.after("erase", _ERASE_NS, self._erase)
        self._context.after("write-behind", _WRITE_BEHIND_NS, self._write_behind)
        self._look_at_space()

    def _look_at_space(self) -> None:
        """Where it is short, what streams need no more goes at once."""
        self._context.after("space", _SPACE_CHECK_NS, self._look_at_space)
        self._space.look()
        if self._space.shortage:
            self._sync_now()
            self._checkpoints.relieve()

    def _write_behind(self) -> None:
        """Writes what no log has, and lets a stream go on whose files can be written again."""
        self._context.after("write-behind", _WRITE_BEHIND_NS, self._write_behind)
        for kept in self._taken(self._keeper.unwritten):
            self._unsynced.add(kept.name)
            try:
                kept.store.write_out()
                kept.consumers.saved.write_behind()
            except OSError as error:
                self._failed(kept, error)
                continue
            if kept.failure:
                kept.stream.catch_up()
                kept.go_on()
                self._context.logger.info("Stream %s goes on", kept.name)

    def _sync(self) -> None:
        self._context.after("sync", self._sync_interval_ns, self._sync)
        self._sync_now()

    def _sync_now(self) -> None:
        self._unsynced |= self._keeper.unwritten
        self._checkpoints.ask(self._taken(self._unsynced))

    def _erase(self) -> None:
        """Erased messages are overwritten once a checkpoint has their removal, and the next one
        makes that durable; and it removes the files of what was purged. However much there is, once
        in a while."""
        self._context.after("erase", _ERASE_NS, self._erase)
        erased = [kept for kept in self._keeper.kept.values() if _has_erased(kept)]
        self._checkpoints.ask([*self._taken(self._keeper.purged), *erased], erasing=True)

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

    def stop(self) -> None:
        """Nothing more expires."""
        if self._expiring is not None:
            self._expiring.cancel()

    def _expire(self) -> None:
        """Removes what is over, a bounded number of messages at a time and one stream after the
        other; if that is not all, the rest after others had their turn."""
        if self._expiring is not None:
            self._expiring.cancel()
            self._expiring = None
        self._context.after("expiry", _EXPIRY_CHECK_NS, self._expire)
        now_ns = self._keeper.now_ns()
        if not self._due:
            kept_ones = self._keeper.kept.values()
            self._due.extend(kept for kept in kept_ones if is_due(kept.stream, now_ns))
        left = EXPIRED_AT_ONCE_MAX
        while self._due and left > 0:
            kept = self._due.popleft()
            if kept.failure or self._keeper.kept.get(kept.name) is not kept:
                continue
            gone = self._expire_some(kept, now_ns, left)
            left -= max(_EXPIRED_LEAST, gone.cost)
            if gone.is_cut:
                self._due.append(kept)
        self._turns.flush()
        if self._due:
            self._expiring = self._context.loop.call_soon(self._expire)

    def _expire_some(self, kept: Kept, now_ns: int, count_max: int) -> Departure:
        try:
            gone = expire(kept.stream, now_ns, count_max)
            kept.say(gone.copies)
        except OSError as error:
            self._keeper.stop(kept.stream, error)
            return Departure(0, [])
        return gone

    def _look_for_losses(self) -> None:
        self._context.after("losses", _LOSSES_CHECK_NS, self._look_for_losses)
        for kept in self._keeper.kept.values():
            update_losses(kept, self._context.logger.error)


def _has_erased(kept: Kept) -> bool:
    blocks = kept.store.blocks
    return blocks.has_erasures() or blocks.has_overwritten()
