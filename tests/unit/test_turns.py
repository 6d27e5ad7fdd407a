"""The turn with the server's own messages in it."""

import asyncio
import socket
from collections.abc import Iterator
from itertools import count
from typing import Any, cast

import pytest

from penstock.kernel.hub import Frame, Hub, Verb, picked_frames
from penstock.routing.accounts import Accounts
from penstock.routing.targets import Targets
from penstock.server import turns
from penstock.server.turns import Turns
from tests.properties.hub_walk import small_hub

ROUNDS_MAX = 10_000  # far above what a turn takes


class Clients:
    """Keeps what the turn asks of the clients."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def frame(self, index: int, frame: Frame) -> None:
        self.frames.append(frame)

    def unanswered(self, frame: Frame) -> None:
        pytest.fail(f"unanswered: {frame}")

    def failed(self, frame: Frame) -> None:
        pytest.fail(f"failed: {frame}")

    def ended(self, connection_id: int, ending: int) -> None:
        pytest.fail(f"ended: {connection_id} {ending}")


class Rig:
    """A turn on a loop that is stepped by hand, one client, and a target on `loop.>`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.hub: Hub = small_hub(accounts=0)
        self.account = Accounts(self.hub).global_account
        targets = Targets(self.hub)
        self.turns = Turns(loop, self.hub, targets)
        self.clients = Clients()
        self.taken: list[bytes] = []
        self.circling = False
        targets.listen(targets.add(self), self.account, b"loop.>")
        self.socket, other = socket.socketpair()
        other.setblocking(False)
        client = self.hub.open(self.account.number, False)
        self.hub.attach(client, other.detach())
        self.turns.start(self.clients)

    def take(self, start: int, end: int) -> None:
        for frame in picked_frames(self.hub, start, end):
            self.taken.append(frame.body)
            assert len(self.taken) < ROUNDS_MAX, "a turn without an end"
            if self.circling:
                self.say(frame.body)

    def say(self, text: bytes) -> None:
        assert self.hub.publish(self.account.number, b"loop.a", b"", b"", text)

    def step(self) -> int:
        """One step of the loop; returns how many messages the target got in it."""
        self.taken.clear()
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()
        return len(self.taken)


@pytest.fixture
def rig() -> Iterator[Rig]:
    loop = asyncio.new_event_loop()
    found = Rig(loop)
    yield found
    found.turns.stop()
    found.socket.close()
    loop.close()


def test_what_is_said_outside_of_a_turn_makes_one_due(rig: Rig) -> None:
    rig.say(b"x")
    rig.turns.flush()
    assert rig.step() == 1
    assert rig.step() == 0


def test_a_circle_goes_on_in_the_next_turn_and_stops_nobody(rig: Rig) -> None:
    rig.circling = True
    rig.say(b"x")
    rig.turns.flush()
    first = rig.step()
    assert first > 0
    rig.socket.sendall(b"PING\r\n")
    assert rig.step() > 0
    assert rig.step() > 0
    assert [frame.verb for frame in rig.clients.frames] == [Verb.PING]


def test_a_message_comes_before_what_is_said_after_it_was_heard(rig: Rig) -> None:
    """The client heard the message when the turn before was flushed, and answers."""
    order: list[str] = []
    rig.clients.frame = lambda *_: order.append("client")  # type: ignore[method-assign]
    rig.take = lambda *_: order.append("target")  # type: ignore[method-assign]
    rig.turns.run()
    rig.say(b"x")
    rig.turns.flush()
    rig.socket.sendall(b"PING\r\n")
    rig.step()
    rig.step()
    assert order == ["target", "client"]


def test_while_the_turns_rest_messages_wait_without_a_spin(rig: Rig) -> None:
    resting = True
    rig.turns.resting = lambda: resting
    rig.say(b"x")
    rig.turns.flush()
    assert rig.step() == 0
    rig.turns.run()
    assert rig.taken == []
    resting = False
    rig.turns.flush()
    assert rig.step() == 1


class Prompt:
    """A hub whose clients have always sent something by the end of a turn."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.lingered = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def linger(self) -> bool:
        self.lingered += 1
        return True


def test_turns_without_a_pause_leave_the_loop_to_others_too(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count(turns.monotonic_ns(), turns.LINGERING_NS_MAX // 10)  # a machine that is fast
    monkeypatch.setattr(turns, "monotonic_ns", lambda: next(clock))
    hub = Prompt(rig.hub)
    rig.turns._hub = cast("Hub", hub)
    others: list[int] = []
    rig.loop.call_soon(rig.turns.run)
    for turn in range(1, 4):
        rig.loop.call_soon(others.append, turn)
        rig.step()
        assert others[-1] == turn
    assert hub.lingered > len(others)  # several turns in one step of the loop
