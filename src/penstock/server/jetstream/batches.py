"""Atomic batches on a running server: what all streams may hold together, timers and advisories.

A stream's open batches are its `Staging`; nothing is made for a stream that nobody sends a batch
to. There is one timer for a stream that has any, set for the one that is to be given up next.
"""

import sys
from collections.abc import Callable, Iterable

from penstock.kernel.hub import Frame, Hub
from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import Storage
from penstock.server.clock import monotonic_ns
from penstock.server.context import Context
from penstock.server.jetstream.advisories import Advisories
from penstock.server.jetstream.parts import Parts
from penstock.streams import headers
from penstock.streams.admission import ARRIVING, BATCH_ID, Message
from penstock.streams.batch_commit import commit
from penstock.streams.batches import (
    CONTROL_PREFIX,
    NAMES,
    PLAIN_HEADERS_BYTES_MAX,
    Arrived,
    Batch,
    BatchLimits,
    Reason,
    Room,
    Staging,
    Stretch,
)
from penstock.streams.stream import Outcome, Stream

_ZERO = Outcome(b"")  # a message that waits with its batch


class OpenBatches:
    """All open batches of a server."""

    def __init__(
        self, parts: Parts, advisories: Advisories, left: Callable[[Storage], int]
    ) -> None:
        self.context: Context = parts.context
        self.flush = parts.turns.flush
        self.left = left  # bytes that streams may still store
        self.room = Room(_limits(parts.context))
        self._advisories = advisories

    def of(self, stream: Stream) -> "StreamBatches":
        return StreamBatches(self, stream)

    def tell(self, stream: Stream, batch_ids: Iterable[bytes], reason: Reason) -> None:
        name = stream.config.name
        for batch_id in batch_ids:
            fields = {"batch": batch_id.decode(errors="replace"), "reason": reason.value}
            subject = f"STREAM.BATCH_ABANDONED.{name}"
            self._advisories.send(subject, "batch_abandoned", {"stream": name} | fields)


class StreamBatches:
    """The open batches of one stream, as its publishers and its keeper know them."""

    def __init__(self, server: OpenBatches, stream: Stream) -> None:
        self._server = server
        self._stream = stream
        self._staging = Staging(server.room)

    def takes(self, frame: Frame) -> bool:
        """Whether a publish is one of a batch."""
        is_allowed = self._stream.config.allow_atomic
        return is_allowed and bool(headers.find(frame.headers, BATCH_ID))

    def stretches(self, hub: Hub, start: int, end: int) -> list[Stretch]:
        """Messages of a run that belong to batches and may be taken without a look."""
        config = self._stream.config
        if not config.allow_atomic or config.sealed or self._stream.is_careful:
            return []
        size_max = config.max_msg_size if config.max_msg_size >= 0 else sys.maxsize
        bounds = (PLAIN_HEADERS_BYTES_MAX, size_max)
        found = hub.batch_runs(start, end, NAMES, CONTROL_PREFIX, b"", *bounds)
        return [Stretch(*columns) for columns in found]

    def take_run(self, hub: Hub, stretch: Stretch) -> bool:
        """Lets them wait with their batch, unless one of them might be refused."""
        is_first = not self._staging
        is_taken = self._staging.take_run(hub, stretch, monotonic_ns())
        if is_first and is_taken:
            self._wait()
        return is_taken

    def take(self, frame: Frame, now_ns: int) -> list[Outcome]:
        """What there is to say about one message; the last is for its sender."""
        refusal = self._refusal(frame, now_ns)
        if refusal is not None:
            return [Outcome(self._stream.acks.refused(refusal))]
        arrived = Arrived(frame.subject, headers.without_status(frame.headers), frame.body)
        is_first = not self._staging
        verdict = self._staging.take(arrived, monotonic_ns())
        if is_first and self._staging:
            self._wait()
        if verdict.abandoned is not None:
            batch_id = headers.find(frame.headers, BATCH_ID) or b""
            self._server.tell(self._stream, [batch_id], verdict.abandoned)
        if verdict.error is not None:
            return [Outcome(self._stream.acks.refused(verdict.error))]
        return [_ZERO] if verdict.complete is None else self._commit(verdict.complete, now_ns)

    def follow(self) -> None:
        """Takes over a configuration that no longer allows batches."""
        if not self._stream.config.allow_atomic:
            self._server.tell(self._stream, self._staging.clear(), Reason.INCOMPLETE)

    def end(self) -> None:
        """The stream is gone."""
        self._staging.clear()
        self._server.context.wheel.cancel(self)

    def _refusal(self, frame: Frame, now_ns: int) -> ApiError | None:
        message = Message(frame.subject, frame.headers, frame.body, now_ns)
        view = self._stream.view(frame.subject)
        for check in ARRIVING:
            if isinstance(refusal := check(view, message), ApiError):
                return refusal
        return None

    def _commit(self, batch: Batch, now_ns: int) -> list[Outcome]:
        if batch.bytes > self._server.left(self._stream.config.storage):
            return [Outcome(self._stream.acks.refused(Fault.NO_RESOURCES.error()))]
        return commit(self._stream, batch, now_ns)

    def _wait(self) -> None:
        """Until the next batch is to be given up, if there is one."""
        if (deadline_ns := self._staging.next_ns()) is not None:
            self._server.context.after(self, max(0, deadline_ns - monotonic_ns()), self._expire)

    def _expire(self) -> None:
        given_up = self._staging.expire(monotonic_ns())
        self._wait()
        if given_up:
            self._server.tell(self._stream, given_up, Reason.TIMEOUT)
            self._server.flush()


def _limits(context: Context) -> BatchLimits:
    """The configured ones, and the defaults for the rest."""
    configured, usual = context.options.jetstream_settings.limits, BatchLimits()
    return usual._replace(
        messages_max=_positive(configured.batch_max_msgs, usual.messages_max),
        open_max=_positive(configured.batch_max_inflight_per_stream, usual.open_max),
        total_max=_positive(configured.batch_max_inflight_total, usual.total_max),
        idle_ns=_positive(configured.batch_timeout_ns, usual.idle_ns),
    )


def _positive(value: int | None, usual: int) -> int:
    return value if value is not None and value > 0 else usual
