"""The loads: what is sent, how it is counted, and how it is known that nothing was left out.

Each keeps so many messages on their way, as a busy client does, for a while after a warm-up. What
is counted was answered by the server; at the end the server must have exactly what was counted. The
share of a core that this process took is part of every sample: near 1, it was the limit.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

from penstock.bench.connection import Connection, excerpt
from penstock.bench.errors import BenchError

Sample = dict[str, float]

WINDOW = 4_000  # publishes that wait for their acknowledgement
BLOCK = 500  # of them sent at once
FETCHED = 1_000  # in one request of a pull consumer, of which two wait
ACKS_PENDING_MAX = 10_000
IN_FLIGHT = 256  # requests that wait for their reply
WARM_UP = 0.2  # of the length of a sample

_ACKNOWLEDGED = b'"seq":'
_REFUSED = b'"error":'


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    seconds: float = 1.0
    payload_bytes: int = 128
    messages: int = 100_000  # in the stream that is fetched from


class Marks:
    """Counts a mark in bytes that come in pieces."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._rest = b""  # of the piece before; too short to hold the mark

    def count(self, piece: bytes) -> int:
        data = self._rest + piece
        self._rest = data[max(0, len(data) - len(self._mark) + 1) :]
        return data.count(self._mark)


class Clock:
    """From here on: seconds that passed, and the share of them that this process was busy."""

    def __init__(self) -> None:
        self._wall, self._busy = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._wall

    @property
    def share(self) -> float:
        return (time.process_time() - self._busy) / max(self.seconds, 1e-9)


@contextmanager
def stream(connection: Connection, storage: str) -> Iterator[str]:
    """A new stream that takes its own name as a subject, gone afterwards."""
    name = f"BENCH_{uuid4().hex[:12]}"
    connection.api(f"STREAM.CREATE.{name}", {"name": name, "subjects": [name], "storage": storage})
    try:
        yield name
    finally:
        connection.api(f"STREAM.DELETE.{name}")


class Publisher:
    """Publishes to a stream, with acknowledgements, a window of them on their way."""

    def __init__(self, connection: Connection, name: str, payload_bytes: int) -> None:
        self._connection, self._name = connection, name
        self._block = _frame(name, b"x" * payload_bytes, connection.inbox) * BLOCK
        self._marks = Marks(_ACKNOWLEDGED)
        self.sent = self.acknowledged = 0
        connection.subscribe(connection.inbox, 1)

    def until(self, is_done: Callable[[], bool]) -> None:
        """Publishes until something is so; the last ones are on their way then."""
        while not is_done():
            while self.sent + BLOCK <= self.acknowledged + WINDOW:
                self._connection.send(self._block)
                self.sent += BLOCK
            self._receive()

    def settle(self) -> None:
        """Waits for what is on its way; the stream must then have all of it."""
        while self.acknowledged < self.sent:
            self._receive()
        self._connection.unsubscribe(1)
        state = self._connection.api(f"STREAM.INFO.{self._name}")["state"]
        if state["last_seq"] != self.sent:
            raise BenchError(f"{self.sent} were acknowledged, the stream has {state['last_seq']}")

    def _receive(self) -> None:
        data = self._connection.receive()
        if _REFUSED in data:
            raise BenchError(f"a publish was refused: {excerpt(data, _REFUSED)}")
        self.acknowledged += self._marks.count(data)


def publish(url: str, size: Size, storage: Literal["file", "memory"]) -> Sample:
    with Connection(url) as connection, stream(connection, storage) as name:
        publisher = Publisher(connection, name, size.payload_bytes)
        warming = Clock()
        publisher.until(lambda: warming.seconds >= size.seconds * WARM_UP)
        clock, before = Clock(), publisher.acknowledged
        publisher.until(lambda: clock.seconds >= size.seconds and publisher.acknowledged > before)
        found = {
            "rate": (publisher.acknowledged - before) / clock.seconds,
            "load_busy": clock.share,
        }
        publisher.settle()
    return found


def fetch(url: str, size: Size) -> Sample:
    """The stream is read by one consumer after the other, each from its beginning."""
    with Connection(url) as connection, stream(connection, "file") as name:
        publisher = Publisher(connection, name, size.payload_bytes)
        publisher.until(lambda: publisher.sent >= size.messages)
        publisher.settle()
        _read(connection, name, publisher.sent, 0)
        clock, seconds, number = Clock(), 0.0, 0
        while seconds < size.seconds:
            number += 1
            seconds += _read(connection, name, publisher.sent, number)
        return {"rate": number * publisher.sent / seconds, "load_busy": clock.share}


