"""Stores to be damaged: filled by a real server, then left by a clean stop or by a kill."""

import contextlib
import hashlib
import io
import json
import logging
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import penstock
from tests.crash.history import read_all
from tests.crash.node import WAIT_SECONDS_MAX, Node
from tests.crash.wire import Wire, published

MESSAGES = 600
IDS = 10_000  # so many are kept in a file of their own
BIG_BYTES = 1 << 20
BIG = 20  # three blocks
REMOVED = 20

Damage = Callable[[Path, random.Random], int | None]


def flip(path: Path, dice: random.Random) -> int:
    """One bit; answers with the byte."""
    data = bytearray(path.read_bytes())
    byte = dice.randrange(len(data.rstrip(b"\0")))  # behind, nothing was ever written
    data[byte] ^= 1 << dice.randrange(8)
    path.write_bytes(data)
    return byte


def cut(path: Path, dice: random.Random) -> int:
    data = path.read_bytes()
    length = dice.randrange(len(data.rstrip(b"\0")))
    path.write_bytes(data[:length])
    return length


def remove(path: Path, _dice: random.Random) -> None:
    path.unlink()


def payload(name: str, number: int) -> bytes:
    return b"%s:%d:" % (name.encode(), number) + b"." * 60


def fill(store: Path, *, stopped: bool, jetstream: str = "") -> None:
    with Node(store, jetstream) as node, contextlib.closing(Wire(node.port)) as wire:
        _create(wire, "ORDERS")
        for first in range(1, MESSAGES, 100):  # turns of their own, so that the log has groups
            _publish(wire, "ORDERS", range(first, first + 100))
        if jetstream:
            _let_consumers_pass(wire, store, "ORDERS")
        for name in ("work", "other"):
            _consume(wire, "ORDERS", name)
        # An erasure brings a checkpoint soon, and what is killed shall have all of its log.
        removal = json.dumps({"seq": REMOVED, "no_erase": not stopped}).encode()
        wire.request("$JS.API.STREAM.MSG.DELETE.ORDERS", removal)
        if stopped:
            assert node.stop() == 0


def fill_ids(store: Path) -> None:
    with Node(store) as node, contextlib.closing(Wire(node.port)) as wire:
        _create(wire, "IDS")
        _publish(wire, "IDS", range(1, IDS + 1), ids=True)
        assert node.stop() == 0


def fill_blocks(store: Path) -> None:
    with Node(store) as node, contextlib.closing(Wire(node.port)) as wire:
        _create(wire, "BIG")
        for number in range(1, BIG + 1):
            body = payload("BIG", number) + b"x" * BIG_BYTES
            wire.request("BIG.x", body[:BIG_BYTES])
        assert node.stop() == 0


def _create(wire: Wire, name: str) -> None:
    config = {"name": name, "subjects": [f"{name}.>"], "allow_direct": True, "storage": "file"}
    answer = wire.request(f"$JS.API.STREAM.CREATE.{name}", json.dumps(config).encode())
    assert "error" not in answer, answer


def _publish(wire: Wire, name: str, numbers: range, *, ids: bool = False) -> None:
    def headers(number: int) -> bytes:
        return b"Nats-Msg-Id: %d\r\n" % number if ids else b""

    frames = [
        published(f"{name}.x", "", payload(name, number), headers(number))
        for number in numbers[:-1]
    ]
    wire.send(b"".join(frames))
    reply = wire.ask(f"{name}.x", payload(name, numbers[-1]), headers(numbers[-1]))
    assert json.loads(wire.wait(reply).payload)["seq"] == numbers[-1]


def _consume(wire: Wire, stream: str, name: str) -> None:
    config = {"durable_name": name, "ack_policy": "explicit", "ack_wait": 3_600_000_000_000}
    request = {"stream_name": stream, "config": config}
    answer = wire.request(f"$JS.API.CONSUMER.CREATE.{stream}.{name}", json.dumps(request).encode())
    assert "error" not in answer, answer
    for _ in range(5):
        wire.ask(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}", b'{"batch":1}')
        message = wire.wait_any(f"{stream}.")
        wire.wait(wire.ask(message.reply, b"+ACK"))


def _let_consumers_pass(wire: Wire, store: Path, stream: str) -> None:
    """Without a log, a state of all consumers is written when there were many changes, to one of
    two files in turn."""
    config = {"name": "passing", "description": "x" * 4000}
    request = json.dumps({"stream_name": stream, "config": config}).encode()
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while len([*store.rglob("consumers.recent.*")]) < 2:
        assert time.monotonic() < deadline, "no state was written"
        answer = wire.request(f"$JS.API.CONSUMER.CREATE.{stream}.passing", request)
        assert "error" not in answer, answer
        wire.request(f"$JS.API.CONSUMER.DELETE.{stream}.passing", b"")


def hashes(store: Path) -> dict[str, str]:
    """Every file with its content, and every directory."""
    found = {}
    for path in sorted(store.rglob("*")):
        name = str(path.relative_to(store))
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "/"
    return found


class Served(NamedTuple):
    """What a server that starts on a store has of one stream."""

    messages: dict[int, bytes]
    consumers: list[str]


def served(store: Path, stream: str) -> Served:
    """The server is one of this process: it starts in a hundredth of the time, and is the same."""
    with _no_bug(), _running(store) as port, contextlib.closing(Wire(port)) as wire:
        messages = read_all(wire, stream)
        answer = wire.request(f"$JS.API.CONSUMER.NAMES.{stream}", b"{}")
    return Served(messages, sorted(answer["consumers"] or []))


@contextlib.contextmanager
def _running(store: Path) -> Iterator[int]:
    with penstock.serve(store) as url:
        yield int(url.rpartition(":")[2])


@contextlib.contextmanager
def _no_bug() -> Iterator[None]:
    """Damage is logged in a line; an exception that nobody expected would bring its traceback."""
    lines = io.StringIO()
    handler, log = logging.StreamHandler(lines), logging.getLogger("penstock")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
    assert "Traceback" not in lines.getvalue(), lines.getvalue()
