"""Direct reads as a target: requests of a turn in, messages out, behind the commit gate.

A stream that has stopped answers with its failure, which depends on nothing and does not wait: what
it holds may never become durable. The same status (500) ends a read that the disk failed.
"""

import contextlib
from collections.abc import Callable

from penstock.kernel.hub import Frame, picked_frames
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.refusals import reason_of
from penstock.streams.direct import answer, failed
from penstock.streams.stream import Stream

Gate = Callable[[], contextlib.AbstractContextManager[None]]


class DirectReads:
    """The target behind a stream's direct-read subjects."""

    def __init__(
        self, parts: Parts, stream: Stream, gate: Gate, failure: Callable[[], str]
    ) -> None:
        self._parts = parts
        self._stream = stream
        self._gate = gate
        self._failure = failure  # why the stream has stopped; empty while it has not

    def take(self, start: int, end: int) -> None:
        for frame in picked_frames(self._parts.hub, start, end):
            if not frame.reply:
                continue  # it has no answer
            if failure := self._failure():
                self._refuse(frame, failure)
                continue
            with self._gate():
                self._answer(frame)

    def _answer(self, frame: Frame) -> None:
        bytes_max = self._parts.context.options.max_pending
        logger, name = self._parts.context.logger, self._stream.config.name
        try:
            answers = answer(self._stream, frame.subject, frame.headers, frame.body, bytes_max)
            for headers, payload in answers:
                self._parts.publish(frame.reply, payload, headers)
        except OSError as error:
            logger.error("Stream %s cannot be read: %s", name, error)
            self._refuse(frame, str(error))
        except Exception:  # a bug of ours must not reach the other requests of the turn
            logger.exception("Direct read of stream %s failed", name)
            self._refuse(frame, "internal error")

    def _refuse(self, frame: Frame, failure: str) -> None:
        headers, payload = failed(reason_of(failure))
        self._parts.publish(frame.reply, payload, headers)
