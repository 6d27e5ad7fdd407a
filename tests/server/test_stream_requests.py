"""Requests to the stream API that the reference takes and that would stop a stream here."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire


@pytest.fixture
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    store = tmp_path_factory.mktemp("store")
    with Node(store) as node, contextlib.closing(Wire(node.port)) as wire:
        yield wire


def test_a_purge_does_not_use_up_all_sequences(wire: Wire) -> None:
    create(wire, "FAR")
    answer = wire.request("$JS.API.STREAM.PURGE.FAR", b'{"seq": %d}' % (2**64 - 1))
    assert answer["error"]["err_code"] == 10110
    assert str(2**61) in answer["error"]["description"]
    assert wire.request("FAR.x", b"goes on")["seq"] == 1
    filtered = b'{"filter": "FAR.x", "seq": %d}' % (2**64 - 1)
    assert wire.request("$JS.API.STREAM.PURGE.FAR", filtered)["purged"] == 1
    assert wire.request("$JS.API.STREAM.PURGE.FAR", b'{"seq": %d}' % 2**61)["success"]
    assert wire.request("FAR.x", b"goes on")["seq"] == 2**61
