"""kill -9 in mid-load, stops and starts: every promise made before holds afterwards."""

import contextlib
import json
import random
import re
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.crash.client import wait_load
from tests.crash.history import History, header, read_all
from tests.crash.length import IS_LONG, KILLS, SEED
from tests.crash.load import Meddler, Publisher, create, settle_passing, stream_config
from tests.crash.node import Node
from tests.crash.waiting import wait_until
from tests.crash.wire import Wire, published
from tests.server_process import ServerStartError

MODES = {"default": "", "lazy": 'sync_interval: "2m"'}
LOAD = 1000  # acknowledgements before each kill


@pytest.mark.timeout(120 + 60 * KILLS)
@pytest.mark.parametrize("mode", MODES)
def test_promises_hold_after_kills_in_mid_load(tmp_path: Path, mode: str) -> None:
    dice = random.Random(SEED)
    pad = 100 if KILLS < 10 else 1500  # long runs fill segments, so that checkpoints happen too
    histories = [
        History("PLAIN", pad=pad),
        History("IDS", ids=True, pad=pad),
        History("EDITED", pad=pad),
    ]
    passing: dict[str, int] = {}
    for round_number in range(KILLS + 1):
        with Node(tmp_path, MODES[mode]) as node:
            with contextlib.closing(Wire(node.port)) as wire:
                if round_number == 0:
                    for history in histories:
                        create(wire, history.name)
                else:
                    check_all(wire, histories, passing)
            if round_number < KILLS:
                load_and_kill(node, histories, passing, dice)
    total = sum(len(history.acked) for history in histories)
    assert total >= LOAD * KILLS, f"only {total} acknowledged: that was no load"


def check_all(wire: Wire, histories: list[History], passing: dict[str, int]) -> None:
    for history in histories:
        history.check(wire)
        if history.ids:
            resend(wire, history)
    settle_passing(wire, passing)


def load_and_kill(
    node: Node, histories: list[History], passing: dict[str, int], dice: random.Random
) -> None:
    publishers = [Publisher(node.port, history) for history in histories]
    meddler = Meddler(node.port, histories[-1], dice.randrange(1 << 30), passing)
    for thread in (*publishers, meddler):
        thread.start()
    wait_load(publishers, lambda: sum(len(history.acked) for history in histories), LOAD)
    time.sleep(dice.uniform(0.0, 0.6))  # at any moment of it
    node.kill()
    for publisher in publishers:
        publisher.finish()
    meddler.finish()


def resend(wire: Wire, history: History) -> None:
    """A client that got no answer sends again: the same ids, and nothing is stored twice."""
    numbers = range(max(1, history.sent - 1500), history.sent + 1)
    wire.send(b"SUB again.* 3\r\n")
    frames = [
        published("IDS.0", f"again.{n}", history.payload(n), b"Nats-Msg-Id: %d\r\n" % n)
        for n in numbers
    ]
    wire.send(b"".join(frames))
    known = dict(history.acked)
    answers = 0
    while answers < len(numbers):
        for message in wire.read(10):
            if message.subject.startswith("again."):
                answers += 1
                number = int(message.subject[6:])
                sequence = int(re.findall(rb'"seq": ?(\d+)', message.payload)[0])
                history.answered(number, {"seq": sequence})
                if number in known:
                    assert b"duplicate" in message.payload, message


@pytest.mark.parametrize("mode", MODES if IS_LONG else ["default"])
def test_clean_stop_and_two_starts_in_a_row(tmp_path: Path, mode: str) -> None:
    history = History("PLAIN")
    with Node(tmp_path, MODES[mode]) as node:
        with contextlib.closing(Wire(node.port)) as wire:
            create(wire, "PLAIN")
        publisher = Publisher(node.port, history)
        publisher.start()
        wait_load([publisher], lambda: len(history.acked), LOAD)
        publisher.stop()
        assert node.stop() == 0
    for is_clean in (False, False, True, True):
        with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            assert history.check(wire) == history.sent
            if is_clean:
                assert node.stop() == 0


@pytest.mark.parametrize("mode", MODES)
def test_a_large_duplicate_window_survives_a_clean_stop(tmp_path: Path, mode: str) -> None:
    """It is kept in a file for one start; without the file, or with a bad one, nothing is lost."""
    history = History("IDS", ids=True)
    with Node(tmp_path, MODES[mode]) as node:
        with contextlib.closing(Wire(node.port)) as wire:
            create(wire, "IDS")
            publish_ids(wire, history, 12_000)
        assert node.stop() == 0
    (saved,) = tmp_path.glob("jetstream/streams/IDS.*/ids")
    for change in ("none", "damage", "kill"):
        if change == "damage":
            content = saved.read_bytes()
            saved.write_bytes(content.replace(b"11999", b"88888"))
        with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            assert not saved.exists()
            assert history.check(wire) == 12_000
            resend(wire, history)
            assert history.check(wire) == 12_000
            if change == "none":
                assert node.stop() == 0
                assert saved.exists()


def publish_ids(wire: Wire, history: History, count: int) -> None:
    wire.send(b"SUB first.* 2\r\n")
    for start in range(1, count + 1, 1000):
        numbers = range(start, start + 1000)
        frames = [
            published("IDS.0", f"first.{n}", history.payload(n), b"Nats-Msg-Id: %d\r\n" % n)
            for n in numbers
        ]
        wire.send(b"".join(frames))
        history.sent = start + 999
        while len(history.acked) < history.sent:
            for message in wire.read(10):
                history.answered(int(message.subject[6:]), json.loads(message.payload))


