"""After a start: the streams on disk, and the log replayed over them.

Descriptions in folders may be older than the log, never newer than what it can replay. Every entry
says what was done, so replaying one twice changes nothing.
"""

from collections.abc import Callable

import msgspec

from penstock.kernel.storage import Log
from penstock.model.errors import StorageError
from penstock.server.jetstream.directory import Description, StoreDirectory
from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.storage.journal import Kind
from penstock.streams import headers
from penstock.streams.admission import MESSAGE_ID
from penstock.streams.reads import walk
from penstock.streams.stream import Stream


class Recovery:
    """Brings the keeper to where the last server left off."""

    def __init__(
        self, keeper: Keeper, directory: StoreDirectory, report: Callable[[str], None]
    ) -> None:
        self._keeper = keeper
        self._directory = directory
        self._report = report
        self._by_number: dict[int, Kept] = {}

    def run(self, log: Log | None) -> None:
        for found in self._directory.descriptions():
            if isinstance(found, StorageError):
                self._report(str(found))
            else:
                self._open(found)
        if log is not None:
            while (entry := log.next_replayed()) is not None:
                number, stream, kind, payload = entry
                self._apply(number, stream, Kind(kind), payload)
        for kept in self._keeper.kept.values():
            self._settle(kept)

    def _open(self, description: Description) -> None:
        stream = self._keeper.open(description, replayed=True)
        self._by_number[description.number] = self._keeper.kept[stream.config.name]

    def _apply(self, entry: int, number: int, kind: Kind, payload: bytes) -> None:
        kept = self._by_number.get(number)
        if kind is Kind.CONFIGURED:
            description = Description.decode(payload)
            if kept is None:
                self._open(description)
            else:
                kept.stream.configure(description.config)
            return
        if kept is None:
            return  # deleted, and its folder with it, before the log was cut
        if entry <= kept.mark and kind is not Kind.DELETED:
            return  # in the store already
        match kind:
            case Kind.RUN:
                kept.store.blocks.replay_run(payload)
            case Kind.REMOVED:
                for sequence in msgspec.json.decode(payload, type=list[int]):
                    kept.store.blocks.remove(sequence, False)
            case Kind.REMOVED_BELOW:
                kept.store.blocks.remove_below(msgspec.json.decode(payload, type=int))
            case Kind.DELETED:
                del self._by_number[number]
                del self._keeper.kept[kept.stream.config.name]
                self._keeper.registry.remove(kept.stream)
                self._directory.remove(kept.stream.config.name)

    def _settle(self, kept: Kept) -> None:
        stream = kept.stream
        stream.catch_up()
        stream.enforce_limits()
        now_ns = self._keeper.now_ns()
        stream.expire(now_ns)
        remember_ids(stream, now_ns)
        self._keeper.listen(kept)


def remember_ids(stream: Stream, now_ns: int) -> None:
    """Fills the duplicate window from the messages that are in it."""
    first = stream.store.sequence_at(now_ns - stream.config.duplicate_window)
    for record in walk(stream.store, b">", first, stream.sequence_last):
        message_id = headers.find(record.headers, MESSAGE_ID) if record.headers else None
        stream.message_id_last = message_id or b""
        if message_id:
            stream.dedup.remember((message_id,), record.sequence, record.time_ns)
