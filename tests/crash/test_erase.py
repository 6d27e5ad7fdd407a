"""A message that was deleted leaves nothing behind in the store, whatever the server was doing.

That is the default of MSG.DELETE. It is done behind the answer, within a second or two; whoever
wants to know looks into the files, as here: every byte of every file of the store.
"""

import contextlib
import json
import time
from pathlib import Path

import pytest

from tests.crash.history import read_all
from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire, published

LAZY = 'sync_interval: "2m"'
MODES = {"default": "", "lazy": LAZY, "async": "", "batch": "", "lazy batch": LAZY}
SECRETS = (b"only-the-payload-has-this", b"only-the-header-has-this")
SECONDS_MAX = 60.0  # a loaded machine; usually one or two


def has_secret(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return False
    return any(secret in content for secret in SECRETS)


def holders(store: Path) -> list[str]:
    """The files that have something of a secret.

    A file that gets another name between the listing and its turn is found under neither, as a
    segment of the log that is set aside: only a look during which no name changed counts.
    """
    while True:
        paths = sorted(store.rglob("*"))
        found = sorted(path.name for path in paths if has_secret(path))
        if sorted(store.rglob("*")) == paths:
            return found


def wait_erased(store: Path) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while left := holders(store):
        assert time.monotonic() < deadline, f"after {SECONDS_MAX} s it is in {left}"
        time.sleep(0.02)


def wait_written(store: Path) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not holders(store):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def fill(wire: Wire, mode: str, sequences: range) -> None:
    """Messages in one write, every third with the secrets."""
    fields = {"persist_mode": "async"} if mode == "async" else {"allow_atomic": True}
    create(wire, "S", **fields)
    frames = []
    for number in sequences:
        is_secret = number % 3 == 0
        headers = b"Nats-Msg-Id: %d\r\n" % number
        if mode.endswith("batch"):
            headers += b"Nats-Batch-Id: b\r\nNats-Batch-Sequence: %d\r\n" % number
            headers += b"Nats-Batch-Commit: 1\r\n" if number == sequences[-1] else b""
        if is_secret:
            headers += b"Note: %s\r\n" % SECRETS[1]
        payload = SECRETS[0] if is_secret else b"harmless"
        frames.append(published("S.x", "", payload * 10, headers))
    wire.send(b"".join(frames))
    assert wire.request("S.x", b"the last")["seq"] == len(sequences) + 1


def erase(wire: Wire, sequences: range) -> None:
    """All at once, and answered."""
    replies = []
    for sequence in sequences:
        body = json.dumps({"seq": sequence}).encode()
        replies.append(wire.ask("$JS.API.STREAM.MSG.DELETE.S", body))
    for reply in replies:
        assert json.loads(wire.wait(reply).payload)["success"]


def test_a_file_that_gets_another_name_meanwhile_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look itself: the tests below kill the server as soon as it finds nothing."""
    (tmp_path / "1.log").write_bytes(SECRETS[0])
    read = Path.read_bytes

    def read_late(path: Path) -> bytes:
        with contextlib.suppress(FileNotFoundError):
            (tmp_path / "1.log").rename(tmp_path / "1.log.aside")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_late)
    assert holders(tmp_path) == ["1.log.aside"]


NUMBERS = range(1, 31)
SECRET_ONES = range(3, 31, 3)
LEFT = [number for number in range(1, 32) if number not in SECRET_ONES]


@pytest.mark.parametrize("mode", MODES)
def test_nothing_of_an_erased_message_is_in_any_file(tmp_path: Path, mode: str) -> None:
    with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        fill(wire, mode, NUMBERS)
        if mode == "async":
            wait_written(tmp_path)
        erase(wire, SECRET_ONES)
        wait_erased(tmp_path)
        assert [*read_all(wire, "S")] == LEFT
        node.kill()
    for _ in range(2):
        with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            assert [*read_all(wire, "S")] == LEFT
            assert holders(tmp_path) == []
            assert node.stop() == 0
        assert holders(tmp_path) == []


@pytest.mark.parametrize("ending", ["killed", "stopped"])
@pytest.mark.parametrize("mode", ["default", "lazy", "batch", "lazy batch"])
def test_an_erasure_is_ended_by_the_next_start(tmp_path: Path, mode: str, ending: str) -> None:
    with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        fill(wire, mode, NUMBERS)
        erase(wire, SECRET_ONES)
        if ending == "stopped":
            assert node.stop() == 0
            assert holders(tmp_path) == []
        else:
            node.kill()
    with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        assert [*read_all(wire, "S")] == LEFT
        wait_erased(tmp_path)
        node.kill()
    with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        assert [*read_all(wire, "S")] == LEFT
        assert holders(tmp_path) == []


def test_kills_at_any_moment_do_not_stop_an_erasure(tmp_path: Path) -> None:
    """Between the steps of it, too: each start goes on until the next kill."""
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        fill(wire, "default", NUMBERS)
        erase(wire, SECRET_ONES)
        node.kill()
    before: list[str] = ["?"]
    for _ in range(20):
        with Node(tmp_path) as node:
            deadline = time.monotonic() + SECONDS_MAX
            while (now := holders(tmp_path)) == before and now:
                assert time.monotonic() < deadline
            node.kill()
        before = now
        if not before:
            break
    assert holders(tmp_path) == []
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        assert [*read_all(wire, "S")] == LEFT
        assert wire.request("S.x", b"more")["seq"] == 32


def test_what_the_log_of_another_mode_has_is_erased(tmp_path: Path) -> None:
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        fill(wire, "default", NUMBERS)
        node.kill()
    with Node(tmp_path, MODES["lazy"]) as node, contextlib.closing(Wire(node.port)) as wire:
        erase(wire, SECRET_ONES)
        wait_erased(tmp_path)
        assert [*read_all(wire, "S")] == LEFT


def test_publishes_go_on_while_messages_are_erased(tmp_path: Path) -> None:
    """Also a message that comes after the erasure, and before the log has forgotten, is there."""
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        fill(wire, "default", NUMBERS)
        erase(wire, SECRET_ONES)
        acked = []
        deadline = time.monotonic() + SECONDS_MAX
        while holders(tmp_path):
            assert time.monotonic() < deadline
            acked.append(wire.request("S.x", b"more")["seq"])
        node.kill()
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        assert [*read_all(wire, "S")] == LEFT + acked
        assert holders(tmp_path) == []
