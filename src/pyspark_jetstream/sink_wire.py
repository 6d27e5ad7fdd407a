"""One connection whose bytes are ours: whole buffers of frames out, answers counted by the kernel.

nats-py finds the server, does TLS and lets us in. Then its tasks end and its transport is used
directly: a publisher of a hundred thousand rows a second can have no Python for each of them. The
thread of the connection reads answers and pings while the task waits for Spark, and wakes the task
when what it waits for is there, not at every answer.
"""

import asyncio
import threading
import time
from typing import Any

from penstock.kernel.publishes import PublishAcks
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.sink_errors import LostLinkError, SinkError

ANSWER_SECONDS = 10.0  # without any answer, a connection counts as broken
READ_BYTES = 1 << 18


class Progress:
    """How far a task has come, over one connection after the other."""

    def __init__(self) -> None:
        self.at = time.monotonic()  # when something was stored last
        self._first = 0  # everything before it has been answered once

    def reach(self, first: int) -> None:
        """What is sent again and answered again brings nobody on."""
        if first > self._first:
            self._first = first
            self.now()

    def now(self) -> None:
        self.at = time.monotonic()


class Wire:
    """From `open` to `close`; `acks` knows what answers look like."""

    def __init__(self, connection: Connection, acks: PublishAcks, progress: Progress) -> None:
        self.acks = acks
        self.duplicates = 0
        self._progress = progress
        self._connection = connection
        self._news = threading.Condition()
        self._others: list[tuple[int, bytes]] = []
        self._until = 0  # what the task waits for
        self._lost = ""
        self._complaint = ""

    def open(self, reply: bytes) -> None:
        self._connection.run(self._take_over(reply))

    def close(self) -> None:
        self._connection.run(self._stop_reading())

    def send(self, frames: bytes, answers: int) -> None:
        self.acks.expect(answers)
        self._connection.run(self._send(frames))

    def wait(self, until: int) -> None:
        with self._news:
            while self.acks.first < until and not self._others:
                if self._complaint:
                    raise SinkError(f"{self._connection.shown} complains: {self._complaint}")
                if self._lost:
                    raise LostLinkError(self._lost)
                before, self._until = self.acks.first, until
                if not self._news.wait(ANSWER_SECONDS) and self.acks.first == before:
                    raise LostLinkError(f"no answer for {ANSWER_SECONDS:.0f} s")

    def take_others(self) -> list[tuple[int, bytes]]:
        with self._news:
            others, self._others = self._others, []
        return others

    async def _take_over(self, reply: bytes) -> None:
        client: Any = self._connection.client
        tasks = [client._reading_task, client._flusher_task, client._ping_interval_task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._transport = client._transport
        self._reading = asyncio.create_task(self._read())  # from here on it can be closed
        await self._send(b"SUB %s* 1\r\n" % reply)

    async def _stop_reading(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _send(self, frames: bytes) -> None:
        if self._lost:
            raise LostLinkError(self._lost)
        try:
            self._transport.write(frames)
            await self._transport.drain()
        except (OSError, RuntimeError) as error:
            raise LostLinkError(str(error)) from error

    async def _read(self) -> None:
        lost = "the server has closed the connection"
        try:
            while data := await self._transport.read(READ_BYTES):
                self._take(data)
        except (OSError, ValueError) as error:
            lost = str(error)
        with self._news:
            self._lost = self._lost or lost
            self._news.notify_all()

    def _take(self, data: bytes) -> None:
        stored, duplicates, others, pings, complaints = self.acks.take(data)
        self.duplicates += duplicates
        if pings:
            self._transport.write(b"PONG\r\n" * pings)
        if stored:
            self._progress.reach(self.acks.first)
        with self._news:  # what the task waits for is read inside: it may be changing its mind
            self._others += others
            for complaint in complaints:
                self._complain(complaint.decode(errors="replace"))
            if others or complaints or self.acks.first >= self._until:
                self._news.notify_all()

    def _complain(self, text: str) -> None:
        """What will be so again after connecting again is an error; the rest is a broken link."""
        if "permissions violation" in text.lower():
            self._complaint = text
        else:
            self._lost = text