def test_the_mode_may_change_between_kills(tmp_path: Path) -> None:
    """What one mode has acknowledged, the other must not take back."""
    history = History("PLAIN")
    for number, mode in enumerate(["default", "lazy", "default", "default"]):
        with Node(tmp_path, MODES[mode]) as node:
            with contextlib.closing(Wire(node.port)) as wire:
                if number == 0:
                    create(wire, "PLAIN")
                history.check(wire)
            publisher = Publisher(node.port, history)
            publisher.start()
            wait_load([publisher], lambda: len(history.acked), LOAD)
            node.kill()
            publisher.finish()


def test_what_one_mode_configured_the_other_does_not_take_back(tmp_path: Path) -> None:
    """The log of before is still there, and has an older description."""
    for number, mode in enumerate(["default", "lazy", "lazy", "default", "default"]):
        with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            if number == 0:
                create(wire, "PLAIN", description="0")
            elif mode == "lazy":
                body = stream_config("PLAIN", description=str(number))
                assert "error" not in wire.request("$JS.API.STREAM.UPDATE.PLAIN", body)
            shown = wire.request("$JS.API.STREAM.INFO.PLAIN")["config"]["description"]
            assert shown == str(min(number, 2))
            assert node.stop() == 0


def test_what_limits_removed_stays_removed(tmp_path: Path) -> None:
    """Room made by a delete or by a larger limit does not bring back what was evicted."""
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "SMALL", max_msgs=5)
        create(wire, "EACH", max_msgs_per_subject=1)
        for number in range(20):
            wire.request("SMALL.x", b"%d" % number)
            wire.request(f"EACH.{number % 3}", b"%d" % number)
        wire.request("$JS.API.STREAM.MSG.DELETE.SMALL", b'{"seq": 18}')
        wire.request("$JS.API.STREAM.MSG.DELETE.EACH", b'{"seq": 20}')
        before = {name: read_all(wire, name) for name in ("SMALL", "EACH")}
        assert [*before["SMALL"]] == [16, 17, 19, 20]
        assert [*before["EACH"]] == [18, 19]
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        assert {name: read_all(wire, name) for name in before} == before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ending", ["killed", "stopped"])
def test_numbering_goes_on_where_a_purge_put_it(tmp_path: Path, mode: str, ending: str) -> None:
    """Also where there was nothing to remove, so that only the last sequence moved."""
    purges = {
        "NEW": b'{"seq": 100}',
        "LATER": b'{"seq": 100}',
        "EMPTIED": b'{"seq": 100}',
        "FILLED": b'{"seq": 100}',
        "BEFORE": b'{"seq": 5}',
        "KEPT": b'{"keep": 3}',
    }
    with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        for name, body in purges.items():
            create(wire, name, first_seq=10 if name in {"LATER", "BEFORE"} else 0)
            if name in {"EMPTIED", "FILLED", "KEPT"}:
                wire.request(f"{name}.x", b"one")
            if name == "EMPTIED":
                wire.request(f"$JS.API.STREAM.PURGE.{name}")
            assert wire.request(f"$JS.API.STREAM.PURGE.{name}", body)["success"]
        before = numbering(wire, purges)
        assert before["NEW"] == before["LATER"] == before["EMPTIED"] == (100, 99)
        if ending == "stopped":
            assert node.stop() == 0
    with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        assert numbering(wire, purges) == before
        for name, (_, last) in before.items():
            assert wire.request(f"{name}.x", b"next")["seq"] == last + 1


def numbering(wire: Wire, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    states = {name: wire.request(f"$JS.API.STREAM.INFO.{name}")["state"] for name in names}
    return {name: (state["first_seq"], state["last_seq"]) for name, state in states.items()}


def test_a_name_used_again_is_another_stream(tmp_path: Path) -> None:
    for round_number in range(3):
        with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
            if round_number:
                assert read_all(wire, "AGAIN") == {1: b"kept"}
            wire.request("$JS.API.STREAM.DELETE.AGAIN")
            create(wire, "AGAIN")
            for _ in range(3):
                wire.request("AGAIN.x", b"of the first")
            assert wire.request("$JS.API.STREAM.DELETE.AGAIN")["success"]
            create(wire, "AGAIN")
            wire.request("AGAIN.x", b"kept")
            if round_number == 1:
                assert node.stop() == 0  # the log is cut here


def test_an_async_stream_is_written_in_the_background(tmp_path: Path) -> None:
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "LATER", persist_mode="async")
        for number in range(99):
            wire.request("LATER.x", b"%d" % number)
        wire.request("LATER.x", b"the last of them")
        (folder,) = tmp_path.glob("jetstream/streams/LATER.*/msgs")
        wait_until(
            lambda: any(b"the last of them" in path.read_bytes() for path in folder.glob("*.blk")),
            lambda: f"it is in none of {[*folder.iterdir()]}",
        )
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        assert len(read_all(wire, "LATER")) == 100


def test_a_second_server_is_refused(tmp_path: Path) -> None:
    with Node(tmp_path) as node:
        with pytest.raises(ServerStartError, match="in use by another server"):
            Node(tmp_path)
        assert node.alive


def test_another_format_is_refused(tmp_path: Path) -> None:
    with Node(tmp_path):
        pass
    for name in ("format", "format.copy"):
        (tmp_path / "jetstream" / name).write_text("penstock store 99\n")
    with pytest.raises(ServerStartError, match=r"format.*penstock store 1") as refusal:
        Node(tmp_path)
    assert "Traceback" not in str(refusal.value)


def test_headers_are_found() -> None:
    assert header(b"NATS/1.0\r\nNats-Sequence: 7\r\n\r\n", b"nats-sequence") == b"7"
