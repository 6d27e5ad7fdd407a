"""STREAM.SNAPSHOT: a stream as an archive, in chunks, as fast as its receiver acknowledges them.

Strategy: the reply says what the stream has at that moment; where its consumers are is noted then,
and a task walks the messages up to there, a slice at a time between turns. What was removed
meanwhile is not in the archive, and settled for a consumer that is restored. A chunk leaves when
everything written so far is durable, since it may tell of it, and when fewer than a window of
chunks are unacknowledged. If the commit log fails meanwhile, the snapshot does: what was already
walked may never have been durable.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from penstock.api.requests import Request, is_empty, parse_request
from penstock.api.stream_info import show_config, show_state
from penstock.kernel.hub import Interest, is_valid_literal
from penstock.kernel.storage import encode_entry, s2_chunk, s2_start
from penstock.model.api_errors import Fault
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.limits import KIB, MIB
from penstock.model.stream_config import Int64
from penstock.model.timestamps import rfc3339
from penstock.server.jetstream.consumers.archived import encode_consumer
from penstock.server.jetstream.keeper import Keeper, Kept
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.refusals import reason_of
from penstock.server.jetstream.subject_target import SubjectTarget
from penstock.storage.archive import END, MAGIC

CHUNK_BYTES = 128 * KIB  # the reference's defaults, and its bounds
CHUNK_BYTES_MIN, CHUNK_BYTES_MAX = KIB, MIB
WINDOW_BYTES = 8 * MIB
WINDOW_BYTES_MIN, WINDOW_BYTES_MAX = KIB, 32 * MIB
ACK_SECONDS_MAX = 5.0  # the reference's: after that the receiver has stalled
INTEREST_SECONDS_MAX = 2.0  # the CLI subscribes after it has read the reply
INTEREST_POLL_SECONDS = 0.01
SLICE_BYTES = 256 * KIB  # of messages walked in one go: about a millisecond
SNAPSHOTS_MAX = 64  # at the same time; each holds a window of chunks

DONE = b"NATS/1.0 204\r\n\r\n"


class SnapshotRequest(Request, frozen=True, kw_only=True):
    """STREAM.SNAPSHOT. Messages are verified whether `jsck` asks for it or not."""

    deliver_subject: str = ""
    no_consumers: bool = False
    chunk_size: Int64 = 0
    window_size: Int64 = 0
    jsck: bool = False


class SnapshotError(Exception):
    """Why a snapshot ended early, as a status line tells it."""


class Snapshots:
    """All snapshots under way."""

    def __init__(self, parts: Parts, keeper: Keeper) -> None:
        self._parts = parts
        self._keeper = keeper
        self._tasks: dict[Snapshot, asyncio.Task[None]] = {}

    def begin(self, name: str, payload: bytes, asked_by: int) -> dict[str, Any]:
        """The reply's fields; the chunks follow it."""
        if is_empty(payload):
            raise Fault.BAD_REQUEST.error()
        stream = self._keeper.registry.require(name)
        request = parse_request(payload, SnapshotRequest)
        if not is_valid_literal(request.deliver_subject.encode()):
            raise Fault.DELIVER_SUBJECT_INVALID.error()
        if len(self._tasks) >= SNAPSHOTS_MAX:
            raise Fault.NO_RESOURCES.error()
        self._keeper.turn_end.catch_up()
        state = show_state(stream)
        kept = self._keeper.kept[name]
        snapshot = Snapshot(self._parts, self._keeper, kept, request, state, asked_by)
        task = self._parts.context.loop.create_task(snapshot.run())
        self._tasks[snapshot] = task
        task.add_done_callback(lambda _task: self._tasks.pop(snapshot))
        return {"config": show_config(stream, with_versions=False), "state": state}

    def log_moved(self) -> None:
        """More is durable: chunks that waited for it may leave."""
        for snapshot in self._tasks:
            snapshot.changed.set()

    def log_failed(self) -> None:
        for snapshot in self._tasks:
            if snapshot.is_journaled:
                snapshot.error = SnapshotError("500 the commit log stopped")
                snapshot.changed.set()

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()


