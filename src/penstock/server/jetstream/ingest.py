"""Publishes into a stream: runs of the turn through the bulk lane or the careful one.

A run without headers that matter is stored with one call and acknowledged with another. A run with
nothing but message ids is checked as one set. Everything else goes message by message.

Where there is no log (lazy sync), what was stored is written to its file before the
acknowledgements leave. A stream that cannot go on says so to everyone who publishes to it.
"""

import contextlib
import sys
from collections.abc import Callable

from penstock.kernel.hub import Frame, Hub, picked_frames
from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import PersistMode, Storage
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.refusals import store_failed
from penstock.storage.block_store import BlockStore
from penstock.streams.admission import HEADERS_BYTES_MAX, MESSAGE_ID
from penstock.streams.stream import Stream

_CONTROL_PREFIX = b"Nats-"
# Headers that a server puts on what it sends; in a copy that comes back they mean nothing.
_TOLD = b"Nats-Stream:Nats-Subject:Nats-Sequence:Nats-Time-Stamp:Nats-Last-Sequence:Nats-Msg-Size:"
_PLAIN, _COLUMN, _CAREFUL = 0, 1, 2  # the kernel's lanes (penstock-turn, columns.rs)
_ANY_SIZE = sys.maxsize  # no message is as large
# With a log, blocks follow behind it in pieces that the processor's cache still has, unless the
# log may need the space.
_WRITE_BEHIND_BYTES = 512 << 10
_SPACE_LEFT_TO_THE_LOG = 256 << 20
_GATE = 1 << 62  # above every log entry: what waits there waits for this call alone


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
    ) -> None:
        self._hub = hub
        self._stream = stream
        self._account_number = account_number
        self._commit = commit
        self._now_ns = now_ns
        self._failed = failed
        self._has_room = has_room
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
        now_ns = self._now_ns()
        try:
            for lane, lane_start, lane_end in self._lanes(start, end):
                if lane == _PLAIN:
                    self._bulk(lane_start, lane_end, now_ns, ())
                elif lane == _COLUMN:
                    self._with_ids(lane_start, lane_end, now_ns)
                elif lane == _CAREFUL:
                    self._careful(lane_start, lane_end, now_ns)
            if self._commit is not None and self._stream.config.storage is Storage.FILE:
                self._write_behind()
        except OSError as error:  # the store cannot go on
            self._failed(self._stream, error)

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

    def _lanes(self, start: int, end: int) -> list[tuple[int, int, int]]:
        if not self._stream.bulk:
            return [(_CAREFUL, start, end)]
        size_max = self._stream.config.max_msg_size
        bounds = (HEADERS_BYTES_MAX, size_max if size_max >= 0 else _ANY_SIZE)
        return self._hub.lanes(start, end, _CONTROL_PREFIX, _TOLD, MESSAGE_ID, *bounds)

    def _bulk(self, start: int, end: int, now_ns: int, ids: tuple[bytes, ...]) -> None:
        stream = self._stream
        first = stream.append_run(self._hub, start, end, now_ns, ids)
        if self.lazy:
            self.write_out()
        if not stream.config.no_ack:
            with self._gated():
                self._hub.acknowledge(start, end, stream.acks.prefix, first, stream.acks.suffix)

    def _with_ids(self, start: int, end: int, now_ns: int) -> None:
        ids = tuple(self._hub.header_column(start, end, MESSAGE_ID))
        if self._stream.dedup.all_new(ids, self._stream.moment(now_ns)):
            self._bulk(start, end, now_ns, ids)
        else:
            self._careful(start, end, now_ns)

    def _careful(self, start: int, end: int, now_ns: int) -> None:
        if not self.lazy:
            self._one_by_one(start, end, now_ns)
            return
        self._hub.set_gate(_GATE)
        try:
            self._one_by_one(start, end, now_ns)
            self.write_out()
            self._hub.release_held(_GATE)
        finally:
            self._hub.set_gate(0)
            self._hub.drop_held()  # nothing, unless the write failed

    def _one_by_one(self, start: int, end: int, now_ns: int) -> None:
        for frame in picked_frames(self._hub, start, end):
            self._one(frame, now_ns)

    def _one(self, frame: Frame, now_ns: int) -> None:
        outcome = self._stream.publish(frame.subject, frame.headers, frame.body, now_ns)
        with self._gated():
            if outcome.republished is not None:  # the copy before the answer, as the reference
                copy = outcome.republished
                self._hub.publish(
                    self._account_number, copy.subject, b"", copy.headers, copy.payload
                )
            if frame.reply and not self._stream.config.no_ack:
                self._hub.publish(self._account_number, frame.reply, b"", b"", outcome.ack)

    def _gated(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._commit is None else self._commit.gated()
