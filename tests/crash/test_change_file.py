"""Consumers of a server without a log, between two states: what is told is in a file of changes,
and what cannot be written is not told."""

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.load import create
from tests.crash.node import WAIT_SECONDS_MAX, Node, told
from tests.crash.tracing import STRACE, fault
from tests.crash.wire import Message, Wire

LAZY = 'sync_interval: "2m"'
SECOND = 1_000_000_000
EDITIONS = 64  # more than one of these tests comes to
CHANGE_FILES = tuple(f"consumers.changes.{edition}" for edition in range(EDITIONS))


def failing(store: Path, files: tuple[str, ...], fault: str) -> tuple[str, ...]:
    """Some writes to files of the stream fail; `fault` is the call, the error, and how many."""
    folder = store / "jetstream" / "streams" / "JOBS.1"
    watched = [word for name in files for word in ("-P", str(folder / name))]
    call = fault.split(":", maxsplit=1)[0]
    return (*STRACE, "-e", f"trace={call}", *watched, "-e", f"inject={fault}")


def make(wire: Wire, name: str, ack_wait: int = 60 * SECOND) -> Any:
    config = {"durable_name": name, "ack_policy": "explicit", "ack_wait": ack_wait}
    body = json.dumps({"stream_name": "JOBS", "config": config}).encode()
    return wire.request(f"$JS.API.CONSUMER.CREATE.JOBS.{name}", body)


def names(wire: Wire) -> list[str]:
    found: list[str] = wire.request("$JS.API.CONSUMER.NAMES.JOBS")["consumers"]
    return found


def next_of(wire: Wire, name: str) -> Message:
    wire.ask(f"$JS.API.CONSUMER.MSG.NEXT.JOBS.{name}", b'{"no_wait":true}')
    return wire.wait_any("JOBS.")


def floor(wire: Wire, name: str) -> int:
    """Up to where everything is done."""
    info = wire.request(f"$JS.API.CONSUMER.INFO.JOBS.{name}")
    return int(info["ack_floor"]["stream_seq"])


def wait_service(node: Node, wire: Wire) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while "error" in wire.request("$JS.API.STREAM.INFO.JOBS"):
        assert time.monotonic() < deadline, told(node)
        time.sleep(0.02)


def test_consumers_come_and_go_between_states(tmp_path: Path) -> None:
    """Each is in a file when it is told, and none comes back from an older one."""
    expected: dict[str, int] = {}  # names and what is done
    for turn in range(5):
        with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
            if turn == 0:
                create(wire, "JOBS")
            wire.request("JOBS.x", b"work")
            assert {name: floor(wire, name) for name in names(wire)} == expected
            for letter in "abc":
                assert "error" not in make(wire, f"{letter}{turn}")
                expected[f"{letter}{turn}"] = 0
            for name in (f"a{turn}", f"c{turn}"):
                wire.wait(wire.ask(next_of(wire, name).reply, b"+ACK"))
                expected[name] = 1
            for name in (f"c{turn}", next(iter(expected))):
                assert wire.request(f"$JS.API.CONSUMER.DELETE.JOBS.{name}")["success"]
                del expected[name]
            assert {*names(wire)} == {*expected}
            if turn == 2:
                node.stop()
            else:
                node.kill()


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_an_acknowledgement_that_cannot_be_written(tmp_path: Path, error: str) -> None:
    """It is not answered, and the stream says why; it goes on when a state could be written."""
    with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "JOBS")
        assert "error" not in make(wire, "W")
        for _ in range(3):
            wire.request("JOBS.x", b"work")
        assert next_of(wire, "W").payload == b"work"
        node.stop()
    wrapper = failing(tmp_path, CHANGE_FILES, f"write:error={error}")
    with (
        Node(tmp_path, LAZY, wrapper) as node,
        contextlib.closing(Wire(node.port)) as wire,
        contextlib.closing(Wire(node.port)) as worker,
    ):
        subject = f"$JS.ACK.JOBS.W.1.1.1.{time.time_ns()}.2"
        worker.ask(subject, b"+ACK")
        while "Stream JOBS stopped" not in node.log:
            wire.request("$JS.API.INFO")  # until the turn has come to it
        wait_service(node, wire)
        reply = worker.ask(subject, b"+ACK")
        answer = worker.wait_any("_INBOX.")
        assert answer.subject == reply, "nobody knew whether the first one would be remembered"
        node.kill()
    with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
        assert floor(wire, "W") == 1


@pytest.mark.parametrize("retries", [False, True])
def test_a_consumer_that_cannot_be_written(tmp_path: Path, retries: bool) -> None:
    """It is refused and is not there, now and after a kill; the next try does not need the file."""
    wrapper = failing(tmp_path, CHANGE_FILES, "write:error=EIO")
    with Node(tmp_path, LAZY, wrapper) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "JOBS")
        assert make(wire, "W")["error"]["err_code"] == 10077
        assert names(wire) == []
        if retries:
            assert "error" not in make(wire, "W")
        node.kill()
    with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
        assert names(wire) == (["W"] if retries else [])


def test_what_was_due_while_the_disk_failed(tmp_path: Path) -> None:
    """A message whose time ran out then comes again, though nothing else happens."""
    block = tmp_path / "jetstream" / "streams" / "JOBS.1" / "msgs" / "1.blk"
    with (
        Node(tmp_path, LAZY) as node,
        contextlib.closing(Wire(node.port)) as wire,
        contextlib.closing(Wire(node.port)) as other,
    ):
        create(wire, "JOBS")
        assert "error" not in make(wire, "W", SECOND)
        wire.request("JOBS.x", b"first")
        assert next_of(wire, "W").payload == b"first"
        due = time.monotonic() + 1.1  # at the latest
        asked = b'{"batch":100,"expires":%d}' % (100 * SECOND)
        wire.ask("$JS.API.CONSUMER.MSG.NEXT.JOBS.W", asked)
        with fault(node.pid, "pwrite64:error=EIO", block):
            wire.ask("JOBS.x", b"second")
            while "Stream JOBS stopped" not in node.log:
                other.request("$JS.API.INFO")
            time.sleep(max(0.0, due - time.monotonic()))
        awaited = {b"first", b"second"}  # the first may come more than once
        while awaited:
            awaited.discard(wire.wait_any("JOBS.", WAIT_SECONDS_MAX).payload)
