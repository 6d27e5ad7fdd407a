"""The lanes of a run of publishes into a stream: in bulk, as one set of message ids, as
expectations that are met, as increments of counters, or one by one.

The kernel cuts a run into stretches. One without headers that matter is stored with one call and
answered with another (a TTL that is stored as it is does not matter: the store finds it by itself);
of one with nothing but message ids the new ones are, and of one whose messages say what is the last
of their subject, those for which that is so; everything else is looked at message by message. So is
the first message of a stretch that may not fit, and then the rest goes on in bulk. In a stream of
counters it is stretches with nothing but increments that go through together. What is said follows
what was stored: `answering` sees to that.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from penstock.kernel.hub import Hub, picked_frames
from penstock.server.jetstream.batches import StreamBatches
from penstock.streams import bulk
from penstock.streams.admission import (
    EXPECTED_LAST_SUBJECT_SEQUENCE,
    HEADERS_BYTES_MAX,
    MESSAGE_ID,
)
from penstock.streams.counters import INCREMENT
from penstock.streams.headers import CONTROL_PREFIX
from penstock.streams.increments import count_run
from penstock.streams.stream import Outcome, Stream

# Headers that a server puts on what it sends; in a copy that comes back they mean nothing.
_TOLD = b"Nats-Stream:Nats-Subject:Nats-Sequence:Nats-Time-Stamp:Nats-Last-Sequence:Nats-Msg-Size:"
# The kernel's lanes (penstock-turn, columns.rs).
_PLAIN, _COLUMN, _CAREFUL, _GONE, _EXPECTING = range(5)
_ANY_SIZE = sys.maxsize  # no message is as large
_REACH = 16  # expectations that are gone through at a time, at first

Ids = tuple[bytes, ...]


class Lanes:
    """What happens to the publishes of one stream."""

    def __init__(
        self,
        hub: Hub,
        stream: Stream,
        account_number: int,
        answering: Callable[[], AbstractContextManager[None]],
        batches: StreamBatches | None = None,
    ) -> None:
        self._hub = hub
        self._stream = stream
        self._account_number = account_number
        self._answering = answering
        self._batches = batches
        # Where the answers end: a position in the run, and how many messages behind it.
        self.answered = (0, 0)

    def take(self, start: int, end: int, now_ns: int) -> None:
        """Raises OSError if the store cannot go on; then `answered` tells how far it has come."""
        self.answered = (start, 0)
        counts = self._stream.config.allow_msg_counter
        for lane, lane_start, lane_end in self.cut(start, end):
            if lane == _PLAIN and not counts:
                self._bulk(lane_start, lane_end, now_ns, ())
            elif lane == _COLUMN:
                column = self._increments if counts else self._with_ids
                column(lane_start, lane_end, now_ns)
            elif lane == _EXPECTING:
                self._expecting(lane_start, lane_end, now_ns)
            elif lane != _GONE:
                self._with_batches(lane_start, lane_end, now_ns)

    def cut(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """The stretches of a run and their lanes."""
        stream = self._stream
        if bulk.takes_all(stream):
            return self._cut(start, end)
        if bulk.takes_what_is_read(stream):
            return self._cut_read(start, end)
        return [(_CAREFUL, start, end)]

    def _cut_read(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """What nobody reads is looked at: it is not kept. Where one is not read, those behind it
        often are not either."""
        stretches, at, unlike = [], start, 1
        while at < end:
            wanted_end = at + self._stream.audience.wanted(self._hub, at, end)
            if wanted_end > at:
                stretches += self._cut(at, wanted_end)
                at, unlike = wanted_end, 1
            else:
                stretches.append((_CAREFUL, at, min(at + unlike, end)))
                at, unlike = at + unlike, unlike * 2
        return stretches

    def _cut(self, start: int, end: int) -> list[tuple[int, int, int]]:
        config = self._stream.config
        counts = config.allow_msg_counter
        names = (INCREMENT, b"") if counts else (MESSAGE_ID, EXPECTED_LAST_SUBJECT_SEQUENCE)
        size_max = config.max_msg_size
        bounds = (HEADERS_BYTES_MAX, size_max if size_max >= 0 else _ANY_SIZE)
        lifetimes = self._stream.ttl_seconds_unseen
        return self._hub.lanes(start, end, CONTROL_PREFIX, _TOLD, *names, *bounds, lifetimes)

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
            fits_end = at + bulk.fitting(self._stream, self._hub, at, end)
            if fits_end > at:
                self._store(at, fits_end, now_ns, ids[at - start : fits_end - start])
            if fits_end < end:
                self._careful(fits_end, fits_end + 1, now_ns)
            at = fits_end + 1

    def _store(self, start: int, end: int, now_ns: int, ids: Ids) -> None:
        stream = self._stream
        self.answered = (start, 0)
        first = stream.append_run(self._hub, start, end, now_ns, ids)
        with self._answering():
            if not stream.config.no_ack:
                self._hub.acknowledge(start, end, stream.acks.prefix, first, stream.acks.suffix)
        self.answered = (end, 0)

    def _expecting(self, start: int, end: int, now_ns: int) -> None:
        """Those that find what they expect. Where one does not, those behind it often do not
        either: so from one time to the next, twice as many are looked at. And what is gone through
        without being stored is gone through again: so it is little, until all of it is stored."""
        at, unlike, reach = start, 1, _REACH
        while at < end:
            reach_end = min(at + reach, end)
            met_end = at + bulk.expected(self._stream, self._hub, at, reach_end)
            reach = reach * 4 if met_end == reach_end else _REACH
            if met_end > at:
                self._store(at, met_end, now_ns, ())
                at, unlike = met_end, 1
            else:
                self._careful(at, min(at + unlike, end), now_ns)
                at, unlike = at + unlike, unlike * 2

    def _increments(self, start: int, end: int, now_ns: int) -> None:
        """What can be added without a look. Where one needs a look, those behind it often do as
        well: so from one time to the next, twice as many are given one."""
        stream, at, unlike = self._stream, start, 1
        while at < end:
            self.answered = (at, 0)
            first = stream.sequence_last + 1
            counted = count_run(stream, self._hub, at, end, now_ns)
            if not len(counted):
                self._careful(at, min(at + unlike, end), now_ns)
                at, unlike = at + unlike, unlike * 2
                continue
            with self._answering():
                if not stream.config.no_ack:
                    prefix, joint = stream.acks.prefix, stream.acks.joint
                    self._hub.acknowledge_counted(at, prefix, first, joint, counted)
            at, unlike = at + len(counted), 1
            self.answered = (at, 0)

    def _careful(self, start: int, end: int, now_ns: int) -> None:
        outcomes: list[tuple[bytes, Outcome]] = []
        taken, batches = 0, self._batches
        self.answered = (start, 0)
        try:
            for frame in picked_frames(self._hub, start, end):
                if batches is not None and batches.takes(frame):
                    *copies, outcome = batches.take(frame, now_ns)
                    outcomes += ((b"", copy) for copy in copies)
                else:
                    outcome = self._stream.publish(frame.subject, frame.headers, frame.body, now_ns)
                outcomes.append((frame.reply, outcome))
                taken += 1
        finally:  # if the store fails on the way, what it has taken before still counts
            with self._answering():
                self.say(outcomes)
            self.answered = (start, taken)

    def say(self, outcomes: list[tuple[bytes, Outcome]]) -> None:
        account, is_acked = self._account_number, not self._stream.config.no_ack
        for reply, (ack, copy, _refusal) in outcomes:
            if copy is not None:  # before the answer, as the reference
                self._hub.publish(account, copy.subject, b"", copy.headers, copy.payload)
            if reply and is_acked:
                self._hub.publish(account, reply, b"", b"", ack)

    def _with_batches(self, start: int, end: int, now_ns: int) -> None:
        """Stretches of batches go to where they wait; what is between them is looked at."""
        batches, at = self._batches, start
        for stretch in batches.stretches(self._hub, start, end) if batches is not None else ():
            if at < stretch.start:
                self._careful(at, stretch.start, now_ns)
            at = stretch.start
            if batches is not None and batches.take_run(self._hub, stretch):
                with self._answering():
                    if not self._stream.config.no_ack:
                        self._hub.answer_run(at, stretch.end)
            else:
                self._careful(at, stretch.end, now_ns)
            at = stretch.end
            self.answered = (at, 0)
        if at < end:
            self._careful(at, end, now_ns)
