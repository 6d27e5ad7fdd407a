"""After a start: the streams on disk, and the log replayed over them.

A stream is opened when the log first mentions it, or at the end: so the streams that had a name one
after the other are never open together. Every entry says what was done, so replaying one twice
changes nothing. Messages go from the log into the stores inside of the kernel; everything else,
and the first run of a stream that is not open yet, comes through here. What cannot be opened is
reported and left alone, and the log is kept for it.
"""

import contextlib
from collections.abc import Callable
from typing import Protocol

import msgspec

from penstock.kernel.storage import Blocks, Log
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.folders import StreamFolders
from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.server.jetstream.lost_ends import note_lost_ends
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import CONSUMER_KINDS, Kind, erases, split
from penstock.streams.admission import MESSAGE_ID
from penstock.streams.departures import EXPIRED_AT_ONCE_MAX, expire
from penstock.streams.reads import EVERYTHING
from penstock.streams.stream import Stream

_IDS_SAVED_MIN = 10_000  # fewer are found in the blocks in milliseconds


class Restored(Protocol):
    """A stream whose store is being brought up to date."""

    store: BlockStore
    lost: list[tuple[int, int]]  # sequences that were missing


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
        self.has_erasures = False  # the log has some, and perhaps what they erased

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
        note_lost_ends(log, self._folders.root.parent, self._by_number)
        self._report_missing_end(log)
        self._keeper.links.expect()
        for kept in [*self._keeper.kept.values()]:
            self._settle(kept, log)
        left = self._passed_over | self._unopened.keys()
        self._folders.settle_unreadable(self._by_number, left, self._report)
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
            kept = self._keeper.open(description)
        except OSError as error:
            self._give_up(description, error)
            return
        self._by_number[number] = kept
        self._stores[number] = kept.store.blocks, kept.mark
        try:
            finish_batch(kept)
        except OSError as error:
            self._close(kept)
            self._give_up(description, error)

    def _give_up(self, description: Description, error: OSError) -> None:
        """It concerns this stream alone; the log is kept for it."""
        self._passed_over.add(description.number)
        self._unopened[description.number] = description
        self._report(f"Stream {description.config.name} cannot be opened: {error}")

    def _apply(self, position: int, number: int, kind: Kind, payload: bytes) -> None:
        if kind is Kind.DELETED:
            self._delete(number)
            return
        self.has_erasures |= erases(kind, payload)
        if kind is Kind.CONFIGURED:
            self._configure(number, payload)
        elif (kept := self._find(number)) is None:
            self._passed_over.add(number)
        else:
            try:
                replay(kept, position, kind, payload)
            except OSError as error:
                self._close(kept)
                self._give_up(kept.description, error)

    def _configure(self, number: int, payload: bytes) -> None:
        try:
            description = Description.decode(payload)
        except ValueError as error:
            self._report(f"The log's description of stream number {number} was left alone: {error}")
            if self._find(number) is None:
                self._passed_over.add(number)
            return
        self._from_log.add(number)
        if description.is_empty and number in self._found:
            self._found[number] = self._found[number]._replace(is_empty=True)
        if (kept := self._find(number)) is not None:
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
        try:
            kept.consumers.saved.renumber(log.last())
            if not kept.consumers.saved.positions.are_noted:
                kept.consumers.saved.write_unlogged()
        except OSError as error:
            self._keeper.stop(kept.stream, error)

    def _report_missing_end(self, log: Log) -> None:
        """What was only there nobody knows; but a checkpoint may have gone further."""
        if (torn := log.torn()) is not None:
            path, offset = torn
            self._report(
                f"read {path}: it ends at offset {offset} with entries that are not whole: nothing "
                "in them was acknowledged, unless the file was cut or damaged since"
            )
        mark = max((kept.mark for kept in self._keeper.kept.values()), default=0)
        if mark > log.last():
            self._report(
                f"The log ends with entry {log.last()}, and a checkpoint has entry {mark}: unless "
                "the power failed just then, the log's last file is missing or was cut short"
            )

    def _report_losses(self, log: Log) -> None:
        for path, offset in log.mended():
            self._report(f"read {path}: single bits were wrong at offset {offset}, and were mended")
        for path, offset, first, last in log.lost():
            self._report(f"read {path}: damaged at offset {offset}: entries {first} to {last} lost")


def replay(kept: Kept, position: int, kind: Kind, payload: bytes) -> None:
    """Does again what an entry says was done to a store, unless it has it already."""
    if kind is Kind.JOINED:
        for part, part_payload in split(payload):
            replay(kept, position, part, part_payload)
    elif kind in CONSUMER_KINDS:
        kept.consumers.saved.replay(position, kind, payload)
    elif position > kept.mark:
        redo(kept, kind, payload)


def redo(kept: Restored, kind: Kind, payload: bytes) -> None:
    """Does again what an entry says was done to a store."""
    blocks = kept.store.blocks
    match kind:
        case Kind.RUN:
            gap = blocks.replay_run(payload)
            if gap is not None:
                kept.lost.append(gap)
        case Kind.COPIED:
            gap = blocks.replay_copies(payload)
            if gap is not None:
                kept.lost.append(gap)
        case Kind.REMOVED | Kind.ERASED:
            sequences = msgspec.json.decode(payload, type=list[int])
            blocks.replay_removals(sequences, kind is Kind.ERASED)
        case Kind.REMOVED_BELOW:
            blocks.remove_below(msgspec.json.decode(payload, type=int))
        case Kind.EVICTED:
            last, *limits = msgspec.json.decode(payload, type=tuple[int, int, int, int])
            if kept.store.state().sequence_last == last:  # else its blocks tell the rest
                blocks.evict(*limits)
        case Kind.REPLACED:
            gap = blocks.replay_replaced(payload)
            if gap is not None:
                kept.lost.append(gap)
        case _:
            pass


def finish_batch(kept: Kept) -> None:
    """A batch that was on its way into the files of a stream without a log gets there, unless
    files have lost more than that."""
    payload = None if kept.note is None else kept.note.read()
    if kept.note is None or payload is None:
        return
    parts = [*split(payload)]
    # A run begins with its first sequence, copies with the one before theirs.
    firsts = [
        int.from_bytes(part[:8], "little") + (kind is Kind.COPIED)
        for kind, part in parts
        if kind in (Kind.RUN, Kind.COPIED)
    ]
    if min(firsts, default=0) <= kept.store.state().sequence_last + 1:
        for kind, part in parts:
            redo(kept, kind, part)
        kept.store.blocks.write_out()
    kept.note.clear()


def note_gaps(log: Log, by_number: dict[int, Kept]) -> None:
    """What was missing before runs that the kernel replayed: the log was damaged there."""
    for number, first, last in log.gaps():
        if number in by_number:
            by_number[number].lost.append((first, last))


def settle(kept: Kept, now_ns: int) -> None:
    """Lets a stream take over what its store holds."""
    stream = kept.stream
    stream.catch_up()
    if stream.config.sources:
        kept.consumers.saved.positions.look_behind(stream)  # while the messages are there
    stream.enforce_limits()
    if not stream.config.subject_delete_marker_ttl:  # nobody hears of a marker yet
        while expire(stream, now_ns, EXPIRED_AT_ONCE_MAX).is_cut:
            pass
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
