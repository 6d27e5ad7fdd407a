"""One flipped bit, a cut or a missing file of every kind: the rest survives, the loss is told."""

import contextlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.history import read_all
from tests.crash.length import DAMAGES
from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire, published
from tests.server_process import ServerStartError

MESSAGES = 2000


def flip(path: Path, dice: random.Random) -> None:
    data = bytearray(path.read_bytes())
    end = len(data.rstrip(b"\0"))  # behind, nothing was ever written
    bit = dice.randrange(end * 8)
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def cut(path: Path, dice: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: dice.randrange(len(data.rstrip(b"\0")))])


def remove(path: Path, _dice: random.Random) -> None:
    path.unlink()


def overwrite(path: Path, dice: random.Random) -> None:
    data = bytearray(path.read_bytes())
    sector = dice.randrange(1, len(data.rstrip(b"\0")) // 512) * 512
    data[sector : sector + 512] = dice.randbytes(512)
    path.write_bytes(data)


Damage = Callable[[Path, random.Random], None]


def payload(sequence: int) -> bytes:
    return b"%d:" % sequence + b"." * 50


@pytest.fixture(scope="module", params=["stopped", "killed"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, left by a clean stop (all in blocks) or by a kill (all in the log)."""
    store = tmp_path_factory.mktemp(str(request.param))
    with Node(store) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "DAMAGED")
        for first in range(1, MESSAGES, 100):  # turns of their own, so that the log has groups
            frames = [published("DAMAGED.x", "", payload(n)) for n in range(first, first + 99)]
            wire.send(b"".join(frames))
            wire.request("DAMAGED.x", payload(first + 99))
        if request.param == "stopped":
            assert node.stop() == 0
    return store


stopped = pytest.mark.parametrize("filled", ["stopped"], indirect=True)
killed = pytest.mark.parametrize("filled", ["killed"], indirect=True)


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(filled, tmp_path / "store"))


def survivors(store: Path) -> tuple[dict[int, bytes], set[int], str]:
    """What is there after a restart, what is told to be lost, and the log."""
    with Node(store) as node, contextlib.closing(Wire(node.port)) as wire:
        stored = read_all(wire, "DAMAGED")
        state = wire.request("$JS.API.STREAM.INFO.DAMAGED")["state"]
        lost = set((state.get("lost") or {}).get("msgs") or [])
        for sequence in sorted(lost)[:3]:
            body = b'{"seq": %d}' % sequence
            assert "error" in wire.request("$JS.API.STREAM.MSG.GET.DAMAGED", body)
            reply = wire.ask("$JS.API.DIRECT.GET.DAMAGED", body)
            assert wire.wait(reply).headers.startswith(b"NATS/1.0 ")
        assert wire.request("DAMAGED.x", b"new")["seq"] == state["last_seq"] + 1
        return stored, lost, node.log


def largest(store: Path, pattern: str) -> Path:
    return max((store / "jetstream").glob(pattern), key=lambda path: path.stat().st_size)


@stopped
@pytest.mark.parametrize("number", range(DAMAGES))
@pytest.mark.parametrize("damage", [flip, cut])
def test_a_damaged_block(store: Path, damage: Damage, number: int) -> None:
    damage(largest(store, "streams/*/msgs/*.blk"), random.Random(number))
    stored, lost, log = survivors(store)
    check(stored, lost)
    assert len(lost) <= (1 if damage is flip else MESSAGES)
    assert "Traceback" not in log


@killed
@pytest.mark.parametrize("number", range(DAMAGES))
@pytest.mark.parametrize("damage", [overwrite, cut])
def test_a_damaged_log(store: Path, damage: Damage, number: int) -> None:
    damage(largest(store, "log/*.log"), random.Random(number))
    stored, lost, log = survivors(store)
    check(stored, lost, to_the_end=True)
    assert len(lost) <= 100, "more than a group"
    assert "Traceback" not in log


@killed
@pytest.mark.parametrize("number", range(DAMAGES))
def test_a_flipped_bit_in_the_log_costs_nothing(store: Path, number: int) -> None:
    flip(largest(store, "log/*.log"), random.Random(number))
    stored, lost, log = survivors(store)
    check(stored, lost)
    assert (len(stored), lost) == (MESSAGES, set())
    assert "Traceback" not in log


@pytest.mark.parametrize("settings", [{}, {"allow_msg_counter": True}])
def test_the_end_of_a_stream_in_a_damaged_group(tmp_path: Path, settings: dict[str, bool]) -> None:
    """No number of an acknowledged message is given to another one."""
    headers = b"NATS/1.0\r\nNats-Incr: +1\r\nX-Mark: unique\r\n\r\n"
    content = (b"", headers) if settings else (b"unique", b"")
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "DAMAGED", **settings)
        create(wire, "OTHER")
        frames = [published("DAMAGED.x", "", *content) for _ in range(50)]
        wire.send(b"".join(frames))
        reply = wire.ask("DAMAGED.x", *content)
        assert b'"seq":51' in wire.wait(reply).payload
        wire.request("OTHER.x", b"a group behind it")
    log = largest(tmp_path, "log/*.log")
    log.write_bytes(b"broken".join(log.read_bytes().rsplit(b"unique", 1)))
    for restart in range(2):
        with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
            state = wire.request("$JS.API.STREAM.INFO.DAMAGED")["state"]
            assert state["last_seq"] == 51 + restart
            assert state["lost"]["msgs"][-1] == 51
            assert state["messages"] + len(state["lost"]["msgs"]) == 51 + restart
            ack = wire.wait(wire.ask("DAMAGED.x", *content)).payload
            assert b'"seq":%d' % (52 + restart) in ack


@stopped
def test_a_log_that_is_missing_is_told(store: Path) -> None:
    for path in (store / "jetstream").glob("log/*.log"):
        path.unlink()
    stored, lost, log = survivors(store)
    assert (len(stored), lost) == (MESSAGES, set())
    assert "The log ends with entry 0" in log


@stopped
@pytest.mark.parametrize("number", range(DAMAGES))
@pytest.mark.parametrize("damage", [flip, cut, remove])
def test_what_can_be_made_again_costs_nothing(store: Path, damage: Damage, number: int) -> None:
    """The index, one of the two descriptions, and the salt."""
    dice = random.Random(number)
    root = store / "jetstream"
    (index,) = root.glob("streams/*/**/index*")
    (description,) = root.glob("streams/*/description.json")
    for path in (index, description, root / "salt"):
        damage(path, dice)
    stored, lost, log = survivors(store)
    assert len(stored) == MESSAGES
    check(stored, lost)
    assert "description.json" in log
    assert "Traceback" not in log


@killed
def test_the_log_has_the_description_too(store: Path) -> None:
    for path in (store / "jetstream").glob("streams/*/description.*"):
        path.write_bytes(b"garbage")
    for _ in range(2):
        stored, lost, _ = survivors(store)
        check({number: stored[number] for number in range(1, MESSAGES + 1)}, lost)


@stopped
def test_a_stream_without_descriptions_is_left_alone(store: Path) -> None:
    for path in (store / "jetstream").glob("streams/*/description.*"):
        path.write_bytes(b"garbage")
    for path in (store / "jetstream" / "log").iterdir():
        path.unlink()  # it may still have the description
    before = {path: path.stat().st_size for path in store.rglob("*.blk")}
    with Node(store) as node, contextlib.closing(Wire(node.port)) as wire:
        assert "left alone" in node.log
        assert wire.request("$JS.API.STREAM.INFO.DAMAGED")["error"]["err_code"] == 10059
        create(wire, "DAMAGED")
        assert read_all(wire, "DAMAGED") == {}
        assert node.stop() == 0
    assert all(path.stat().st_size == size for path, size in before.items())


@stopped
@pytest.mark.parametrize("damage", [flip, cut, remove])
def test_a_damaged_format_has_a_copy(store: Path, damage: Damage) -> None:
    damage(store / "jetstream" / "format", random.Random(1))
    with Node(store) as node, contextlib.closing(Wire(node.port)) as wire:
        check(read_all(wire, "DAMAGED"), set())
        assert node.stop() == 0
    for name in ("format", "format.copy"):
        damage(store / "jetstream" / name, random.Random(1))
    with pytest.raises(ServerStartError, match="jetstream/format") as refusal:
        Node(store)
    assert "Traceback" not in str(refusal.value)


def check(stored: dict[int, bytes], lost: set[int], *, to_the_end: bool = False) -> None:
    """What is there is right; what is not was told, but for a tail that nobody can know of."""
    assert all(content == payload(sequence) for sequence, content in stored.items())
    missing = set(range(1, MESSAGES + 1)) - set(stored)
    if to_the_end:
        missing -= set(range(max(stored, default=0) + 1, MESSAGES + 1))
    assert missing == lost, f"{len(missing)} are missing, {len(lost)} told"
