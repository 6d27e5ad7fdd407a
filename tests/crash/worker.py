"""A client that works a consumer off, and what it was promised.

Of every message it says something: that it is done, with an answer or without, that it wants it
again, or nothing at all. Only what was answered is a promise.
"""

import json
import random
import time

from tests.crash.client import Client
from tests.crash.waiting import SECONDS_MAX
from tests.crash.wire import Message, Wire, published

BATCH = 200


class Work:
    """One consumer as its workers saw it, over all starts of the server."""

    def __init__(self, stream: str, consumer: str) -> None:
        self.stream = stream
        self.consumer = consumer
        self.promised: set[int] = set()  # acknowledged, and that was answered
        self.perhaps_done: set[int] = set()  # acknowledged, whether the server knows or not
        self.delivered: set[int] = set()

    @property
    def next_subject(self) -> str:
        return f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{self.consumer}"

    @property
    def info_subject(self) -> str:
        return f"$JS.API.CONSUMER.INFO.{self.stream}.{self.consumer}"

    def seen(self, message: Message, promised: set[int]) -> int:
        """The sequence of a delivery; it must not be one that was promised before to be done."""
        words = message.reply.split(".")
        assert words[2:4] == [self.stream, self.consumer], message
        sequence = int(words[5])
        assert sequence not in promised, f"{sequence} is back after it was acknowledged"
        self.delivered.add(sequence)
        return sequence


class Worker(Client):
    """Fetches and answers until it is disconnected."""

    def __init__(self, port: int, work: Work, seed: int) -> None:
        super().__init__(port)
        self._work = work
        self._random = random.Random(seed)
        # What was promised before this start, and on this connection: another one's answer may
        # overtake a delivery that was on its way.
        self._promised = {*work.promised}

    def work(self) -> None:
        self._wire.send(b"SUB work 2\r\nSUB done.* 3\r\n")
        while True:
            body = b'{"batch":%d,"expires":200000000}' % BATCH
            self._wire.send(published(self._work.next_subject, "work", body))
            self._take_batch()

    def _take_batch(self) -> None:
        taken = 0
        while taken < BATCH:
            frames = []
            for message in self._wire.read(5.0):
                if message.subject.startswith("done."):
                    self._promised.add(int(message.subject[5:]))
                    self._work.promised.add(int(message.subject[5:]))
                elif message.subject == "work":
                    return  # a status ends the request
                else:
                    taken += 1
                    frames.append(self._verdict(message))
            self._wire.send(b"".join(frames))

    def _verdict(self, message: Message) -> bytes:
        sequence = self._work.seen(message, self._promised)
        chance = self._random.random()
        if chance < 0.1:
            return b""
        if chance < 0.2:
            return published(message.reply, "", b"-NAK")
        self._work.perhaps_done.add(sequence)
        if chance < 0.4:
            return published(message.reply, "", b"+ACK")
        return published(message.reply, f"done.{sequence}", b"+TERM" if chance < 0.5 else b"")


def work_off(wire: Wire, work: Work) -> set[int]:
    """Takes everything that is left, until the consumer has nothing more; what was delivered."""
    wire.send(b"SUB rest 4\r\nSUB told.* 5\r\nSUB figures 6\r\n")
    left: set[int] = set()
    body = b'{"batch":%d,"expires":1000000000}' % BATCH
    ask_for_more = published(work.next_subject, "rest", body)
    ask_for_figures = published(work.info_subject, "figures", b"")
    wire.send(ask_for_more)
    taken, deadline = 0, time.monotonic() + SECONDS_MAX
    while True:
        assert time.monotonic() < deadline, "there is always something left"
        frames = []
        for message in wire.read(1.0):
            if message.subject.startswith("told."):
                work.promised.add(int(message.subject[5:]))
            elif message.subject == "rest":  # a status: the request ran out, perhaps too early
                frames.append(ask_for_figures)
            elif message.subject == "figures":
                figures = json.loads(message.payload)
                if not figures["num_pending"] and not figures["num_ack_pending"]:
                    return left
                taken = 0
                frames.append(ask_for_more)
            else:
                sequence = work.seen(message, work.promised)
                left.add(sequence)
                frames.append(published(message.reply, f"told.{sequence}", b""))
                taken += 1
                if taken % BATCH == 0:
                    frames.append(ask_for_more)
        wire.send(b"".join(frames))
