"""Direct reads as a target: requests of a turn in, messages out, behind the commit gate.

A stream that has stopped answers with its failure, which depends on nothing and does not wait: what
it holds may never become durable. The same status (500) ends a read that the disk failed. Pages of
whole messages, and single ones, go from the store's bytes to the connection inside of the kernel.
"""

from collections.abc import Callable, Iterator
from functools import partial

from penstock.kernel.consumers import PageSent, PageStop, send_page, send_singles
from penstock.kernel.hub import Frame, picked_frames
from penstock.routing.services import Gate
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.refusals import reason_of
from penstock.storage.block_store import BlockStore
from penstock.streams.direct import DOTS_BEFORE_SUBJECT, NOT_FOUND, Page, answer, failed
from penstock.streams.stream import Stream


class DirectReads:
    """The target behind a stream's direct-read subjects."""

    def __init__(
        self,
        parts: Parts,
        stream: Stream,
        store: BlockStore,
        gate: Gate,
        failure: Callable[[], str],
    ) -> None:
        self._parts = parts
        self._stream = stream
        self._store = store
        self._gate = gate
        self._failure = failure  # why the stream has stopped; empty while it has not

    def take(self, start: int, end: int) -> None:
        if failure := self._failure():
            for frame in self._asked(start, end):
                self._refuse(frame, failure)
            return
        with self._gate():
            while (start := self._send_singles(start, end)) < end:
                for frame in self._asked(start, start + 1):
                    self._answer(frame)
                start += 1

    def _asked(self, start: int, end: int) -> Iterator[Frame]:
        frames = picked_frames(self._parts.hub, start, end)
        return (frame for frame in frames if frame.reply)  # else it has no answer

    def _send_singles(self, start: int, end: int) -> int:
        """The plain ones, as far as they go."""
        return send_singles(
            self._parts.hub,
            self._store.blocks,
            self._parts.account.number,
            self._stream.config.name.encode(),
            start,
            end,
            dots=DOTS_BEFORE_SUBJECT,
            missing=NOT_FOUND,
        )

    def _answer(self, frame: Frame) -> None:
        bytes_max = self._parts.context.options.max_pending
        logger, name = self._parts.context.logger, self._stream.config.name
        try:
            send = partial(self._send, frame.reply)
            stream, subject = self._stream, frame.subject
            answers = answer(stream, subject, frame.headers, frame.body, bytes_max, send)
            for headers, payload in answers:
                self._parts.publish(frame.reply, payload, headers)
        except OSError as error:
            logger.error("Stream %s cannot be read: %s", name, error)
            self._refuse(frame, str(error))
        except Exception:  # a bug of ours must not reach the other requests of the turn
            logger.exception("Direct read of stream %s failed", name)
            self._refuse(frame, "internal error")

    def _send(self, inbox: bytes, page: Page) -> Page:
        """As far as it goes: what cannot be read is left, for whoever finds out why."""
        name = self._stream.config.name.encode()
        while page.messages > 0:
            sent = PageSent(
                *send_page(
                    self._parts.hub,
                    self._store.blocks,
                    self._parts.account.number,
                    inbox,
                    name,
                    page.pattern,
                    sequence=page.sequence,
                    up_to=page.up_to,
                    messages_max=page.messages,
                    bytes_max=max(page.bytes_left, 0),
                    pending=page.pending,
                    before=page.sequence_before,
                )
            )
            page = page._replace(
                sequence=sent.sequence,
                messages=page.messages - sent.messages,
                bytes_left=page.bytes_left - sent.bytes,
                pending=sent.pending,
                sequence_before=sent.sequence_before,
            )
            if sent.stop == PageStop.OVER:
                return page._replace(messages=0)
            if sent.stop == PageStop.FAILED:
                return page
        return page

    def _refuse(self, frame: Frame, failure: str) -> None:
        headers, payload = failed(reason_of(failure))
        self._parts.publish(frame.reply, payload, headers)
