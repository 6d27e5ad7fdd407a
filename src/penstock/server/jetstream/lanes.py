"""The lanes of a run of publishes into a stream: in bulk, as one set of message ids, or one by one.

The kernel cuts a run into stretches. One without headers that matter is stored with one call and
answered with another; of one with nothing but message ids the new ones are; everything else is
looked at message by message. So is the first message of a stretch that may not fit, and then the
rest goes on in bulk. What is said follows what was stored: `answering` sees to that.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from penstock.kernel.hub import Hub, picked_frames
from penstock.streams.admission import HEADERS_BYTES_MAX, MESSAGE_ID
from penstock.streams.stream import Outcome, Stream

_CONTROL_PREFIX = b"Nats-"
# Headers that a server puts on what it sends; in a copy that comes back they mean nothing.
_TOLD = b"Nats-Stream:Nats-Subject:Nats-Sequence:Nats-Time-Stamp:Nats-Last-Sequence:Nats-Msg-Size:"
_PLAIN, _COLUMN, _CAREFUL = 0, 1, 2  # the kernel's lanes (penstock-turn, columns.rs)
_ANY_SIZE = sys.maxsize  # no message is as large

Ids = tuple[bytes, ...]


class Lanes:
    """What happens to the publishes of one stream."""

    def __init__(
        self,
        hub: Hub,
        stream: Stream,
        account_number: int,
        answering: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._hub = hub
        self._stream = stream
        self._account_number = account_number
        self._answering = answering

    def take(self, start: int, end: int, now_ns: int) -> None:
        """Raises OSError if the store cannot go on."""
        for lane, lane_start, lane_end in self.cut(start, end):
            if lane == _PLAIN:
                self._bulk(lane_start, lane_end, now_ns, ())
            elif lane == _COLUMN:
                self._with_ids(lane_start, lane_end, now_ns)
            elif lane == _CAREFUL:
                self._careful(lane_start, lane_end, now_ns)

    def cut(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """The stretches of a run and their lanes."""
        if not self._stream.bulk:
            return [(_CAREFUL, start, end)]
        size_max = self._stream.config.max_msg_size
        bounds = (HEADERS_BYTES_MAX, size_max if size_max >= 0 else _ANY_SIZE)
        return self._hub.lanes(start, end, _CONTROL_PREFIX, _TOLD, MESSAGE_ID, *bounds)

    def _with_ids(self, start: int, end: int, now_ns: int) -> None:
        ids = tuple(self._hub.header_column(start, end, MESSAGE_ID))
        window, moment_ns = self._stream.dedup, self._stream.moment(now_ns)
        for are_new, first, last in window.stretches(ids, moment_ns):
            if are_new:
                self._bulk(start + first, start + last, now_ns, ids[first:last])
            else:
                self._careful(start + first, start + last, now_ns)

    def _bulk(self, start: int, end: int, now_ns: int, ids: Ids) -> None:
        """What fits without a look; the first message that may not is looked at, and so on."""
        at = start
        while at < end:
            fits_end = at + self._stream.fitting(self._hub, at, end)
            if fits_end > at:
                self._store(at, fits_end, now_ns, ids[at - start : fits_end - start])
            if fits_end < end:
                self._careful(fits_end, fits_end + 1, now_ns)
            at = fits_end + 1

    def _store(self, start: int, end: int, now_ns: int, ids: Ids) -> None:
        stream = self._stream
        first = stream.append_run(self._hub, start, end, now_ns, ids)
        with self._answering():
            if not stream.config.no_ack:
                self._hub.acknowledge(start, end, stream.acks.prefix, first, stream.acks.suffix)

    def _careful(self, start: int, end: int, now_ns: int) -> None:
        outcomes: list[tuple[bytes, Outcome]] = []
        try:
            for frame in picked_frames(self._hub, start, end):
                outcome = self._stream.publish(frame.subject, frame.headers, frame.body, now_ns)
                outcomes.append((frame.reply, outcome))
        finally:  # if the store fails on the way, what it has taken before still counts
            with self._answering():
                self._say(outcomes)

    def _say(self, outcomes: list[tuple[bytes, Outcome]]) -> None:
        account, is_acked = self._account_number, not self._stream.config.no_ack
        for reply, (ack, copy) in outcomes:
            if copy is not None:  # before the answer, as the reference
                self._hub.publish(account, copy.subject, b"", copy.headers, copy.payload)
            if reply and is_acked:
                self._hub.publish(account, reply, b"", b"", ack)
