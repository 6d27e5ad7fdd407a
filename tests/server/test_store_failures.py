"""A store that fails under a running server: who is told what, and what is left as it was."""

import contextlib
from pathlib import Path

from penstock.server.app import Server
from tests.crash.load import create
from tests.crash.wire import Wire
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
