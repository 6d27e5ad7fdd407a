"""A store that fails under a running server: who is told what, and what is left as it was."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.model.errors import StorageError
from penstock.server.app import Server
from penstock.server.jetstream import recovery, restores
from penstock.server.jetstream.keeper import Kept
from tests.crash.load import begin_snapshot, create
from tests.crash.wire import Wire, published
from tests.server.changes import restore
from tests.server.file_steps import copy_store
from tests.server.inside import ServerInside


class Unreadable:
    """Blocks whose records cannot be read any more; everything else still works."""

    def __init__(self, blocks: object) -> None:
        self._blocks = blocks

    def __getattr__(self, name: str) -> object:
        return getattr(self._blocks, name)

    def load(self, sequence: int) -> None:
        del sequence
        raise OSError("read /secret/1.blk: Input/output error (os error 5)")


def make_unreadable(server: Server) -> None:
    assert server.jetstream is not None
    store = server.jetstream.keeper.kept["A"].store
    store.blocks = Unreadable(store.blocks)  # type: ignore[assignment]


def test_a_read_that_the_disk_fails_is_answered(tmp_path: Path) -> None:
    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        create(wire, "A")
        wire.request("A.x", b"one")
        inside.call(make_unreadable)
        reason = "the store failed: Input/output error (os error 5)"
        for body in (b'{"seq": 1}', b'{"seq": 1, "batch": 5}', b'{"multi_last": ["A.>"]}'):
            reads = [wire.ask("$JS.API.DIRECT.GET.A", body) for _ in range(2)]
            for reply in reads:
                assert wire.wait(reply).headers == f"NATS/1.0 500 {reason}\r\n\r\n".encode()
        answer = wire.request("$JS.API.STREAM.MSG.GET.A", b'{"seq": 1}')
        assert answer["type"] == "io.nats.jetstream.api.v1.stream_msg_get_response"
        assert answer["error"] == {"code": 503, "err_code": 10077, "description": reason}
        assert "/secret/1.blk" in inside.log
        assert wire.request("A.x", b"two")["seq"] == 2


def test_a_stream_that_cannot_be_recovered_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left alone until it can be; the log is kept for it, also over a clean stop."""
    store = killed_store(tmp_path)
    fail = OSError("read /secret/1.blk: Input/output error (os error 5)")
    with monkeypatch.context() as patch:
        patch.setattr(recovery, "replay", failing_for("A", recovery.replay, fail))
        patch.setattr(recovery, "settle", failing_for("B", recovery.settle, fail))
        with ServerInside(store) as inside, contextlib.closing(Wire(inside.port)) as wire:
            assert wire.request("$JS.API.STREAM.NAMES")["streams"] == ["C"]
            assert wire.request("C.x", b"two")["seq"] == 2
            assert "Stream A cannot be opened: read /secret" in inside.log
            assert "Stream B cannot be opened: read /secret" in inside.log
    with ServerInside(store) as inside, contextlib.closing(Wire(inside.port)) as wire:
        for name, sequence in (("A", 2), ("B", 2), ("C", 3)):
            assert wire.request(f"{name}.x", b"next")["seq"] == sequence


def test_a_start_that_fails_half_way_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = killed_store(tmp_path)

    def fail_after_the_first(*_arguments: object) -> None:
        raise OSError("read /secret/log: Input/output error (os error 5)")

    with monkeypatch.context() as patch:
        patch.setattr(recovery.Recovery, "_apply", fail_after_the_first)
        with pytest.raises(StorageError, match="secret"), ServerInside(store):
            pass
    with ServerInside(store) as inside, contextlib.closing(Wire(inside.port)) as wire:
        for name in ("A", "B", "C"):
            assert wire.request(f"{name}.x", b"next")["seq"] == 2


def killed_store(tmp_path: Path) -> Path:
    """What a kill leaves of three streams that have had one message each."""
    store, copy = tmp_path / "store", tmp_path / "copy"
    store.mkdir()
    with ServerInside(store) as inside, contextlib.closing(Wire(inside.port)) as wire:
        for name in ("A", "B", "C"):
            create(wire, name)
            wire.request(f"{name}.x", b"one")
        wire.request("$JS.API.STREAM.MSG.DELETE.A", b'{"seq": 1}')
        inside.call(lambda _server: copy_store(store, copy))
    return copy


def failing_for(name: str, original: Callable[..., None], error: OSError) -> Callable[..., None]:
    def call(kept: Kept, *arguments: object) -> None:
        if kept.stream.config.name == name:
            raise error
        original(kept, *arguments)

    return call


def test_a_snapshot_ends_when_its_stream_stops(tmp_path: Path) -> None:
    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        first = begin_snapshot(wire, "FILE")

        def stop(server: Server) -> None:
            assert server.jetstream is not None
            server.jetstream.keeper.kept["FILE"].stop("write /secret/1.blk: Input/output error")

        inside.call(stop)
        wire.send(published(first.reply, "", b""))
        while (chunk := wire.wait("deliver.FILE")).payload:  # what was walked before
            wire.send(published(chunk.reply, "", b""))
        assert chunk.headers == b"NATS/1.0 500 the store failed: Input/output error\r\n\r\n"


def test_a_restore_that_meets_a_bug_is_answered_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        create(wire, "OLD")
        wire.request("OLD.x", b"one")

        def fail(*_arguments: object) -> None:
            raise KeyError("a bug")

        with monkeypatch.context() as patch:
            patch.setattr(restores, "settle", fail)
            answer = restore(wire, {})
        assert answer["error"]["err_code"] == 10062
        assert "internal error" in answer["error"]["description"]
        assert "a bug" in inside.log
        assert wire.request("$JS.API.STREAM.NAMES")["streams"] == ["OLD"]
        assert not [*(tmp_path / "jetstream" / "streams").glob("NEW.[0-9]")]
        assert "error" not in restore(wire, {})
