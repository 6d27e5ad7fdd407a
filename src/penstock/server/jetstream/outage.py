"""When the commit log fails: journaled streams stop, and return with state rebuilt from disk.

A failed sync is never retried, because nobody knows what it left behind. Everything the streams
know in memory is thrown away; another log is opened, which verifies what the disk has, and replayed
over the stores as after a restart. That is tried every second until it succeeds, so service returns
when there is space again; if need be what the reserve gives up, for requests that free more.
Streams in memory do not notice.
"""

from collections.abc import Callable

from penstock.kernel.storage import Log
from penstock.server.jetstream.keeper import Keeper, Kept, begin_numbering
from penstock.server.jetstream.lost_ends import note_lost_ends
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.recovery import note_gaps, replay, settle
from penstock.storage.journal import Journal, Kind
from penstock.streams.dedup import DedupWindow

_AGAIN_NS = 1_000_000_000


class Outage:
    """Watches over the log of one server."""

    def __init__(self, parts: Parts, keeper: Keeper, over: Callable[[Log], None]) -> None:
        self._context = parts.context
        self._keeper = keeper
        self._directory = parts.directory
        self._commit = parts.commit
        self._over = over
        self.failure = ""

    def begin(self, failure: str) -> None:
        """No change can become durable any more: every journaled stream stops."""
        self._tell(failure)
        self._directory.space.failed(failure)
        for kept in self._journaled():
            kept.stop(failure)
        self._later()

    def _later(self) -> None:
        self._context.after("outage", _AGAIN_NS, self._try_again)

    def _try_again(self) -> None:
        try:
            self._check_space()
            log = self._rebuild()
        except OSError as error:
            self._tell(str(error))
            self._directory.space.failed(str(error))
            self._later()
            return
        self.failure = ""
        assert self._commit is not None, "without a log there is no outage"
        self._commit.go_on(log)
        for kept in self._journaled():
            kept.go_on()
        self._over(log)
        self._context.logger.info("The commit log goes on: streams were rebuilt from disk")

    def _check_space(self) -> None:
        space = self._directory.space
        if not space.has_room(space.working_bytes):  # it would be full again at once
            raise OSError(f"write {self._directory.root}: no space left on device")

    def _rebuild(self) -> Log:
        log = self._directory.open_log()
        by_number = {kept.number: kept for kept in self._journaled()}
        for kept in by_number.values():
            blocks, mark, lost, _ = self._directory.open_blocks(kept.description)
            begin_numbering(blocks, kept.stream.config)
            kept.store.blocks = blocks
            kept.store.lifetimes.watch(watched=kept.stream.config.allow_msg_ttl)
            kept.store.journal = Journal(log, kept.number)
            kept.mark = mark or 0
            kept.lost[:] = lost
            kept.consumers.forget()
        stores = {number: (kept.store.blocks, kept.mark) for number, kept in by_number.items()}
        while (entry := log.next_replayed(Kind.RUN, stores)) is not None:
            position, number, kind, payload = entry
            if number in by_number:
                replay(by_number[number], position, Kind(kind), payload)
        note_gaps(log, by_number)
        note_lost_ends(log, self._directory.root, by_number)
        for kept in by_number.values():
            self._take_over(kept, log)
        folders = self._directory.folders
        folders.log = log
        folders.removals.write_again(lambda number: log.append(number, Kind.DELETED, b""))
        log.commit()
        return log

    def _take_over(self, kept: Kept, log: Log) -> None:
        stream = kept.stream
        stream.dedup = DedupWindow(stream.config.duplicate_window)
        stream.message_id_last = b""
        settle(kept, self._keeper.now_ns())
        if kept.mark > log.last():
            kept.store.blocks.checkpoint(log.last(), False)
            kept.mark = log.last()
        assert kept.store.journal is not None
        logged = kept.description._replace(is_empty=kept.is_empty)
        kept.store.journal.configured(logged.encode())
        kept.consumers.begin()
        kept.consumers.saved.renumber(log.last())

    def _journaled(self) -> list[Kept]:
        return [kept for kept in self._keeper.kept.values() if kept.store.journal is not None]

    def _tell(self, failure: str) -> None:
        if failure != self.failure:
            self._context.logger.error("The commit log stopped: %s", failure)
        self.failure = failure
