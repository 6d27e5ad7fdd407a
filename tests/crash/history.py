"""What was asked of a stream and what was promised, and the check of a stream against it.

Every payload starts with its own number. An operation without an answer may have happened or not;
one with an answer must show.
"""

import json
import time
from typing import Any

from tests.crash.wire import ANSWER_SECONDS_MAX, Message, Wire

BATCH = 1000


class History:
    """One stream as its publisher saw it."""

    def __init__(self, name: str, *, ids: bool = False, pad: int = 100) -> None:
        self.name = name
        self.ids = ids
        self.pad = b"." * pad
        self.sent = 0  # numbers 1..sent were published
        self.acked: dict[int, int] = {}  # number -> sequence
        self.refused = 0
        self.deleted: set[int] = set()  # sequences, promised
        self.perhaps_deleted: set[int] = set()
        self.purged_below = 0
        self.perhaps_purged_below = 0
        self.description = ""  # the last one promised
        self.perhaps_description = ""

    def payload(self, number: int) -> bytes:
        return b"%s:%d:%s" % (self.name.encode(), number, self.pad)

    def answered(self, number: int, answer: dict[str, Any]) -> None:
        if "error" in answer:
            self.refused += 1
            return
        before = self.acked.setdefault(number, answer["seq"])
        assert before == answer["seq"], f"{self.name}: {number} was {before}, now {answer}"

    def check(self, wire: Wire) -> int:
        """Raises if a promise was broken; returns how many messages are there."""
        info = wire.request(f"$JS.API.STREAM.INFO.{self.name}")
        assert "error" not in info, f"{self.name} is gone: {info}"
        assert not info["state"].get("lost"), f"{self.name}: {info['state']}"
        shown = info["config"].get("description", "")
        assert shown in {self.description, self.perhaps_description}, (
            f"{self.name}: described as {shown!r}, promised {self.description!r}"
        )
        self.description = self.perhaps_description = shown
        stored = read_all(wire, self.name)
        state = info["state"]
        assert state["messages"] == len(stored), f"{self.name}: {state} but {len(stored)} are read"
        self._check_promised(stored)
        self._check_sequences(stored, state)
        return len(stored)

    def _check_promised(self, stored: dict[int, bytes]) -> None:
        for number, sequence in self.acked.items():
            if sequence in stored:
                assert stored[sequence] == self.payload(number), (
                    f"{self.name}: {sequence} holds {stored[sequence][:40]!r}, not number {number}"
                )
                assert sequence not in self.deleted, f"{self.name}: {sequence} was deleted, is back"
                assert sequence >= self.purged_below, f"{self.name}: {sequence} was purged, is back"
            else:
                assert self._may_be_gone(sequence), f"{self.name}: {sequence} was acked, is lost"

    def _check_sequences(self, stored: dict[int, bytes], state: dict[str, Any]) -> None:
        numbers = [int(payload.split(b":")[1]) for payload in stored.values()]
        assert len(set(numbers)) == len(numbers), f"{self.name}: duplicated"
        assert numbers == sorted(numbers), f"{self.name}: out of order"
        assert max(self.acked.values(), default=0) <= state["last_seq"]
        for sequence in range(max(1, state["first_seq"]), state["last_seq"] + 1):
            assert sequence in stored or self._may_be_gone(sequence), (
                f"{self.name}: hole {sequence}"
            )

    def _may_be_gone(self, sequence: int) -> bool:
        return (
            sequence < max(self.purged_below, self.perhaps_purged_below)
            or sequence in self.deleted
            or sequence in self.perhaps_deleted
        )


def read_all(wire: Wire, name: str) -> dict[int, bytes]:
    """Every payload of a stream by its sequence, in order."""
    return {sequence: message.payload for sequence, message in read_messages(wire, name).items()}


def read_messages(wire: Wire, name: str) -> dict[int, Message]:
    """Every message of a stream by its sequence, in order, through direct gets in batches."""
    stored: dict[int, Message] = {}
    sequence = 1
    while True:
        request = json.dumps({"seq": sequence, "batch": BATCH}).encode()
        reply = wire.ask(f"$JS.API.DIRECT.GET.{name}", request)
        done = False
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while not done:
            assert time.monotonic() < deadline, f"{name}: no answer to a read from {sequence}"
            for message in wire.read(1):
                if message.subject != reply:
                    continue
                if message.headers.startswith(b"NATS/1.0 404"):
                    return stored
                if message.headers.startswith(b"NATS/1.0 204"):
                    done = True
                    continue
                found = int(header(message.headers, b"Nats-Sequence"))
                stored[found] = message
                sequence = found + 1


def header(block: bytes, name: bytes) -> bytes:
    for line in block.split(b"\r\n"):
        key, _, value = line.partition(b": ")
        if key.lower() == name.lower():
            return value
    raise KeyError(name)
