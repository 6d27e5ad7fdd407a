"""Publishes into a stream: the target behind its subjects.

What a run of publishes comes to is `Lanes`; here stands when the answers may leave. Where there is
no log (lazy sync), what was stored is written to its file before; with a log, they wait behind its
gate. A stream that cannot go on says so to everyone who publishes to it.
"""

import contextlib
from collections.abc import Callable, Iterator

from penstock.kernel.hub import Hub, picked_frames
from penstock.model.api_errors import ApiError, Fault
from penstock.model.limits import TURN_BYTES_MAX
from penstock.model.stream_config import PersistMode, Storage
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.lanes import Lanes
from penstock.server.jetstream.refusals import store_failed
from penstock.server.jetstream.usage import Usage
from penstock.storage.block_store import BlockStore
from penstock.streams.stream import Stream

# With a log, blocks follow behind it in pieces that the processor's cache still has, unless the
# log may need the space.
_WRITE_BEHIND_BYTES = 512 << 10
_SPACE_LEFT_TO_THE_LOG = 256 << 20


class Ingest:
    """The target behind a stream's subjects."""

    def __init__(
        self,
        hub: Hub,
        stream: Stream,
        account_number: int,
        commit: Commit | None,
        now_ns: Callable[[], int],
        failed: Callable[[Stream, Exception], None],
        has_room: Callable[[int], bool],
        usage: Usage,
    ) -> None:
        self._hub = hub
        self._stream = stream
        self._account_number = account_number
        self._commit = commit
        self._now_ns = now_ns
        self._failed = failed
        self._has_room = has_room
        self._usage = usage
        self._bytes = stream.state().bytes
        self.lanes = Lanes(hub, stream, account_number, self._answering)
        self.failure = ""  # why nothing is taken, for the log and for monitoring

    @property
    def lazy(self) -> bool:
        """True if acknowledgements follow a write to the file, with no log between."""
        config = self._stream.config
        return (
            self._commit is None
            and config.storage is Storage.FILE
            and config.persist_mode is not PersistMode.ASYNC
        )

    def take(self, start: int, end: int) -> None:
        if self.failure:
            self._refuse(start, end, store_failed(self.failure))
        elif self._commit is not None and self._commit.crowded:
            self._refuse(start, end, Fault.TOO_MANY_REQUESTS.error())
        else:
            self._take(start, end)

    def write_out(self) -> None:
        """What is stored goes to the files; without a log, acknowledgements wait for it."""
        store = self._stream.store
        assert isinstance(store, BlockStore)
        store.blocks.write_out()

    def _take(self, start: int, end: int) -> None:
        try:
            self._take_what_fits(start, end)
            if self._commit is not None and self._stream.config.storage is Storage.FILE:
                self._write_behind()
        except OSError as error:  # the store cannot go on
            self._failed(self._stream, error)

    def _take_what_fits(self, start: int, end: int) -> None:
        """Near the server's limit one by one, as the reference: the one that passes it is taken,
        and none after it."""
        storage = self._stream.config.storage
        step = end - start if self._usage.left(storage) > TURN_BYTES_MAX else 1
        for at in range(start, end, step):
            if step == 1 and self._usage.left(storage) <= 0:
                with self._answering():  # in the order of the publishes
                    self._refuse(at, end, Fault.NO_RESOURCES.error())
                return
            self.lanes.take(at, at + step, self._now_ns())
            size = self._stream.state().bytes
            self._usage.add(storage, size - self._bytes)
            self._bytes = size

    def _write_behind(self) -> None:
        store = self._stream.store
        assert isinstance(store, BlockStore)
        if store.blocks.unwritten_bytes() >= _WRITE_BEHIND_BYTES and self._has_room(
            _SPACE_LEFT_TO_THE_LOG
        ):
            with contextlib.suppress(OSError):  # the next checkpoint will tell
                store.blocks.write_out()

    def _refuse(self, start: int, end: int, error: ApiError) -> None:
        refusal = self._stream.acks.refused(error)
        for frame in picked_frames(self._hub, start, end):
            if frame.reply:
                self._hub.publish(self._account_number, frame.reply, b"", b"", refusal)

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """What is said inside may leave after what was stored before."""
        if self.lazy:
            self.write_out()
        with contextlib.nullcontext() if self._commit is None else self._commit.gated():
            yield
