"""A disk that fails: no promise that is not kept, and service when it is over."""

import contextlib
import json
import time
from pathlib import Path

import pytest

from tests.crash.client import wait_load
from tests.crash.history import History
from tests.crash.length import IS_LONG
from tests.crash.load import Publisher, begin_snapshot, create
from tests.crash.node import Node, wait_health
from tests.crash.tracing import fault
from tests.crash.wire import Message, Wire, published

FAULTS = ["fdatasync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=ENOSPC"]
LOAD = 1000  # acknowledgements before the disk fails
STOPPED = {  # requests that a stopped stream refuses
    "FILE.x": b"FILE:0:",
    "$JS.API.STREAM.INFO.FILE": b"",
    "$JS.API.STREAM.MSG.GET.FILE": b'{"seq": 1}',
    "$JS.API.STREAM.MSG.DELETE.FILE": b'{"seq": 1}',
    "$JS.API.STREAM.PURGE.FILE": b"",
    "$JS.API.STREAM.SNAPSHOT.FILE": b'{"deliver_subject": "d"}',
}


def start_load(node: Node, history: History) -> Publisher:
    with contextlib.closing(Wire(node.port)) as wire:
        create(wire, history.name)
        create(wire, "MEMORY", storage="memory")
    publisher = Publisher(node.port, history)
    publisher.start()
    return publisher


def check_outage(node: Node) -> None:
    """The failed stream says so at once, whatever is asked; another one does not notice."""
    with contextlib.closing(Wire(node.port)) as wire:
        assert wire.request("MEMORY.x", b"goes on")["seq"] > 0
        assert wire.request("$JS.API.STREAM.INFO.MEMORY")["state"]["messages"] > 0
        assert wire.wait(wire.ask("$JS.API.DIRECT.GET.MEMORY.MEMORY.x", b"")).payload == b"goes on"
        for subject, body in STOPPED.items():
            answer = wire.request(subject, body)
            assert answer.get("error", {}).get("err_code") == 10077, answer
            assert answer["error"]["description"].startswith("the store failed: ")
            assert "jetstream/" not in answer["error"]["description"], "no path for clients"
            assert subject == "FILE.x" or answer["type"].startswith("io.nats.jetstream.api.v1.")
        for subject in ("$JS.API.DIRECT.GET.FILE", "$JS.API.DIRECT.GET.FILE.FILE.1"):
            read = wire.wait(wire.ask(subject, b'{"seq": 1}' if subject.endswith("E") else b""))
            assert read.headers.startswith(b"NATS/1.0 500 the store failed: ")
            assert read.payload == b""


def check_return(node: Node, history: History) -> None:
    """Nothing promised is missing, and there are promises again."""
    with contextlib.closing(Wire(node.port)) as wire:
        history.check(wire)
        history.sent += 1
        history.answered(history.sent, wire.request("FILE.x", history.payload(history.sent)))
        history.check(wire)


@pytest.mark.parametrize("failing", FAULTS if IS_LONG else FAULTS[:1])
def test_a_disk_that_fails(tmp_path: Path, failing: str) -> None:
    history = History("FILE")
    with Node(tmp_path) as node:
        publisher = start_load(node, history)
        wait_load([publisher], lambda: len(history.acked), LOAD)
        with fault(node.pid, failing):
            error = wait_health(node, 503)
            assert ("No space left" if "ENOSPC" in failing else "Input/output error") in error
            assert str(tmp_path / "jetstream") in error
            assert error.removeprefix("the commit log stopped: ") in node.log
            check_outage(node)
            publisher.abandon()
        wait_health(node, 200)
        check_return(node, history)
    with Node(tmp_path) as node:
        check_return(node, history)


def test_a_snapshot_does_not_outlive_the_log(tmp_path: Path) -> None:
    """What was walked before may be what the outage has taken back; one in memory goes on."""
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        memory = begin_snapshot(wire, "MEMORY")
        begin_snapshot(wire, "FILE")
        with fault(node.pid, "fdatasync:error=EIO"):
            wire.send(published("FILE.x", "", b"fails"))
            ended = wire.wait("deliver.FILE")
            assert ended.headers == b"NATS/1.0 500 the commit log stopped\r\n\r\n"
            memory = next_chunk(wire, memory)
        while node.health()[0] != 200:
            memory = next_chunk(wire, memory)  # it does not wait for long
            time.sleep(0.05)
        next_chunk(wire, memory)


def next_chunk(wire: Wire, chunk: Message) -> Message:
    wire.send(published(chunk.reply, "", b""))
    found = wire.wait(chunk.subject)
    assert len(found.payload) == 1024, found
    return found


@pytest.mark.timeout(400)
@pytest.mark.skipif(not IS_LONG, reason="waits for a slow disk; part of make campaign")
def test_a_disk_that_is_too_slow(tmp_path: Path) -> None:
    """What is ahead of the disk is bounded: above, publishers are told, and nobody is forgotten."""
    count, payload = 130, b"." * 900_000
    slow = "fdatasync:delay_enter=3000000"
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "FILE")
        with fault(node.pid, slow):
            wire.send(b"SUB slow.* 7\r\n")
            for number in range(count):
                wire.send(published("FILE.x", f"slow.{number}", payload))
            acked: list[int] = []
            refused = 0
            deadline = time.monotonic() + 300
            while len(acked) + refused < count:
                assert time.monotonic() < deadline, f"{len(acked)} and {refused} answered"
                for message in wire.read(1):
                    answer = json.loads(message.payload)
                    refused += answer.get("error", {}).get("err_code") == 10167
                    acked += [answer["seq"]] if "error" not in answer else []
        assert refused > 0
        assert sorted(acked) == [*range(1, len(acked) + 1)]
        info = wire.request("$JS.API.STREAM.INFO.FILE")
        assert info["state"]["messages"] == len(acked)
