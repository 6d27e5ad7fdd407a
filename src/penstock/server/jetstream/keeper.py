"""The keeper: owns the streams' stores, routes and journals, and carries out what the API decides.

Creating a stream opens its store, writes its description to the log and lets its subjects listen;
deleting undoes that. What may fail comes first, so that a request which is refused has changed
nothing. After a start, `Recovery` opens the streams that it finds through the same doors.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator

import msgspec

from penstock.kernel.storage import Blocks
from penstock.model.api_errors import Fault
from penstock.model.limits import SUBJECT_BYTES_MAX
from penstock.model.stream_config import PersistMode, Storage, StreamConfig
from penstock.server.clock import SteadyClock
from penstock.server.jetstream.advisories import Advisories
from penstock.server.jetstream.batch_note import BatchNote
from penstock.server.jetstream.batches import OpenBatches, StreamBatches
from penstock.server.jetstream.capacity import capacity
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.consumers.stream_consumers import StreamConsumers
from penstock.server.jetstream.consumers.turn_end import TurnEnd
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.direct import DirectReads
from penstock.server.jetstream.ingest import Ingest
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.sources.links import Links
from penstock.server.jetstream.subject_target import SubjectTarget
from penstock.server.jetstream.usage import Usage
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import Journal
from penstock.storage.store import StoreState
from penstock.streams.departures import EXPIRED_AT_ONCE_MAX, expire, is_due
from penstock.streams.direct import direct_subjects
from penstock.streams.registry import Registry
from penstock.streams.republish import Republished
from penstock.streams.resources import Surroundings
from penstock.streams.stream import Stream
from penstock.streams.versioning import stored_metadata


class Kept:
    """A stream with what it needs outside."""

    def __init__(
        self,
        stream: Stream,
        store: BlockStore,
        number: int,
        mark: int,
        lost: list[tuple[int, int]],
        consumers: StreamConsumers,
    ) -> None:
        self.stream = stream
        self.store = store
        self.number = number
        self.mark = mark  # the log entry up to which the store is complete
        self.lost = lost  # ranges of sequences whose records were damaged
        self.consumers = consumers
        self.note: BatchNote | None = None  # of a stream in files
        self.batches: StreamBatches | None = None
        self.ingest: Ingest | None = None
        self.publishes: SubjectTarget | None = None
        self.reads: SubjectTarget | None = None
        self.origin_answers = False  # direct reads of its origin, which a mirror leaves to it then

    @property
    def name(self) -> str:
        return self.stream.config.name

    @property
    def description(self) -> Description:
        return Description(self.number, self.stream.config, self.stream.created_ns)

    @property
    def is_empty(self) -> bool:
        """Nothing ever was in its store."""
        sequences_skipped = max(0, self.stream.config.first_seq - 1)
        return self.store.state().sequence_last <= sequences_skipped

    @property
    def failure(self) -> str:
        """Why the stream has stopped; empty while it has not."""
        return "" if self.ingest is None else self.ingest.failure

    def stop(self, failure: str) -> None:
        """Nothing is taken and nothing is shown until `go_on`."""
        if self.ingest is not None:
            self.ingest.failure = failure
        self.consumers.stop(failure)

    def go_on(self) -> None:
        self.stop("")

    def say(self, copies: list[Republished]) -> None:
        """Lets others hear of what the stream stored by itself."""
        if copies and self.ingest is not None:
            self.ingest.say(copies)

    def follow(self) -> None:
        """Listens to what the configuration says."""
        if self.publishes is not None and self.reads is not None:
            self.publishes.follow(self.stream.config.subjects)
            answers_for_origin = not self.origin_answers
            self.reads.follow(direct_subjects(self.stream.config, answers_for_origin))

    def end(self) -> None:
        self.consumers.end()
        if self.batches is not None:
            self.batches.end()
        if self.publishes is not None and self.reads is not None:
            self.publishes.end()
            self.reads.end()


class Keeper:
    """All streams of the server's one account."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._folders = parts.directory.folders
        self.registry = Registry()
        self.kept: dict[str, Kept] = {}
        self.unwritten: set[str] = set()  # streams in files and in no log, with something to write
        self.purged: set[str] = set()  # streams whose files should shrink soon
        self.server_name = parts.context.info.server_name
        self.advisories = Advisories(parts.hub, parts.account, self.server_name, parts.gated)
        settings = parts.context.options.jetstream_settings
        self.strict = settings.strict
        self.capacity = capacity(settings, parts.directory.root, 0)
        self.turn_end = TurnEnd(parts, SteadyClock())
        self.turn_end.on_store_failed = self.stop
        self.space = parts.directory.space
        self.space.unwritten_bytes = lambda: _unwritten_bytes(self.kept.values(), parts.commit)
        self.usage = Usage(self.registry, self.capacity, self.space)
        self._batches = OpenBatches(parts, self.advisories, self.usage.left)
        self.links = Links(parts, self.kept, self.now_ns)

    def now_ns(self) -> int:
        return time.time_ns()

    def surroundings(self) -> Surroundings:
        reserved = self.registry.reserved_bytes()
        resources = msgspec.structs.replace(
            self.capacity,
            memory_bytes_reserved=reserved[Storage.MEMORY],
            storage_bytes_reserved=reserved[Storage.FILE],
        )
        return Surroundings(streams=self.registry.configs(), server=resources)

    def create(self, config: StreamConfig) -> Stream:
        config = _with_metadata(config)
        if config.storage is Storage.FILE and self.space.left() <= 0:
            raise Fault.NO_RESOURCES.error()
        description = Description(self._folders.new_number(), config, self.now_ns())
        with self.adopting(description) as kept:
            pass
        self.advisories.stream_created(config.name)
        return kept.stream

    @contextlib.contextmanager
    def adopting(self, description: Description, blocks: Blocks | None = None) -> Iterator[Kept]:
        """A new stream, with the blocks that are in its folder or are given. It is one when the
        `with` ends; if anything fails before, nothing is left of it."""
        try:
            kept = self._opened(description, blocks)
            yield kept
            self._describe(kept, description.config)
        except BaseException:
            journal = self._journal(description)
            entry = 0 if journal is None else journal.deleted()
            self._folders.remove(description, entry)
            raise
        self._add(kept)
        self.listen(kept)

    def open(self, description: Description) -> Kept:
        """A stream that was found; it does not listen yet."""
        kept = self._opened(description, None)
        kept.consumers.saved.load()
        self._add(kept)
        return kept

    def _opened(self, description: Description, blocks: Blocks | None) -> Kept:
        config, mark = description.config, None
        lost: list[tuple[int, int]] = []
        if blocks is None:
            blocks, mark, lost, notes = self._parts.directory.open_blocks(
                description, is_all_logged=description.is_empty
            )
            for note in notes:
                self._parts.context.logger.warning("Stream %s: %s", config.name, note)
        begin_numbering(blocks, config)
        store = BlockStore(blocks, self._journal(description), self._noting(description))
        stream = Stream(config, store, description.created_ns)
        stream.lost = lost
        # Then clients can send subjects that no record can hold, which must be refused one by one.
        stream.is_careful = self._parts.context.options.max_control_line > SUBJECT_BYTES_MAX
        stream.message_bytes_max = self._parts.context.options.max_payload
        consumers = StreamConsumers(self.turn_end, stream, store, self.advisories)
        kept = Kept(stream, store, description.number, mark or 0, lost, consumers)
        if config.storage is Storage.FILE:
            consumers.saved.folder = self._folders.folder(description)
            kept.note = BatchNote(consumers.saved.folder)
            if store.journal is None:
                store.note = Journal(kept.note, description.number)
                store.clear_note = kept.note.clear
                store.carried.write = lambda: _write_carried(kept)
        return kept

    def _add(self, kept: Kept) -> None:
        self.registry.add(kept.stream)
        self.kept[kept.stream.config.name] = kept

    def listen(self, kept: Kept) -> None:
        stream, parts = kept.stream, self._parts
        commit = parts.commit if kept.store.journal else None
        number = parts.account.number
        kept.batches = self._batches.of(stream)
        kept.ingest = Ingest(
            parts.hub,
            stream,
            number,
            commit,
            self.now_ns,
            self.stop,
            self.usage,
            kept.batches,
        )
        self.usage.add(stream.config.storage, stream.store.state().bytes)
        kept.publishes = SubjectTarget(parts, kept.ingest)
        gate = contextlib.nullcontext if commit is None else commit.gated
        direct = DirectReads(parts, stream, kept.store, gate, lambda: kept.failure)
        kept.reads = SubjectTarget(parts, direct)
        kept.follow()
        kept.consumers.begin()
        self.links.follow(kept)

    def update(self, stream: Stream, config: StreamConfig) -> None:
        kept = self.kept[stream.config.name]
        config = _with_metadata(config)
        self._describe(kept, config)  # may fail; nothing has changed then
        retention_before = stream.config.retention
        stream.configure(config)
        kept.follow()
        if kept.batches is not None:
            kept.batches.follow()
        try:
            stream.enforce_limits()
            if is_due(stream, now_ns := self.now_ns()):  # of very many the rest goes as it ages
                kept.say(expire(stream, now_ns, EXPIRED_AT_ONCE_MAX).copies)
            if config.retention is not retention_before:
                kept.consumers.lifecycle.retention.sweep()
        except OSError as error:  # the stream has its new limits, and no more than that
            self.stop(stream, error)
        self.links.follow(kept)
        self.advisories.stream_updated(config.name)

    def delete(self, stream: Stream) -> None:
        kept = self.kept[stream.config.name]
        if kept.store.journal is None:
            self._folders.remove_now(kept.description)  # may fail; nothing has changed then
        else:
            self._folders.remove(kept.description, kept.store.journal.deleted())
        del self.kept[stream.config.name]
        self.registry.remove(stream)
        self.links.gone(kept)
        kept.end()
        self.advisories.stream_deleted(stream.config.name)

    def _journal(self, description: Description) -> Journal | None:
        config, commit = description.config, self._parts.commit
        is_async = config.persist_mode is PersistMode.ASYNC
        if commit is None or is_async or config.storage is Storage.MEMORY:
            return None
        return Journal(commit.log, description.number)

    def _describe(self, kept: Kept, config: StreamConfig) -> None:
        description = Description(kept.number, config, kept.stream.created_ns)
        self._folders.write_description(description)
        if kept.store.journal is not None:
            logged = description._replace(is_empty=kept.is_empty)
            kept.store.journal.configured(logged.encode())

    def _noting(self, description: Description) -> Callable[[], None]:
        """What a store calls when it changes."""
        name, is_file = description.config.name, description.config.storage is Storage.FILE
        if is_file and self._journal(description) is None:
            return lambda: self.unwritten.add(name)
        return lambda: None

    def stop(self, stream: Stream, error: Exception) -> None:
        """The stream cannot go on, until its files can be written again; one with a log needs a
        restart, because nobody knows what of its last change is in its store."""
        kept = self.kept[stream.config.name]
        if kept.store.journal is None:
            self.unwritten.add(stream.config.name)
        until = "" if kept.store.journal is None else " until the server is restarted"
        self._parts.context.logger.error("Stream %s stopped%s: %s", kept.name, until, error)
        kept.stop(str(error))
        self.space.failed(str(error))


def _unwritten_bytes(streams: Iterable[Kept], commit: Commit | None) -> int:
    """What is still to be written to the log and to block files."""
    pending = 0 if commit is None else commit.log.pending_bytes()
    in_files = (kept for kept in streams if kept.stream.config.storage is Storage.FILE)
    return pending + sum(kept.store.blocks.unwritten_bytes() for kept in in_files)


def _write_carried(kept: Kept) -> None:
    """How far sources were read: behind the messages that say so, and before they go."""
    kept.store.write_out()
    kept.consumers.saved.write_unlogged()


def begin_numbering(blocks: Blocks, config: StreamConfig) -> None:
    """Where numbering begins follows from the configuration: no journal has it."""
    if config.first_seq > 1 and StoreState(*blocks.state()).sequence_last == 0:
        blocks.remove_below(config.first_seq)


def _with_metadata(config: StreamConfig) -> StreamConfig:
    return msgspec.structs.replace(config, metadata=stored_metadata(config))
