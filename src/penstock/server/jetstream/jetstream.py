"""JetStream of one server: puts directory, log, keeper and API together, starts and stops them.

With `sync_interval: always` (the default) every change goes through the commit log and its
acknowledgement waits for the sync. With a duration there is no log: a turn's changes are written
to the block files before their acknowledgements leave, and synced every interval.
"""

import contextlib
import tempfile
from pathlib import Path

import msgspec

from penstock.api.streams import StreamApi
from penstock.config.options import Options
from penstock.kernel.hub import Hub
from penstock.routing.accounts import Account
from penstock.routing.services import Request, Services
from penstock.routing.targets import Targets
from penstock.server.context import Context
from penstock.server.jetstream.account import account_info
from penstock.server.jetstream.checkpoints import Checkpoints
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.directory import StoreDirectory
from penstock.server.jetstream.front import PATTERNS, ApiFront
from penstock.server.jetstream.keeper import Keeper
from penstock.server.jetstream.recovery import Recovery
from penstock.server.turns import Turns

_EXPIRY_CHECK_NS = 200_000_000


class JetStream:
    """Streams on a running server."""

    def __init__(
        self, context: Context, hub: Hub, targets: Targets, turns: Turns, account: Account
    ) -> None:
        self._context = context
        self._hub = hub
        self._turns = turns
        self._account = account
        self.directory = StoreDirectory(store_dir(context.options))
        self._lazy_sync_ns = context.options.jetstream_settings.sync_interval_ns
        self.commit: Commit | None = None
        if self._lazy_sync_ns is None:
            self.commit = Commit(self.directory.open_log(), hub, turns, self._log_failed)
            self.directory.replayable_from = 1
        self._checkpoints = None if self.commit is None else Checkpoints(self.commit.log)
        self.keeper = Keeper(context, hub, targets, account, self.directory, self.commit)
        self.front = ApiFront(StreamApi(self.keeper.registry, self.keeper), self._account_info)
        self.failure = ""

    def start(self, services: Services) -> None:
        log = None if self.commit is None else self.commit.log
        Recovery(self.keeper, self.directory, self._context.logger.error).run(log)
        for pattern in PATTERNS:
            gate = contextlib.nullcontext if self.commit is None else self.commit.gated
            services.add(self._account, pattern.encode(), self._answer, gate)
        self._context.info = msgspec.structs.replace(self._context.info, jetstream=True)
        self._turns.before_flush.append(self._end_turn)
        if self.commit is not None:
            self._context.loop.add_reader(self.commit.log.fileno(), self.commit.announced)
        else:
            self._sync_later()
        self._expire_later()

    def stop(self) -> None:
        """Everything accepted is on disk when this returns."""
        if self.commit is not None:
            self._context.loop.remove_reader(self.commit.log.fileno())
            self.commit.end_turn()
            if self.commit.log.failure() is None:
                self.commit.log.wait_durable(self.commit.log.last())
        if not self.failure:
            for kept in self.keeper.kept.values():
                kept.store.blocks.checkpoint(self._log_last(), True)
            if self.commit is not None:
                self.commit.log.cut(self.commit.log.last())

    def _log_last(self) -> int:
        return 0 if self.commit is None else self.commit.log.last()

    def _answer(self, request: Request) -> bytes | None:
        return self.front.answer(request)

    def _account_info(self, _name: str, _payload: bytes) -> dict[str, object]:
        return account_info(self.keeper.registry, self.front.total, self.front.errors)

    def _end_turn(self) -> None:
        if self.commit is not None and self._checkpoints is not None:
            self.commit.end_turn()
            self._checkpoints.end_turn(self.keeper.kept.values())
        else:
            for kept in self.keeper.kept.values():
                kept.store.blocks.write_out()

    def _sync_later(self) -> None:
        assert self._lazy_sync_ns is not None
        self._context.after("sync", self._lazy_sync_ns, self._sync)

    def _sync(self) -> None:
        for kept in self.keeper.kept.values():
            kept.store.blocks.sync()
        self._sync_later()

    def _expire_later(self) -> None:
        self._context.after("expiry", _EXPIRY_CHECK_NS, self._expire)

    def _expire(self) -> None:
        now_ns = self.keeper.now_ns()
        for kept in self.keeper.kept.values():
            kept.stream.expire(now_ns)
        self._expire_later()

    def _log_failed(self, failure: str) -> None:
        """No change can become durable any more: every journaled stream stops."""
        self.failure = failure
        self._context.logger.error("The commit log stopped: %s", failure)
        for kept in self.keeper.kept.values():
            if kept.store.journal is not None and kept.ingest is not None:
                kept.ingest.stopped = True


def store_dir(options: Options) -> Path:
    return options.store_dir or Path(tempfile.gettempdir()) / "penstock"
