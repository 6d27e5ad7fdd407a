"""The gate: what depends on an entry waits for it, and nothing overtakes what waits."""

from typing import Any, cast

from penstock.kernel.hub import Hub, picked_frames
from penstock.kernel.storage import Log
from penstock.server.jetstream.commit import Commit
from penstock.server.turns import Turns
from tests.properties.hub_walk import open_client, small_hub


class FakeLog:
    """A log whose disk is a number."""

    def __init__(self) -> None:
        self.written = 0
        self.synced = 0
        self.broken: str | None = None

    def last(self) -> int:
        return self.written

    def durable(self) -> int:
        return self.synced

    acknowledge = durable

    def failure(self) -> str | None:
        return self.broken

    def pending_bytes(self) -> int:
        return 0


class FakeTurns:
    def flush(self) -> None:
        pass


class Rig:
    """A hub with a target and a subscriber on `a`, behind a gate."""

    def __init__(self) -> None:
        self.hub: Hub = small_hub()
        self.log = FakeLog()
        self.failures: list[str] = []
        log, turns = cast("Log", self.log), cast("Turns", FakeTurns())
        self.commit = Commit(log, self.hub, turns, self.failures.append)
        self.client = open_client(self.hub)
        assert self.hub.add_target(0, b"a", 1)
        assert self.hub.subscribe(self.client, b"a", None, b"1")
        self.hub.begin(1)

    def say(self, text: bytes) -> None:
        with self.commit.gated():
            assert self.hub.publish(0, b"a", b"", b"", text)

    def heard(self) -> tuple[list[bytes], list[bytes]]:
        """By the target and by the subscriber."""
        runs = [(start, end) for _, start, end in self.hub.loopback_runs()]
        frames = [frame for run in runs for frame in picked_frames(self.hub, *run)]
        lines = self.hub.take(self.client).split(b"\r\n")
        return [frame.body for frame in frames], lines[1::2]


def both(*texts: bytes) -> Any:
    return list(texts), list(texts)


def test_a_message_reaches_nobody_before_its_entry_is_durable() -> None:
    rig = Rig()
    rig.log.written = 1
    rig.say(b"one")
    assert rig.heard() == both()
    rig.log.synced = 1
    rig.commit.announced()
    assert rig.heard() == both(b"one")
    rig.say(b"two")
    assert rig.heard() == both(b"two")


def test_nothing_overtakes_what_waits() -> None:
    rig = Rig()
    rig.log.written = 1
    rig.say(b"one")
    rig.log.synced = 1  # but nobody has heard of it yet
    rig.say(b"two")
    assert rig.heard() == both()
    rig.commit.announced()
    assert rig.heard() == both(b"one", b"two")


def test_what_waits_for_a_failed_log_is_dropped() -> None:
    rig = Rig()
    rig.log.written = 1
    rig.say(b"one")
    rig.log.broken = "no disk"
    rig.commit.announced()
    rig.say(b"two")
    assert rig.heard() == both()
    assert rig.failures == ["no disk"]
    another = FakeLog()
    rig.commit.go_on(cast("Log", another))
    rig.say(b"three")
    assert rig.heard() == both(b"three")
