"""One checkpoint at a time, also where somebody has waited for one or the log has failed."""

import contextlib
import threading
from pathlib import Path

import pytest

from penstock.server.app import Server
from penstock.server.jetstream import checkpoints
from penstock.server.jetstream.checkpoints import Checkpoints
from penstock.server.jetstream.keeper import Keeper, Kept
from tests.crash.load import create
from tests.crash.wire import Wire
from tests.server.inside import WAIT_SECONDS_MAX, ServerInside, hold_upkeep


def checkpoints_of(server: Server) -> Checkpoints:
    assert server.jetstream is not None
    return server.jetstream._checkpoints


def ask(server: Server) -> None:
    assert server.jetstream is not None
    checkpoints_of(server).ask(server.jetstream.keeper.kept.values())


@pytest.fixture
def landed(monkeypatch: pytest.MonkeyPatch) -> list[checkpoints.Flight]:
    """Those that have landed, each of which leaves something for the next one."""
    flights: list[checkpoints.Flight] = []

    class Wanting(checkpoints.Flight):
        def land(self, keeper: Keeper) -> list[Kept]:
            flights.append(self)
            super().land(keeper)
            return list(keeper.kept.values())

    monkeypatch.setattr(checkpoints, "Flight", Wanting)
    return flights


def test_none_begins_once_they_are_paused(tmp_path: Path, landed: list[checkpoints.Flight]) -> None:
    def pause(server: Server) -> object:
        ask(server)
        checkpoints_of(server).pause()
        return checkpoints_of(server)._flight

    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        inside.call(hold_upkeep)
        create(wire, "S")
        assert wire.request("S.x", b"one")["seq"] == 1
        assert inside.call(pause) is None
        assert len(landed) == 1


def test_the_next_one_is_not_taken_for_one_that_was_waited_for(
    tmp_path: Path, landed: list[checkpoints.Flight], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write = threading.Event()

    def wait_for_one_and_begin_another(server: Server) -> None:
        ask(server)
        written = checkpoints_of(server)._written
        assert written is not None
        written.result(WAIT_SECONDS_MAX)  # the loop will be told, but not before this returns
        monkeypatch.setattr(checkpoints.Flight, "write", lambda _: may_write.wait(WAIT_SECONDS_MAX))
        checkpoints_of(server).finish()

    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        inside.call(hold_upkeep)
        create(wire, "S")
        inside.call(wait_for_one_and_begin_another)
        inside.call(lambda _: None)  # behind whatever the loop was told
        assert inside.call(lambda server: checkpoints_of(server)._flight) is not None
        assert len(landed) == 1
        may_write.set()
        inside.call(lambda server: checkpoints_of(server).pause())
        assert len(landed) > 1
