"""Mirrors and sources while the server is killed, and while the disk fails: W8 of the workloads.

A mirror ends with the very messages of its origin; a source with each of them once, in order.
"""

import contextlib
import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.history import read_all
from tests.crash.length import KILLS, SEED
from tests.crash.node import Node
from tests.crash.tracing import fault
from tests.crash.wire import Wire, published

WAIT_SECONDS_MAX = 60.0
LOAD = 150  # messages before each kill; some are deleted
LAZY = 'sync_interval: "2m"'
COPIES: dict[str, dict[str, Any]] = {
    "M": {"mirror": {"name": "O"}},
    "MM": {"mirror": {"name": "M"}},
    "MF": {"mirror": {"name": "O", "filter_subject": "o.1"}},
    "S": {"sources": [{"name": "O"}]},
    "SR": {"sources": [{"name": "O", "subject_transforms": [{"src": "o.*", "dest": "r.$1"}]}]},
    "SM": {"sources": [{"name": "M"}]},
}


def ask(wire: Wire, subject: str, body: dict[str, Any] | None = None) -> Any:
    return wire.request(f"$JS.API.{subject}", json.dumps(body).encode() if body else b"")


def make(wire: Wire, name: str, **fields: Any) -> None:
    config = {"name": name, "allow_direct": True, **fields}
    answer = ask(wire, f"STREAM.CREATE.{name}", config)
    assert "error" not in answer, answer


def publish_until_killed(node: Node, dice: random.Random, number: int) -> int:
    """Bursts of messages, numbered; answers with the next number."""
    killer = threading.Timer(dice.uniform(0.0, 0.6), node.kill)
    enough = number + LOAD
    with contextlib.closing(Wire(node.port)) as wire, contextlib.suppress(ConnectionError):
        while True:
            burst = range(number, number + dice.randint(1, 300))
            number = burst.stop
            wire.send(b"".join(published(f"o.{n % 3}", "", b"%d" % n) for n in burst))
            if dice.random() < 0.2:
                sequence = dice.randint(1, number)
                wire.ask("$JS.API.STREAM.MSG.DELETE.O", b'{"seq":%d}' % sequence)
            wire.read(0.001)
            if number >= enough and killer.ident is None:
                # All that was sent before is on the disk when this is answered.
                assert "error" not in wire.request(f"o.{number % 3}", b"%d" % number)
                number += 1
                killer.start()
    killer.join()
    node.wait_exit()
    return number


def state(wire: Wire, name: str) -> Any:
    return ask(wire, f"STREAM.INFO.{name}")["state"]


def bodies_of(wire: Wire, name: str) -> dict[int, int]:
    """The number in each message, by its sequence."""
    return {sequence: int(body) for sequence, body in read_all(wire, name).items()}


