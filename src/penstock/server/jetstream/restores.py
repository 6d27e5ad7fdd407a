"""STREAM.RESTORE: a stream from an archive that arrives in chunks.

Strategy: the request's configuration is checked first, then chunks go into a store beside the
others (`filling`), each acknowledged when it was taken in. Only the empty chunk at the end makes
it a stream, in one step, if everything verified and its name and subjects are still free. A
failure is told at that point too, as the reference does it: until then chunks are acknowledged and
thrown away. Whatever ends a restore early leaves nothing behind.
"""

import asyncio
import contextlib
import secrets
import shutil
from collections import deque
from typing import Any

import msgspec

from penstock.api.requests import Request, is_empty, parse_request
from penstock.api.stream_info import show_stream
from penstock.kernel.hub import picked_frames
from penstock.kernel.storage import S2Reader
from penstock.model.api_errors import ApiError, Fault
from penstock.model.limits import MIB
from penstock.model.stream_config import Storage, StreamConfig
from penstock.model.stream_request import StreamRequest, parse_stream_request
from penstock.model.timestamps import rfc3339
from penstock.server.jetstream.consumers.stream_consumers import consumer_limits
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.filling import FOLDER, Filling
from penstock.server.jetstream.keeper import Keeper
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.recovery import settle
from penstock.server.jetstream.subject_target import SubjectTarget
from penstock.storage.archive import ArchiveError
from penstock.streams.draft import first_error
from penstock.streams.stream import Stream
from penstock.streams.validation import ADMISSION_CHECKS, CHECKS, drafted, name_is_no_path

IDLE_SECONDS_MAX = 5.0  # the reference's: after that the sender has stalled
WAITING_BYTES_MAX = 64 * MIB  # chunks that came and were not taken in yet
RESTORES_MAX = 64  # at the same time

REFUSED = {"deliver_subject": ""}  # what a refusal says beside its error
CREATE_TYPE = "io.nats.jetstream.api.v1.stream_create_response"


class RestoreRequest(Request, frozen=True, kw_only=True):
    """STREAM.RESTORE; the state is what `nats stream backup` wrote beside, and not needed."""

    config: dict[str, object] = msgspec.field(default_factory=dict)
    state: dict[str, object] = msgspec.field(default_factory=dict)


class Restores:
    """All restores under way."""

    def __init__(self, parts: Parts, keeper: Keeper) -> None:
        self.parts = parts
        self.keeper = keeper
        self._tasks: set[asyncio.Task[None]] = set()
        self._clear()  # what a crash left

    def begin(self, name: str, payload: bytes, asked_by: int) -> dict[str, Any]:
        """The reply's fields: where the chunks go."""
        if is_empty(payload):
            raise Fault.BAD_REQUEST.error()
        asked = parse_request(payload, RestoreRequest)
        request = parse_stream_request(msgspec.json.encode(asked.config), self.keeper.strict)
        if not request.config.name:
            config = msgspec.structs.replace(request.config, name=name)
            request = msgspec.structs.replace(request, config=config)
        config = self.check(name, request)
        if len(self._tasks) >= RESTORES_MAX or not self.has_space(config):
            raise Fault.NO_RESOURCES.error()
        token = secrets.token_hex(11)
        restore = Restore(self, request, token, self._filling(token, config), asked_by)
        task = self.parts.context.loop.create_task(restore.run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"deliver_subject": restore.subject}

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._clear()

    def check(self, name: str, request: StreamRequest) -> StreamConfig:
        """The configuration, if there may be such a stream; also when it is about to become one."""
        if request.config.name != name:
            raise Fault.STREAM_NAME_MISMATCH.error()
        around = self.keeper.surroundings()
        streams = {other: config for other, config in around.streams.items() if other != name}
        draft = drafted(request, msgspec.structs.replace(around, streams=streams))
        if (error := first_error((name_is_no_path, *CHECKS), draft)) is not None:
            raise error
        if self.keeper.registry.find(name) is not None:
            raise Fault.RESTORE_NAME_EXISTS.error()
        if (error := first_error(ADMISSION_CHECKS, draft)) is not None:
            raise error
        return draft.config

    def has_space(self, config: StreamConfig) -> bool:
        return config.storage is Storage.MEMORY or self.keeper.space.left() > 0

    def _filling(self, token: str, config: StreamConfig) -> Filling:
        server, root = self.keeper.surroundings().server, self.parts.directory.root
        if config.storage is Storage.MEMORY:
            bytes_max = server.memory_bytes_max - server.memory_bytes_reserved
        else:
            bytes_max = server.storage_bytes_max - server.storage_bytes_reserved
        payload_bytes_max = self.parts.context.options.max_payload
        limits = consumer_limits(self.parts)
        try:
            return Filling(root, token, config, payload_bytes_max, bytes_max, limits)
        except OSError as error:
            self.parts.context.logger.error("Restore of stream %s: %s", config.name, error)
            shutil.rmtree(root / FOLDER / token, ignore_errors=True)
            raise Fault.RESTORE_STORAGE_FAILED.error() from None

    def _clear(self) -> None:
        shutil.rmtree(self.parts.directory.root / FOLDER, ignore_errors=True)


