"""Direct reads as a target: requests of a turn in, messages out, behind the commit gate."""

import contextlib

from penstock.kernel.hub import Frame, Hub, picked_frames
from penstock.server.jetstream.commit import Commit
from penstock.streams.direct import answer
from penstock.streams.stream import Stream


class DirectReads:
    """The target behind a stream's direct-read subjects."""

    def __init__(
        self, hub: Hub, stream: Stream, account_number: int, commit: Commit | None, bytes_max: int
    ) -> None:
        self._hub = hub
        self._stream = stream
        self._account_number = account_number
        self._commit = commit
        self._bytes_max = bytes_max

    def take(self, start: int, end: int) -> None:
        for frame in picked_frames(self._hub, start, end):
            if frame.reply:  # a request without one has no answer
                self._answer(frame)

    def _answer(self, frame: Frame) -> None:
        answers = answer(self._stream, frame.subject, frame.headers, frame.body, self._bytes_max)
        gate = contextlib.nullcontext() if self._commit is None else self._commit.gated()
        with gate:
            for reply_headers, reply_payload in answers:
                self._hub.publish(
                    self._account_number, frame.reply, b"", reply_headers, reply_payload
                )
