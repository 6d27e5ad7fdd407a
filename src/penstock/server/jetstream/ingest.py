"""Publishes into a stream: runs of the turn through the bulk lane or the careful one.

A run without headers that matter is stored with one call and acknowledged with another. A run with
nothing but message ids is checked as one set. Everything else goes message by message.
"""

import contextlib
from collections.abc import Callable

from penstock.kernel.hub import Frame, Hub
from penstock.server.jetstream.commit import Commit
from penstock.streams.admission import MESSAGE_ID
from penstock.streams.stream import Stream

_CONTROL_PREFIX = b"Nats-"
_PLAIN, _COLUMN = 0, 1  # the kernel's lanes (penstock-turn, columns.rs)


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
    ) -> None:
        self._hub = hub
        self._stream = stream
        self._account_number = account_number
        self._commit = commit
        self._now_ns = now_ns
        self._failed = failed
        self.stopped = False

    def take(self, start: int, end: int) -> None:
        if self.stopped:
            return
        now_ns = self._now_ns()
        try:
            for lane, lane_start, lane_end in self._lanes(start, end):
                if lane == _PLAIN:
                    self._bulk(lane_start, lane_end, now_ns, ())
                elif lane == _COLUMN:
                    self._with_ids(lane_start, lane_end, now_ns)
                else:
                    self._careful(lane_start, lane_end, now_ns)
        except OSError as error:  # the store cannot go on
            self.stopped = True
            self._failed(self._stream, error)

    def _lanes(self, start: int, end: int) -> list[tuple[int, int, int]]:
        if not self._stream.bulk:
            return [(2, start, end)]
        return self._hub.lanes(start, end, _CONTROL_PREFIX, MESSAGE_ID)

    def _bulk(self, start: int, end: int, now_ns: int, ids: tuple[bytes, ...]) -> None:
        stream = self._stream
        first = stream.append_run(self._hub, start, end, now_ns, ids)
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
        for position in range(start, end):
            index = self._hub.picked(position)
            columns = None if index is None else self._hub.frame(index)
            if columns is not None:
                self._one(Frame(*columns), now_ns)

    def _one(self, frame: Frame, now_ns: int) -> None:
        headers = frame.payload[: frame.header_bytes]
        payload = frame.payload[frame.header_bytes :]
        outcome = self._stream.publish(frame.subject, headers, payload, now_ns)
        with self._gated():
            if frame.reply and not self._stream.config.no_ack:
                self._hub.publish(self._account_number, frame.reply, b"", b"", outcome.ack)
            if outcome.republished is not None:
                copy = outcome.republished
                self._hub.publish(
                    self._account_number, copy.subject, b"", copy.headers, copy.payload
                )

    def _gated(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._commit is None else self._commit.gated()
