"""The keeper: owns the streams' stores, routes and journals, and carries out what the API decides.

Creating a stream opens its store, writes its description to the log and lets its subjects listen;
deleting undoes that. After a start, `recover` finds the streams on disk and replays the log over
them, through the same doors.
"""

import contextlib
import time
from collections.abc import Iterable

import msgspec

from penstock.kernel.hub import Hub
from penstock.model.stream_config import PersistMode, Storage, StreamConfig
from penstock.routing.accounts import Account
from penstock.routing.targets import Targets
from penstock.server.context import Context
from penstock.server.jetstream.advisories import Advisories
from penstock.server.jetstream.capacity import capacity
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.direct import DirectReads
from penstock.server.jetstream.directory import Description, StoreDirectory
from penstock.server.jetstream.ingest import Ingest
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


class Keeper:
    """All streams of the server's one account."""

    def __init__(
        self,
        context: Context,
        hub: Hub,
        targets: Targets,
        account: Account,
        directory: StoreDirectory,
        commit: Commit | None,
    ) -> None:
        self._context = context
        self._hub = hub
        self._targets = targets
        self._account = account
        self._directory = directory
        self._commit = commit
        self.registry = Registry()
        self.kept: dict[str, Kept] = {}
        self.server_name = context.info.server_name
        gate = contextlib.nullcontext if commit is None else commit.gated
        self.advisories = Advisories(hub, account, self.server_name, gate)
        self.audit = self.advisories.audit
        settings = context.options.jetstream_settings
        self.strict = settings.strict
        self._capacity = capacity(settings, directory.root)
        self._next_number = 1

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
        description = Description(self._next_number, config, self.now_ns())
        self._next_number += 1
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
            self._context.logger.warning("Stream %s: %s", config.name, note)
        self._next_number = max(self._next_number, description.number + 1)
        self.registry.add(stream)
        self.kept[config.name] = kept
        if not replayed:
            self._describe(kept)
            self.listen(kept)
        return stream

    def listen(self, kept: Kept) -> None:
        stream = kept.stream
        commit = self._commit if kept.store.journal else None
        number = self._account.number
        kept.ingest = Ingest(
            self._hub,
            stream,
            number,
            commit,
            self.now_ns,
            self._store_failed,
            self._directory.has_room,
        )
        kept.ingest_target = self._targets.add(kept.ingest)
        bytes_max = self._context.options.max_pending
        direct = DirectReads(self._hub, stream, number, commit, bytes_max)
        kept.direct_target = self._targets.add(direct)
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
        self._targets.remove(kept.ingest_target)
        self._targets.remove(kept.direct_target)
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
        for subject in before - after:
            self._targets.ignore(target, self._account, subject.encode())
        for subject in after - before:
            self._targets.listen(target, self._account, subject.encode())

    def _journal(self, description: Description) -> Journal | None:
        config = description.config
        lazy = self._commit is None or config.persist_mode is PersistMode.ASYNC
        if lazy or config.storage is Storage.MEMORY:
            return None
        assert self._commit is not None
        return Journal(self._commit.log, description.number)

    def _describe(self, kept: Kept) -> None:
        description = Description(kept.number, kept.stream.config, kept.stream.created_ns)
        if kept.store.journal is not None:
            kept.store.journal.configured(description.encode())
        self._directory.write_description(description)

    def _store_failed(self, stream: Stream, error: Exception) -> None:
        self._context.logger.error("Stream %s stopped: %s", stream.config.name, error)


def _with_metadata(config: StreamConfig) -> StreamConfig:
    return msgspec.structs.replace(config, metadata=stored_metadata(config))
