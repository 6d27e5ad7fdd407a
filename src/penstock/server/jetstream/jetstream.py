"""JetStream of one server: puts directory, log, keeper and API together, starts and stops them.

With `sync_interval: always` (the default) every change goes through the commit log and its
acknowledgement waits for the sync. With a duration there is no log: changes are written to the
block files before their acknowledgements leave, and synced every interval.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.config.options import Options
from penstock.consumers.statuses import SHUTDOWN
from penstock.kernel.hub import Hub
from penstock.kernel.storage import Blocks, Log
from penstock.model.errors import StorageError
from penstock.model.stream_config import Storage
from penstock.routing.accounts import Account
from penstock.routing.services import Services
from penstock.routing.targets import Targets
from penstock.server.context import Context
from penstock.server.jetstream.capacity import capacity
from penstock.server.jetstream.checkpoints import Checkpoints
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.directory import StoreDirectory
from penstock.server.jetstream.foreign import HINT, foreign_accounts
from penstock.server.jetstream.front import PATTERNS, ApiFront
from penstock.server.jetstream.keeper import Keeper
from penstock.server.jetstream.outage import Outage
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.recovery import Recovery, save_ids
from penstock.server.jetstream.removals import clear
from penstock.server.jetstream.restores import REFUSED, Restores
from penstock.server.jetstream.snapshots import Snapshots
from penstock.server.jetstream.upkeep import Upkeep
from penstock.server.monitor.health import HealthQuery, Problem
from penstock.server.turns import Turns

_CUT_SECONDS_MAX = 10.0  # cutting a log that is not needed any more takes milliseconds


class JetStream:
    """Streams on a running server."""

    def __init__(
        self, context: Context, hub: Hub, targets: Targets, turns: Turns, account: Account
    ) -> None:
        self._context = context
        self._is_running = False
        self._turns = turns
        self._account = account
        is_temporary = context.options.store_is_temporary
        self.directory = StoreDirectory(store_dir(context.options), is_temporary=is_temporary)
        self._log = self.directory.open_log()
        self.commit: Commit | None = None
        if context.options.jetstream_settings.sync_interval_ns is None:
            self.commit = Commit(self._log, hub, turns, self._log_failed)
            self.commit.on_durable = self._log_moved
            self.directory.folders.log = self._log
            self.directory.space.is_logged = True
        self.directory.folders.removals.clear = self._clear
        parts = Parts(context, hub, targets, turns, account, self.directory, self.commit)
        self.keeper = Keeper(parts)
        self._checkpoints = Checkpoints(parts, self._log, self.keeper)
        self._upkeep = Upkeep(parts, self.keeper, self._checkpoints)
        self._outage = Outage(parts, self.keeper, self._log_goes_on)
        self.snapshots = Snapshots(parts, self.keeper)
        self.restores = Restores(parts, self.keeper)
        self.front = ApiFront(parts, self.keeper)
        self.front.add_asked("STREAM.SNAPSHOT.*", self.snapshots.begin, "stream_snapshot", {})
        self.front.add_asked("STREAM.RESTORE.*", self.restores.begin, "stream_restore", REFUSED)

    @property
    def failure(self) -> str:
        """Why no journaled stream can change; empty if all is well."""
        return self._outage.failure

    def start(self, services: Services) -> None:
        for folder in foreign_accounts(self.directory.root):
            self._context.logger.warning("%s has %s", folder, HINT)
        self._recover()
        front = self.front
        for pattern in PATTERNS:
            services.add(self._account, pattern.encode(), front.answer, front.gate, front.audit)
        self._context.info = msgspec.structs.replace(self._context.info, jetstream=True)
        self._turns.before_flush.append(self.keeper.links.reading.end_turn)  # before consumers look
        self._turns.before_flush.append(self.keeper.turn_end.end_turn)  # before its entries go out
        if self.commit is not None:
            self._turns.before_flush.append(self._end_turn)
            commit = self.commit
            self._turns.resting = lambda: commit.crowded
            self._context.loop.add_reader(self.commit.log.fileno(), self.commit.announced)
        self._measure()
        self.directory.space.changed = self._space_changed
        self._upkeep.start()
        self._is_running = True

    def take_leave(self) -> None:
        """The server is about to stop: whoever waits for messages hears of it."""
        for kept in self.keeper.kept.values():
            for consumer in kept.consumers.all():
                if consumer.pulling is not None:
                    consumer.pulling.end(SHUTDOWN)

    def stop(self, *, and_cut: bool = False) -> None:
        """Everything accepted is on disk when this returns, and if wanted nowhere but in the
        stores. After a start that failed half way nothing is touched: what was recovered so far is
        not all there is."""
        self._upkeep.stop()
        self.snapshots.stop()
        self.restores.stop()
        complete = self._is_running and self._is_durable() and not self.failure
        self._checkpoints.close(run=complete, and_cut=and_cut)
        if complete:
            for kept in self.keeper.kept.values():
                save_ids(kept, self.keeper.now_ns())
        # In somebody else's process garbage may wait for long; its threads and files may not.
        self._log.close()
        for kept in self.keeper.kept.values():
            kept.store.blocks = Blocks.in_memory(kept.name)
        self.directory.release()

    def _is_durable(self) -> bool:
        if self.commit is None:
            return True
        if not self.failure:
            self._context.loop.remove_reader(self.commit.log.fileno())
            self.keeper.turn_end.end_turn()
            self.commit.end_turn()
        try:
            self.commit.log.wait_durable(self.commit.log.last())
        except OSError as error:
            self._context.logger.error("Not everything could be made durable: %s", error)
            return False
        self.directory.folders.removals.carry_out(self.commit.log.durable())
        return True

    def health(self, _query: HealthQuery) -> Iterator[Problem]:
        """What monitoring tells of the store."""
        if self.failure:
            yield Problem(kind="JETSTREAM", error=f"the commit log stopped: {self.failure}")
        if shortage := self.directory.space.shortage:
            yield Problem(kind="JETSTREAM", error=shortage)
        if self._checkpoints.failure:
            yield Problem(kind="JETSTREAM", error=f"checkpoint: {self._checkpoints.failure}")
        for name, kept in self.keeper.kept.items():
            is_told = self.failure and kept.store.journal is not None
            if kept.failure and not is_told:
                failure = f"stream {name} stopped: {kept.failure}"
                yield Problem(kind="STREAM", stream=name, error=failure)

    def _recover(self) -> None:
        """Stores and log become one state; afterwards only this server's mode counts."""
        lazy, directory = self.commit is None, self.directory
        was_lazy = directory.unlogged
        directory.replayable_from = None if was_lazy else 1
        recovery = Recovery(self.keeper, directory.folders, self._context.logger.error)
        self._checkpoints.cutting = recovery.run(self._log)
        directory.replayable_from = None if lazy else 1
        if recovery.has_erasures or self._log.has_remains() or lazy != was_lazy:
            self._checkpoints.forgetting.owe()  # a log that is not used any more could not be later
        if lazy == was_lazy:
            return
        if not self._checkpoints.run(closing=False):
            raise StorageError(
                "open",
                str(directory.root),
                "sync_interval cannot be changed while a stream cannot be opened or written; start "
                "with the one before until the stream's files are mended",
            )
        deadline = time.monotonic() + _CUT_SECONDS_MAX
        while self._log.segments() > 1 and time.monotonic() < deadline:
            time.sleep(0.001)  # nobody is served yet
        directory.unlogged = lazy

    def _end_turn(self) -> None:
        assert self.commit is not None
        self.commit.end_turn()
        if not self.failure:
            self._checkpoints.end_turn()

    def _measure(self) -> None:
        """What streams hold counts to what they may take."""
        keeper, settings = self.keeper, self._context.options.jetstream_settings
        held = keeper.usage.held(Storage.FILE)
        keeper.capacity = capacity(settings, self.directory.root, held)
        keeper.usage.allow(keeper.capacity)

    def _space_changed(self) -> None:
        if shortage := self.directory.space.shortage:
            self._context.logger.error(shortage)
        else:
            self._context.logger.info("There is space for messages again")
            self._log.keep_spare(True)

    def _clear(self, folder: Path) -> None:
        """Many files take their time, and nobody waits for it."""
        self._context.loop.run_in_executor(None, clear, folder)

    def _log_moved(self, durable: int) -> None:
        self.directory.folders.removals.carry_out(durable)
        self.snapshots.log_moved()
        self.keeper.links.reading.log_moved()

    def _log_failed(self, failure: str) -> None:
        assert self.commit is not None
        self._context.loop.remove_reader(self.commit.log.fileno())
        self._checkpoints.pause()
        self._outage.begin(failure)
        self.snapshots.log_failed()

    def _log_goes_on(self, log: Log) -> None:
        assert self.commit is not None
        self._log = log
        self._checkpoints.go_on(log)
        self._context.loop.add_reader(log.fileno(), self.commit.announced)


def store_dir(options: Options) -> Path:
    return options.store_dir or Path(tempfile.gettempdir()) / "penstock"
