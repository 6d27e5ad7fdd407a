"""Messages at the edge of what a record can hold: stored and found again, or refused alone."""

import contextlib
from pathlib import Path

import pytest

from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire

MIB = 1 << 20
LARGE = "max_payload: 64MB\nmax_pending: 256MB\n"
LONG_LINES = "max_control_line: 200000\n"


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_the_largest_payload_there_may_be_is_stored(tmp_path: Path, storage: str) -> None:
    headers = b"NATS/1.0\r\nA: " + b"x" * 60_000 + b"\r\n\r\n"
    body = b"." * (64 * MIB - len(headers))
    with Node(tmp_path, more=LARGE) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "A", storage=storage)
        sizes = b"%d %d" % (len(headers), len(headers) + len(body))
        subject = b"A." + b"s" * 3000
        wire.send(b"SUB ack 5\r\nHPUB %s ack %s\r\n%s%s\r\n" % (subject, sizes, headers, body))
        assert b'"seq":1' in wire.wait("ack", 30).payload
        assert wire.request("A.x", b"goes on", 30)["seq"] == 2
        found = wire.wait(wire.ask("$JS.API.DIRECT.GET.A", b'{"seq": 1}'), 30)
        assert found.payload == body
    if storage == "memory":
        return
    for _ in range(2):  # from the log, and from a block
        with Node(tmp_path, more=LARGE) as node, contextlib.closing(Wire(node.port)) as wire:
            found = wire.wait(wire.ask("$JS.API.DIRECT.GET.A", b'{"seq": 1}'), 30)
            assert found.payload == body
            assert wire.request("A.x", b"goes on")["seq"] > 2
            assert node.stop() == 0


def test_a_subject_that_no_record_can_hold_is_refused(tmp_path: Path) -> None:
    long = "A." + "x" * 70_000
    with Node(tmp_path, more=LONG_LINES) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "A")
        assert wire.request("A.x", b"first")["seq"] == 1
        answer = wire.request(long, b"too long")
        assert answer["error"]["err_code"] == 10054
        assert wire.request("A.x", b"goes on")["seq"] == 2


def test_a_transform_that_makes_a_subject_too_long_is_refused(tmp_path: Path) -> None:
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "A", subject_transform={"src": "A.*", "dest": f"{'x' * 66_000}.$1"})
        assert wire.request("A.x", b"too long")["error"]["err_code"] == 10054
        assert wire.request("A.y.z", b"not transformed")["seq"] == 1
