"""Messages with a TTL across kills and stops: what is over goes, once, and leaves one marker."""

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.length import KILLS
from tests.crash.node import Node
from tests.crash.wire import Wire, published

MODES = {"default": "", "lazy": 'sync_interval: "2m"'}
SECOND = 1_000_000_000
MESSAGES = 60_000  # a few dozen steps of expiry
BURST = 2_000
WAIT_SECONDS_MAX = 90.0  # the longest of the lifetimes, and the work
TTL_SECONDS = (2, 8, 30)  # the first one in which they can all be stored


def create(wire: Wire, **fields: Any) -> None:
    config = {"name": "T", "subjects": ["t.>"], "allow_msg_ttl": True, **fields}
    answer = wire.request("$JS.API.STREAM.CREATE.T", json.dumps(config).encode())
    assert "error" not in answer, answer


def publish(wire: Wire, count: int, ttl: bytes) -> None:
    """On a subject for each, all acknowledged when this returns."""
    wire.send(b"SUB acks.* 2\r\n")
    headers = b"Nats-TTL: %s\r\n" % ttl if ttl else b""
    for start in range(0, count, BURST):
        numbers = range(start, min(start + BURST, count))
        wire.send(b"".join(published(f"t.{n}", f"acks.{n}", b"x" * 100, headers) for n in numbers))
        answers = 0
        while answers < len(numbers):
            for message in wire.read(10):
                assert b'"seq"' in message.payload, message
                answers += 1


def state(wire: Wire) -> dict[str, Any]:
    found: dict[str, Any] = wire.request("$JS.API.STREAM.INFO.T")["state"]
    return found


def wait_expired(wire: Wire, count: int) -> dict[str, Any]:
    """Until so many markers were placed."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while (found := state(wire))["last_seq"] < MESSAGES + count:
        assert time.monotonic() < deadline, found
        time.sleep(0.001)
    return found


def kill_in_mid_expiry(store: Path, settings: str, ttl_seconds: int) -> int:
    """How many markers there were before the kill. None if a message was over before all were
    there, and all of them if every message was before anybody looked."""
    with Node(store, settings) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, subject_delete_marker_ttl=3600 * SECOND, max_msgs_per_subject=1)
        publish(wire, MESSAGES, b"%d" % ttl_seconds)
        loaded = state(wire)
        if (loaded["first_seq"], loaded["last_seq"]) != (1, MESSAGES):
            return 0
        before = wait_expired(wire, 1)
        node.kill()
    return int(before["last_seq"]) - MESSAGES


@pytest.mark.timeout(360 + 60 * KILLS)
@pytest.mark.parametrize("mode", MODES)
def test_kills_in_mid_expiry_leave_one_marker_for_each_subject(tmp_path: Path, mode: str) -> None:
    for ttl_seconds in TTL_SECONDS:
        store = tmp_path / str(ttl_seconds)
        marked = kill_in_mid_expiry(store, MODES[mode], ttl_seconds)
        if 0 < marked < MESSAGES:
            break
    else:
        pytest.fail("no kill came in mid-expiry")
    for _ in range(KILLS - 1):
        with Node(store, MODES[mode]) as node:
            with contextlib.closing(Wire(node.port)) as wire:
                marked = wait_expired(wire, min(MESSAGES, marked + 1))["last_seq"] - MESSAGES
            node.kill()
    with Node(store, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        after = wait_expired(wire, MESSAGES)
        # Sequences up to MESSAGES are those of the messages, as many behind them are those of
        # markers: none is missing and none is there twice.
        assert (after["first_seq"], after["last_seq"]) == (MESSAGES + 1, 2 * MESSAGES)
        assert (after["messages"], after["num_subjects"]) == (MESSAGES, MESSAGES)
        assert node.stop() == 0
    with Node(store, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        assert state(wire) == after


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("end", ["kill", "stop", "lost index"])
def test_what_is_over_is_gone_before_anybody_can_ask(tmp_path: Path, mode: str, end: str) -> None:
    """Whether the next start has an index to go by or only blocks and log; `never` stays."""
    with Node(tmp_path, MODES[mode]) as node:
        with contextlib.closing(Wire(node.port)) as wire:
            create(wire)
            for ttl in (b"never", b"1", b"1h", b""):
                publish(wire, 100, ttl)
            begun = time.monotonic()
        if end == "kill":
            node.kill()
        else:
            assert node.stop() == 0
    if end == "lost index":
        (index,) = tmp_path.glob("jetstream/streams/T.*/index*")
        index.unlink()
    time.sleep(max(0.0, 1.1 - (time.monotonic() - begun)))  # the time that the messages had
    with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        found = state(wire)
        assert (found["messages"], found["last_seq"]) == (300, 400)
        assert found["num_deleted"] == 100
        answer = wire.request("$JS.API.STREAM.MSG.GET.T", b'{"seq":101}')
        assert answer["error"]["err_code"] == 10037