def await_lag(wire: Wire, name: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        info = ask(wire, f"STREAM.INFO.{name}")
        shown = [info["mirror"]] if "mirror" in info else info["sources"]
        if all(one["lag"] == 0 and "error" not in one for one in shown):
            return
        assert time.monotonic() < deadline, shown
        time.sleep(0.02)


@pytest.mark.timeout(240 + 60 * KILLS)
def test_copies_are_whole_after_kills(tmp_path: Path) -> None:
    dice, number = random.Random(SEED), 0
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o.*"])
        for name, fields in COPIES.items():
            make(wire, name, **fields)
        node.kill()
    for _ in range(KILLS):
        with Node(tmp_path) as node:
            number = publish_until_killed(node, dice, number)
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        for name in COPIES:
            await_lag(wire, name)
        origin, mirror = bodies_of(wire, "O"), bodies_of(wire, "M")
        assert len(origin) > 100 * KILLS, "that was no load"
        assert {sequence: mirror[sequence] for sequence in origin} == origin
        assert bodies_of(wire, "MM") == mirror
        filtered = bodies_of(wire, "MF")
        # Either may have missed what was deleted before it was there.
        both = filtered.keys() & mirror.keys()
        assert {n: filtered[n] for n in both} == {n: mirror[n] for n in both}
        assert all(body % 3 == 1 for body in filtered.values())
        assert {*filtered.values()} >= {body for body in origin.values() if body % 3 == 1}
        for name in ("S", "SR", "SM"):
            copies = [*bodies_of(wire, name).values()]
            assert copies == sorted(set(copies)), f"{name}: each once, in order"
            assert {*origin.values()} <= {*copies}
        assert "Traceback" not in node.log


@pytest.mark.parametrize("how", ["purge", "limits"])
def test_what_was_removed_from_a_stream_does_not_come_again_after_a_kill(
    tmp_path: Path, how: str
) -> None:
    limits = {"max_msgs": 1} if how == "limits" else {}
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o.*"])
        make(wire, "S", sources=[{"name": "O"}], **limits)
        wire.send(b"".join(published("o.1", "", b"%d" % n) for n in range(100)))
        await_state(wire, "S", 100)
        if how == "purge":
            ask(wire, "STREAM.PURGE.S")
        node.kill()
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        await_lag(wire, "S")
        wire.send(published("o.1", "", b"new"))
        assert await_state(wire, "S", 101)["last_seq"] == 101
        assert [*read_all(wire, "S").values()] == [b"new"]
        node.kill()
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        await_lag(wire, "S")
        assert state(wire, "S")["last_seq"] == 101


def test_what_a_start_found_in_the_log_of_a_source_is_not_forgotten(tmp_path: Path) -> None:
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o.*"])
        make(wire, "S", sources=[{"name": "O"}])
        wire.send(b"".join(published("o.1", "", b"%d" % n) for n in range(100)))
        await_state(wire, "S", 100)
        ask(wire, "STREAM.PURGE.S")
        node.kill()
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        await_lag(wire, "S")
        assert node.stop() == 0  # which cuts the log
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        wire.send(published("o.1", "", b"new"))
        await_state(wire, "S", 101)
        await_lag(wire, "S")
        assert [*read_all(wire, "S").values()] == [b"new"]


def test_without_a_log_what_was_purged_does_not_come_again_after_a_kill(tmp_path: Path) -> None:
    with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o.*"])
        make(wire, "S", sources=[{"name": "O"}])
        wire.send(b"".join(published("o.1", "", b"%d" % n) for n in range(100)))
        await_state(wire, "S", 100)
        assert ask(wire, "STREAM.PURGE.S")["purged"] == 100
        node.kill()
    with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
        wire.send(published("o.1", "", b"new"))
        await_state(wire, "S", 101)
        await_lag(wire, "S")
        assert [*read_all(wire, "S").values()] == [b"new"]


@pytest.mark.parametrize("copy", ["M", "S"])
def test_what_was_copied_from_a_work_queue_before_a_kill_is_not_left_in_it(
    tmp_path: Path, copy: str
) -> None:
    with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o.*"], retention="workqueue")
        make(wire, copy, **COPIES[copy])
        wire.send(b"".join(published("o.1", "", b"%d" % n) for n in range(99)))
        assert wire.request("o.1", b"99")["seq"] == 100  # in the files, which its removal is not
        await_state(wire, copy, 100)
        node.kill()
    with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
        await_lag(wire, copy)
        assert state(wire, "O")["messages"] == 0
        assert state(wire, copy)["messages"] == 100


@pytest.mark.parametrize("settings", [LAZY, ""], ids=["lazy", "logged"])
def test_a_work_queue_keeps_what_lay_before_the_start_that_a_source_once_had(
    tmp_path: Path, settings: str
) -> None:
    with Node(tmp_path, settings) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o.*"], retention="workqueue")
        for number in range(10):
            wire.request("o.1", b"%d" % number)
        make(wire, "S", sources=[{"name": "O", "opt_start_seq": 6}])
        await_state(wire, "S", 5)
        await_lag(wire, "S")
        update = {"name": "S", "sources": [{"name": "O"}], "allow_direct": True}
        assert "error" not in ask(wire, "STREAM.UPDATE.S", update)
        assert node.stop() == 0
    for _ in range(2):  # the second one finds what the first one wrote
        with Node(tmp_path, settings) as node, contextlib.closing(Wire(node.port)) as wire:
            wire.send(published("o.1", "", b"new"))
            await_lag(wire, "S")
            assert state(wire, "O")["messages"] == 5
            node.kill()


WAYS_OUT: dict[str, dict[str, Any]] = {
    "max_msgs": {"max_msgs": 5},
    "max_bytes": {"max_bytes": 300},
    "max_msgs_per_subject": {"max_msgs_per_subject": 5},
    "rollup": {"allow_rollup_hdrs": True},
    "work queue": {"retention": "workqueue"},
    "interest of nobody": {"retention": "interest"},
}


@pytest.mark.parametrize("settings", [LAZY, ""], ids=["lazy", "async"])
@pytest.mark.parametrize("way_out", WAYS_OUT)
def test_what_a_source_gave_and_a_stream_lost_does_not_come_again_after_a_kill(
    tmp_path: Path, way_out: str, settings: str
) -> None:
    mode = {} if settings else {"persist_mode": "async"}
    with Node(tmp_path, settings) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o"])
        origin = {"name": "O", "subject_transforms": [{"src": "o", "dest": "s"}]}
        make(wire, "S", subjects=["s"], sources=[origin], **mode, **WAYS_OUT[way_out])
        config = {"durable_name": "c", "ack_policy": "explicit"}
        if way_out == "work queue":
            ask(wire, "CONSUMER.DURABLE.CREATE.S.c", {"stream_name": "S", "config": config})
        wire.send(b"".join(published("o", "", b"%d" % n) for n in range(31)))
        await_state(wire, "S", 31)
        if way_out == "work queue":
            wire.ask("$JS.API.CONSUMER.MSG.NEXT.S.c", b'{"batch":31}')
            for reply in [wire.wait("s").reply for _ in range(31)]:
                wire.ask(reply, b"+ACK")
        rollup = b"Nats-Rollup: all\r\n" if way_out == "rollup" else b""
        wire.send(b"".join(published("s", "", b"new", rollup) for _ in range(11)))
        await_state(wire, "S", 42)
        node.kill()
    with Node(tmp_path, settings) as node, contextlib.closing(Wire(node.port)) as wire:
        await_state(wire, "S", 31)
        await_lag(wire, "S")
        if settings:
            assert state(wire, "S")["last_seq"] == 42
            assert {*read_all(wire, "S").values()} <= {b"new"}
        else:  # new ones may be lost
            assert state(wire, "S")["last_seq"] <= 42


def await_state(wire: Wire, name: str, last: int) -> Any:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while (found := state(wire, name))["last_seq"] < last:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def test_an_interest_stream_keeps_for_its_mirror_what_it_had_not_read_before_a_kill(
    tmp_path: Path,
) -> None:
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o.*"], retention="interest")
        config = {"durable_name": "c", "ack_policy": "none", "deliver_subject": "d"}
        ask(wire, "CONSUMER.DURABLE.CREATE.O.c", {"stream_name": "O", "config": config})
        # The mirror is full: it waits, and the origin keeps what it waits for.
        make(wire, "M", mirror={"name": "O"}, max_msgs=2, discard="new")
        wire.send(b"".join(published("o.1", "", b"%d" % n) for n in range(10)))
        await_state(wire, "M", 2)
        wire.send(b"SUB d 9\r\n")
        await_state(wire, "O", 10)
        node.kill()
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        wire.send(b"SUB d 9\r\n")
        update = {"name": "M", "mirror": {"name": "O"}, "allow_direct": True}
        assert "error" not in ask(wire, "STREAM.UPDATE.M", update)
        await_state(wire, "M", 10)
        assert [*bodies_of(wire, "M").values()] == [*range(10)]
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while state(wire, "O")["messages"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize("storage", ["memory", "file"])
def test_what_is_not_durable_is_not_copied(tmp_path: Path, storage: str) -> None:
    """A disk fails under the origin; copies in memory go on, those in files are rebuilt with it."""
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        make(wire, "O", subjects=["o.*"])
        make(wire, "M", mirror={"name": "O"}, storage=storage)
        make(wire, "S", sources=[{"name": "O"}], storage=storage)
        for number in range(50):
            assert "error" not in wire.request("o.1", b"%d" % number)
        with fault(node.pid, "fdatasync:error=EIO"):
            wire.send(published("o.1", "", b"not on the disk"))
            node.wait_log("The commit log stopped")
        node.wait_log("The commit log goes on")
        assert "error" not in json.loads(wire.wait(wire.ask("o.1", b"later")).payload)
        for name in ("M", "S"):
            await_lag(wire, name)
        origin = [*read_all(wire, "O").values()]
        assert [*read_all(wire, "M").values()] == origin
        assert [*read_all(wire, "S").values()] == origin
