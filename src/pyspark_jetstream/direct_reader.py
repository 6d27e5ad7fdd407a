"""Reads a range of sequences by direct gets: pages of a batch request each, rows in the kernel.

Nothing is consumed and nothing acknowledged, so a range reads the same again. A page asks for so
many messages from a sequence on; the next one begins behind the last that came. A break of the
connection loses a part of a page, which is asked for again from where it was, with another inbox:
what still comes to an earlier one is dropped. Of several subjects each is read for itself, without
what an earlier one had already.

In a cluster any copy of a stream answers direct gets, and one may be behind the leader, who has
told where the range ends. So whoever says that there is no more before that end is not believed:
the leader is asked whether that is so, and if not, the rest is asked for again.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from penstock.kernel.columns import Answers, Outcome
from pyspark_jetstream.arrow_batches import Columns
from pyspark_jetstream.connection import (
    NO_MESSAGE,
    REQUEST_SECONDS,
    ApiError,
    Connection,
    NotConnectedError,
    StreamNotFoundError,
)
from pyspark_jetstream.ranges import Range

PAGE_FIRST = 1024  # messages; more with every page, so that a sparse subject reads little in vain
PAGE_GROWTH = 4
PAGE_MAX = 16_384
PAGE_BYTES = 8 << 20
BATCH_ROWS = 8192  # enough for Arrow; from here on rows are handed over
BEHIND_SECONDS = 60.0  # that a copy may lack what the leader has
PAUSE_SECONDS = 0.05  # before it is asked again
_END = 204
_NOT_FOUND = 404


class ReadError(Exception):
    """A server has refused a read."""


class DirectReader:
    """One reader on one connection; its methods run in the connection's thread."""

    def __init__(self, connection: Connection, wanted: int, is_counter: bool) -> None:
        self._connection = connection
        self._inboxes = f"{connection.client.new_inbox()}."  # one for each request
        self._requests = 0
        self._answers = Answers(self._inboxes.encode(), wanted, is_counter)
        self._over = asyncio.Event()
        self._fault: Exception | None = None
        self.doubtful_from: int | None = None  # the first that was asked for and did not come

    async def open(self) -> None:
        self._connection.tap(self._answers, self._end, self._break)
        await self._connection.client.subscribe(f"{self._inboxes}*")

    async def columns(self, part: Range) -> AsyncIterator[Columns]:
        """The rows of a range, a few thousand at a time."""
        patterns = part.subjects or (">",)
        for place, pattern in enumerate(patterns):
            earlier = [other.encode() for other in patterns[:place]]
            async for _ in self._pages(part, pattern, earlier):
                rows = len(self._answers)
                if rows >= BATCH_ROWS or self._answers.row_bytes() >= PAGE_BYTES:
                    yield self._answers.take(), rows
        if rows := len(self._answers):
            yield self._answers.take(), rows

    async def _pages(self, part: Range, pattern: str, earlier: list[bytes]) -> AsyncIterator[None]:
        sequence, page, came_at = part.start, PAGE_FIRST, time.monotonic()
        while sequence < part.end:
            request: dict[str, Any] = {
                "seq": sequence,
                "batch": min(page, part.end - sequence),
                "max_bytes": PAGE_BYTES,
            }
            if pattern != ">":
                request["next_by_subj"] = pattern
            self._requests += 1
            inbox = f"{self._inboxes}{self._requests}"
            self._answers.begin(inbox.encode(), part.end - 1, earlier)
            outcome = await self._asked(part.stream, request, inbox)
            if outcome.first != sequence and self.doubtful_from is None:
                self.doubtful_from = sequence
            yield
            if outcome.last >= sequence:
                sequence, came_at = outcome.last + 1, time.monotonic()
            if outcome.code == _NOT_FOUND or (outcome.code == _END and not outcome.pending):
                if await self._is_complete(part, pattern, sequence):
                    return
                if time.monotonic() - came_at > BEHIND_SECONDS:
                    raise ReadError(
                        f"stream {part.stream}: its leader has messages from {sequence} on that "
                        f"no copy has given for {BEHIND_SECONDS:.0f} s; are all of them current?"
                    )
                await asyncio.sleep(PAUSE_SECONDS)
            elif outcome.code not in (0, _END):
                words = outcome.words.decode(errors="replace")
                problem = f"stream {part.stream}: {outcome.code} {words} at sequence {sequence}"
                raise ReadError(f"{problem}: is allow_direct still on?")
            page = min(page * PAGE_GROWTH, PAGE_MAX)

    async def _is_complete(self, part: Range, pattern: str, sequence: int) -> bool:
        """Whether the range has no more messages from a sequence on: its leader knows."""
        if sequence >= part.end:
            return True
        place = f"STREAM.MSG.GET.{part.stream}"
        try:
            told = await self._connection.ask(place, {"seq": sequence, "next_by_subj": pattern})
        except StreamNotFoundError:
            return True  # for whoever looks at the stream afterwards to tell
        except ApiError as error:
            if error.code != NO_MESSAGE:
                raise
            return True
        return int(told["message"]["seq"]) >= part.end

    async def _asked(self, stream: str, request: dict[str, Any], inbox: str) -> Outcome:
        """How a request ended; with code 0 if the connection broke meanwhile."""
        client = self._connection.client
        self._over.clear()
        subject = f"{self._connection.options.api}.DIRECT.GET.{stream}"
        await client.publish(subject, json.dumps(request).encode(), reply=inbox)
        progress = (-1, -1)
        while not self._over.is_set():
            try:
                await asyncio.wait_for(self._over.wait(), REQUEST_SECONDS)
            except TimeoutError:
                now = (self._answers.row_bytes(), self._answers.outcome()[-1])
                if now == progress:
                    late = f"no answer to a direct get of {stream} in {REQUEST_SECONDS:.0f} s"
                    raise NotConnectedError(f"{late} from {self._connection.shown}") from None
                progress = now
        if self._fault is not None:
            raise self._fault
        return Outcome(*self._answers.outcome())

    def _end(self, fault: Exception | None) -> None:
        self._fault = fault
        self._over.set()

    def _break(self, fault: Exception | None) -> None:
        """The connection is another one, or there will be none (then with the reason)."""
        self._end(fault)
