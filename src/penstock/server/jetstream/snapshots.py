"""STREAM.SNAPSHOT: a stream as an archive, in chunks, as fast as its receiver acknowledges them.

Strategy: the reply says what the stream has at that moment, and a task then walks the messages up
to there, a slice at a time between turns. What was removed meanwhile is not in the archive. A
chunk leaves when everything written so far is durable, since it may tell of it, and when fewer
than a window of chunks are unacknowledged.
"""

import asyncio
import secrets
from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.api.requests import Request, is_empty, parse_request
from penstock.api.stream_info import show_config, show_state
from penstock.kernel.hub import Hub, Interest, is_valid_literal
from penstock.kernel.storage import encode_entry, s2_chunk, s2_start
from penstock.model.api_errors import Fault
from penstock.model.limits import KIB, MIB
from penstock.model.stream_config import Int64
from penstock.model.timestamps import rfc3339
from penstock.routing.accounts import Account
from penstock.routing.targets import Targets
from penstock.server.context import Context
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.keeper import Keeper
from penstock.server.turns import Turns
from penstock.storage.archive import END, MAGIC
from penstock.streams.stream import Stream

CHUNK_BYTES = 128 * KIB  # the reference's defaults, and its bounds
CHUNK_BYTES_MIN, CHUNK_BYTES_MAX = KIB, MIB
WINDOW_BYTES = 8 * MIB
WINDOW_BYTES_MIN, WINDOW_BYTES_MAX = KIB, 32 * MIB
ACK_SECONDS_MAX = 5.0  # the reference's: after that the receiver has stalled
INTEREST_SECONDS_MAX = 2.0  # the CLI subscribes after it has read the reply
INTEREST_POLL_SECONDS = 0.01
DURABLE_POLL_SECONDS = 0.002
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

    def __init__(
        self,
        context: Context,
        hub: Hub,
        targets: Targets,
        turns: Turns,
        account: Account,
        keeper: Keeper,
        commit: Commit | None,
    ) -> None:
        self._context = context
        self._hub = hub
        self._targets = targets
        self._turns = turns
        self._account = account
        self._keeper = keeper
        self._commit = commit
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked_by = -1  # the connection whose request is being answered

    def begin(self, name: str, payload: bytes) -> dict[str, Any]:
        """The reply's fields; the chunks follow it."""
        if is_empty(payload):
            raise Fault.BAD_REQUEST.error()
        stream = self._keeper.registry.require(name)
        request = parse_request(payload, SnapshotRequest)
        if not is_valid_literal(request.deliver_subject.encode()):
            raise Fault.DELIVER_SUBJECT_INVALID.error()
        if len(self._tasks) >= SNAPSHOTS_MAX:
            raise Fault.NO_RESOURCES.error()
        state = show_state(stream)
        task = self._context.loop.create_task(self._run(stream, request, state, self.asked_by))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"config": show_config(stream, with_versions=False), "state": state}

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _run(
        self, stream: Stream, request: SnapshotRequest, state: dict[str, Any], asked_by: int
    ) -> None:
        logger, name = self._context.logger, stream.config.name
        logger.info("Starting snapshot of stream %s", name)
        advisories, start_ns, failure = self._keeper.advisories, self._keeper.now_ns(), ""
        client = advisories._client(asked_by)
        told: dict[str, Any] = {"stream": name, "client": client}
        subject = f"STREAM.SNAPSHOT_CREATE.{name}"
        advisories._send(subject, "snapshot_create", told | {"state": state})
        window = Window(request)
        ack_subject = f"$JS.SNAPSHOT.ACK.{name}.{secrets.token_hex(11)}"
        target = self._targets.add(window)
        pattern = f"{ack_subject}.>".encode()
        self._targets.listen(target, self._account, pattern)
        deliver = request.deliver_subject.encode()
        try:
            chunks = Chunks(self._archive(stream, state), window.chunk_bytes)
            await self._wait_subscribed(asked_by, deliver)
            status = await self._send(chunks, window, deliver, ack_subject)
            logger.info("Completed snapshot of stream %s", name)
        except SnapshotError as error:
            logger.warning("Snapshot of stream %s failed: %s", name, error)
            failure = str(error).partition(" ")[2].lower()
            status = f"NATS/1.0 {error}\r\n\r\n".encode()
        except Exception:  # a bug of ours; whoever waits will stop waiting
            logger.exception("Snapshot of stream %s failed", name)
            failure, status = "internal error", b"NATS/1.0 500 Internal Error\r\n\r\n"
        finally:
            self._targets.ignore(target, self._account, pattern)
            self._targets.remove(target)
        told |= {"start": rfc3339(start_ns), "end": rfc3339(self._keeper.now_ns())}
        told |= {"error": failure} if failure else {}
        advisories._send(f"STREAM.SNAPSHOT_COMPLETE.{name}", "snapshot_complete", told)
        self._publish(deliver, b"", status, b"")

    async def _send(
        self, chunks: "Chunks", window: "Window", deliver: bytes, ack_subject: str
    ) -> bytes:
        """Sends everything; the headers of the empty message that ends it."""
        number = 0
        while True:
            await window.wait_slot()
            chunk = await chunks.next()
            await self._wait_durable()
            is_last = len(chunk) < window.chunk_bytes
            number += 1
            reply = "" if is_last else f"{ack_subject}.{len(chunk)}.{number}"
            if chunk and not self._publish(deliver, reply.encode(), b"", chunk):
                raise SnapshotError("408 No Interest")
            if is_last:  # as the reference: a status only if there was a whole chunk
                return DONE if number > 1 else b""

    def _publish(self, subject: bytes, reply: bytes, headers: bytes, payload: bytes) -> bool:
        heard = self._hub.publish(self._account.number, subject, reply, headers, payload)
        self._turns.flush()
        return heard

    async def _wait_subscribed(self, connection: int, deliver: bytes) -> None:
        """For a while, until the asker listens to exactly this subject.

        The CLI subscribes when it has the reply, to a subject that its wildcard for replies would
        swallow. Somebody else may listen in the asker's place, so it is no error if it does not.
        """
        matching_before = -1
        for _ in range(round(INTEREST_SECONDS_MAX / INTEREST_POLL_SECONDS)):
            matching = len(self._hub.own_sids(connection, deliver))
            if matching != matching_before:  # only then a look at all that it listens to
                interests = map(Interest._make, self._hub.interests(connection))
                if any(interest.pattern == deliver for interest in interests):
                    return
            matching_before = matching
            await asyncio.sleep(INTEREST_POLL_SECONDS)

    async def _wait_durable(self) -> None:
        """Until everything written to the log so far may be told."""
        if self._commit is None:
            return
        log = self._commit.log
        entry = log.last()
        while log.durable() < entry:
            if log.failure() is not None:
                raise SnapshotError("500 the commit log stopped")
            await asyncio.sleep(DURABLE_POLL_SECONDS)

    def _archive(self, stream: Stream, state: dict[str, Any]) -> Iterator[bytes]:
        """The archive before compression, in slices."""
        shown = msgspec.json.encode(state | {"consumer_count": 0})
        data = bytearray(MAGIC)
        data += encode_entry(b"state.json", self._keeper.now_ns(), 0, b"", shown)
        sequence, last = state["first_seq"], state["last_seq"]
        store = stream.store
        while True:
            if self._keeper.registry.find(stream.config.name) is not stream:
                raise SnapshotError("500 the stream was deleted")
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
                self._context.logger.error("Stream %s: %s", stream.config.name, error)
                raise SnapshotError(f"500 couldn't load message {sequence}") from None
            yield bytes(data)
            data.clear()


class Window:
    """How many chunks may be on their way; the target of their acknowledgements."""

    def __init__(self, request: SnapshotRequest) -> None:
        chunk_bytes = request.chunk_size or CHUNK_BYTES
        self.chunk_bytes = min(max(CHUNK_BYTES_MIN, chunk_bytes), CHUNK_BYTES_MAX)
        window_bytes = request.window_size or WINDOW_BYTES
        window_bytes = min(max(WINDOW_BYTES_MIN, window_bytes), WINDOW_BYTES_MAX)
        self._slots_max = max(1, window_bytes // self.chunk_bytes)
        self._slots = self._slots_max
        self._acknowledged = asyncio.Event()

    def take(self, start: int, end: int) -> None:
        self._slots = min(self._slots + end - start, self._slots_max)
        self._acknowledged.set()

    async def wait_slot(self) -> None:
        while self._slots == 0:
            self._acknowledged.clear()
            try:
                async with asyncio.timeout(ACK_SECONDS_MAX):
                    await self._acknowledged.wait()
            except TimeoutError:
                raise SnapshotError("408 No Flow Response") from None
        self._slots -= 1


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
