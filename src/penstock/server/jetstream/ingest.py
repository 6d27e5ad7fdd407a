"""Publishes into a stream: the target behind its subjects.

What a run of publishes comes to is `Lanes`; here stands when the answers may leave. Where there is
no log (lazy sync), what was stored is written to its file before; with a log, they wait behind its
gate. A stream that cannot go on says so to everyone who publishes to it.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator

from penstock.kernel.hub import Hub, picked_frames
from penstock.kernel.storage import Blocks
from penstock.model.api_errors import ApiError, Fault
from penstock.model.limits import TURN_BYTES_MAX
from penstock.model.stream_config import PersistMode, Storage
from penstock.server.jetstream.batches import StreamBatches
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.lanes import Lanes
from penstock.server.jetstream.refusals import store_failed
from penstock.server.jetstream.usage import Usage
from penstock.storage.block_store import BlockStore
from penstock.streams.republish import Republished
from penstock.streams.stream import Outcome, Stream

# With a log, blocks follow behind it in pieces that the processor's cache still has, unless there
# is so little space that the log may need it.
_WRITE_BEHIND_BYTES = 512 << 10


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
        usage: Usage,
        batches: StreamBatches | None = None,
    ) -> None:
        self._hub = hub
        self._stream = stream
        self._account_number = account_number
        self._commit = commit
        self._now_ns = now_ns
        self._failed = failed
        self._usage = usage
        self._bytes = stream.store.state().bytes
        self.lanes = Lanes(hub, stream, account_number, self._answering, batches)
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

    def say(self, copies: list[Republished]) -> None:
        """Copies of what the stream stored by itself."""
        with self._answering():
            for copy in copies:
                number = self._account_number
                self._hub.publish(number, copy.subject, b"", copy.headers, copy.payload)

    def has_room(self) -> bool:
        """Whether the server may hold more."""
        return self._usage.left(self._stream.config.storage) > 0

    def copy(self, action: Callable[[], list[Outcome]]) -> bool:
        """Messages of another stream come in; false if the store cannot go on."""
        try:
            outcomes = action()
            size = self._stream.store.state().bytes
            self._usage.add(self._stream.config.storage, size - self._bytes)
            self._bytes = size
            if self._stream.config.storage is Storage.FILE:
                self._usage.appended(self._blocks.take_appended_bytes())
            with self._answering():
                self.lanes.say([(b"", outcome) for outcome in outcomes])
            if self._commit is not None and self._stream.config.storage is Storage.FILE:
                self._write_behind()
        except OSError as error:
            self._failed(self._stream, error)
            return False
        return True

    def write_out(self) -> None:
        """What is stored goes to the files; without a log, acknowledgements wait for it."""
        store = self._stream.store
        assert isinstance(store, BlockStore)
        store.write_out()

    def _take(self, start: int, end: int) -> None:
        try:
            self._take_what_fits(start, end)
            if self._commit is not None and self._stream.config.storage is Storage.FILE:
                self._write_behind()
        except OSError as error:  # the store cannot go on
            self._failed(self._stream, error)
            at, answered = self.lanes.answered
            self._refuse(at, end, store_failed(str(error)), answered)

    def _take_what_fits(self, start: int, end: int) -> None:
        """Near the server's limit one by one, as the reference: the one that passes it is taken,
        and none after it."""
        storage = self._stream.config.storage
        step = end - start if self._usage.left(storage) > TURN_BYTES_MAX else 1
        for at in range(start, end, step):
            if step == 1 and self._usage.left(storage) <= 0:
                self._refuse(at, end, Fault.NO_RESOURCES.error())
                return
            self.lanes.take(at, at + step, self._now_ns())
            size = self._stream.store.state().bytes
            self._usage.add(storage, size - self._bytes)
            self._bytes = size
            if storage is Storage.FILE:
                self._usage.appended(self._blocks.take_appended_bytes())

    def _write_behind(self) -> None:
        blocks = self._blocks
        if blocks.unwritten_bytes() >= _WRITE_BEHIND_BYTES and self._usage.disk_left() > 0:
            with contextlib.suppress(OSError):  # the next checkpoint will tell
                blocks.write_out()

    @property
    def _blocks(self) -> Blocks:
        store = self._stream.store
        assert isinstance(store, BlockStore)
        return store.blocks

    def _refuse(self, start: int, end: int, error: ApiError, answered: int = 0) -> None:
        """In the order of the answers before, unless those will never leave."""
        refusal, commit = self._stream.acks.refused(error), self._commit
        gate = contextlib.nullcontext() if commit is None or commit.failure else commit.gated()
        with gate:
            for frame in itertools.islice(picked_frames(self._hub, start, end), answered, None):
                if frame.reply:
                    self._hub.publish(self._account_number, frame.reply, b"", b"", refusal)

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """What is said inside may leave after what was stored before."""
        if self.lazy:
            self.write_out()
        with contextlib.nullcontext() if self._commit is None else self._commit.gated():
            yield
