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
from penstock.kernel.hub import Hub
from penstock.kernel.storage import Log
from penstock.model.errors import StorageError
from penstock.routing.accounts import Account
from penstock.routing.services import Services
from penstock.routing.targets import Targets
from penstock.server.context import Context
from penstock.server.jetstream.checkpoints import Checkpoints
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.directory import StoreDirectory
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
        self.directory = StoreDirectory(store_dir(context.options))
        self._log = self.directory.open_log()
        self.commit: Commit | None = None
        if context.options.jetstream_settings.sync_interval_ns is None:
            self.commit = Commit(self._log, hub, turns, self._log_failed)
            self.commit.on_durable = self._log_moved
            self.directory.folders.log = self._log
        self.directory.folders.removals.clear = self._clear
        parts = Parts(context, hub, targets, turns, account, self.directory, self.commit)
        self.keeper = Keeper(parts)
        self._checkpoints = Checkpoints(parts, self._log, self.keeper)
        self._upkeep = Upkeep(parts, self.keeper, self._checkpoints.ask)
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
        self._recover()
        for pattern in PATTERNS:
            services.add(self._account, pattern.encode(), self.front.answer, self.front.gate)
        self._context.info = msgspec.structs.replace(self._context.info, jetstream=True)
        if self.commit is not None:
            self._turns.before_flush.append(self._end_turn)
            commit = self.commit
            self._turns.resting = lambda: commit.crowded
            self._context.loop.add_reader(self.commit.log.fileno(), self.commit.announced)
        self._upkeep.start()
        self._is_running = True

    def stop(self) -> None:
        """Everything accepted is on disk when this returns. After a start that failed half way
        nothing is touched: what was recovered so far is not all there is."""
        self.snapshots.stop()
        self.restores.stop()
        complete = self._is_running and self._is_durable() and not self.failure
        self._checkpoints.close(run=complete)
        if complete:
            for kept in self.keeper.kept.values():
                save_ids(kept, self.keeper.now_ns())
        self.directory.release()

    def _is_durable(self) -> bool:
        if self.commit is None:
            return True
        if not self.failure:
            self._context.loop.remove_reader(self.commit.log.fileno())
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
        if self._checkpoints.failure:
            yield Problem(kind="JETSTREAM", error=f"checkpoint: {self._checkpoints.failure}")
        for name, kept in self.keeper.kept.items():
            if kept.failure and not self.failure:
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

    def _clear(self, folder: Path) -> None:
        """Many files take their time, and nobody waits for it."""
        self._context.loop.run_in_executor(None, clear, folder)

    def _log_moved(self, durable: int) -> None:
        self.directory.folders.removals.carry_out(durable)
        self.snapshots.log_moved()

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
