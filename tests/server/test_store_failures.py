"""A store that fails under a running server: who is told what, and what is left as it was."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.config.options import JetStreamSettings
from penstock.kernel.consumers import PageStop
from penstock.model.errors import StorageError
from penstock.server.app import Server
from penstock.server.jetstream import direct, recovery, restores
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.keeper import Kept
from tests.crash.load import begin_snapshot, create, stream_config
from tests.crash.wire import Wire, published
from tests.server.changes import restore
from tests.server.file_steps import copy_store
from tests.server.inside import ServerInside, hold_upkeep

LAZY = JetStreamSettings(sync_interval_ns=3_600_000_000_000)
ENCODE = Description.encode


class Unreadable:
    """Blocks whose records cannot be read any more; everything else still works."""

    def __init__(self, blocks: object) -> None:
        self._blocks = blocks

    def __getattr__(self, name: str) -> object:
        return getattr(self._blocks, name)

    def load(self, sequence: int) -> None:
        del sequence
        raise OSError("read /secret/1.blk: Input/output error (os error 5)")


def unsent(
    *_: object, sequence: int, pending: int, before: int, **_terms: int
) -> tuple[int, int, int, int, int, int]:
    """What the kernel answers where the first message of a page cannot be read."""
    return PageStop.FAILED, sequence, 0, 0, pending, before


def unanswered(*columns: Any, **_terms: object) -> int:
    """What it answers where the message that the first request of a run wants cannot be read."""
    _hub, _store, _account, _stream, start, _end = columns
    position: int = start
    return position


def make_unreadable(server: Server) -> None:
    assert server.jetstream is not None
    store = server.jetstream.keeper.kept["A"].store
    store.blocks = Unreadable(store.blocks)  # type: ignore[assignment]


def test_a_read_that_the_disk_fails_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "send_page", unsent)
    monkeypatch.setattr(direct, "send_singles", unanswered)
    with ServerInside(tmp_path) as inside, contextlib.closing(Wire(inside.port)) as wire:
        create(wire, "A")
        wire.request("A.x", b"one")
        inside.call(make_unreadable)
        reason = "the store failed: Input/output error (os error 5)"
        for body in (b'{"seq": 1}', b'{"seq": 1, "batch": 5}', b'{"multi_last": ["A.>"]}'):
            reads = [wire.ask("$JS.API.DIRECT.GET.A", body) for _ in range(2)]
            reads.append(wire.ask("$JS.API.DIRECT.GET.A.A.x", b""))
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
    for block in store.rglob("*.blk"):  # all there is of the streams is in the log
        block.unlink()
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


def test_a_description_of_a_later_version_costs_no_other_stream(tmp_path: Path) -> None:
    """In the log, and in the stream's folder after a clean stop."""
    store = killed_store(tmp_path)
    later = b'"number":1,"created_ns":1,"config":{"name":"A","of_a_later_version":true}'

    def encode(description: Description) -> bytes:
        return b"{%s}" % later if description.config.name == "A" else ENCODE(description)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Description, "encode", encode)
        with ServerInside(store) as inside, contextlib.closing(Wire(inside.port)) as wire:
            inside.call(hold_upkeep)
            body = stream_config("A", description="edited")
            assert "error" not in wire.request("$JS.API.STREAM.UPDATE.A", body)
            copy_of_log = tmp_path / "in the log"
            inside.call(lambda _server: copy_store(store, copy_of_log))
    for place in (copy_of_log, store):
        blocks = {path: path.stat().st_size for path in place.rglob("*.blk")}
        with ServerInside(place) as inside, contextlib.closing(Wire(inside.port)) as wire:
            for name in ("B", "C"):
                assert wire.request(f"{name}.x", b"two")["seq"] == 2
            assert "left alone" in inside.log
            assert "of_a_later_version" in inside.log
        assert all(path.stat().st_size >= size for path, size in blocks.items())


def killed_store(tmp_path: Path) -> Path:
    """What a kill leaves of three streams that have had one message each."""
    store, copy = tmp_path / "store", tmp_path / "copy"
    store.mkdir()
    with ServerInside(store) as inside, contextlib.closing(Wire(inside.port)) as wire:
        inside.call(hold_upkeep)
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


class Failing:
    """Blocks that cannot be appended to after some messages."""

    def __init__(self, blocks: object, appends_left: int) -> None:
        self._blocks = blocks
        self._appends_left = appends_left

    def __getattr__(self, name: str) -> object:
        if name in {"append", "append_run"}:
            self._appends_left -= 1
            if self._appends_left < 0:
                raise OSError("write /secret/1.blk: Input/output error (os error 5)")
        return getattr(self._blocks, name)


@pytest.mark.parametrize("settings", [JetStreamSettings(), LAZY], ids=["always", "lazy"])
@pytest.mark.parametrize("lane", ["bulk", "careful"])
def test_everybody_is_answered_when_a_store_fails_in_the_middle_of_a_turn(
    tmp_path: Path, settings: JetStreamSettings, lane: str
) -> None:
    """One that was stored and acknowledged is told so, the others are told the failure."""
    headers = b"" if lane == "bulk" else b"Nats-Expected-Stream: A\r\n"
    acked = 1 if lane == "careful" else 0
    with ServerInside(tmp_path, settings) as inside, contextlib.closing(Wire(inside.port)) as wire:
        wire.send(b"SUB answer.* 5\r\n")
        create(wire, "A")

        def fail(server: Server) -> None:
            assert server.jetstream is not None
            store = server.jetstream.keeper.kept["A"].store
            store.blocks = Failing(store.blocks, 1 if lane == "careful" else 0)  # type: ignore[assignment]

        inside.call(fail)
        frames = [published("A.x", f"answer.{n}", b"", headers) for n in range(5)]
        wire.send(b"".join(frames))  # one run
        answers = [json.loads(wire.wait(f"answer.{n}").payload) for n in range(5)]
        assert [answer.get("seq", 0) for answer in answers] == [1] * acked + [0] * (5 - acked)
        for answer in answers[acked:]:
            assert answer["error"]["err_code"] == 10077
            assert "secret" not in answer["error"]["description"]
