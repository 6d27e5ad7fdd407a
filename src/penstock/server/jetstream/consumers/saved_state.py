"""How the consumers of one stream outlive the server: the state file, and the journal over it.

After a start, descriptions and ledgers are put together from both before any consumer listens.
Where there is no journal, what changed goes to a file of changes: every now and then, and before
somebody is told of it. When that file has become longer than a state of all consumers would be, it
is time for such a state.
"""

from collections.abc import Callable
from pathlib import Path

from penstock.server.jetstream.consumers.change_file import (
    ChangeFiles,
    SavedChange,
    read_changes,
)
from penstock.server.jetstream.consumers.change_file import editions as change_editions
from penstock.server.jetstream.consumers.found import FoundConsumers
from penstock.server.jetstream.consumers.lifecycle import Lifecycle
from penstock.server.jetstream.consumers.live_consumer import LiveConsumer
from penstock.server.jetstream.consumers.state_file import (
    SavedConsumer,
    SavedConsumers,
    read_consumers,
    write_consumers,
    write_recent,
)
from penstock.server.jetstream.sources.positions import Positions
from penstock.storage.journal import Kind

_CHANGES_BYTES_MIN = 64 * 1024  # below that, no state is worth it


class SavedState:
    """The written side of one stream's consumers."""

    def __init__(self, lifecycle: Lifecycle, report: Callable[[str], None]) -> None:
        self._lifecycle = lifecycle
        self._report = report
        self.found = FoundConsumers(lifecycle, report)
        self.folder: Path | None = None  # none if the stream is in memory
        self.mark = 0  # the log entry up to which the file is complete
        self._edition = 0  # of what was last noted; odd and even ones go to different files
        self._edition_durable = 0  # the last of the twins that was noted
        self._state_bytes = 0  # how long the last state was
        self._change_files = ChangeFiles()
        self._has_gap = False  # a change is in no file: only a new state has it
        lifecycle.on_awaited = self._keep
        lifecycle.on_deleted = self._deleted
        self._is_unsynced = False  # something was written that a power cut may take
        self.positions = Positions()  # of the stream's own sources

    def load(self) -> None:
        """Takes over the file of a stream that was found."""
        self.found = FoundConsumers(self._lifecycle, self._report)
        if self.folder is None:
            return
        self.positions = Positions()
        saved, problems = read_consumers(self.folder)
        for problem in problems:
            self._report(problem)
        self.found.is_complete = saved is not None or not problems
        self._change_files.close()
        if saved is not None:
            self.mark, self.found.numbers_used = saved.mark, saved.numbers_used
            self._edition = saved.edition
            self.positions = Positions(saved.positions, saved.sequence_last)
            for consumer in saved.consumers:
                self.found.restore(consumer)
        try:
            for change in read_changes(self.folder):
                self.found.make_again(change)
            self._change_files.there = editions = change_editions(self.folder)
        except (OSError, ValueError) as error:
            self.found.is_complete = False
            self._report(f"Changes of consumers in {self.folder}: {error}")
            editions = [self._edition]
        while editions and self._edition <= editions[-1]:  # what ends in the middle is left alone
            self._edition += 2  # the same one of the two recent ones comes next

    def replay(self, position: int, kind: Kind, payload: bytes) -> None:
        """Does again what an entry says was done, unless the file has it."""
        if position <= self.mark:
            return
        if kind is Kind.SOURCED:
            self.positions.replay(payload)
        else:
            self.found.replay(kind, payload)

    def note(self, mark: int, *, durable: bool = True) -> bytes:
        """The file as of now; empty if the one that is there says the same."""
        roster = self._lifecycle.roster
        is_new = roster.has_changed or not self.positions.are_noted
        is_new = is_new or (durable and self._is_unsynced)
        if self.folder is None or not is_new:
            return b""
        roster.has_changed, roster.changed = False, {}
        self._is_unsynced = not durable
        self.positions.are_noted = True
        lives = [live for live in roster if not live.is_in_memory]
        if self._lifecycle.store.journal is None:
            self._take_changes(lives, durable=durable)
        self._edition += 2 if durable else 1  # so the last recent one is not written over next
        if durable:
            self._edition_durable = self._edition
        saved = [_saved(live) for live in lives]
        known, sequence_last = self.positions.known, self.positions.sequence_last
        numbers_used = self.found.numbers_used
        state = SavedConsumers(mark, numbers_used, saved, self._edition, known, sequence_last)
        content = state.encode()
        self._state_bytes = len(content)
        return content

    def written(self, mark: int, *, failed: bool) -> None:
        """What came of what was noted."""
        if failed:
            self._lifecycle.roster.has_changed = True
        else:
            self.mark = mark
            self._change_files.remove_before(self.folder, self._edition_durable)

    def write(self, mark: int, *, durable: bool = True) -> None:
        """Writes the file in this thread. Raises OSError."""
        content = self.note(mark, durable=durable)
        if not content or self.folder is None:
            return
        try:
            if durable:
                write_consumers(self.folder, content)
            else:
                write_recent(self.folder, content, self._edition)
        except OSError:
            self._has_gap = True
            self.written(mark, failed=True)
            raise
        self._has_gap = False
        self._lifecycle.store.carried.since = None
        self.written(mark, failed=False)
        self._change_files.remove_before(self.folder, self._edition)

    def write_behind(self) -> None:
        """What changed is in a file, though nobody waits for it. Raises OSError."""
        roster, files = self._lifecycle.roster, self._change_files
        is_long = files.bytes > max(_CHANGES_BYTES_MIN, self._state_bytes)
        if self._has_gap or is_long or not self.positions.are_noted:
            self.write(0, durable=False)
        elif roster.has_changed:
            self._append([taken for live in roster.changed if (taken := _taken(live))])
            roster.has_changed, roster.changed = False, {}

    def made(self, live: LiveConsumer) -> None:
        """A new consumer is in a file before a client is told. Raises OSError."""
        if self._lifecycle.store.journal is None and not live.is_in_memory:
            live.ledger.take_changes()  # its whole ledger is written
            self._append([SavedChange(live.number, 0, live.ledger.snapshot(), live.description())])

    def _deleted(self, live: LiveConsumer) -> None:
        """A consumer will not come back; if that cannot be written now, it will be tried again."""
        if self._lifecycle.store.journal is None and not live.is_in_memory:
            try:
                self._append([SavedChange(live.number, 0, b"")])
            except OSError as error:
                self._report(f"Consumers of stream {self._lifecycle.stream.config.name}: {error}")

    def _append(self, changes: list[SavedChange]) -> None:
        """To the file of changes, or as a new state if that has become incomplete. Raises
        OSError."""
        if self.folder is None or not (changes or self._has_gap):
            return
        self._is_unsynced = True
        if not self._has_gap:
            self._has_gap = True  # until it is written
            self._change_files.append(self.folder, self._edition, changes)
            self._has_gap = False
        else:
            self.write_unlogged()

    def _keep(self, live: LiveConsumer) -> None:
        """What a consumer answers next is in a file; if that fails, its stream stops."""
        if self.folder is None or live.is_in_memory:
            return
        store, stream = self._lifecycle.store, self._lifecycle.stream
        try:
            store.blocks.write_out()  # a position behind the last message would be no use
            change = _taken(live)
            self._append([] if change is None else [change])
        except OSError as error:
            self._lifecycle.turn_end.on_store_failed(stream, error)

    def _take_changes(self, lives: list[LiveConsumer], *, durable: bool) -> None:
        """The state that is noted has them. It may be written later: then they go to a file, so
        that later changes follow without a gap."""
        changes = [taken for live in lives if (taken := _taken(live))]
        if durable and changes and self.folder is not None and not self._has_gap:
            try:
                self._change_files.append(self.folder, self._edition, changes)
            except OSError:
                self._has_gap = True

    def write_unlogged(self) -> None:
        """Where there is no journal, the file has to have what a client is told."""
        if self._lifecycle.store.journal is None:
            self._lifecycle.roster.has_changed = True
            self.write(0, durable=False)

    def try_write_unlogged(self) -> None:
        """The same; what cannot be written now will be tried again."""
        try:
            self.write_unlogged()
        except OSError as error:
            self._report(f"Consumers of stream {self._lifecycle.stream.config.name}: {error}")

    def renumber(self, log_last: int) -> None:
        """The file was made before its entries were durable; their numbers come again."""
        if self.mark > log_last:
            self._lifecycle.roster.has_changed = True
            self.write(log_last)


def _saved(live: LiveConsumer) -> SavedConsumer:
    return SavedConsumer(live.description(), live.ledger.snapshot(), live.changes)


def _taken(live: LiveConsumer) -> SavedChange | None:
    changes = b"" if live.is_in_memory else live.ledger.take_changes()
    if not changes:
        return None
    live.changes += 1
    return SavedChange(live.number, live.changes, changes)
