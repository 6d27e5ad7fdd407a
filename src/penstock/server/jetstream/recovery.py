"""After a start: the streams on disk, and the log replayed over them.

A stream is opened when the log first mentions it, or at the end: so the streams that had a name one
after the other are never open together. Every entry says what was done, so replaying one twice
changes nothing. Messages go from the log into the stores inside of the kernel; everything else,
and the first run of a stream that is not open yet, comes through here. What cannot be opened is
reported and left alone, and the log is kept for it.
"""

import contextlib
from collections.abc import Callable

import msgspec

from penstock.kernel.storage import Blocks, Log
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.folders import StreamFolders
from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.storage.journal import Kind
from penstock.streams.admission import MESSAGE_ID
from penstock.streams.reads import EVERYTHING
from penstock.streams.stream import Stream

_IDS_SAVED_MIN = 10_000  # fewer are found in the blocks in milliseconds


class Recovery:
    """Brings the keeper to where the last server left off."""

    def __init__(
        self, keeper: Keeper, folders: StreamFolders, report: Callable[[str], None]
    ) -> None:
        self._keeper = keeper
        self._folders = folders
        self._report = report
        self._found: dict[int, Description] = {}  # on disk, not opened yet
        self._unopened: dict[int, Description] = {}  # on disk, and cannot be opened
        self._by_number: dict[int, Kept] = {}
        self._stores: dict[int, tuple[Blocks, int]] = {}  # the same, as the kernel needs them
        self._from_log: set[int] = set()
        self._passed_over: set[int] = set()

    def run(self, log: Log) -> bool:
        """Returns true if nothing in the log is needed by a stream that could not be opened."""
        found = self._folders.descriptions(self._report)
        self._found = {description.number: description for description in found}
        while (entry := log.next_replayed(Kind.RUN, self._stores)) is not None:
            position, number, kind, payload = entry
            self._folders.skip_numbers(number)
            self._apply(position, number, Kind(kind), payload)
        note_gaps(log, self._by_number)
        self._report_losses(log)
        for number in sorted(self._found):
            self._find(number)
        for kept in [*self._keeper.kept.values()]:
            self._settle(kept, log)
        self._folders.settle_unreadable(self._by_number, self._report)
        return not any(self._folders.has_folder(number) for number in self._passed_over)

    def _find(self, number: int) -> Kept | None:
        description = self._found.pop(number, None)
        if description is not None:
            self._open(description)
        return self._by_number.get(number)

    def _open(self, description: Description) -> None:
        name, number = description.config.name, description.number
        if name in self._keeper.kept:
            self._unopened[number] = description
            self._report(f"Stream {name} is there twice; number {number} was left alone")
            return
        try:
            kept = self._by_number[number] = self._keeper.open(description)
        except OSError as error:
            self._give_up(description, error)
            return
        self._stores[number] = kept.store.blocks, kept.mark

    def _give_up(self, description: Description, error: OSError) -> None:
        """It concerns this stream alone; the log is kept for it."""
        self._passed_over.add(description.number)
        self._unopened[description.number] = description
        self._report(f"Stream {description.config.name} cannot be opened: {error}")

    def _apply(self, position: int, number: int, kind: Kind, payload: bytes) -> None:
        if kind is Kind.DELETED:
            self._delete(number)
            return
        kept = self._find(number)
        if kind is Kind.CONFIGURED:
            self._configure(kept, Description.decode(payload))
        elif kept is None:
            self._passed_over.add(number)
        else:
            try:
                replay(kept, position, kind, payload)
            except OSError as error:
                self._close(kept)
                self._give_up(kept.description, error)

    def _configure(self, kept: Kept | None, description: Description) -> None:
        self._from_log.add(description.number)
        if kept is not None:
            kept.stream.configure(description.config)
        elif description.number not in self._passed_over:
            self._open(description)

    def _delete(self, number: int) -> None:
        self._passed_over.discard(number)
        if (kept := self._by_number.get(number)) is not None:
            self._close(kept)
            self._folders.remove(kept.description)
        for descriptions in (self._found, self._unopened):
            if number in descriptions:
                self._folders.remove(descriptions.pop(number))

    def _close(self, kept: Kept) -> None:
        del self._by_number[kept.number], self._stores[kept.number]
        del self._keeper.kept[kept.stream.config.name]
        self._keeper.registry.remove(kept.stream)

    def _settle(self, kept: Kept, log: Log) -> None:
        if kept.lost:
            name, ranges = kept.stream.config.name, ", ".join(f"{a} to {b}" for a, b in kept.lost)
            self._report(f"Stream {name}: messages {ranges} are damaged")
        try:
            settle(kept, self._keeper.now_ns())
            if kept.mark > log.last():  # made before its entries were durable; numbers come again
                kept.store.blocks.checkpoint(log.last(), False)
                kept.mark = log.last()
        except OSError as error:
            self._close(kept)
            self._give_up(kept.description, error)
            return
        if kept.number in self._from_log:
            self._folders.write_description(kept.description)
        self._keeper.listen(kept)

    def _report_losses(self, log: Log) -> None:
        for path, offset, first, last in log.lost():
            self._report(f"read {path}: damaged at offset {offset}: entries {first} to {last} lost")


