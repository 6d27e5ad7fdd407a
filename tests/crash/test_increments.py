"""kill -9 in the middle of pipelined increments: what was acknowledged is in the totals, and every
total is the sum of the increments that are there.

One connection counts in one stream and every increment is a good one, so they are stored in the
order in which they were sent: number and sequence are the same.
"""

import contextlib
import json
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.client import Client, wait_load
from tests.crash.history import header, read_messages
from tests.crash.length import KILLS, SEED
from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire, published

MODES = {"default": "", "lazy": 'sync_interval: "2m"'}
HUGE = 10**40  # more than 128 bits
WINDOW, BURST = 1500, 300
LOAD = 1000  # acknowledgements before each kill


class Counters:
    """One stream as its publisher saw it."""

    def __init__(self, name: str, seed: int, *, keeps_all: bool) -> None:
        self.name = name
        self.keeps_all = keeps_all
        self._dice = random.Random(seed)
        self.sent: list[tuple[str, int]] = []  # subject and increment, by sequence from 1 on
        self.acked: dict[int, int] = {}  # sequence -> value

    def next(self) -> tuple[str, int]:
        """Most are small; some counters go beyond what the kernel adds, and come back."""
        dice = self._dice
        if dice.random() < 0.02:
            return f"{self.name}.huge", dice.choice([HUGE, -HUGE, 1])
        return f"{self.name}.{dice.choice(['hot', dice.randrange(50)])}", dice.randint(-99, 999)

    def check(self, wire: Wire) -> None:
        """Raises if a promise was broken; then forgets what was sent and did not arrive."""
        state = wire.request(f"$JS.API.STREAM.INFO.{self.name}")["state"]
        last = state["last_seq"]
        assert max(self.acked, default=0) <= last <= len(self.sent), (self.name, state)
        del self.sent[last:]
        totals: Counter[str] = Counter()
        values = []
        for subject, increment in self.sent:
            totals[subject] += increment
            values.append(totals[subject])
        for sequence, value in self.acked.items():
            assert value == values[sequence - 1], (self.name, sequence)
        stored = read_messages(wire, self.name)
        wanted = {sequence: self.sent[sequence - 1] for sequence in range(1, last + 1)}
        if not self.keeps_all:
            lasts = {subject: sequence for sequence, (subject, _) in wanted.items()}
            wanted = {sequence: wanted[sequence] for sequence in sorted(lasts.values())}
        assert [*stored] == [*wanted], self.name
        for sequence, (subject, increment) in wanted.items():
            message = stored[sequence]
            assert header(message.headers, b"Nats-Subject").decode() == subject
            assert int(header(message.headers, b"Nats-Incr")) == increment
            assert json.loads(message.payload) == {"val": str(values[sequence - 1])}


class Counting(Client):
    """Keeps a window of increments in flight, many in one write, until the server is gone."""

    def __init__(self, port: int, counters: Counters) -> None:
        super().__init__(port)
        self._counters = counters
        self._waiting = 0

    def work(self) -> None:
        inbox = f"acks.{self._counters.name}."
        self._wire.send(f"SUB {inbox}* 2\r\n".encode())
        while True:
            if self._waiting + BURST <= WINDOW:
                self._send(inbox)
            self._take_acks()

    def _send(self, inbox: str) -> None:
        frames, sent = [], self._counters.sent
        for _ in range(BURST):
            subject, increment = self._counters.next()
            sent.append((subject, increment))
            lines = b"Nats-Incr: %+d\r\n" % increment
            frames.append(published(subject, f"{inbox}{len(sent)}", b"", lines))
        self._waiting += BURST
        self._wire.send(b"".join(frames))

    def _take_acks(self) -> None:
        for message in self._wire.read(0.5):
            number, answer = int(message.subject.rsplit(".", 1)[1]), json.loads(message.payload)
            assert answer.get("seq") == number, answer
            self._counters.acked[number] = int(answer["val"])
            self._waiting -= 1


@pytest.mark.timeout(120 + 60 * KILLS)
@pytest.mark.parametrize("mode", MODES)
def test_totals_are_the_sums_of_their_increments_after_kills(tmp_path: Path, mode: str) -> None:
    dice = random.Random(SEED)
    streams = [Counters("ALL", SEED, keeps_all=True), Counters("LAST", SEED, keeps_all=False)]
    for round_number in range(KILLS + 1):
        with Node(tmp_path, MODES[mode]) as node:
            with contextlib.closing(Wire(node.port)) as wire:
                for counters in streams:
                    if round_number == 0:
                        limit = {} if counters.keeps_all else {"max_msgs_per_subject": 1}
                        create(wire, counters.name, allow_msg_counter=True, **limit)
                    counters.check(wire)
            if round_number < KILLS:
                count_and_kill(node, streams, dice)
            assert "Traceback" not in node.log
    total = sum(len(counters.acked) for counters in streams)
    assert total >= LOAD * KILLS, f"only {total} acknowledged: that was no load"


def count_and_kill(node: Node, streams: list[Counters], dice: random.Random) -> None:
    threads = [Counting(node.port, counters) for counters in streams]
    for thread in threads:
        thread.start()
    wait_load(threads, lambda: sum(len(counters.acked) for counters in streams), LOAD)
    time.sleep(dice.uniform(0.0, 0.6))  # at any moment of it
    node.kill()
    for thread in threads:
        thread.finish()


def test_the_check_sees_a_lost_increment(tmp_path: Path) -> None:
    counters = Counters("LOST", SEED, keeps_all=True)
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "LOST", allow_msg_counter=True)
        for number in range(1, 4):
            counters.sent.append(("LOST.a", number))
            reply = wire.ask("LOST.a", b"", b"Nats-Incr: %+d\r\n" % (number if number < 3 else 4))
            wire.wait(reply)
        with pytest.raises(AssertionError):
            counters.check(wire)
        counters.sent[2] = ("LOST.a", 4)
        counters.check(wire)
        counters.acked[4] = 11
        with pytest.raises(AssertionError):
            counters.check(wire)
