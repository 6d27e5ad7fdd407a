"""Whoever follows a stream of counters hears of increments that were stored as a run: consumers,
and other streams."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.history import header
from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire, published

MODES = {"default": "", "lazy": 'sync_interval: "2m"'}
COUNT = 400


@pytest.fixture(params=MODES)
def wires(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Wire, Wire]]:
    """One that counts, and one that listens."""
    with (
        Node(tmp_path, MODES[request.param]) as node,
        contextlib.closing(Wire(node.port)) as wire,
        contextlib.closing(Wire(node.port)) as listener,
    ):
        yield wire, listener
        assert "Traceback" not in node.log


def pipelined(wire: Wire, stream: str) -> list[dict[str, Any]]:
    """Increments of two counters in one write, and their answers."""
    wire.send(f"SUB answers.{stream}.* 7\r\n".encode())
    frames = [
        published(f"{stream}.{number % 2}", f"answers.{stream}.{number}", b"", b"Nats-Incr: +2\r\n")
        for number in range(COUNT)
    ]
    wire.send(b"".join(frames))
    return [json.loads(wire.wait(f"answers.{stream}.{number}").payload) for number in range(COUNT)]


def listen(listener: Wire, stream: str, **config: str) -> None:
    fields = {"deliver_subject": "pushed", "ack_policy": "none", "durable_name": "D", **config}
    listener.send(b"SUB pushed 9\r\n")
    body = json.dumps({"stream_name": stream, "config": fields}).encode()
    answer = listener.request(f"$JS.API.CONSUMER.CREATE.{stream}.D", body)
    assert "error" not in answer, answer


def test_a_consumer_that_waits_gets_every_increment(wires: tuple[Wire, Wire]) -> None:
    wire, listener = wires
    create(wire, "C", allow_msg_counter=True)
    listen(listener, "C")
    answers = pipelined(wire, "C")
    messages = [listener.wait_any("C.") for _ in range(COUNT)]
    expected = [str(2 * (number // 2 + 1)) for number in range(COUNT)]
    assert [answer["val"] for answer in answers] == expected
    assert [answer["seq"] for answer in answers] == [*range(1, COUNT + 1)]
    assert [json.loads(message.payload)["val"] for message in messages] == expected
    info = wire.request("$JS.API.CONSUMER.INFO.C.D")
    assert info["num_pending"] == 0
    assert info["delivered"]["stream_seq"] == COUNT


def test_a_stream_that_sources_it_comes_to_the_same(wires: tuple[Wire, Wire]) -> None:
    wire, listener = wires
    create(wire, "C", allow_msg_counter=True, max_msgs_per_subject=1)
    create(wire, "E", allow_msg_counter=True, sources=[{"name": "C"}])
    listen(listener, "E", filter_subject="C.1")
    assert pipelined(wire, "C")[-1]["val"] == str(COUNT)
    total = 0
    while total != COUNT:  # of what the origin has lost already, the next one tells
        message = listener.wait_any("C.1")
        total += int(header(message.headers, b"Nats-Incr"))
        assert json.loads(message.payload) == {"val": str(total)}
