"""A copy in another stream promises that its original is on the disk."""

import contextlib
import json
import time
from pathlib import Path

from tests.crash.history import read_all
from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire

FAILING_SYNCS = "40..43"  # some of them while the streams are made
WRAPPER = ("strace", "-f", "-qq", "-o", "/dev/null", "--seccomp-bpf", "-e", "trace=fdatasync")
WRAPPER += ("-e", f"inject=fdatasync:error=EIO:when={FAILING_SYNCS}")
PUBLISHES_MAX = 100
WAIT_SECONDS_MAX = 5.0


def test_what_is_not_durable_is_not_copied(tmp_path: Path) -> None:
    """A disk fails under the original; the stream of the copies is in memory and goes on."""
    with Node(tmp_path, wrapper=WRAPPER) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "FILE", republish={"src": "FILE.>", "dest": "COPIES.>"})
        create(wire, "COPIES", storage="memory")
        acked = publish_until_refused(wire)
        assert acked, "the disk failed too early"
        copies = wait_copies(wire, len(acked))
        node.wait_log("The commit log stopped")
        assert copies == acked
        node.wait_log("The commit log goes on")
        assert sorted(read_all(wire, "COPIES").values()) == acked


def publish_until_refused(wire: Wire) -> list[bytes]:
    """The payloads that were acknowledged; the one after them was not."""
    acked = []
    for number in range(PUBLISHES_MAX):
        payload = b"%03d" % number
        reply = wire.ask("FILE.x", payload)
        try:
            answer = json.loads(wire.wait(reply, 2.0).payload)
        except TimeoutError:
            return acked
        assert "error" not in answer, answer
        acked.append(payload)
    raise AssertionError("the disk never failed")


def wait_copies(wire: Wire, count: int) -> list[bytes]:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        copies = sorted(read_all(wire, "COPIES").values())
        if len(copies) >= count or time.monotonic() > deadline:
            return copies
        time.sleep(0.02)
