"""The keeper: owns the streams' stores, routes and journals, and carries out what the API decides.

Creating a stream opens its store, writes its description to the log and lets its subjects listen;
deleting undoes that. After a start, `recover` finds the streams on disk and replays the log over
them, through the same doors.
"""

import contextlib
import time
from collections.abc import Iterable

import msgspec

from penstock.model.stream_config import PersistMode, Storage, StreamConfig
from penstock.server.jetstream.advisories import Advisories
from penstock.server.jetstream.capacity import capacity
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.direct import DirectReads
from penstock.server.jetstream.ingest import Ingest
from penstock.server.jetstream.parts import Parts
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import Journal
from penstock.streams.direct import direct_subjects
from penstock.streams.registry import Registry
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
    ) -> None:
        self.stream = stream
        self.store = store
        self.number = number
        self.mark = mark  # the log entry up to which the store is complete
        self.lost = lost  # ranges of sequences whose records were damaged
        self.ingest: Ingest | None = None
        # Targets: one takes publishes, one direct reads; each with the subjects it listens to.
        self.ingest_target = -1
        self.direct_target = -1
        self.direct_subjects: tuple[str, ...] = ()

    @property
    def failure(self) -> str:
        """Why the stream has stopped; empty while it has not."""
        return "" if self.ingest is None else self.ingest.failure

    def stop(self, failure: str) -> None:
        """Nothing is taken and nothing is shown until `go_on`."""
        if self.ingest is not None:
            self.ingest.failure = failure

    def go_on(self) -> None:
        self.stop("")


class Keeper:
    """All streams of the server's one account."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._directory = parts.directory
        self.registry = Registry()
        self.kept: dict[str, Kept] = {}
        self.server_name = parts.context.info.server_name
        self.advisories = Advisories(parts.hub, parts.account, self.server_name, parts.gated)
        settings = parts.context.options.jetstream_settings
        self.strict = settings.strict
        self._capacity = capacity(settings, parts.directory.root)
        self._numbers_used = 0

    def new_number(self) -> int:
        """The name of a new stream in the log; none is ever used again."""
        self._numbers_used += 1
        return self._numbers_used

    def skip_numbers(self, number: int) -> None:
        """Numbers up to this one may be in use."""
        self._numbers_used = max(self._numbers_used, number)

    def now_ns(self) -> int:
        return time.time_ns()

    def surroundings(self) -> Surroundings:
        streams = {stream.config.name: stream.config for stream in self.registry}
        reserved = self.registry.reserved_bytes()
        resources = msgspec.structs.replace(
            self._capacity,
            memory_bytes_reserved=reserved[Storage.MEMORY],
            storage_bytes_reserved=reserved[Storage.FILE],
        )
        return Surroundings(streams=streams, server=resources)

    def create(self, config: StreamConfig) -> Stream:
        config = _with_metadata(config)
        description = Description(self.new_number(), config, self.now_ns())
        stream = self.open(description, replayed=False)
        self.advisories.stream_created(config.name)
        return stream

    def open(self, description: Description, *, replayed: bool) -> Stream:
        """Opens the store of a stream that is new or was found."""
        config = description.config
        journal = self._journal(description)
        blocks, mark, lost, notes = self._directory.open_blocks(description)
        store = BlockStore(blocks, journal)
        if config.first_seq > 1 and store.state().sequence_last == 0:
            blocks.remove_below(config.first_seq)  # follows from the description: no journal
        stream = Stream(config, store, description.created_ns)
        stream.lost = lost
        kept = Kept(stream, store, description.number, mark or 0, lost)
        for note in notes:
            self._parts.context.logger.warning("Stream %s: %s", config.name, note)
        self.skip_numbers(description.number)
        self.registry.add(stream)
        self.kept[config.name] = kept
        if not replayed:
            self._describe(kept)
            self.listen(kept)
        return stream

    def listen(self, kept: Kept) -> None:
        stream, parts = kept.stream, self._parts
        commit = parts.commit if kept.store.journal else None
        number = parts.account.number
        kept.ingest = Ingest(
            parts.hub,
            stream,
            number,
            commit,
            self.now_ns,
            self._store_failed,
            parts.directory.has_room,
        )
        kept.ingest_target = parts.targets.add(kept.ingest)
        gate = contextlib.nullcontext if commit is None else commit.gated
        direct = DirectReads(parts, stream, gate, lambda: kept.failure)
        kept.direct_target = parts.targets.add(direct)
        self._follow(kept.ingest_target, (), stream.config.subjects)
        self._listen_direct(kept)

    def update(self, stream: Stream, config: StreamConfig) -> None:
        kept = self.kept[stream.config.name]
        config = _with_metadata(config)
        self._follow(kept.ingest_target, stream.config.subjects, config.subjects)
        stream.configure(config)
        self._listen_direct(kept)
        stream.enforce_limits()
        self._describe(kept)
        self.advisories.stream_updated(config.name)

    def delete(self, stream: Stream) -> None:
        kept = self.kept.pop(stream.config.name)
        self._follow(kept.ingest_target, stream.config.subjects, ())
        self._follow(kept.direct_target, kept.direct_subjects, ())
        self._parts.targets.remove(kept.ingest_target)
        self._parts.targets.remove(kept.direct_target)
        self.registry.remove(stream)
        if kept.store.journal is not None:
            kept.store.journal.deleted()
        self._directory.remove(stream.config.name)
        self.advisories.stream_deleted(stream.config.name)

    def _listen_direct(self, kept: Kept) -> None:
        wanted = direct_subjects(kept.stream.config)
        self._follow(kept.direct_target, kept.direct_subjects, wanted)
        kept.direct_subjects = wanted

    def _follow(self, target: int, old: Iterable[str], new: Iterable[str]) -> None:
        """Listens to the subjects that are new, and no longer to those that are gone."""
        before, after = set(old), set(new)
        targets, account = self._parts.targets, self._parts.account
        for subject in before - after:
            targets.ignore(target, account, subject.encode())
        for subject in after - before:
            targets.listen(target, account, subject.encode())

    def _journal(self, description: Description) -> Journal | None:
        config, commit = description.config, self._parts.commit
        is_async = config.persist_mode is PersistMode.ASYNC
        if commit is None or is_async or config.storage is Storage.MEMORY:
            return None
        return Journal(commit.log, description.number)

    def _describe(self, kept: Kept) -> None:
        description = Description(kept.number, kept.stream.config, kept.stream.created_ns)
        if kept.store.journal is not None:
            kept.store.journal.configured(description.encode())
        self._directory.write_description(description)

    def _store_failed(self, stream: Stream, error: Exception) -> None:
        self._parts.context.logger.error("Stream %s stopped: %s", stream.config.name, error)


def _with_metadata(config: StreamConfig) -> StreamConfig:
    return msgspec.structs.replace(config, metadata=stored_metadata(config))
