"""A copy in another stream promises that its original is on the disk."""

import contextlib
import json
from pathlib import Path

from tests.crash.history import read_all
from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.tracing import fault
from tests.crash.waiting import wait_until
from tests.crash.wire import Wire

PUBLISHES = 20


def test_what_is_not_durable_is_not_copied(tmp_path: Path) -> None:
    """A disk fails under the original; the stream of the copies is in memory and goes on."""
    with (
        Node(tmp_path) as node,
        contextlib.closing(Wire(node.port)) as wire,
        contextlib.closing(Wire(node.port)) as unlucky,
    ):
        create(wire, "FILE", republish={"src": "FILE.>", "dest": "COPIES.>"})
        create(wire, "COPIES", storage="memory")
        acked = [b"%03d" % number for number in range(PUBLISHES)]
        for payload in acked:
            answer = wire.request("FILE.x", payload)
            assert "error" not in answer, answer
        with fault(node.pid, "fdatasync:error=EIO"):
            unlucky.ask("FILE.x", b"not on the disk")
            node.wait_log("The commit log stopped")
            wait_until(lambda: len(copies(wire)) >= PUBLISHES, lambda: copies(wire))
            assert copies(wire) == acked
        node.wait_log("The commit log goes on")
        assert copies(wire) == acked
        later = unlucky.ask("FILE.x", b"later")
        answer = unlucky.wait_any("_INBOX.")
        assert answer.subject == later, "the one before was not to be acknowledged"
        assert "error" not in json.loads(answer.payload), answer


def copies(wire: Wire) -> list[bytes]:
    return sorted(read_all(wire, "COPIES").values())