def _read(connection: Connection, name: str, messages: int, number: int) -> float:
    """Seconds that one consumer takes to deliver all messages and have them acknowledged."""
    consumer = f"reader{number}"
    config = {"name": consumer, "ack_policy": "explicit", "max_ack_pending": ACKS_PENDING_MAX}
    config |= {"inactive_threshold": 60_000_000_000}
    body = {"stream_name": name, "config": config}
    connection.api(f"CONSUMER.CREATE.{name}.{consumer}", body)
    connection.subscribe(connection.inbox, 2)
    clock = Clock()
    _taken(connection, f"$JS.API.CONSUMER.MSG.NEXT.{name}.{consumer}", messages)
    seconds = clock.seconds
    connection.unsubscribe(2)
    state = connection.api(f"CONSUMER.INFO.{name}.{consumer}")
    if state["num_ack_pending"] or state["num_redelivered"] or state["num_pending"]:
        raise BenchError(f"{messages} were acknowledged, the consumer has {state}")
    connection.api(f"CONSUMER.DELETE.{name}.{consumer}")
    return seconds


def _taken(connection: Connection, place: str, messages: int) -> None:
    """Fetches and acknowledges all of them; the last acknowledgement is answered."""
    ask = _frame(place, b'{"batch":%d}' % FETCHED, connection.inbox)
    frames = re.compile(rb"MSG \S+ 2 (\$JS\.ACK\.\S+) \d+\r\nx*\r\n")
    connection.send(ask * 2)
    asked, taken, rest = 2 * FETCHED, 0, b""
    while taken < messages:
        data = rest + connection.receive()
        replies = frames.findall(data)
        if not replies:
            rest = data
            continue
        begin = data.rfind(b"MSG ")  # of the last frame, which may not be whole yet
        last = frames.match(data, begin)
        rest = data[last.end() if last else begin :]
        taken += len(replies)
        due = replies.pop() if taken == messages else None
        if replies:
            connection.send(_answers(replies, b"+ACK"))
        if due is not None:
            connection.request(due.decode(), b"+ACK")
        while asked < messages and asked - taken <= FETCHED:
            connection.send(ask)
            asked += FETCHED


def request(url: str, size: Size) -> Sample:
    """One client asks and another answers; first many at once, then one after the other."""
    with Connection(url) as asking, Connection(url) as answering:
        service = f"penstock.bench.{uuid4().hex[:12]}"
        answering.subscribe(service, 1)
        answering.send(b"PING\r\n")
        while b"PONG\r\n" not in answering.receive():
            pass
        asking.subscribe(f"{asking.inbox}.*", 1)
        payload = b"x" * size.payload_bytes
        replies = [f"{asking.inbox}.{number}" for number in range(IN_FLIGHT)]
        asked = [_frame(service, payload, reply) for reply in replies]
        rounds = Rounds(asking, answering, payload)
        rounds.run(asked, size.seconds * WARM_UP)
        clock = Clock()
        times = rounds.run(asked, size.seconds)
        rate, busy = len(times) * IN_FLIGHT / clock.seconds, clock.share
        alone = sorted(rounds.run(asked[:1], size.seconds))
    return {
        "rate": rate,
        "load_busy": busy,
        "p50_us": alone[len(alone) // 2] * 1e6,
        "p99_us": alone[len(alone) * 99 // 100] * 1e6,
    }


class Rounds:
    """Requests that are sent together, and the next ones when all are answered."""

    def __init__(self, asking: Connection, answering: Connection, payload: bytes) -> None:
        self._asking, self._answering, self._payload = asking, answering, payload
        self._asked = re.compile(rb"MSG \S+ 1 (\S+) \d+\r\n")
        self._answered = Marks(b"MSG _INBOX")

    def run(self, frames: list[bytes], seconds: float) -> list[float]:
        """How long each took, for so long; at least one."""
        times: list[float] = []
        together, clock = b"".join(frames), Clock()
        while not times or clock.seconds < seconds:
            begin = time.perf_counter()
            self._one(together, len(frames))
            times.append(time.perf_counter() - begin)
        return times

    def _one(self, frames: bytes, count: int) -> None:
        self._asking.send(frames)
        answered, rest = 0, b""
        while answered < count:
            data = rest + self._answering.receive()
            replies = self._asked.findall(data)
            rest = data[data.rfind(b"\r\n") :] if replies else data
            answered += len(replies)
            if replies:
                self._answering.send(_answers(replies, self._payload))
        got = 0
        while got < count:
            got += self._answered.count(self._asking.receive())


def _frame(subject: str, payload: bytes, reply: str) -> bytes:
    head = f"PUB {subject} {reply} {len(payload)}\r\n".encode()
    return head + payload + b"\r\n"


def _answers(subjects: list[bytes], payload: bytes) -> bytes:
    """The same payload to each of them."""
    end = b" %d\r\n%b\r\n" % (len(payload), payload)
    return b"PUB " + (end + b"PUB ").join(subjects) + end
