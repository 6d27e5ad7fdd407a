"""Load of atomic batches, and the check that each is in its stream as a whole or not at all.

Every payload tells its batch, its place and the size of the batch. Some batches are never
committed, some are committed by a message that is not stored.
"""

import json
import random

from tests.crash.client import Client
from tests.crash.history import read_all
from tests.crash.wire import Wire, published

IN_FLIGHT_MAX = 8


class Batches:
    """The batches of one stream, as their publisher saw them."""

    def __init__(self, name: str, pad: int) -> None:
        self.name = name
        self.pad = b"." * pad
        self.sent = 0
        self.sizes: dict[int, int] = {}  # of those that were committed
        self.acked: dict[int, int] = {}  # batch -> its last sequence

    def payload(self, batch: int, place: int, size: int) -> bytes:
        return b"%d:%d:%d:%s" % (batch, place, size, self.pad)

    def check(self, wire: Wire) -> None:
        """Raises if a batch is there in part, out of order, or against what was said."""
        rows = sorted(read_all(wire, self.name).items())
        found: dict[int, list[tuple[int, int, int]]] = {}
        for sequence, payload in rows:
            if payload.startswith(b"single"):
                continue
            batch, place, size = map(int, payload.split(b":")[:3])
            found.setdefault(batch, []).append((sequence, place, size))
        for batch, parts in found.items():
            first, _, size = parts[0]
            whole = [(first + place, place + 1, size) for place in range(size)]
            assert parts == whole, f"{self.name}: batch {batch} is there as {parts}"
            assert self.sizes.get(batch) == size, f"{self.name}: batch {batch} was not committed"
        for batch, sequence in self.acked.items():
            assert batch in found, f"{self.name}: batch {batch} is gone"
            assert found[batch][-1][0] == sequence, f"{self.name}: batch {batch} moved"


class BatchPublisher(Client):
    """Sends batches, several at a time and each in one write, until the server is gone."""

    def __init__(self, port: int, batches: Batches, seed: int) -> None:
        super().__init__(port)
        self._batches = batches
        self._dice = random.Random(seed)
        self._waiting: set[int] = set()

    def work(self) -> None:
        self._wire.send(f"SUB done.{self._batches.name}.* 2\r\n".encode())
        while True:
            while len(self._waiting) < IN_FLIGHT_MAX:
                self._send()
            for message in self._wire.read(0.5):
                self._answered(int(message.subject.rsplit(".", 1)[1]), message.payload)

    def _send(self) -> None:
        batches, dice = self._batches, self._dice
        batches.sent += 1
        batch, size = batches.sent, dice.randint(2, 120)
        is_committed, by_end = dice.random() < 0.9, dice.random() < 0.3
        frames = [self._frame(batch, place, size) for place in range(1, size + 1)]
        reply = f"done.{batches.name}.{batch}"
        if is_committed:
            batches.sizes[batch] = size
            self._waiting.add(batch)
            commit = b"eob" if by_end else b"1"
            place = size + 1 if by_end else size
            frames[place - 1 :] = [self._frame(batch, place, size, reply, commit)]
        else:
            frames.pop()
        single = published(f"{batches.name}.s", "", b"single")
        self._wire.send(b"".join(frames) + single)

    def _frame(
        self, batch: int, place: int, size: int, reply: str = "", commit: bytes = b""
    ) -> bytes:
        batches = self._batches
        headers = b"Nats-Batch-Id: %d\r\nNats-Batch-Sequence: %d\r\n" % (batch, place)
        if commit:
            headers += b"Nats-Batch-Commit: %s\r\n" % commit
        subject = f"{batches.name}.{place % 7}"
        return published(subject, reply, batches.payload(batch, place, size), headers)

    def _answered(self, batch: int, answer: bytes) -> None:
        self._waiting.discard(batch)
        said = json.loads(answer)
        if said.get("error", {}).get("err_code") == 10210:  # too many are left open, for 10 s
            del self._batches.sizes[batch]
            return
        assert "error" not in said, said
        assert said["count"] == self._batches.sizes[batch], said
        self._batches.acked[batch] = said["seq"]
