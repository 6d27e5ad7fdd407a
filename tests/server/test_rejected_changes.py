"""A change that the disk fails has not happened, in memory, on disk and after a restart; one that a
kill interrupts has happened or not, and the next start is clean."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from penstock.config.options import JetStreamSettings
from penstock.server.app import Server
from tests.crash.load import create
from tests.crash.wire import Wire
from tests.server.changes import CHANGES, Change, make
from tests.server.file_steps import FileSteps, copy_store
from tests.server.inside import ServerInside, hold_upkeep

MODES = {
    "always": (JetStreamSettings(), {}),
    "async": (JetStreamSettings(), {"persist_mode": "async"}),
    "lazy": (JetStreamSettings(sync_interval_ns=120_000_000_000), {}),
}
STEPS_MAX = 40
COMPLAINTS = ("left alone", "cannot be opened", "damaged", "instead", "Traceback", "there twice")


def streams(wire: Wire) -> list[Any]:
    """Everything that is known of the streams, without the time of the asking."""
    rows = wire.request("$JS.API.STREAM.LIST")["streams"]
    return [{key: value for key, value in row.items() if key != "ts"} for row in rows]


def start(inside: ServerInside, wire: Wire, fields: dict[str, str]) -> list[Any]:
    create(wire, "OLD", **fields)
    for number in range(3):
        wire.request("OLD.x", b"%d" % number)
    inside.call(write_out)
    inside.call(hold_upkeep)  # its file operations are no steps of a change
    return streams(wire)


def write_out(server: Server) -> None:
    assert server.jetstream is not None
    server.jetstream.keeper.kept["OLD"].store.blocks.write_out()


def copy_between_turns(inside: ServerInside, store: Path, destination: Path) -> None:
    inside.call(lambda _server: copy_store(store, destination))


def after_kill(store: Path, settings: JetStreamSettings) -> list[Any]:
    """What the next server finds; it must have nothing to complain about."""
    (store / "server.log").unlink(missing_ok=True)
    with ServerInside(store, settings) as inside:
        with contextlib.closing(Wire(inside.port)) as wire:
            found = streams(wire)
            for row in found:
                assert wire.request(f"{row['config']['name']}.x", b"new")["seq"] > 0
        assert not [text for text in COMPLAINTS if text in inside.log], inside.log
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", CHANGES)
def test_what_fails_has_not_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, change: Change
) -> None:
    settings, fields = MODES[mode]
    store = tmp_path / "store"
    store.mkdir()
    steps = FileSteps(monkeypatch, store)
    with ServerInside(store, settings) as inside, contextlib.closing(Wire(inside.port)) as wire:
        before = start(inside, wire, fields)
        for number in range(1, STEPS_MAX):
            steps.begin(fail_at=number)
            answer = change(wire, fields)
            if steps.end() < number:
                break
            is_refused = "error" in answer
            left = streams(wire)
            assert (left == before) is is_refused, f"step {number} failed: {answer}"
            copy_between_turns(inside, store, tmp_path / str(number))
            assert after_kill(tmp_path / str(number), settings) == left, f"step {number} failed"
            if not is_refused:
                break
        assert "error" not in answer, "it does not work without a failure either"
        left = streams(wire)
        assert left != before
    assert after_kill(store, settings) == left


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_kill_interrupts_has_happened_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, change: Change
) -> None:
    settings, fields = MODES[mode]
    store = tmp_path / "store"
    store.mkdir()
    steps = FileSteps(monkeypatch, store)
    with ServerInside(store, settings) as inside, contextlib.closing(Wire(inside.port)) as wire:
        before = start(inside, wire, fields)
        steps.begin(copies=tmp_path)
        assert "error" not in change(wire, fields)
        count = steps.end()
        copy_between_turns(inside, store, tmp_path / str(count + 1))
        after = streams(wire)
    for number in range(1, count + 1):
        assert after_kill(tmp_path / str(number), settings) in (before, after), f"step {number}"
    assert after_kill(tmp_path / str(count + 1), settings) == after


def test_a_folder_that_cannot_be_made_is_no_stream(tmp_path: Path) -> None:
    """Here the kernel's own file operation fails."""
    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        before = start(inside, wire, {})
        blocker = tmp_path / "jetstream" / "streams" / "NEW.2"
        blocker.write_bytes(b"not a folder")
        assert make(wire, {})["error"]["err_code"] == 10077
        assert streams(wire) == before
        assert "error" not in make(wire, {})
