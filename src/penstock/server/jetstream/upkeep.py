"""What a store needs from time to time: expiry, writes that no log has, syncs.

A stream whose files cannot be written stops, and goes on when they can be again; its messages have
waited in memory meanwhile.
"""

from collections.abc import Callable, Iterable

from penstock.model.stream_config import Storage
from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.server.jetstream.losses import update_losses
from penstock.server.jetstream.parts import Parts

_EXPIRY_CHECK_NS = 200_000_000
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
        settings = parts.context.options.jetstream_settings
        self._sync_interval_ns = settings.sync_interval_ns or _ASYNC_SYNC_NS

    def start(self) -> None:
        self._sync_later()
        self._expire_later()
        self._write_later()
        self._erase_later()

    def _write_later(self) -> None:
        self._context.after("write-behind", _WRITE_BEHIND_NS, self._write_behind)

    def _write_behind(self) -> None:
        """Writes what no log has, and lets a stream go on whose files can be written again."""
        for kept in self._unlogged():
            ingest = kept.ingest
            if ingest is None or not (ingest.failure or kept.store.blocks.unwritten_bytes()):
                continue
            try:
                ingest.write_out()
            except OSError as error:
                self._stop_stream(kept, error)
                continue
            if kept.failure:
                kept.stream.catch_up()
                kept.go_on()
                self._context.logger.info("Stream %s goes on", kept.stream.config.name)
        self._write_later()

    def _sync_later(self) -> None:
        self._context.after("sync", self._sync_interval_ns, self._sync)

    def _sync(self) -> None:
        self._sync_streams(self._unlogged())
        self._sync_later()

    def _erase_later(self) -> None:
        self._context.after("erase", _ERASE_NS, self._erase)

    def _erase(self) -> None:
        """Erased messages are overwritten once a checkpoint has their removal."""
        streams = self._keeper.kept.values()
        self._sync_streams([kept for kept in streams if kept.store.blocks.has_erasures()])
        self._erase_later()

    def _unlogged(self) -> list[Kept]:
        """Streams in files whose changes are in no log."""
        return [
            kept
            for kept in self._keeper.kept.values()
            if kept.store.journal is None and kept.stream.config.storage is Storage.FILE
        ]

    def _stop_stream(self, kept: Kept, error: OSError) -> None:
        if not kept.failure:
            kept.stop(str(error))
            name = kept.stream.config.name
            self._context.logger.error("Stream %s stopped: %s", name, error)

    def _expire_later(self) -> None:
        self._context.after("expiry", _EXPIRY_CHECK_NS, self._expire)

    def _expire(self) -> None:
        now_ns = self._keeper.now_ns()
        for kept in self._keeper.kept.values():
            if kept.failure:
                continue
            update_losses(kept, self._context.logger.error)
            try:
                kept.stream.expire(now_ns)
            except OSError as error:
                self._stop_stream(kept, error)
        self._turns.flush()
        self._expire_later()
