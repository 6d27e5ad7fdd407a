"""Upkeep visits the streams that have something to be done, and no others."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config.options import JetStreamSettings
from penstock.server.app import Server
from penstock.server.jetstream import checkpoints
from tests.crash.load import create
from tests.crash.wire import Wire
from tests.server.inside import ServerInside

HOUR_NS = 3_600_000_000_000
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
        for key in ("write-behind", "sync", "expiry", "losses", "erase"):
            server.context.after(key, HOUR_NS, lambda: None)

    return run


def watch(name: str) -> Callable[[Server], Watched]:
    def replace(server: Server) -> Watched:
        assert server.jetstream is not None
        store = server.jetstream.keeper.kept[name].store
        watched = Watched(store.blocks)
        store.blocks = watched  # type: ignore[assignment]
        return watched

    return replace
