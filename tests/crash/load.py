"""Load in threads: pipelined publishers, and somebody who deletes, purges and edits in between."""

import json
import os
import random
import threading
import time

from tests.crash.client import Client
from tests.crash.history import History
from tests.crash.wire import Message, Wire, published


class Publisher(Client):
    """Keeps `window` publishes in flight, many in one write, until stopped or disconnected."""

    def __init__(self, port: int, history: History, window: int = 500, burst: int = 100) -> None:
        super().__init__(port)
        self._history = history
        self._window = window
        self._burst = burst
        self._waiting: set[int] = set()
        self._stopping = threading.Event()
        self._abandoned = False

    def work(self) -> None:
        inbox = f"acks.{self._history.name}."
        self._wire.send(f"SUB {inbox}* 2\r\n".encode())
        while not self._stopping.is_set() or (self._waiting and not self._abandoned):
            if not self._stopping.is_set() and len(self._waiting) <= self._window:
                self._publish(inbox)
            self._take_acks(0.5 if self._waiting else 0.01)

    def stop(self) -> None:
        """Waits for what is in flight."""
        self._stopping.set()
        self.finish()

    def abandon(self) -> None:
        """Does not: some of it will never be answered."""
        self._abandoned = True
        self._stopping.set()
        self.finish()

    def _publish(self, inbox: str) -> None:
        history = self._history
        frames = []
        for number in range(history.sent + 1, history.sent + 1 + self._burst):
            headers = b"Nats-Msg-Id: %d\r\n" % number if history.ids else b""
            subject = f"{history.name}.{number % 7}"
            frames.append(published(subject, f"{inbox}{number}", history.payload(number), headers))
            self._waiting.add(number)
        history.sent += self._burst
        self._wire.send(b"".join(frames))

    def _take_acks(self, seconds_max: float) -> None:
        for message in self._wire.read(seconds_max):
            number = int(message.subject.rsplit(".", 1)[1])
            self._waiting.discard(number)
            self._history.answered(number, json.loads(message.payload))


class Meddler(Client):
    """Deletes, purges and edits one stream, and makes and removes others, one request at a time."""

    def __init__(self, port: int, history: History, seed: int, passing: dict[str, int]) -> None:
        super().__init__(port)
        self._history = history
        self._random = random.Random(seed)
        self._passing = passing  # other streams: messages promised, -1 for gone, -2 for unknown

    def work(self) -> None:
        steps = (self._remove, self._remove, self._purge, self._describe, self._come_and_go)
        while True:
            self._random.choice(steps)()
            time.sleep(0.002)

    def _remove(self) -> None:
        history = self._history
        sequences = list(history.acked.values())[-1000:]
        if not sequences:
            return
        sequence = self._random.choice(sequences)
        history.perhaps_deleted.add(sequence)
        body = json.dumps({"seq": sequence, "no_erase": self._random.random() < 0.5}).encode()
        if self._wire.request(f"$JS.API.STREAM.MSG.DELETE.{history.name}", body).get("success"):
            history.deleted.add(sequence)

    def _purge(self) -> None:
        history = self._history
        if not history.acked or self._random.random() < 0.7:
            return
        below = max(history.acked.values()) - 2000
        if below <= 1:
            return
        history.perhaps_purged_below = max(history.perhaps_purged_below, below)
        body = json.dumps({"seq": below}).encode()
        if self._wire.request(f"$JS.API.STREAM.PURGE.{history.name}", body).get("success"):
            history.purged_below = max(history.purged_below, below)

    def _describe(self) -> None:
        history = self._history
        text = f"version {self._random.random()}"
        history.perhaps_description = text
        body = stream_config(history.name, description=text)
        answer = self._wire.request(f"$JS.API.STREAM.UPDATE.{history.name}", body)
        assert "error" not in answer, answer
        history.description = text

    def _come_and_go(self) -> None:
        """A stream of few names is made, filled, removed, and made again under the same name."""
        name = f"PASSING{self._random.randrange(3)}"
        known = self._passing.get(name, -1)
        self._passing[name] = -2
        if known < 0:
            answer = self._wire.request(f"$JS.API.STREAM.CREATE.{name}", stream_config(name))
            assert "error" not in answer, answer
            count = self._random.randrange(4)
            for number in range(count):
                self._wire.request(f"{name}.x", b"%d" % number)
            self._passing[name] = count
        else:
            answer = self._wire.request(f"$JS.API.STREAM.DELETE.{name}")
            assert answer.get("success"), answer
            self._passing[name] = -1


class Ballast(Client):
    """Large messages into a stream that keeps few: the log fills, so that checkpoints cut it."""

    NAME = "BALLAST"
    PAYLOAD = b"." * 900_000
    IN_FLIGHT_MAX = 16

    def work(self) -> None:
        in_flight = 0
        self._wire.send(b"SUB ballast 2\r\n")
        while True:
            if in_flight < self.IN_FLIGHT_MAX:
                self._wire.send(published(f"{self.NAME}.x", "ballast", self.PAYLOAD))
                in_flight += 1
            in_flight -= len(self._wire.read(0 if in_flight < self.IN_FLIGHT_MAX else 1))


def stream_config(name: str, **fields: object) -> bytes:
    basic = {"name": name, "subjects": [f"{name}.>"], "allow_direct": True}
    return json.dumps(basic | fields).encode()


def create(wire: Wire, name: str, **fields: object) -> None:
    answer = wire.request(f"$JS.API.STREAM.CREATE.{name}", stream_config(name, **fields))
    assert "error" not in answer, answer


def settle_passing(wire: Wire, passing: dict[str, int]) -> None:
    """Checks the streams that come and go, and takes over what became of the unknown ones."""
    for name, promised in passing.items():
        answer = wire.request(f"$JS.API.STREAM.INFO.{name}")
        found = -1 if "error" in answer else answer["state"]["messages"]
        assert promised in {found, -2}, f"{name}: {found} instead of {promised} messages"
        passing[name] = found


def begin_snapshot(wire: Wire, name: str) -> Message:
    """The first chunk; another one needs an acknowledgement."""
    create(wire, name, storage=name.lower())
    for _ in range(4):
        wire.request(f"{name}.x", os.urandom(500_000))
    wire.send(f"SUB deliver.{name} {name}\r\n".encode())
    body = {"deliver_subject": f"deliver.{name}", "chunk_size": 1024, "window_size": 1024}
    wire.ask(f"$JS.API.STREAM.SNAPSHOT.{name}", json.dumps(body).encode())
    return wire.wait(f"deliver.{name}")
