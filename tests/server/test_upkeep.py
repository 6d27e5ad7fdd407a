"""Upkeep visits the streams that have something to be done, and no others."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config.options import JetStreamSettings
from penstock.server.app import Server
from penstock.server.jetstream import checkpoints, space
from penstock.server.jetstream.keeper import Keeper, Kept
from tests.crash.load import create
from tests.crash.wire import Wire, published
from tests.server.inside import HOUR_NS, WAIT_SECONDS_MAX, ServerInside, hold_upkeep

LAZY = JetStreamSettings(sync_interval_ns=HOUR_NS)
CALLS = ("write_out", "unwritten_bytes", "begin_checkpoint", "state", "lost")


class Watched:
    """Blocks that count how often they are asked."""

    def __init__(self, blocks: object) -> None:
        self._blocks = blocks
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name in CALLS:
            self.calls.append(name)
        return getattr(self._blocks, name)


@pytest.fixture(autouse=True)
def _far_from_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where little is free, streams are asked what they have not written yet."""
    monkeypatch.setattr(space.Space, "_figures", lambda _space: space._ENDLESS)


@pytest.mark.parametrize(
    ("settings", "fields"),
    [(LAZY, {}), (JetStreamSettings(), {"persist_mode": "async"})],
    ids=["lazy", "async"],
)
def test_only_streams_that_changed_are_written_and_synced(
    tmp_path: Path, settings: JetStreamSettings, fields: dict[str, str]
) -> None:
    with ServerInside(tmp_path, settings) as inside, contextlib.closing(Wire(inside.port)) as wire:
        for name in ("BUSY", "IDLE"):
            create(wire, name, **fields)
            wire.request(f"{name}.x", b"one")
        inside.call(upkeep("_write_behind"))
        inside.call(upkeep("_sync"))
        busy, idle = inside.call(watch("BUSY")), inside.call(watch("IDLE"))
        wire.request("BUSY.x", b"two")
        inside.call(upkeep("_write_behind"))
        assert "write_out" in busy.calls
        inside.call(upkeep("_sync"))
        assert "begin_checkpoint" in busy.calls
        inside.call(upkeep("_expire"))
        assert idle.calls == []
        busy.calls.clear()
        for step in ("_write_behind", "_sync", "_expire"):
            inside.call(upkeep(step))
        assert busy.calls == []


def test_a_checkpoint_touches_streams_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "_SEGMENTS_MAX", 0)  # one is due in every turn
    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        for name in ("BUSY", "IDLE"):
            create(wire, name)
            wire.request(f"{name}.x", b"one")
        inside.call(checkpoint)
        busy, idle = inside.call(watch("BUSY")), inside.call(watch("IDLE"))
        wire.request("BUSY.x", b"two")
        inside.call(checkpoint)
        assert "begin_checkpoint" in busy.calls
        assert "begin_checkpoint" not in idle.calls
    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        assert wire.request("IDLE.x", b"two")["seq"] == 2
        assert wire.request("BUSY.x", b"three")["seq"] == 3


def test_ten_thousand_erasures_take_a_few_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flights: list[bool] = []  # of each checkpoint, whether the log forgets with it

    class Counted(checkpoints.Flight):
        def land(self, keeper: Keeper) -> list[Kept]:
            flights.append(self.forgets)
            return super().land(keeper)

    monkeypatch.setattr(checkpoints, "Flight", Counted)
    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        inside.call(upkeep("_erase"))  # and no timer from here on
        create(wire, "S")
        count = 10_000
        wire.send(b"".join(published("S.x", "", b"secret") for _ in range(count)))
        assert wire.request("S.x")["seq"] == count + 1
        bodies = [b'{"seq": %d}' % number for number in range(1, count + 1)]
        replies = [wire.ask("$JS.API.STREAM.MSG.DELETE.S", body) for body in bodies]
        wire.wait(replies[-1], 60)
        assert flights == []
        inside.call(upkeep("_erase"))
        inside.call(overwritten)
        assert flights == [True]
        inside.call(upkeep("_erase"))  # makes durable what was overwritten
        assert flights == [True, False]
        inside.call(upkeep("_erase"))
        assert flights == [True, False]
        assert wire.request("$JS.API.STREAM.INFO.S")["state"]["messages"] == 1
        assert not any(b"secret" in path.read_bytes() for path in tmp_path.rglob("*.[bl]*[kg]"))


def overwritten(server: Server) -> None:
    """Waits until nothing is left of what the log has forgotten."""
    assert server.jetstream is not None
    checkpoints = server.jetstream._checkpoints
    checkpoints._thread.submit(lambda: None).result(WAIT_SECONDS_MAX)
    checkpoints.forgetting.overwrite()


def checkpoint(server: Server) -> None:
    assert server.jetstream is not None
    server.jetstream._checkpoints.finish()
    server.jetstream._checkpoints.end_turn()
    server.jetstream._checkpoints.finish()


def upkeep(step: str) -> Callable[[Server], None]:
    """One of the timers, now; it must not fire by itself meanwhile."""

    def run(server: Server) -> None:
        assert server.jetstream is not None
        getattr(server.jetstream._upkeep, step)()
        server.jetstream._checkpoints.finish()
        hold_upkeep(server)

    return run


def watch(name: str) -> Callable[[Server], Watched]:
    def replace(server: Server) -> Watched:
        assert server.jetstream is not None
        store = server.jetstream.keeper.kept[name].store
        watched = Watched(store.blocks)
        store.blocks = watched  # type: ignore[assignment]
        return watched

    return replace