class Snapshot:
    """One snapshot: the task that sends its chunks."""

    def __init__(
        self,
        parts: Parts,
        keeper: Keeper,
        kept: Kept,
        request: SnapshotRequest,
        state: dict[str, Any],
        asked_by: int,
    ) -> None:
        self._parts = parts
        self._keeper = keeper
        self._kept = kept
        self._name = kept.name
        self._state = state
        self._consumers = [] if request.no_consumers else _noted(kept)
        self._asked_by = asked_by
        self._deliver = request.deliver_subject.encode()
        self.is_journaled = kept.store.journal is not None
        self.changed = asyncio.Event()  # something that is waited for may be there
        self.error: SnapshotError | None = None
        self._window = Window(request, self.changed.set)
        self._ack_subject = f"$JS.SNAPSHOT.ACK.{self._name}.{secrets.token_hex(11)}"

    async def run(self) -> None:
        logger, name, advisories = self._parts.context.logger, self._name, self._keeper.advisories
        logger.info("Starting snapshot of stream %s", name)
        start_ns, failure = self._keeper.now_ns(), ""
        told: dict[str, Any] = {"stream": name, "client": advisories.client(self._asked_by)}
        begun = told | {"state": self._state}
        advisories.send(f"STREAM.SNAPSHOT_CREATE.{name}", "snapshot_create", begun)
        acks = SubjectTarget(self._parts, self._window)
        acks.follow([f"{self._ack_subject}.>"])
        try:
            await self._wait_subscribed()
            status = await self._send(Chunks(self._archive(), self._window.chunk_bytes))
            logger.info("Completed snapshot of stream %s", name)
        except SnapshotError as error:
            logger.warning("Snapshot of stream %s failed: %s", name, error)
            failure = str(error).partition(" ")[2].lower()
            status = f"NATS/1.0 {error}\r\n\r\n".encode()
        except Exception:  # a bug of ours; whoever waits will stop waiting
            logger.exception("Snapshot of stream %s failed", name)
            failure, status = "internal error", b"NATS/1.0 500 Internal Error\r\n\r\n"
        finally:
            acks.end()
        told |= {"start": rfc3339(start_ns), "end": rfc3339(self._keeper.now_ns())}
        told |= {"error": failure} if failure else {}
        advisories.send(f"STREAM.SNAPSHOT_COMPLETE.{name}", "snapshot_complete", told)
        self._publish(b"", headers=status)

    async def _send(self, chunks: "Chunks") -> bytes:
        """Sends everything; the headers of the empty message that ends it."""
        number = 0
        while True:
            await self._wait_slot()
            chunk = await chunks.next()
            await self._wait_durable()
            is_last = len(chunk) < self._window.chunk_bytes
            number += 1
            reply = "" if is_last else f"{self._ack_subject}.{len(chunk)}.{number}"
            if chunk and not self._publish(chunk, reply=reply.encode()):
                raise SnapshotError("408 No Interest")
            if is_last:  # as the reference: a status only if there was a whole chunk
                return DONE if number > 1 else b""

    def _publish(self, payload: bytes, *, headers: bytes = b"", reply: bytes = b"") -> bool:
        heard = self._parts.publish(self._deliver, payload, headers, reply)
        self._parts.turns.flush()
        return heard

    async def _wait_subscribed(self) -> None:
        """For a while, until the asker listens to exactly this subject.

        The CLI subscribes when it has the reply, to a subject that its wildcard for replies would
        swallow. Somebody else may listen in the asker's place, so it is no error if it does not.
        """
        hub, matching_before = self._parts.hub, -1
        for _ in range(round(INTEREST_SECONDS_MAX / INTEREST_POLL_SECONDS)):
            matching = len(hub.own_sids(self._asked_by, self._deliver))
            if matching != matching_before:  # only then a look at all that it listens to
                interests = map(Interest._make, hub.interests(self._asked_by))
                if any(interest.pattern == self._deliver for interest in interests):
                    return
            matching_before = matching
            await asyncio.sleep(INTEREST_POLL_SECONDS)

    async def _wait_durable(self) -> None:
        """Until everything written to the log so far may be told."""
        commit = self._parts.commit
        if commit is not None and self.is_journaled:
            entry = commit.log.last()
            await self._wait(lambda: commit.log.durable() >= entry)

    async def _wait_slot(self) -> None:
        try:
            async with asyncio.timeout(ACK_SECONDS_MAX):
                await self._wait(self._window.take_slot)
        except TimeoutError:
            raise SnapshotError("408 No Flow Response") from None

    async def _wait(self, is_there: Callable[[], bool]) -> None:
        while self.error is None and not is_there():
            self.changed.clear()
            await self.changed.wait()
        if self.error is not None:
            raise self.error

    def _archive(self) -> Iterator[bytes]:
        """The archive before compression, in slices."""
        now_ns, consumers = self._keeper.now_ns(), self._consumers
        shown = msgspec.json.encode(self._state | {"consumer_count": len(consumers)})
        yield MAGIC + encode_entry(b"state.json", now_ns, 0, b"", shown)
        for config, ledger in consumers:
            content = encode_consumer(config, ledger, self._state["last_seq"])
            yield encode_entry(f"consumers/{config.name}".encode(), now_ns, 0, b"", content)
        yield from self._messages()

    def _messages(self) -> Iterator[bytes]:
        data = bytearray()
        sequence, last = self._state["first_seq"], self._state["last_seq"]
        store = self._kept.store
        while True:
            if self._keeper.kept.get(self._name) is not self._kept:
                raise SnapshotError("500 the stream was deleted")
            if self._kept.failure:
                raise SnapshotError(f"500 {reason_of(self._kept.failure)}")
            try:
                while len(data) < SLICE_BYTES:
                    found = store.next_matching(b">", sequence)
                    if found is None or found > last:
                        yield bytes(data + encode_entry(*END))
                        return
                    record = store.load(found)
                    if record is not None:
                        number, time_ns, subject, headers, payload = record
                        data += encode_entry(subject, time_ns, number, headers, payload)
                    sequence = found + 1
            except OSError as error:  # its text names a path
                self._parts.context.logger.error("Stream %s: %s", self._name, error)
                raise SnapshotError(f"500 couldn't load message {sequence}") from None
            yield bytes(data)
            data.clear()