def replay(kept: Kept, position: int, kind: Kind, payload: bytes) -> None:
    """Does again what an entry says was done to a store, unless it has it already."""
    if position <= kept.mark:
        return
    blocks = kept.store.blocks
    match kind:
        case Kind.RUN:
            gap = blocks.replay_run(payload)
            if gap is not None:
                kept.lost.append(gap)
        case Kind.REMOVED | Kind.ERASED:
            for sequence in msgspec.json.decode(payload, type=list[int]):
                blocks.remove(sequence, kind is Kind.ERASED)
        case Kind.REMOVED_BELOW:
            blocks.remove_below(msgspec.json.decode(payload, type=int))
        case Kind.EVICTED:
            last, *limits = msgspec.json.decode(payload, type=tuple[int, int, int, int])
            if kept.store.state().sequence_last == last:  # else its blocks tell the rest
                blocks.evict(*limits)
        case Kind.CONFIGURED | Kind.DELETED:
            pass


def note_gaps(log: Log, by_number: dict[int, Kept]) -> None:
    """What was missing before runs that the kernel replayed: the log was damaged there."""
    for number, first, last in log.gaps():
        if number in by_number:
            by_number[number].lost.append((first, last))


def settle(kept: Kept, now_ns: int) -> None:
    """Lets a stream take over what its store holds."""
    stream = kept.stream
    stream.catch_up()
    stream.enforce_limits()
    stream.expire(now_ns)
    if kept.store.blocks.take_ids(stream.dedup.ids):
        _note_last_id(stream)
    else:
        remember_ids(stream, now_ns)


def remember_ids(stream: Stream, now_ns: int) -> None:
    """Fills the duplicate window from the messages that are in it."""
    sequence: int | None = stream.store.sequence_at(now_ns - stream.config.duplicate_window)
    while sequence is not None:
        ids = stream.store.header_values(MESSAGE_ID, sequence)
        stream.dedup.remember_column(ids)
        sequence = ids.sequence_next
    _note_last_id(stream)


def _note_last_id(stream: Stream) -> None:
    sequence, message_id = stream.dedup.newest()
    is_last = stream.store.last_matching(EVERYTHING, stream.sequence_last) == sequence
    stream.message_id_last = message_id if is_last else b""


def save_ids(kept: Kept, now_ns: int) -> None:
    """At a clean stop: a large duplicate window is kept in a file, to save the next start a look
    into every message of it."""
    dedup = kept.stream.dedup
    if len(dedup) >= _IDS_SAVED_MIN:
        with contextlib.suppress(OSError):  # without it the next start takes longer, that is all
            kept.store.blocks.save_ids(dedup.ids, now_ns - dedup.window_ns)
