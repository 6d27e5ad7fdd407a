"""A full disk is no trap: publishes are refused in time, and a purge or a deletion makes room, with
the server running and without help from outside."""

import contextlib
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.history import History
from tests.crash.length import IS_LONG
from tests.crash.load import create
from tests.crash.node import Node, told, wait_health
from tests.crash.volume import Volume, require_root
from tests.crash.wire import Wire, published

MODES = {"default": "", "lazy": 'sync_interval: "2m"'}
CHOSEN = [*MODES] if IS_LONG else ["default"]
FAR_ABOVE = "max_file_store: 1TB, "  # else publishes are refused before the disk is full
NO_RESOURCES, STORE_FAILED = 10023, 10077
WAIT_SECONDS_MAX = 60.0
BURST = 100
SHORTAGE = "No space left for messages in"
OVER = "There is space for messages again"

pytestmark = pytest.mark.timeout(400)


def code(answer: dict[str, dict[str, int]]) -> int:
    return answer.get("error", {}).get("err_code", 0)


def fill(
    wire: Wire, history: History, until: Callable[[set[int]], bool], *, outage: bool = False
) -> None:
    """Publishes until the refusals of one burst are as wanted. In an outage of the log some are
    not answered."""
    inbox = f"acks.{history.name}."
    wire.send(f"SUB {inbox}* 2\r\n".encode())
    codes: set[int] = set()
    while not until(codes):
        codes.clear()
        numbers = range(history.sent + 1, history.sent + 1 + BURST)
        history.sent += BURST
        wire.send(
            b"".join(
                published(f"{history.name}.x", f"{inbox}{number}", history.payload(number))
                for number in numbers
            )
        )
        for _ in numbers:
            try:
                message = wire.wait_any(inbox, 2 if outage else WAIT_SECONDS_MAX)
            except TimeoutError:
                if outage:
                    break
                raise
            answer = json.loads(message.payload)
            history.answered(int(message.subject.rsplit(".", 1)[1]), answer)
            codes.add(code(answer))
    wire.send(b"UNSUB 2\r\n")


def wait_for(wire: Wire, subject: str, payload: bytes = b"") -> None:
    """Asks until it is not refused."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while code(answer := wire.request(subject, payload)):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)


def go_on(wire: Wire, history: History) -> None:
    """There are promises again, and all of them are kept."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    acked = len(history.acked)
    while len(history.acked) == acked:
        assert time.monotonic() < deadline
        history.sent += 1
        answer = wire.request(f"{history.name}.x", history.payload(history.sent))
        history.answered(history.sent, answer)
    history.check(wire)


def purge(wire: Wire, history: History) -> None:
    body = json.dumps({"seq": max(history.acked.values())}).encode()
    history.perhaps_purged_below = max(history.acked.values())
    wait_for(wire, f"$JS.API.STREAM.PURGE.{history.name}", body)
    history.purged_below = history.perhaps_purged_below


def check_refusing(node: Node, wire: Wire, history: History) -> None:
    """What needs space is refused, everything else is not."""
    assert wait_health(node, 503).startswith(SHORTAGE)
    history.check(wire)
    assert code(wire.request(f"{history.name}.x", b"more")) == NO_RESOURCES
    new = json.dumps({"name": "NEW", "subjects": ["new"]}).encode()
    assert code(wire.request("$JS.API.STREAM.CREATE.NEW", new)) == NO_RESOURCES
    config = json.loads(new) | {"storage": "memory"}
    memory = json.dumps(config).encode()
    assert not code(wire.request("$JS.API.STREAM.CREATE.NEW", memory))
    assert wire.request("new", b"goes on")["seq"] == 1
    assert not code(wire.request("$JS.API.STREAM.DELETE.NEW"))


def take_space(volume: Volume, mebibytes: int) -> None:
    """Another program takes so much, or what there is."""
    command = [
        "dd",
        "if=/dev/zero",
        f"of={volume.path}/foreign",
        "bs=64k",
        f"count={mebibytes * 16}",
    ]
    command += ["oflag=append", "conv=notrunc"]
    subprocess.run(command, capture_output=True, check=False)


@pytest.mark.parametrize("mode", CHOSEN)
def test_filling_it(tmp_path: Path, mode: str) -> None:
    require_root()
    history = History("FILE", pad=20_000)
    settings = FAR_ABOVE + MODES[mode]
    with Volume(tmp_path, mebibytes=96) as volume:
        with Node(volume.path, settings) as node, contextlib.closing(Wire(node.port)) as wire:
            create(wire, history.name)
            fill(wire, history, {NO_RESOURCES}.__eq__)
            stored = sum(len(history.payload(number)) for number in history.acked)
            assert stored > 0.6 * (96 << 20), "most of the disk is for messages"
            take_space(volume, 4)  # or there may be some again when the log is cut
            check_refusing(node, wire, history)
            node.signal("SIGKILL")
            node.wait_exit()
            assert "stopped" not in told(node)
        with Node(volume.path, settings) as node, contextlib.closing(Wire(node.port)) as wire:
            fill(wire, history, {NO_RESOURCES}.__eq__)  # a start may have cut the log
            take_space(volume, 4)
            check_refusing(node, wire, history)
            purge(wire, history)
            go_on(wire, history)
            wait_health(node, 200)
            assert told(node).count(SHORTAGE) == told(node).count(OVER) >= 1
            fill(wire, history, {NO_RESOURCES}.__eq__)
            purge(wire, history)
            go_on(wire, history)
            assert "stopped" not in told(node)


@pytest.mark.parametrize("way", ["purge", "foreign"])
@pytest.mark.parametrize("mode", CHOSEN)
def test_filled_by_another_program(tmp_path: Path, mode: str, way: str) -> None:
    """Whether the log could still be written or not: a purge helps, and so does the other one."""
    require_root()
    history = History("FILE", pad=20_000)
    settings = FAR_ABOVE + MODES[mode]
    with Volume(tmp_path, mebibytes=96) as volume:
        with Node(volume.path, settings) as node, contextlib.closing(Wire(node.port)) as wire:
            create(wire, history.name)
            fill(wire, history, lambda _: len(history.acked) > 1500)
            take_space(volume, 1000)
            fill(wire, history, {NO_RESOURCES}.__eq__, outage=True)
            if way == "purge":
                purge(wire, history)
            else:
                (volume.path / "foreign").unlink()
            go_on(wire, history)
            wait_health(node, 200)
            node.signal("SIGKILL")
            node.wait_exit()
        with Node(volume.path, settings) as node, contextlib.closing(Wire(node.port)) as wire:
            go_on(wire, history)


@pytest.mark.parametrize("mode", CHOSEN)
def test_starting_on_it(tmp_path: Path, mode: str) -> None:
    """Also where nobody has said how much streams may hold."""
    require_root()
    history, other = History("FILE", pad=20_000), History("OTHER", pad=2000)
    with Volume(tmp_path, mebibytes=96) as volume:
        with Node(volume.path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            for one in (history, other):
                create(wire, one.name)
                fill(wire, one, lambda _, one=one: len(one.acked) >= 1500)
            node.signal("SIGKILL")
            node.wait_exit()
        take_space(volume, 1000)
        with Node(volume.path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            check_refusing(node, wire, other)
            history.check(wire)
            wait_for(wire, f"$JS.API.STREAM.DELETE.{history.name}")
            go_on(wire, other)
            assert node.stop() == 0
        with Node(volume.path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            assert wire.request("$JS.API.STREAM.NAMES")["streams"] == [other.name]
            go_on(wire, other)