def _noted(kept: Kept) -> list[tuple[ConsumerConfig, bytes]]:
    """Consumers as they are, in the order they were made."""
    lives = sorted(kept.consumers.lifecycle.roster, key=lambda live: live.number)
    cores = [(live.consumer.core, live.ledger) for live in lives]
    return [
        (msgspec.structs.replace(core.config, name=core.name), ledger.snapshot())
        for core, ledger in cores
    ]


class Window:
    """How many chunks may be on their way; the target of their acknowledgements."""

    def __init__(self, request: SnapshotRequest, changed: Callable[[], None]) -> None:
        chunk_bytes = request.chunk_size or CHUNK_BYTES
        self.chunk_bytes = min(max(CHUNK_BYTES_MIN, chunk_bytes), CHUNK_BYTES_MAX)
        window_bytes = request.window_size or WINDOW_BYTES
        window_bytes = min(max(WINDOW_BYTES_MIN, window_bytes), WINDOW_BYTES_MAX)
        self._slots_max = max(1, window_bytes // self.chunk_bytes)
        self._slots = self._slots_max
        self._changed = changed

    def take(self, start: int, end: int) -> None:
        self._slots = min(self._slots + end - start, self._slots_max)
        self._changed()

    def take_slot(self) -> bool:
        """False if there is none."""
        if self._slots == 0:
            return False
        self._slots -= 1
        return True


class Chunks:
    """An archive, compressed and cut."""

    def __init__(self, archive: Iterator[bytes], chunk_bytes: int) -> None:
        self._archive = archive
        self._chunk_bytes = chunk_bytes
        self._plain = bytearray()
        self._packed = bytearray(s2_start())
        self._is_over = False

    async def next(self) -> bytes:
        """The next chunk; the last one is shorter than the others, or empty."""
        while not self._is_over and len(self._packed) < self._chunk_bytes:
            self._advance()
            await asyncio.sleep(0)  # others have their turn between slices
        chunk = bytes(self._packed[: self._chunk_bytes])
        del self._packed[: self._chunk_bytes]
        return chunk

    def _advance(self) -> None:
        piece = next(self._archive, None)
        self._is_over = piece is None
        self._plain += piece or b""
        while len(self._plain) >= MIB or (self._is_over and self._plain):
            self._packed += s2_chunk(bytes(self._plain[:MIB]))
            del self._plain[:MIB]