class Restore:
    """One restore: the target of its chunks, and the task that takes them in."""

    def __init__(
        self,
        restores: Restores,
        request: StreamRequest,
        token: str,
        filling: Filling,
        asked_by: int,
    ) -> None:
        self._restores = restores
        self._parts = restores.parts
        self._keeper = restores.keeper
        self._name = name = request.config.name
        self._request = request
        self._filling: Filling | None = filling
        self.subject = f"$JS.SNAPSHOT.RESTORE.{name}.{token}"
        self._chunks: deque[tuple[bytes, bytes]] = deque()  # reply and content
        self._waiting_bytes = 0
        self._arrived = asyncio.Event()
        self._reader = S2Reader()
        self._error = told_at_the_end(request.config)
        self._target = SubjectTarget(self._parts, self)
        self._target.follow([self.subject])
        self._received_bytes = 0
        self._start_ns = self._keeper.now_ns()
        advisories = self._keeper.advisories
        self._told: dict[str, Any] = {"stream": name, "client": advisories.client(asked_by)}
        advisories.send(f"STREAM.RESTORE_CREATE.{name}", "restore_create", self._told)

    def take(self, start: int, end: int) -> None:
        for frame in picked_frames(self._parts.hub, start, end):
            self._waiting_bytes += len(frame.body)
            if self._waiting_bytes <= WAITING_BYTES_MAX:  # else the restore ends, see `_next_chunk`
                self._chunks.append((frame.reply, frame.body))
        self._arrived.set()

    async def run(self) -> None:
        logger = self._parts.context.logger
        logger.info("Starting restore of stream %s", self._name)
        try:
            await self._take_chunks()
        except TimeoutError:
            logger.warning("Restore of stream %s is stalled and was given up", self._name)
        except RestoreEndedError as error:
            logger.warning("Restore of stream %s was given up: %s", self._name, error)
        except Exception:  # a bug of ours; whoever waits will stop waiting
            logger.exception("Restore of stream %s failed", self._name)
        finally:
            self._target.end()
            self._let_go()

    async def _take_chunks(self) -> None:
        while True:
            reply, chunk = await self._next_chunk()
            if not chunk:
                await self._finish(reply)
                return
            if self._error is None:
                async with self._failing():
                    await self._unpack(chunk)
            self._parts.publish(reply, b"")
            self._parts.turns.flush()

    async def _next_chunk(self) -> tuple[bytes, bytes]:
        while not self._chunks:
            self._arrived.clear()
            async with asyncio.timeout(IDLE_SECONDS_MAX):
                await self._arrived.wait()
        if self._waiting_bytes > WAITING_BYTES_MAX:
            raise RestoreEndedError("its sender does not wait for acknowledgements")
        reply, chunk = self._chunks.popleft()
        self._waiting_bytes -= len(chunk)
        self._received_bytes += len(chunk)
        if not reply:
            raise RestoreEndedError("a chunk came without a reply subject")
        return reply, chunk

    async def _unpack(self, chunk: bytes) -> None:
        assert self._filling is not None
        self._reader.feed(chunk)
        while (block := self._reader.next_block()) is not None:
            if not self._restores.has_space(self._filling.config):
                raise Fault.NO_RESOURCES.error()
            self._keeper.space.add(len(block))
            for _ in self._filling.unpack(block):
                await asyncio.sleep(0)
            await asyncio.sleep(0)

    @contextlib.asynccontextmanager
    async def _failing(self) -> Any:
        """What goes wrong inside is kept for the end, and what was stored is let go at once."""
        try:
            yield
        except ApiError as error:
            self._error = error
        except (ArchiveError, ValueError) as error:
            self._error = Fault.RESTORE_FAILED.error(reason=error)
        except OSError as error:  # its text names a path, which is none of the client's business
            self._parts.context.logger.error("Restore of stream %s: %s", self._name, error)
            self._error = Fault.RESTORE_FAILED.error(reason="the store cannot be written")
        except Exception:  # a bug of ours; whoever waits must not wait for nothing
            self._parts.context.logger.exception("Restore of stream %s failed", self._name)
            self._error = Fault.RESTORE_FAILED.error(reason="internal error")
        if self._error is not None:
            self._let_go()

    def _let_go(self) -> None:
        if self._filling is not None:
            self._filling.remove()
            self._filling = None

    async def _finish(self, reply: bytes) -> None:
        stream = None
        if self._error is None:
            async with self._failing():
                stream = await self._adopted()
        fields: dict[str, Any] = {"type": CREATE_TYPE}
        logger = self._parts.context.logger
        if stream is None:
            assert self._error is not None
            fields["error"] = self._error.shown()
            logger.warning("Restore of stream %s failed: %s", self._name, self._error)
        else:
            fields |= show_stream(stream, self._keeper.now_ns())
            logger.info("Completed restore of stream %s", self._name)
            self._keeper.advisories.stream_created(self._name)
        self._tell_complete()
        with self._parts.gated():
            self._parts.publish(reply, msgspec.json.encode(fields))
        self._parts.turns.flush()

    def _tell_complete(self) -> None:
        told = self._told | {
            "start": rfc3339(self._start_ns),
            "end": rfc3339(self._keeper.now_ns()),
            "bytes": self._received_bytes,
        }
        subject = f"STREAM.RESTORE_COMPLETE.{self._name}"
        self._keeper.advisories.send(subject, "restore_complete", told)

    async def _adopted(self) -> Stream:
        filling = self._filling
        assert filling is not None
        if not self._reader.is_whole():
            raise ArchiveError("unexpected end of the archive")
        await filling.settle(self._keeper.now_ns())
        # From here on in one step: nobody sees a part of it.
        keeper, commit, folders = self._keeper, self._parts.commit, self._parts.directory.folders
        if commit is not None and commit.failure:
            raise Fault.UNAVAILABLE.error()
        config = self._restores.check(self._name, self._request)
        created_ns = max(0, filling.created_ns) or keeper.now_ns()
        description = Description(folders.new_number(), config, created_ns)
        is_file = config.storage is Storage.FILE
        mark = 0 if commit is None else commit.log.last()
        filling.write_consumers(mark)
        if is_file:
            filling.blocks.checkpoint(mark, True)
            folders.move_in(filling.folder / "stream", description)
        with keeper.adopting(description, None if is_file else filling.blocks) as kept:
            settle(kept, keeper.now_ns())
            kept.consumers.saved.mark = mark
            kept.consumers.saved.found.adopt(filling.consumers.saved(mark))
        return kept.stream


def told_at_the_end(config: StreamConfig) -> ApiError | None:
    """What the reference asks when the archive is there, and not before."""
    if config.num_replicas <= 1:
        return None
    unfit = Fault.REPLICAS_NOT_SUPPORTED.error()
    return Fault.RESTORE_FAILED.error(reason=f"error adding stream: {unfit} ({unfit.err_code})")


class RestoreEndedError(Exception):
    """The sender does not keep to the protocol."""
